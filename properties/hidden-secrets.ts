/** Generates events with a secret, encoded as in real logs. */

import * as fc from 'fast-check'
import type { Event } from '../src/event/types.ts'
import { BODIES, frozen } from '../src/testing/event.ts'

/** Has characters that encodings escape, and none of the surrounding text. */
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

/** JSON encodings leave the text around a mask unchanged. */
const ENCODINGS: Readonly<Record<string, Way>> = {
  plain: (text) => text,
  escaped,
  percented,
  encoded: (text) => encodeURIComponent(text.toWellFormed()),
  form: (text) => encodeURIComponent(text.toWellFormed()).replaceAll('%20', '+'),
  cut: (text) => `${JSON.stringify({ note: text }).slice(0, -2)}`,
  'in JSON': (text) => `data: ${JSON.stringify({ note: text })}`,
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

/** Prose inside, JSON nested around it. */
const FRAMES: Readonly<Record<string, Way>> = {
  prose: (text) => `the word is ${text} and no other`,
  json: (text) => JSON.stringify({ note: text }),
  list: (text) => JSON.stringify([1, { deep: [text] }], null, 2),
  quoted: (text) => JSON.stringify(text),
  key: (text) => JSON.stringify({ [text]: 1 }),
}

export interface Hidden {
  readonly secret: string
  readonly text: string
  /** The text with only the secret masked. */
  readonly remaining: string
  /** Keys that become equal once the secret is masked. */
  readonly equalKeys: readonly string[]
  readonly encoding: string
  readonly frames: readonly string[]
}

/** In one encoding, inside up to three layers of JSON. */
export function hiddenSecret(): fc.Arbitrary<Hidden> {
  const frames = fc.array(fc.constantFrom('json', 'list', 'quoted', 'key'), { maxLength: 3 })
  return fc
    .tuple(anySecret(), fc.constantFrom(...Object.keys(ENCODINGS)), fc.boolean(), frames)
    .map(([secret, encoding, isProse, around]) => {
      const names = [...(isProse ? ['prose'] : []), ...around]
      const framed = (text: string): string =>
        names.reduce((inner, name) => (FRAMES[name] as Way)(inner), text)
      const encode = ENCODINGS[encoding] as Way
      const mask = '[redacted]'
      const isFrame = ['plain', 'cut', 'in JSON'].includes(encoding)
      const remaining = isFrame ? encode(mask) : encoding === 'basic' ? `Basic ${mask}` : mask
      const equalKeys = [secret, escaped(secret)]
      return {
        secret,
        text: framed(encode(secret)),
        remaining: framed(remaining),
        equalKeys,
        encoding,
        frames: names,
      }
    })
}

/** With the text in a field, or with keys that collide once redacted. */
export function eventWith(text: string, equalKeys: readonly string[] = []): fc.Arbitrary<Event> {
  return fc
    .oneof(
      fc.tuple(BODIES.ActionEvent, fc.nat(6)).map(([body, where]): Event => {
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
            return {
              ...body,
              action: {
                kind: 'CustomAction',
                deep: { [text]: [text], ...Object.fromEntries(equalKeys.map((key) => [key, 1])) },
              },
            }
          case 5:
            return { ...body, action: { kind: 'TerminalAction', command: text } }
          default: {
            // Calls may have fields that the schema does not.
            const call = { ...body.tool_call, name: text, arguments: text, more: text }
            return { ...body, tool_call: call }
          }
        }
      }),
      BODIES.MessageEvent.map((body): Event => ({
        ...body,
        sender: text,
        llm_message: { ...body.llm_message, content: [{ text }, { image_urls: [text] }], name: text },
      })),
      fc.tuple(BODIES.ObservationEvent, fc.boolean()).map(([body, published]): Event => ({
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
