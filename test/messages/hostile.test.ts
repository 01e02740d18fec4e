/** The grammars over arbitrary logs: total, valid, deterministic, and a longer history adds at the end only (laws M, V). */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withoutBytes } from '../../src/messages/bedrock/blocks.ts'
import { isImagePart, isTextPart, type Content } from '../../src/event/shapes.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import * as library from '../../src/messages/index.ts'
import {
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
import { reduce, replay } from '../../src/state/reduce.ts'
import { initialState, type State } from '../../src/state/state.ts'
import { isPending } from '../../src/view/units.ts'
import { hostileLog, legalLog } from '../../src/testing/index.ts'
import { GRAMMARS } from './grammars.ts'
import { PNG } from './part-table.ts'

const OPTIONS: readonly MessageOptions[] = [{}, { pending: { close: 'closed' } }, { maxResultLength: 20 }]

type Results = readonly Content[] | null

const IMAGES: readonly string[] = [PNG, 'https://x.org/a.png', 'http://x.org/a.png', 'a.png']

/** The log with another call id for c1, and with other results, where they are given: what few logs hold of themselves. */
function roughened(log: readonly Fact[], id: string | null, content: Results): readonly Fact[] {
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
        .map(([log, id, content]) => roughened(log, id, content)),
    },
    { weight: 1, arbitrary: legalLog() },
  )

const RUNS = 100
/** How many logs are looked at for what they hold. */
const LOOKS = 400

/** How many cases `look` tells apart. */
const CASES = 13

/** Counts what really came up, so that a law is not held by logs that never test it. */
const seen = new Map<string, number>()
const count = (what: string, times: boolean | number): void => {
  if (times !== false && times !== 0) seen.set(what, (seen.get(what) ?? 0) + 1)
}

function look(state: State, messages: readonly NeutralMessage[]): void {
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
    'arguments that are no JSON',
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

/** All grammars look at the same logs: to draw one costs more than to write it. */
const ALL = Object.entries(GRAMMARS)

describe('every grammar', () => {
  it('M is total and valid on any log, twice the same, and touches nothing', () => {
    fc.assert(
      fc.property(anyLog(), (log) => {
        const [state, again] = [replay(log), replay(log)]
        for (const options of OPTIONS) {
          const messages = toMessages(state, options)
          if (messages.length === 0) continue
          const before = JSON.stringify(messages)
          for (const [name, { write, validate }] of ALL) {
            const request = write(messages)
            const text = JSON.stringify(request)
            expect(validate(request), name).toEqual([])
            expect(JSON.stringify(write(toMessages(again, options))), name).toBe(text)
            const plain = withoutBytes(request)
            expect(JSON.parse(JSON.stringify(plain)), name).toEqual(plain)
            expect(JSON.stringify(messages), name).toBe(before)
          }
        }
      }),
      { numRuns: RUNS },
    )
  })

  it('V a longer history changes nothing before its end', () => {
    let grown = 0
    fc.assert(
      fc.property(anyLog(), (log) => {
        let state = initialState()
        for (const fact of log) {
          const next = reduce(state, fact)
          if (grows(state, next)) {
            grown += 1
            const [shorter, longer] = [toMessages(state), toMessages(next)]
            for (const [, { write }] of ALL) {
              const sent = write(longer)
              // Words stand for a call of the provider's own once something else has come than its result.
              if (JSON.stringify(sent).includes('[server_tool_use: ')) continue
              expectPrefix(partsOf(write(shorter)), partsOf(sent))
            }
          }
          state = next
        }
      }),
      { numRuns: 60 },
    )
    expect(grown).toBeGreaterThan(500)
  })
})

/**
 * Whether the law speaks of two states: the second has the units of the first, untouched, and perhaps more; the prompt is the same; and
 * there is something beside the prompt, since the sentence that opens a history without any other message gives way to the first.
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
 * Every message of the first stands in the second; the last may have more parts there, and a word that stands at the end only so that a
 * reply does not end the list gives way to what comes.
 */
function expectPrefix(shorter: readonly unknown[][], longer: readonly unknown[][]): void {
  if (JSON.stringify(shorter.at(-1)).includes('[Go on.]')) return expectPrefix(shorter.slice(0, -1), longer)
  const end = shorter.length - 1
  expect(longer.slice(0, end)).toEqual(shorter.slice(0, end))
  const last = shorter[end] ?? []
  expect((longer[end] ?? []).slice(0, last.length)).toEqual(last)
}

const argumentsOf = (call: ChatToolCall): string =>
  call.type === 'custom' ? call.custom.input : call.function.arguments

describe('arguments', () => {
  it('M that are the text of an object reach Chat and Responses byte for byte', () => {
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
            expect(Object.keys(JSON.parse(sent))).toEqual(input[index]?.trim() === '' ? [] : ['_raw'])
        }
      }),
      { numRuns: 120 },
    )
  })
})

describe('ids', () => {
  it('M of calls are the same in all grammars for calls that all of them take', () => {
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
          const taken = sent.slice(0, index).includes(id)
          if (!first.has(id) && /^[a-zA-Z0-9_-]{1,40}$/.test(id) && !taken) expect(sent[index]).toBe(id)
          first.add(id)
        }
      }),
      { numRuns: 80 },
    )
  })
})

describe('the logs of this file', () => {
  it('hold every hostile case in at least one of twenty', () => {
    seen.clear()
    fc.assert(
      fc.property(anyLog(), (log) => {
        const state = replay(log)
        look(state, toMessages(state, { pending: { close: 'closed' } }))
      }),
      { numRuns: LOOKS, seed: 7 },
    )
    expect([...seen].filter(([, times]) => times < LOOKS / 20)).toEqual([])
    expect(seen.size).toBe(CASES)
  })
})

it('every reader reads a reply of any nesting without an error', () => {
  let deep: unknown = 1
  for (let level = 0; level < 20_000; level += 1) deep = level % 2 === 0 ? { a: deep } : [deep]
  const call = { id: 't', name: 'f' }
  const tried: Readonly<
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
  expect(Object.keys(tried).toSorted()).toEqual(
    Object.keys(library)
      .filter((name) => /^from[A-Z]/.test(name))
      .toSorted(),
  )
  for (const [name, [read, reply]] of Object.entries(tried))
    expect(read({ ...reply, usage: deep } as never).events.length, name).toBeGreaterThan(0)
})
