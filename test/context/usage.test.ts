/**
 * Usage of a conversation (law K9 and case V11): the sums over state updates and replies, for records of any
 * shape.
 */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type TokenCounts, type Usage, usageTotals, usageOfEvents } from '../../src/context/usage.ts'
import { type RecordedUsage, shortUsage, tokensIn, tokensOfReply } from '../../src/messages/reply-usage.ts'
import type { JsonObject, JsonValue } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { initialState } from '../../src/state/state.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
import { jsonValue } from '../../src/testing/json.ts'
import { moveHead, pause, update, user } from '../build.ts'

const metrics = (cost: JsonValue, tokens: JsonValue = {}, model: JsonValue = 'm'): JsonValue => ({
  model_name: model,
  accumulated_cost: cost,
  accumulated_token_usage: tokens,
})
let next = 0
const stats = (usages: JsonValue): Event => update(`s${next++}`, 'stats', { usage_to_metrics: usages })
const costs = ({ cost, by_id }: Usage) => [
  cost,
  Object.fromEntries([...by_id].map(([id, each]) => [id, each.cost])),
]

/** The cache hit rate of one usage record. */
const rateOf = (prompt_tokens: number, cache_read_tokens: number) =>
  usageOfEvents([stats({ a: metrics(0, { prompt_tokens, cache_read_tokens }) })]).cache_hit_rate

describe('usageOfEvents', () => {
  it('V11 sums the usages', () => {
    const agent = metrics(0.5, {
      prompt_tokens: 100,
      completion_tokens: 10,
      cache_read_tokens: 50,
      cache_write_tokens: 5,
      reasoning_tokens: 3,
      context_window: 1000,
    })
    const condenser = metrics(0.25, { prompt_tokens: 20, completion_tokens: 2, context_window: 400 }, 'small')
    const usage = usageOfEvents([stats({ agent, condenser })])
    expect({ ...usage, by_id: [...usage.by_id], by_model: [...usage.by_model.keys()] }).toEqual({
      cost: 0.75,
      prompt_tokens: 120,
      completion_tokens: 12,
      cache_read_tokens: 50,
      cache_write_tokens: 5,
      reasoning_tokens: 3,
      context_window: 1000,
      cache_hit_rate: 50 / 120,
      by_model: ['m', 'small'],
      by_id: [
        ['agent', expect.objectContaining({ model_name: 'm', cost: 0.5, prompt_tokens: 100 })],
        ['condenser', expect.objectContaining({ model_name: 'small', cost: 0.25, context_window: 400 })],
      ],
    })
  })

  it('uses the latest update of each usage id', () => {
    const log = [stats({ a: metrics(1), b: metrics(2) }), stats({ a: metrics(3) }), stats({})]
    expect(costs(usageOfEvents(log))).toEqual([5, { a: 3, b: 2 }])
  })

  it('returns zero before the first update', () => {
    expect(usageOfEvents([])).toMatchObject({ cost: 0, prompt_tokens: 0, cache_hit_rate: null })
    expect(costs(usageTotals(initialState()))).toEqual([0, {}])
  })

  it('computes the cache hit rate, also if the prompt tokens exclude the cached ones', () => {
    expect([rateOf(100, 99), rateOf(100, 100), rateOf(100, 101)]).toEqual([0.99, 1, 101 / 201])
    expect(rateOf(0, 0)).toBe(null)
  })

  it.each<JsonValue>([
    null,
    7,
    'x',
    [],
    {},
    { usage_to_metrics: null },
    { usage_to_metrics: [metrics(1)] },
    { usage_to_metrics: { a: null, b: 7, c: [] } },
    { usage_to_metrics: { a: metrics('1', { prompt_tokens: '1', completion_tokens: -1 }) } },
    { usage_to_metrics: { a: metrics(-1, [1]), b: metrics(null, null) } },
  ])('counts %j as zero', (value) => {
    const usage = usageOfEvents([update('s', 'stats', value), { kind: 'ConversationStateUpdateEvent' }])
    expect({ ...usage, by_id: null, by_model: null }).toEqual({
      cost: 0,
      prompt_tokens: 0,
      completion_tokens: 0,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      reasoning_tokens: 0,
      context_window: 0,
      cache_hit_rate: null,
      by_id: null,
      by_model: null,
    })
  })

  it('accepts any usage id, and limits sums to the largest number', () => {
    const value = JSON.parse(
      `{"__proto__":${JSON.stringify(metrics(1))},"constructor":${JSON.stringify(metrics(2))}}`,
    )
    expect(usageOfEvents([stats(value as JsonValue)])).toMatchObject({ cost: 3 })
    const huge = metrics(1e308, { prompt_tokens: 1e308, cache_read_tokens: 1e308 })
    const usage = usageOfEvents([stats({ a: huge, b: huge })])
    expect(usage).toMatchObject({
      cost: Number.MAX_VALUE,
      prompt_tokens: Number.MAX_VALUE,
      cache_hit_rate: 1,
    })
  })

  it('reads only `stats` updates', () => {
    const other = update('s', 'full_state', { stats: { usage_to_metrics: { a: metrics(1) } } })
    expect(costs(usageOfEvents([other, pause('p'), user('u')]))).toEqual([0, {}])
  })
})

describe('usageTotals', () => {
  it.each([NaN, -1, 0.5])('rejects the position %d', (from) => {
    expect(() => usageTotals(initialState(), { from })).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    )
  })

  it('counts the whole log, whichever branch HEAD is on', () => {
    const log = [user('u'), stats({ a: metrics(1) }), user('v'), stats({ a: metrics(2) }), moveHead('h', 'u')]
    expect(costs(usageTotals(replay(log)))).toEqual([2, { a: 2 }])
  })

  it('ignores a second event with a known id', () => {
    const first = update('same', 'stats', { usage_to_metrics: { a: metrics(1) } })
    const second = update('same', 'stats', { usage_to_metrics: { a: metrics(2) } })
    expect(costs(usageTotals(replay([first, second])))).toEqual([1, { a: 1 }])
  })

  it('throws if updates were evicted', () => {
    const state = evict(replay([user('u'), stats({ a: metrics(1) })]))
    expect(() => usageTotals(state)).toThrow(expect.objectContaining({ code: 'evicted' }))
    expect(costs(usageTotals(evict(replay([user('u')]))))).toEqual([0, {}])
  })
})

/** Tokens of one reply. */
interface ReplyTokens {
  readonly fresh: number
  readonly read: number
  readonly written: number
  readonly text: number
  readonly reasoning: number
}

/** Each provider's usage format, including what it omits. */
const USAGE_FORMATS: Readonly<Record<string, (replyTokens: ReplyTokens) => JsonObject>> = {
  anthropic: ({ fresh, read, written, text, reasoning }) => ({
    input_tokens: fresh,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    output_tokens: text + reasoning,
    output_tokens_details: { thinking_tokens: reasoning },
    service_tier: 'standard',
  }),
  'openai-chat': ({ fresh, read, written, text, reasoning }) => ({
    prompt_tokens: fresh + read + written,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    completion_tokens: text + reasoning,
    completion_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: fresh + read + written + text + reasoning,
  }),
  xai: ({ fresh, read, written, text, reasoning }) => ({
    prompt_tokens: fresh + read + written,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    completion_tokens: text,
    completion_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: fresh + read + written + text + reasoning,
  }),
  litellm: ({ fresh, read, written, text, reasoning }) => ({
    prompt_tokens: fresh + read + written,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    completion_tokens: text + reasoning,
    completion_tokens_details: { reasoning_tokens: reasoning },
  }),
  'openai-responses': ({ fresh, read, written, text, reasoning }) => ({
    input_tokens: fresh + read + written,
    input_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    output_tokens: text + reasoning,
    output_tokens_details: { reasoning_tokens: reasoning },
  }),
  'ai-sdk': ({ fresh, read, written, text, reasoning }) => ({
    inputTokens: fresh + read + written,
    inputTokenDetails: { noCacheTokens: fresh, cacheReadTokens: read, cacheWriteTokens: written },
    outputTokens: text + reasoning,
    outputTokenDetails: { textTokens: text, reasoningTokens: reasoning },
  }),
  google: ({ fresh, read, written, text, reasoning }) => ({
    promptTokenCount: fresh + read,
    toolUsePromptTokenCount: written,
    cachedContentTokenCount: read,
    candidatesTokenCount: text,
    thoughtsTokenCount: reasoning,
  }),
  bedrock: ({ fresh, read, written, text, reasoning }) => ({
    inputTokens: fresh,
    cacheReadInputTokens: read,
    cacheWriteInputTokens: written,
    outputTokens: text + reasoning,
    outputTokenDetails: { reasoningTokens: reasoning },
    totalTokens: fresh + read + written + text + reasoning,
  }),
  interactions: ({ fresh, read, written, text, reasoning }) => ({
    total_input_tokens: fresh + read,
    total_tool_use_tokens: written,
    total_cached_tokens: read,
    total_output_tokens: text,
    total_thought_tokens: reasoning,
    total_tokens: fresh + read + text + reasoning,
  }),
}

const countsOf = ({ fresh, read, written, text, reasoning }: ReplyTokens, grammar: string): TokenCounts => ({
  prompt_tokens: fresh + read + written,
  completion_tokens: text + reasoning,
  cache_read_tokens: read,
  cache_write_tokens: grammar === 'google' || grammar === 'interactions' ? 0 : written,
  reasoning_tokens: reasoning,
  context_window: 0,
})

const sumOf = (all: readonly TokenCounts[]): TokenCounts => {
  const sum = (field: keyof TokenCounts): number => all.reduce((total, each) => total + each[field], 0)
  return {
    prompt_tokens: sum('prompt_tokens'),
    completion_tokens: sum('completion_tokens'),
    cache_read_tokens: sum('cache_read_tokens'),
    cache_write_tokens: sum('cache_write_tokens'),
    reasoning_tokens: sum('reasoning_tokens'),
    context_window: Math.max(0, ...all.map(({ context_window }) => context_window)),
  }
}

/** A reply as a message or as calls; the first event has the record. */
function replyEvents(number: number, calls: number, response: string, reply: JsonObject): Event[] {
  if (calls === 0)
    return [
      {
        kind: 'MessageEvent',
        id: `${number}`,
        source: 'agent',
        llm_response_id: response,
        llm_message: { role: 'assistant', content: [{ text: 'hi' }], reply } as never,
      },
    ]
  return Array.from({ length: calls }, (_, index) => ({
    kind: 'ActionEvent',
    id: `${number}.${index}`,
    thought: [],
    action: null,
    tool_name: 'ls',
    tool_call_id: `c${number}.${index}`,
    tool_call: {
      id: `c${number}.${index}`,
      name: 'ls',
      arguments: '{}',
      origin: 'completion',
      ...(index === 0 ? { reply } : {}),
    },
    llm_response_id: response,
  }))
}

/** The first event of each reply, then the second of each, and so on. */
function interleaved(logs: readonly (readonly Event[])[]): Event[] {
  const limit = Math.max(0, ...logs.map(({ length }) => length))
  return Array.from({ length: limit }, (_, index) =>
    logs.flatMap((events) => events.slice(index, index + 1)),
  ).flat()
}

function usageIn(grammar: string, replyTokens: ReplyTokens, short: boolean): RecordedUsage {
  const usage = USAGE_FORMATS[grammar]?.(replyTokens) ?? {}
  // A record without counts means zero tokens.
  return short ? { tokens: [], ...shortUsage(usage) } : { usage }
}

const tokens = fc.nat(100_000)
const recordedReply = fc.record({
  grammar: fc.constantFrom(...Object.keys(USAGE_FORMATS)),
  model: fc.constantFrom('a', 'b', null),
  replyTokens: fc.record({ fresh: tokens, read: tokens, written: tokens, text: tokens, reasoning: tokens }),
  calls: fc.nat(3),
  /** Some servers send the same id with every reply, or no id. */
  response: fc.constantFrom('always the same', '', null),
  /** In the short form that readers record. */
  short: fc.boolean(),
})

const countsIn = (usage: TokenCounts): TokenCounts => sumOf([usage])

describe('usage of replies', () => {
  it('K9 each reply counts once, for its model, unless a later update includes it', () => {
    fc.assert(
      fc.property(fc.array(recordedReply), fc.nat(8), (replies, index) => {
        const logs = replies.map(({ grammar, model, replyTokens, calls, response, short }, number) =>
          replyEvents(number, calls, response ?? `r${number}`, {
            grammar,
            ...(model === null ? {} : { model }),
            ...usageIn(grammar, replyTokens, short),
          }),
        )
        const counted = replies.map(({ grammar, replyTokens }) => countsOf(replyTokens, grammar))
        const usage = usageTotals(replay(logs.flat()))
        expect(countsIn(usage)).toEqual(sumOf(counted))
        expect(countsIn(usageOfEvents(interleaved(logs)))).toEqual(sumOf(counted))
        for (const name of ['a', 'b', null]) {
          const modelCounts = replies
            .filter(({ model }) => model === name)
            .map(({ grammar, replyTokens }) => countsOf(replyTokens, grammar))
          expect(countsIn(usage.by_model.get(name) ?? sumOf([]))).toEqual(sumOf(modelCounts))
        }
        // A fork counts only what follows its start.
        const copied = logs.slice(0, index).flat().length
        const forkUsage = usageTotals(replay(logs.flat()), { from: copied })
        expect(countsIn(forkUsage)).toEqual(sumOf(counted.slice(index)))
        // A stats update is a running total, including earlier replies.
        const statsUpdate = stats({ agent: metrics(1, { prompt_tokens: 7 }) })
        const mixed = usageOfEvents([
          ...logs.slice(0, index).flat(),
          statsUpdate,
          ...logs.slice(index).flat(),
        ])
        expect(mixed.prompt_tokens).toBe(7 + sumOf(counted.slice(index)).prompt_tokens)
      }),
    )
  })

  it('K9 invalid counts are zero, and sums never exceed the largest number', () => {
    const fields = Object.values(USAGE_FORMATS).flatMap((format) =>
      Object.keys(format({ fresh: 0, read: 0, written: 0, text: 0, reasoning: 0 })),
    )
    const value = fc.oneof(
      jsonValue,
      fc.constantFrom(-1, 1e308, '7', null, { cached_tokens: -1 }, { reasoning_tokens: '1' }),
    )
    const usage = fc.oneof(fc.dictionary(fc.constantFrom(...fields, 'iterations', '__proto__'), value), value)
    fc.assert(
      fc.property(fc.array(usage), (usages) => {
        const events = usages.flatMap((each, number) =>
          replyEvents(number, 0, '', { usage: each as JsonObject }),
        )
        for (const each of usages.filter(
          (one) => typeof one === 'object' && one !== null && !Array.isArray(one),
        )) {
          const short = shortUsage(each as JsonObject)
          expect(tokensIn({ tokens: [], ...short })).toEqual(tokensOfReply(each as JsonObject))
          const more = short.usage ?? {}
          expect(shortUsage(more).usage ?? {}).toEqual(more)
        }
        for (const count of Object.values(countsIn(usageOfEvents(events)))) {
          expect(count).toBeGreaterThanOrEqual(0)
          expect(count).toBeLessThanOrEqual(Number.MAX_VALUE)
        }
      }),
    )
  })

  it('the tokens of a compaction by Anthropic are added', () => {
    const iterations = [
      { type: 'compaction', input_tokens: 5, output_tokens: 2 },
      { type: 'message', input_tokens: 10, output_tokens: 1 },
    ]
    const usage = { input_tokens: 10, output_tokens: 1, iterations }
    expect(usageOfEvents(replyEvents(0, 0, '', { usage }))).toMatchObject({
      prompt_tokens: 15,
      completion_tokens: 3,
    })
  })

  it('usageTotals throws if replies were evicted', () => {
    const log = [
      user('u'),
      ...replyEvents(0, 0, '', { usage: { input_tokens: 1 } }),
      { kind: 'Condensation', id: 'k', llm_response_id: 'r', forgotten_event_ids: ['0'] } as const,
    ]
    expect(() => usageTotals(evict(replay(log)))).toThrow(expect.objectContaining({ code: 'evicted' }))
  })
})
