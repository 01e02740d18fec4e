/** M14, M17: inexpressible parts are named, and halves of pairs are never sent alone. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../src/event/decode.ts'
import { isObject } from '../src/event/json.ts'
import type { ReplyRecord } from '../src/event/reply.ts'
import type { JsonValue } from '../src/event/shapes.ts'
import type { Event } from '../src/event/types.ts'
import { fromAiSdk } from '../src/messages/ai-sdk/read.ts'
import { fromAnthropic } from '../src/messages/anthropic/read.ts'
import { fromGoogle } from '../src/messages/google/read.ts'
import { fromOpenAIResponses } from '../src/messages/openai-responses/read.ts'
import type { Reply } from '../src/messages/reply.ts'
import { kindName } from '../src/messages/blocks.ts'
import { replyPlaceholder } from '../src/messages/reply-parts.ts'
import type { AssistantMessage, NeutralMessage } from '../src/messages/message.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { replay } from '../src/state/reduce.ts'
import { jsonValue } from '../src/testing/json.ts'
import { GRAMMARS } from '../test/messages/grammars.ts'
import {
  checkPairs,
  type Command,
  closing,
  command,
  isReply,
  type PairOccurrence,
  othersOf,
  textsIn,
  USER,
} from './checks/server-tools.ts'
import { REPLY_WIRES } from './replies/wires.ts'
import { always, COSTLY_RUNS, RUNS } from './run.ts'
import { Tally } from './tally.ts'

const messagesOf = (events: readonly Event[]): NeutralMessage[] =>
  toMessages(replay([USER, ...events]), closing)

const placeholders = (message: AssistantMessage): string[] =>
  othersOf(message).flatMap((value) => replyPlaceholder(value) ?? [])

function occurInOrder(texts: readonly string[], request: string): boolean {
  let start = 0
  return texts.every((text) => {
    const index = request.indexOf(text, start)
    start = index + text.length
    return index >= 0
  })
}

/** Generated seals, which no other provider may receive. */
const SEALS = ['sig/', 'gAAA', 'EqgfCi', 'EnoH', 'CpUB', 'Eo8BCkgIARAB']

describe.each(Object.entries(REPLY_WIRES))('M14, a reply of %s', (name, wire) => {
  it('is sent in every other grammar with placeholders for parts that it cannot express', () => {
    const tally = new Tally<'named'>()
    always(
      wire.reply,
      (reply) => {
        const messages = messagesOf(wire.read(reply, {}).events)
        const outputs = messages.filter(isReply).flatMap(placeholders)
        for (const [grammar, { write }] of Object.entries(GRAMMARS)) {
          if (grammar === name) continue
          const more: NeutralMessage[] = [
            ...messages,
            { role: 'user', content: [{ text: 'And?' }], name: null },
          ]
          for (const request of [write(messages), write(more)]) {
            const texts = textsIn(request)
            expect(occurInOrder(outputs, texts), `${grammar}: ${outputs.join()}`).toBe(true)
            for (const seal of SEALS) expect(texts.includes(seal), `${grammar}: ${seal}`).toBe(false)
          }
          const stored = textsIn(
            (write as (list: typeof messages, options: object) => unknown)(messages, { prove: false }),
          )
          expect(occurInOrder(outputs, stored)).toBe(true)
        }
        if (outputs.length > 0) tally.count(['named'])
      },
      COSTLY_RUNS,
    )
    tally.require(['named'])
  })

  it('is sent in valid requests if its record is damaged', () => {
    always(
      fc.tuple(wire.reply, fc.array(fc.tuple(fc.nat(), fc.nat(), jsonValue), { minLength: 1, maxLength: 3 })),
      ([reply, harm]) => {
        const { events } = wire.read(reply, {})
        const [first, ...rest] = events
        if (first === undefined) return
        const broken = harm.reduce(
          (parts, [index, how, value]) => garbled(parts, index, how, value),
          recordOf(first)?.parts ?? [],
        )
        const messages = messagesOf([withParts(first, broken), ...rest].map(decoded))
        const allowed = [...wire.allowed(reply), ...UNORDERED]
        for (const { write, validate } of Object.values(GRAMMARS)) {
          const violations = validate(write(messages)).filter(({ rule }) => !allowed.includes(rule))
          expect(violations).toEqual([])
        }
      },
      COSTLY_RUNS,
    )
  })
})

const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
const matches = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
const ask = { type: 'tool_use', id: 't', name: 'ls', input: {} }
const ran = { toolCallId: 's', toolName: 'code_execution', input: {}, providerExecuted: true }
const program = { type: 'program', id: 'p', call_id: 'p1', code: 'ls()', fingerprint: 'f' }
const item = { type: 'function_call', id: 'f', call_id: 'c', name: 'ls', arguments: '{}' }
const gemini = (...parts: readonly object[]) =>
  fromGoogle({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] } as never)
const claude = (stop_reason: string, ...content: readonly object[]) =>
  fromAnthropic({ content, stop_reason } as never)

/** A name, the number of further pending calls, and the reply. */
const WAITING: readonly (readonly [string, number, () => Reply])[] = [
  ['Anthropic, paused', 1, () => claude('pause_turn', search)],
  ['Anthropic, with a call', 1, () => claude('tool_use', search, ask)],
  ['Anthropic, paused after the result', 0, () => claude('pause_turn', search, matches)],
  ['Anthropic, ended without a result', 0, () => claude('end_turn', search)],
  ['Anthropic, continued', -1, () => claude('end_turn', matches)],
  [
    'AI SDK, paused',
    1,
    () => fromAiSdk({ content: [{ type: 'tool-call', ...ran }], rawFinishReason: 'pause_turn' } as never),
  ],
  ['AI SDK, continued', -1, () => fromAiSdk({ content: [{ type: 'tool-result', ...ran, output: {} }] })],
  ['Responses, with a call', 1, () => fromOpenAIResponses({ output: [program, item] } as never)],
  [
    'Responses, continued',
    -1,
    () =>
      fromOpenAIResponses({
        output: [{ type: 'program_output', id: 'o', call_id: 'p1', result: '', status: 'completed' }],
      } as never),
  ],
  [
    'Gemini, with a call',
    1,
    () => gemini({ toolCall: { id: 's', toolType: 'X', args: {} } }, { functionCall: { name: 'ls' } }),
  ],
  ['Gemini, continued', -1, () => gemini({ toolResponse: { id: 's', toolType: 'X', response: {} } })],
]

/** Corrupted records may break these: only the grammar of the record verifies positions of signed parts. */
const UNORDERED = ['thinking-first', 'text-nonblank']

function recordOf(event: Event): ReplyRecord | undefined {
  const carrier =
    event.kind === 'ActionEvent' ? event.tool_call : event.kind === 'MessageEvent' ? event.llm_message : null
  return carrier?.['reply' as never]
}

function withParts(event: Event, parts: readonly JsonValue[]): Event {
  const reply = { ...recordOf(event), parts }
  if (event.kind === 'ActionEvent') return { ...event, tool_call: { ...event.tool_call, reply } as never }
  return event.kind === 'MessageEvent'
    ? { ...event, llm_message: { ...event.llm_message, reply } as never }
    : event
}

function decoded(event: Event): Event {
  const result = decodeEvent(JSON.parse(JSON.stringify(event)))
  if (!result.ok) throw new Error('invalid event')
  return result.event
}

/** Removes, duplicates, moves or changes one part. */
function garbled(parts: readonly JsonValue[], index: number, how: number, value: JsonValue): JsonValue[] {
  if (parts.length === 0) return [{ other: value }]
  const position = index % parts.length
  const part = parts[position] ?? null
  const other = isObject(part) && isObject(part['other']) ? part['other'] : null
  const field = other === null ? '' : (Object.keys(other)[how % Object.keys(other).length] ?? '')
  switch (how % 6) {
    case 0:
      return parts.toSpliced(position, 1)
    case 1:
      return parts.toSpliced(position, 0, part)
    case 2:
      return [...parts.toSpliced(position, 1), part]
    case 3:
      return parts.with(position, { other: value })
    case 4:
      return parts.with(position, isObject(part) ? { ...part, more: value } : value)
    default:
      if (other === null) return parts.with(position, value)
      return parts.with(position, {
        other: index % 2 === 0 ? { ...other, [field]: value } : { type: kindName(other) },
      })
  }
}

describe("M17, calls of a provider's own tools", () => {
  it('are sent with their results or not at all, also after a condensation, a cut or a fork', () => {
    const tally = new Tally<PairOccurrence>()
    const commandLists = fc.array(command, { minLength: 2, maxLength: 10 })
    const check = (commands: readonly Command[]): void => {
      const met = new Set<PairOccurrence>()
      checkPairs(commands, (happened) => met.add(happened))
      tally.count(met)
    }
    always(commandLists, check, RUNS / 2)
    tally.require(['together_in_two_replies', 'separated', 'both_condensed', 'both_cut', 'forked_between'])
  })

  it.each(WAITING)('%s: the record of the reply has `waits` %i', (_, waits, read) => {
    const [first] = read().events
    expect(first === undefined ? null : (recordOf(first)?.waits ?? 0)).toBe(waits)
  })
})
