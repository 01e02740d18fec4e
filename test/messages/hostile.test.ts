/** The writers on arbitrary logs: total, valid, deterministic, and append-only for a longer history (laws M, V). */

import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withoutBytes } from '../../src/messages/bedrock/blocks.ts'
import { isImagePart, isTextPart, type Content } from '../../src/event/shapes.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import * as library from '../../src/messages/index.ts'
import {
  collectOpenAIChat,
  fromAiSdk,
  fromAnthropic,
  fromBedrock,
  fromGoogle,
  fromInteractions,
  fromOpenAIChat,
  fromOpenAIResponses,
} from '../../src/messages/index.ts'
import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import type { MessageOptions, NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import type { ChatToolCall } from '../../src/messages/openai-chat/rules.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import type { Reply } from '../../src/messages/reply.ts'
import { argumentObject } from '../../src/messages/text.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { initialState, type State } from '../../src/state/state.ts'
import { isPending } from '../../src/view/units.ts'
import { hostileLog, legalLog } from '../../src/testing/index.ts'
import { RUNS } from '../../properties/run.ts'
import { GRAMMARS } from './grammars.ts'
import { PNG } from './part-table.ts'

const OPTIONS: readonly MessageOptions[] = [{}, { pending: { close: 'closed' } }, { maxResultLength: 20 }]

type Results = readonly Content[] | null

const IMAGES: readonly string[] = [PNG, 'https://x.org/a.png', 'http://x.org/a.png', 'a.png']

/** Replaces the call id c1, and the results, unless null. Few generated logs contain such cases. */
function withRareCases(log: readonly Fact[], id: string | null, content: Results): readonly Fact[] {
  return log.map((fact) => {
    if (!('tool_call_id' in fact)) return fact
    const renamed = id !== null && fact.tool_call_id === 'c1' ? { ...fact, tool_call_id: id } : fact
    if (content === null || renamed.kind !== 'ObservationEvent') return renamed
    const { observation } = renamed
    if (content.length > 0) return { ...renamed, observation: { ...observation, content } }
    return { ...renamed, observation: { kind: observation.kind, content }, extended_content: [] }
  })
}

const anyLog = (): fc.Arbitrary<readonly Fact[]> =>
  fc.oneof(
    { weight: 2, arbitrary: hostileLog() },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          hostileLog(),
          fc.constantFrom(null, 'functions.ls:0', 'x'.repeat(70), 'é 😀', '\ud800'),
          fc.constantFrom<Results>(null, [], [{ text: 'see' }, { image_urls: IMAGES }]),
        )
        .map(([log, id, content]) => withRareCases(log, id, content)),
    },
    { weight: 1, arbitrary: legalLog() },
  )

/** Number of logs whose cases are counted. */
const SAMPLES = 400

/** Number of cases that `countCases` distinguishes. */
const CASES = 13

/** Number of logs with each case. A law must not pass because the logs never test it. */
const caseCounts = new Map<string, number>()
const count = (name: string, times: boolean | number): void => {
  if (times !== false && times !== 0) caseCounts.set(name, (caseCounts.get(name) ?? 0) + 1)
}

function countCases(state: State, messages: readonly NeutralMessage[]): void {
  const units = [...state.branch.view.units]
  const replies = messages.flatMap((message) => (message.role === 'assistant' ? [message] : []))
  const ids = replies.flatMap((reply) => reply.tool_calls.map((call) => call.id))
  count('a pending batch', units.some(isPending))
  count(
    'a batch of several calls',
    replies.some((reply) => reply.tool_calls.length > 1),
  )
  count('a repeated call id', new Set(ids).size < ids.length)
  count(
    'an illegal call id',
    ids.some((id) => !/^[a-zA-Z0-9_-]{1,40}$/.test(id)),
  )
  count(
    'arguments that are not a JSON object',
    replies.some((reply) => reply.tool_calls.some((call) => !call.arguments.startsWith('{'))),
  )
  count(
    'signed thinking',
    replies.some((reply) => reply.thinking_blocks.some((block) => 'signature' in block && block.signature)),
  )
  count(
    'unsigned thinking',
    replies.some((reply) => reply.thinking_blocks.some((block) => 'thinking' in block && !block.signature)),
  )
  count(
    'a reasoning item',
    replies.some((reply) => reply.tool_calls.some((call) => call.responses_reasoning_item?.id)),
  )
  count(
    'an image in a result',
    messages.some(({ role, content }) => role === 'tool' && content.some(isImagePart)),
  )
  count(
    'an error',
    messages.some((message) => message.role === 'tool' && message.is_error),
  )
  count(
    'an empty result',
    messages.some(({ role, content }) => role === 'tool' && content.length === 0),
  )
  count('the assistant first', messages.find(({ role }) => role !== 'system')?.role === 'assistant')
  count(
    'a lone surrogate',
    messages.some(({ content }) => content.some((part) => isTextPart(part) && !part.text.isWellFormed())),
  )
}

/** All grammars share the logs: generating one costs more than writing it. */
const ALL = Object.entries(GRAMMARS)

describe('every grammar', () => {
  it('M writes a valid request for any log, deterministically and without mutation', () => {
    fc.assert(
      fc.property(anyLog(), (log) => {
        const [state, again] = [replay(log), replay(log)]
        for (const options of OPTIONS) {
          const messages = toMessages(state, options)
          if (messages.length === 0) continue
          const before = JSON.stringify(messages)
          const repeated = toMessages(again, options)
          for (const [name, { write, validate }] of ALL) {
            const request = write(messages)
            const text = JSON.stringify(request)
            expect(validate(request), name).toEqual([])
            expect(JSON.stringify(write(repeated)), name).toBe(text)
            const plain = withoutBytes(request)
            expect(isDeepStrictEqual(JSON.parse(JSON.stringify(plain)), plain), name).toBe(true)
            expect(JSON.stringify(messages), name).toBe(before)
          }
        }
      }),
      { numRuns: Math.ceil(RUNS / 2) },
    )
  })

  it('V only appends to the request when the history grows', () => {
    let grown = 0
    fc.assert(
      fc.property(anyLog(), (log) => {
        let state = initialState()
        let shorter: Requests | null = null
        for (const fact of log) {
          const next = reduce(state, fact)
          let longer: Requests | null = null
          if (grows(state, next)) {
            grown += 1
            shorter ??= writeAll(state)
            longer = writeAll(next)
            for (const [index, { text, parts }] of longer.entries()) {
              // A server call becomes text once anything but its result follows.
              if (!text.includes('[server_tool_use: ')) expectPrefix(shorter[index]?.parts ?? [], parts)
            }
          }
          state = next
          shorter = longer
        }
      }),
      { numRuns: Math.max(40, Math.ceil(RUNS / 2.5)) },
    )
    expect(grown).toBeGreaterThan(500)
  })
})

type Requests = readonly { readonly text: string; readonly parts: unknown[][] }[]

function writeAll(state: State): Requests {
  const messages = toMessages(state)
  return ALL.map(([, { write }]) => {
    const request = write(messages)
    return { text: JSON.stringify(request), parts: partsOf(request) }
  })
}

/**
 * Whether law V applies to two states. The second has the same prompt, and starts with the units of the first.
 * The first has a message other than the prompt: the opening text of an empty history is replaced later.
 */
function grows(state: State, next: State): boolean {
  const [before, after] = [state.branch, next.branch]
  const stored = [...before.view.units].every((unit, index) => after.view.units.get(index) === unit)
  return (
    stored &&
    before.systemPrompt === after.systemPrompt &&
    toMessages(state).some(({ role }) => role !== 'system')
  )
}

/** A request as a list of messages, each a list of its parts. */
function partsOf(request: unknown): unknown[][] {
  const { messages, input, contents } = request as Readonly<Record<string, unknown>>
  const list = (messages ?? input ?? contents ?? request) as Readonly<Record<string, unknown>>[]
  return list.map((message) => {
    const { content, parts = content, ...rest } = message
    return Array.isArray(parts) ? [rest, ...(parts as unknown[])] : [message]
  })
}

/**
 * Expects the first list to be a prefix of the second, whose last common message may have more parts.
 * A final `[Go on.]` is ignored: the next message replaces it.
 */
function expectPrefix(shorter: readonly unknown[][], longer: readonly unknown[][]): void {
  if (JSON.stringify(shorter.at(-1)).includes('[Go on.]')) return expectPrefix(shorter.slice(0, -1), longer)
  const end = shorter.length - 1
  const last = shorter[end] ?? []
  const common = [...longer.slice(0, end), (longer[end] ?? []).slice(0, last.length)]
  const expected = [...shorter.slice(0, end), last]
  if (!isDeepStrictEqual(common, expected)) expect(common).toEqual(expected)
}

const argumentsOf = (call: ChatToolCall): string =>
  call.type === 'custom' ? call.custom.input : call.function.arguments

describe('arguments', () => {
  it('M reach Chat and Responses byte for byte if they are a JSON object', () => {
    fc.assert(
      fc.property(anyLog(), (log) => {
        const messages = toMessages(replay(log))
        if (messages.length === 0) return
        const input = messages.flatMap((each) =>
          each.role === 'assistant' ? each.tool_calls.map((call) => call.arguments) : [],
        )
        const chat = toOpenAIChat(messages).flatMap((each) =>
          each.role === 'assistant' ? (each.tool_calls ?? []).map(argumentsOf) : [],
        )
        const responses = toOpenAIResponses(messages).input.flatMap((item) =>
          item.type === 'function_call' ? [item.arguments] : [],
        )
        expect(responses).toEqual(chat)
        expect(chat).toHaveLength(input.length)
        for (const [index, sent] of chat.entries()) {
          if (sent !== input[index])
            expect(Object.keys(JSON.parse(sent))).toEqual(
              /^\s*(?:null)?\s*$/.test(input[index] ?? '') ? [] : ['_raw'],
            )
        }
      }),
      { numRuns: 120 },
    )
  })
})

describe('call ids', () => {
  it('M reach the AI SDK unchanged if they are unique and legal in all grammars', () => {
    fc.assert(
      fc.property(anyLog(), (log) => {
        const messages = toMessages(replay(log))
        if (messages.length === 0) return
        const input = messages.flatMap((each) =>
          each.role === 'assistant' ? each.tool_calls.map((call) => call.id) : [],
        )
        const sent = toAiSdk(messages).flatMap(({ role, content }) =>
          role === 'assistant'
            ? content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
            : [],
        )
        const first = new Set<string>()
        for (const [index, id] of input.entries()) {
          const isTaken = sent.slice(0, index).includes(id)
          if (!first.has(id) && /^[a-zA-Z0-9_-]{1,40}$/.test(id) && !isTaken) expect(sent[index]).toBe(id)
          first.add(id)
        }
      }),
      { numRuns: 80 },
    )
  })
})

describe('the generated logs', () => {
  it('contain each case in at least one of twenty', () => {
    caseCounts.clear()
    fc.assert(
      fc.property(anyLog(), (log) => {
        const state = replay(log)
        countCases(state, toMessages(state, { pending: { close: 'closed' } }))
      }),
      { numRuns: SAMPLES, seed: 7 },
    )
    expect([...caseCounts].filter(([, times]) => times < SAMPLES / 20)).toEqual([])
    expect(caseCounts.size).toBe(CASES)
  })
})

const failed = (explanation: string) => ({ events: [], outcome: { type: 'failed', explanation } })

it.each([
  fromAiSdk,
  fromAnthropic,
  fromBedrock,
  fromGoogle,
  fromInteractions,
  fromOpenAIChat,
  fromOpenAIResponses,
])('%o reports a response that is not a reply as failed, with its text', (read) => {
  const page = '<html>Not found</html>'
  expect(read(page as never)).toEqual(failed(page))
  expect(read(page.repeat(100) as never).outcome).toMatchObject({
    explanation: page.repeat(100).slice(0, 400),
  })
  const other = { message: 'Not found', code: 404 }
  expect(read(other as never)).toEqual(failed(`The response is not a reply: ${JSON.stringify(other)}`))
  const empty = {
    choices: [],
    candidates: [],
    content: null,
    output: null,
    steps: null,
    status: null,
    text: 'Busy.',
  }
  expect(read(empty as never)).toEqual(failed(`The response is not a reply: ${JSON.stringify(empty)}`))
})

it('every reader accepts a reply that is nested 20,000 levels deep', () => {
  let deep: unknown = 1
  for (let level = 0; level < 20_000; level += 1) deep = level % 2 === 0 ? { a: deep } : [deep]
  const call = { id: 't', name: 'f' }
  const readers: Readonly<
    Record<string, readonly [(reply: never) => { readonly events: readonly unknown[] }, object]>
  > = {
    fromAiSdk: [
      fromAiSdk,
      {
        content: [
          { type: 'tool-call', toolCallId: 't', toolName: 'f', input: deep },
          { type: 'x', deep },
        ],
      },
    ],
    fromAnthropic: [
      fromAnthropic,
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'tool_use', ...call, input: deep },
          { type: 'x', deep },
        ],
      },
    ],
    fromBedrock: [
      fromBedrock,
      {
        output: {
          message: {
            role: 'assistant',
            content: [{ toolUse: { toolUseId: 't', name: 'f', input: deep } }, { deep }],
          },
        },
      },
    ],
    fromGoogle: [
      fromGoogle,
      { candidates: [{ content: { parts: [{ functionCall: { name: 'f', args: deep } }, { deep }] } }] },
    ],
    fromInteractions: [
      fromInteractions,
      {
        steps: [
          { type: 'function_call', ...call, arguments: deep },
          { type: 'x', deep },
        ],
      },
    ],
    fromOpenAIChat: [
      fromOpenAIChat,
      {
        choices: [
          {
            message: {
              role: 'assistant',
              content: deep,
              tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: deep } }],
            },
          },
        ],
      },
    ],
    fromOpenAIResponses: [
      fromOpenAIResponses,
      {
        output: [
          { type: 'function_call', call_id: 't', name: 'f', arguments: deep },
          { type: 'x', deep },
        ],
      },
    ],
  }
  expect(Object.keys(readers).toSorted()).toEqual(
    Object.keys(library)
      .filter((name) => /^from[A-Z]/.test(name))
      .toSorted(),
  )
  for (const [name, [read, reply]] of Object.entries(readers))
    expect(read({ ...reply, usage: deep } as never).events.length, name).toBeGreaterThan(0)
})

const parsed = (input: object): Reply =>
  fromAnthropic({ content: [{ type: 'tool_use', id: 'a', name: 'ls', input }] })

const READERS: Readonly<Record<string, (input: object) => Reply>> = {
  Anthropic: parsed,
  Bedrock: (input) =>
    fromBedrock({
      output: { message: { content: [{ toolUse: { toolUseId: 'a', name: 'ls', input } }] } },
      stopReason: 'tool_use',
    }),
  'Chat Completions': (input) =>
    fromOpenAIChat({
      choices: [{ message: { tool_calls: [{ id: 'a', function: { name: 'ls', arguments: input } }] } }],
    }),
  'Chat Completions, streamed': (input) => {
    const stream = collectOpenAIChat()
    const tool_calls = [{ index: 0, id: 'a', function: { name: 'ls', arguments: input } }]
    stream.push({ choices: [{ delta: { tool_calls }, finish_reason: 'tool_calls' }] })
    return stream.end()
  },
  'OpenAI Responses': (input) =>
    fromOpenAIResponses({
      output: [{ type: 'function_call', id: 'fc_a', call_id: 'a', name: 'ls', arguments: input }],
    }),
  'a shell call': (input) =>
    fromOpenAIResponses({ output: [{ type: 'shell_call', id: 'sh_a', call_id: 'a', action: input }] }),
  Gemini: (args) =>
    fromGoogle({ candidates: [{ content: { parts: [{ functionCall: { name: 'ls', args } }] } }] }),
  Interactions: (args) =>
    fromInteractions({
      status: 'requires_action',
      steps: [{ type: 'function_call', id: 'a', name: 'ls', arguments: args }],
    }),
  'AI SDK': (input) =>
    fromAiSdk({ content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'ls', input }] }),
}

const callOf = (reply: Reply) => {
  const [call] = reply.events
  if (call?.kind !== 'ActionEvent') throw new Error('no call')
  return call
}

const decimal = (text: unknown) => ({ constructor: Object, digits: NaN, toJSON: () => text })

describe('arguments that an SDK has parsed', () => {
  it.each(Object.entries(READERS))(
    'are not executed with null for a value that JSON lacks: %s',
    (_, read) => {
      for (const value of [
        Infinity,
        -Infinity,
        NaN,
        [undefined],
        [NaN],
        { a: [[Infinity]] },
        () => 1,
        Symbol('a'),
      ])
        for (const input of [{ value }, Object.freeze({ value })]) {
          const { action, tool_call } = callOf(read(input))
          expect(action).toBe(null)
          expect(argumentObject(tool_call.arguments)).toHaveProperty('_raw')
        }
      expect(callOf(read({ a: null })).action).toMatchObject({ a: null })
    },
  )

  it.each(Object.entries(READERS))('are executed as `toJSON` writes them: %s', (_, read) => {
    expect(callOf(read({ price: decimal('1.5') })).action).toMatchObject({ price: '1.5' })
    for (const lost of [null, NaN, { a: Infinity }])
      expect(callOf(read({ price: decimal(lost) })).action).toBe(null)
    expect(callOf(read({ toJSON: 1, a: [1e5] })).action).toMatchObject({ toJSON: 1, a: [1e5] })
  })

  it('are executed as they are stored', () => {
    let compared = 0
    const value = fc.anything({ withDate: true, withBigInt: true, withSparseArray: true, maxDepth: 3 })
    fc.assert(
      fc.property(fc.dictionary(fc.string(), value), fc.boolean(), (input, isFrozen) => {
        const { action, tool_call } = callOf(parsed(isFrozen ? Object.freeze(input) : input))
        if (action === null || action === undefined) return
        const { kind: _, ...executed } = action
        const { kind: __, ...stored } = argumentObject(tool_call.arguments)
        expect(executed).toStrictEqual(stored)
        compared += 1
      }),
    )
    expect(compared).toBeGreaterThan(10)
  })
})
