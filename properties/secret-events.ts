/** Generates events with a secret in a reasoning item or an open field. */

import * as fc from 'fast-check'
import type { JsonValue } from '../src/event/shapes.ts'
import type { Event } from '../src/event/types.ts'
import { BODIES, frozen, reasoningItem, secretText } from '../src/testing/event.ts'

/** Escapes quotes by code point. */
const numbered = (value: JsonValue): string => JSON.stringify(value).replaceAll(/\\"/g, String.raw`\u0022`)

/** As a value or in nested JSON text. */
function secretJson(): fc.Arbitrary<JsonValue> {
  // Needs escaping in JSON; half of it is also a leak.
  const awkward = fc.tuple(secretText, fc.constantFrom('"', '\\', '\\"', '\n'))
  return fc.tuple(secretText, awkward, fc.nat(10)).map(([secret, [half, between], wrap]): JsonValue => {
    const item = { id: 'rs_1', encrypted_content: secret }
    const escaped = { encrypted_content: `${half}${between}${half}` }
    switch (wrap) {
      case 0:
        return item
      case 1:
        return [1, { deep: [item] }]
      case 2:
        return { log: JSON.stringify(item) }
      case 3:
        return { log: `\n [${JSON.stringify({ quoted: JSON.stringify([item]) }, null, 2)}]` }
      case 4:
        return JSON.stringify(JSON.stringify(item))
      case 5:
        return [JSON.stringify(escaped), escaped]
      case 6:
        return { quoted: JSON.stringify(JSON.stringify(escaped)) }
      case 7:
        return { log: numbered({ body: numbered(escaped) }) }
      case 8:
        return JSON.stringify(JSON.stringify(item, null, '\t').replace(/":/g, '"\n:\r\n'))
      case 9:
        return `data: ${JSON.stringify(item)}`
      default:
        return `cut off: ${JSON.stringify(item).slice(0, -6)}`
    }
  })
}

/** Also in places that no schema knows. */
const openJson = (): fc.Arbitrary<JsonValue> =>
  fc.oneof(
    { weight: 4, arbitrary: secretJson() },
    { weight: 1, arbitrary: secretText.map((secret) => ({ encrypted_content: { inner: [secret] } })) },
  )

export function secretEvent(): fc.Arbitrary<Event> {
  return fc
    .oneof(
      fc.tuple(BODIES.ActionEvent, reasoningItem, secretText).map(([body, item, secret]): Event => ({
        ...body,
        responses_reasoning_item: { ...item, encrypted_content: secret },
      })),
      openJson().map((value): Event => ({
        kind: 'ACPToolCallEvent',
        tool_call_id: 'c',
        title: 't',
        raw_output: value,
        content: [value],
      })),
      openJson().map((value): Event => ({
        kind: 'ConversationStateUpdateEvent',
        key: 'full_state',
        value: { agent: { last: value } },
      })),
      secretJson().map((value): Event => ({
        kind: 'LLMCompletionLogEvent',
        filename: 'f',
        log_data: JSON.stringify(value),
      })),
      fc.tuple(BODIES.ObservationEvent, openJson()).map(([body, value]): Event => ({
        ...body,
        observation: { ...body.observation, metadata: value },
      })),
      fc.tuple(BODIES.ActionEvent, secretJson()).map(([body, value]): Event => ({
        ...body,
        tool_call: { ...body.tool_call, arguments: JSON.stringify(value) },
      })),
    )
    .map(frozen)
}

/** Adds a field, changes a type or moves a value. */
export function brokenSecretEvent(): fc.Arbitrary<unknown> {
  return fc.tuple(secretEvent(), secretText, fc.nat(6)).map(([event, secret, how]) => {
    switch (how) {
      case 0:
        return { ...event, kind: 'FutureEvent' }
      case 1:
        return { ...event, encrypted_content: secret }
      case 2:
        return { ...event, responses_reasoning_item: { encrypted_content: [secret] } }
      case 3:
        return { ...event, thought: { encrypted_content: secret } }
      case 4:
        return { ...event, id: 7, extra: JSON.stringify({ encrypted_content: secret }) }
      case 5:
        return { kind: { encrypted_content: secret } }
      default:
        return [{ ...event, source: { encrypted_content: { deep: secret } } }]
    }
  })
}
