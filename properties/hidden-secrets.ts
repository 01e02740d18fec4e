/** Arbitrary secrets, and events that hold one somewhere, written in one of the ways in which secrets get into a log. */

import * as fc from 'fast-check'
import type { Event } from '../src/event/types.ts'
import { BODIES, frozen } from '../src/testing/event.ts'

/** A secret with what has to be escaped here or there, and nothing that the words around it hold. */
export const anySecret = (): fc.Arbitrary<string> =>
  fc
    .string({ unit: fc.constantFrom(...'QXZJ0179"\\/\n%+=&?#ß€😀 \''), minLength: 8, maxLength: 30 })
    .map((text) => `K${text.trim()}`)
    .filter((text) => text.length >= 8)

type Way = (text: string) => string

const escaped: Way = (text) =>
  Array.from(
    { length: text.length },
    (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('')
const percented: Way = (text) =>
  Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')

/** Ways to write a text so that it can be read again. */
const WAYS: Readonly<Record<string, Way>> = {
  json: (text) => JSON.stringify({ note: text }),
  list: (text) => JSON.stringify([1, { deep: [text] }], null, 2),
  quoted: (text) => JSON.stringify(text),
  cut: (text) => `${JSON.stringify({ note: text }).slice(0, -2)}`,
  escaped,
  percented,
  encoded: (text) => encodeURIComponent(text.toWellFormed()),
  form: (text) => encodeURIComponent(text.toWellFormed()).replaceAll('%20', '+'),
  prose: (text) => `the word is ${text} and no other`,
  key: (text) => JSON.stringify({ [text]: 1 }),
}

const BASE64: Readonly<Record<string, Way>> = {
  base64: (text) => Buffer.from(text).toString('base64'),
  basic: (text) => `Basic ${Buffer.from(`i:${text}`).toString('base64')}`,
  url: (text) => Buffer.from(`{"ab":"${text}"}`).toString('base64url'),
  wrapped: (text) =>
    (
      Buffer.from(`${'so long '.repeat(9)}x${text}`)
        .toString('base64')
        .match(/.{1,64}/g) ?? []
    ).join('\n'),
}

/** Ways that leave a mask as it is, but for what they put around it. */
const PLAIN: readonly string[] = ['json', 'list', 'quoted', 'cut', 'prose', 'key']

/** A secret as it stands in a log, and how it got there. */
export interface Hidden {
  readonly secret: string
  readonly text: string
  /** What is left when the secret is masked and nothing else; null where a mask would have to be read out of an encoding. */
  readonly left: string | null
  readonly ways: readonly string[]
}

const ALL: Readonly<Record<string, Way>> = { ...WAYS, ...BASE64 }

/** A secret written in up to four ways, one around the other; base64 at any layer, most often at the innermost. */
export function hiddenSecret(): fc.Arbitrary<Hidden> {
  const outer = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...Object.keys(WAYS)) },
      { weight: 1, arbitrary: fc.constantFrom(...Object.keys(BASE64)) },
    ),
    { maxLength: 3 },
  )
  const inner = fc.option(fc.constantFrom(...Object.keys(BASE64)), { nil: null, freq: 2 })
  return fc.tuple(anySecret(), inner, outer).map(([secret, innermost, names]) => {
    const ways = [...(innermost === null ? [] : [innermost]), ...names]
    // All of a base64 text goes, whatever is in it, and so does the innermost encoding of any other kind.
    const base64 = ways.findLastIndex((name) => Object.hasOwn(BASE64, name))
    const masked = base64 === -1 ? (PLAIN.includes(ways[0] ?? 'json') ? 0 : 1) : base64 + 1
    const around = ways.slice(masked)
    return {
      secret,
      text: written(secret, ways),
      left: around.every((name) => PLAIN.includes(name))
        ? written(ways[base64] === 'basic' ? 'Basic [redacted]' : '[redacted]', around)
        : null,
      ways,
    }
  })
}

const written = (text: string, names: readonly string[]): string =>
  names.reduce((inner, name) => (ALL[name] as Way)(inner), text)

/** Any event that holds a hidden secret in one of its texts, and decodes. */
export function eventWith(text: string): fc.Arbitrary<Event> {
  return fc
    .oneof(
      fc.tuple(BODIES.ActionEvent(), fc.nat(6)).map(([body, where]): Event => {
        switch (where) {
          case 0:
            return { ...body, thought: [{ text }] }
          case 1:
            return { ...body, reasoning_content: text, summary: text }
          case 2:
            return { ...body, thinking_blocks: [{ type: 'thinking', thinking: text, signature: 'sig/1' }] }
          case 3:
            return { ...body, responses_reasoning_item: { summary: [text], encrypted_content: 'gAAAA' } }
          case 4:
            // Both keys are the same once they are redacted.
            return { ...body, action: { kind: 'CustomAction', deep: { [text]: [text], [escaped(text)]: 2 } } }
          case 5:
            return { ...body, action: { kind: 'TerminalAction', command: text } }
          default: {
            // A call may hold more than the contract says.
            const call = { ...body.tool_call, name: text, arguments: text, more: text }
            return { ...body, tool_call: call }
          }
        }
      }),
      BODIES.MessageEvent().map((body): Event => ({
        ...body,
        sender: text,
        llm_message: { ...body.llm_message, content: [{ text }, { image_urls: [text] }], name: text },
      })),
      fc.tuple(BODIES.ObservationEvent(), fc.boolean()).map(([body, published]): Event => ({
        ...body,
        observation: published
          ? { kind: 'TerminalObservation', command: text, content: [{ text }] }
          : { kind: 'CustomObservation', [text]: text },
        extended_content: [{ text }],
      })),
      fc.constantFrom('full_state', 'agent_state', text).map((key): Event => ({
        kind: 'ConversationStateUpdateEvent',
        key,
        value: { a: [text] },
      })),
      fc.constant<Event>({ kind: 'LLMCompletionLogEvent', filename: text, log_data: JSON.stringify([text]) }),
      fc.constant<Event>({ kind: 'Condensation', llm_response_id: 'r', summary: text }),
      fc.constant<Event>({
        kind: 'ConversationErrorEvent',
        source: 'environment',
        code: text,
        detail: text,
        timestamp: text,
      }),
      fc.constant<Event>({ kind: 'AgentErrorEvent', tool_name: text, tool_call_id: 'c', error: text }),
      fc.constant<Event>({
        kind: 'HookExecutionEvent',
        hook_event_type: 'Stop',
        hook_command: text,
        success: true,
        exit_code: 0,
        stdout: text,
        hook_input: { [text]: text },
      }),
      fc.constant<Event>({
        kind: 'ACPToolCallEvent',
        tool_call_id: 'c',
        title: text,
        raw_input: text,
        content: [[text]],
      }),
    )
    .map(frozen)
}
