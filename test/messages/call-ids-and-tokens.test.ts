/** Repeated call ids in a reply, and token counts in a stream (design D35). */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { collectAnthropic, fromAnthropic } from '../../src/messages/anthropic/read.ts'
import { collectGoogle, fromGoogle } from '../../src/messages/google/read.ts'
import { collectOpenAIChat, fromOpenAIChat } from '../../src/messages/openai-chat/read.ts'
import { fromOpenAIResponses } from '../../src/messages/openai-responses/read.ts'
import type { Reply, ReplyCollector } from '../../src/messages/reply.ts'
import { laterUsage, shortUsage, tokensOfReply } from '../../src/messages/reply-usage.ts'

interface Call {
  readonly id: string
  readonly name: string
  readonly args: string
}

/** The id, tool and arguments of each call, and whether it is executed. */
const callsOf = ({ events }: Reply): unknown[] =>
  events.flatMap((event) =>
    event.kind === 'ActionEvent'
      ? [[event.tool_call_id, event.tool_name, event.tool_call.arguments, event.action !== null]]
      : [],
  )

const responses = (calls: readonly Call[]): Reply =>
  fromOpenAIResponses({
    output: calls.map(({ id, name, args }, index) => ({
      type: 'function_call',
      id: `fc_${index}`,
      call_id: id,
      name,
      arguments: args,
      status: 'completed',
    })),
  })

const chat = (calls: readonly Call[]): Reply =>
  fromOpenAIChat({
    choices: [
      {
        finish_reason: 'tool_calls',
        message: {
          tool_calls: calls.map(({ id, name, args }) => ({
            id,
            type: 'function',
            function: { name, arguments: args },
          })),
        },
      },
    ],
  })

const anthropic = (calls: readonly Call[]): Reply =>
  fromAnthropic({
    content: calls.map(({ id, name, args }) => ({
      type: 'tool_use',
      id,
      name,
      input: args === '' ? {} : JSON.parse(args),
    })),
  })

const ls = (args: string, id = 'call_1'): Call => ({ id, name: 'ls', args })
const A = '{"path":"a"}'
const B = '{"path":"bb"}'

describe('D35: calls with the same id in a reply', () => {
  it.each([
    ['the second has no arguments', [ls(A), ls('')], A],
    ['the first has no arguments', [ls(''), ls(A)], A],
    ['the second is an empty object', [ls(A), ls('{}')], A],
    ['the first is truncated', [ls('{"path":'), ls(A)], A],
    ['the second is truncated', [ls(A), ls('{"pa')], A],
    ['both are the same', [ls(A), ls(A)], A],
    ['the arguments differ', [ls(A), ls(B)], B],
    ['the tools differ', [ls(A), { ...ls(B), name: 'rm' }], B],
    ['the id appears three times', [ls(''), ls(A), ls('{}')], A],
  ])('become one call in OpenAI Responses: %s', (_, calls, args) => {
    expect(callsOf(responses(calls))).toEqual([['call_1', expect.any(String), args, true]])
  })

  it('are not executed with empty arguments if other arguments are truncated', () => {
    const reply = responses([ls(''), ls('{"path":')])
    expect(callsOf(reply)).toEqual([['call_1', 'ls', '{"path":', false]])
  })

  it.each([
    ['OpenAI Chat', chat],
    ['Anthropic', anthropic],
  ])('become one call in %s if one repeats the other, otherwise two', (_, read) => {
    expect(callsOf(read([ls(A), ls(A)]))).toHaveLength(1)
    expect(callsOf(read([ls(''), ls(A)]))).toEqual([['call_1', 'ls', A, true]])
    expect(callsOf(read([ls(A), ls(B)]))).toEqual([
      ['call_1', 'ls', A, true],
      ['call_1_2', 'ls', B, true],
    ])
    expect(callsOf(read([ls(A, ''), ls(A, '')]))).toHaveLength(2)
  })

  it('keep the signature that only one of them has', () => {
    const signed = { functionCall: { id: 'a', name: 'ls', args: { n: 1 } }, thoughtSignature: 'c2ln' }
    const unsigned = { functionCall: signed.functionCall }
    for (const parts of [
      [signed, unsigned],
      [unsigned, signed],
      [signed, { ...unsigned, thoughtSignature: '' }],
      [signed, { functionCall: { ...signed.functionCall, args: {} }, thoughtSignature: 'b3Ro' }],
    ]) {
      const { events } = fromGoogle({ candidates: [{ content: { parts }, finishReason: 'STOP' }] } as never)
      expect(events).toHaveLength(1)
      expect(events).toMatchObject([
        { tool_call: { reply: { parts: [{ call: 0, more: { thoughtSignature: 'c2ln' } }] } } },
      ])
    }
  })

  it('are executed once per id, with arguments from the provider', () => {
    const EMPTY = ['', '{}', 'null']
    const call = fc.record({
      id: fc.constantFrom('a', 'b', 'c'),
      name: fc.constantFrom('ls', 'rm'),
      args: fc.constantFrom('', '{}', A, B, '{"pa', 'null'),
    })
    fc.assert(
      fc.property(fc.array(call, { maxLength: 8 }), (calls) => {
        const read = callsOf(responses(calls)) as [string, string, string, boolean][]
        expect(read.map(([id]) => id).toSorted()).toEqual([...new Set(calls.map(({ id }) => id))].toSorted())
        for (const [id, name, args, isExecuted] of read) {
          const same = calls.filter((each) => each.id === id)
          expect(same).toContainEqual({ id, name, args })
          if (isExecuted && EMPTY.includes(args))
            expect(same.every((each) => EMPTY.includes(each.args))).toBe(true)
        }
      }),
    )
  })
})

const collected = (collector: ReplyCollector, events: readonly object[]): readonly number[] => {
  for (const event of events) collector.push(event)
  const [event] = collector.end().events as readonly Event[]
  const record = event?.kind === 'MessageEvent' ? (event.llm_message as { reply?: object }).reply : {}
  return (record as { tokens?: readonly number[] }).tokens ?? []
}

const anthropicStream = (first: object, last: object): readonly object[] => [
  { type: 'message_start', message: { id: 'm', content: [], usage: first } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: last },
]
const chatStream = (first: object, last: object): readonly object[] => [
  { id: 'c', choices: [{ index: 0, delta: { content: 'hi' } }], usage: first },
  { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: last },
]
const googleStream = (first: object, last: object): readonly object[] => [
  { candidates: [{ content: { parts: [{ text: 'hi' }] } }], usageMetadata: first },
  { candidates: [{ finishReason: 'STOP' }], usageMetadata: last },
]

describe('D35: token counts in a stream', () => {
  it.each([
    ['a later 0', { input_tokens: 27 }, { input_tokens: 0, output_tokens: 47 }, [27, 47]],
    [
      'a later null',
      { input_tokens: 27, output_tokens: 1 },
      { input_tokens: null, output_tokens: 47 },
      [27, 47],
    ],
    [
      'only in the last event',
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: 27, output_tokens: 47 },
      [27, 47],
    ],
    ['repeated', { input_tokens: 27, output_tokens: 47 }, { input_tokens: 27, output_tokens: 47 }, [27, 47]],
    [
      'the whole input, then only cached input',
      { input_tokens: 27 },
      { input_tokens: 0, output_tokens: 47, cache_read_input_tokens: 27 },
      [27, 47, 27],
    ],
    [
      'cached tokens',
      { input_tokens: 27, cache_read_input_tokens: 100 },
      { input_tokens: 0, output_tokens: 47 },
      [127, 47, 100],
    ],
  ])('are merged for Anthropic: %s', (_, first, last, tokens) => {
    expect(collected(collectAnthropic(), anthropicStream(first, last))).toEqual(tokens)
  })

  it.each([
    [
      'a later 0',
      { prompt_tokens: 9, completion_tokens: 4 },
      { prompt_tokens: 0, completion_tokens: 5 },
      [9, 5],
    ],
    [
      'later nulls',
      { prompt_tokens: 9, completion_tokens: 4 },
      { prompt_tokens: null, completion_tokens: null },
      [9, 4],
    ],
    [
      'cached tokens in details',
      { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 3 } },
      { completion_tokens: 4, prompt_tokens_details: { cached_tokens: 0 } },
      [9, 4, 3],
    ],
    [
      'cached tokens of Kimi',
      {},
      { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13, cached_tokens: 3 },
      [9, 4, 3],
    ],
  ])('are merged for OpenAI Chat: %s', (_, first, last, tokens) => {
    expect(collected(collectOpenAIChat(), chatStream(first, last))).toEqual(tokens)
  })

  it('are recorded once if version 6 of the AI SDK reports them twice', () => {
    const usage = { inputTokens: 9, outputTokens: 4, cachedInputTokens: 3, reasoningTokens: 2 }
    const details = { inputTokenDetails: { cacheReadTokens: 3 }, outputTokenDetails: { reasoningTokens: 2 } }
    expect(shortUsage({ ...usage, ...details })).toEqual({ tokens: [9, 4, 3, 0, 2] })
  })

  it('are merged for Gemini: a later 0', () => {
    const [first, last] = [{ promptTokenCount: 9 }, { promptTokenCount: 0, candidatesTokenCount: 4 }]
    expect(collected(collectGoogle(), googleStream(first, last))).toEqual([9, 4])
  })

  it('never return to 0 after a positive value', () => {
    const count = fc.constantFrom(0, 1, 7, 90, null, '', undefined)
    const usage = fc.record({ input_tokens: count, output_tokens: count, cache_read_input_tokens: count })
    fc.assert(
      fc.property(fc.array(usage, { maxLength: 6 }), (usages) => {
        let merged = laterUsage({}, {})
        for (const each of usages) {
          const next = laterUsage(merged, each)
          for (const [field, value] of Object.entries(merged))
            if (typeof value === 'number' && value > 0) expect(next[field]).toBeGreaterThan(0)
          merged = next
        }
        const last = (field: string): number =>
          Number(usages.map((each) => (each as Record<string, unknown>)[field]).findLast(Boolean) ?? 0)
        expect(tokensOfReply(merged).output).toBe(last('output_tokens'))
      }),
    )
  })
})
