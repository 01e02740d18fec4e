/** What a conversation has cost: case V11 as far as a log tells it, and updates of any shape. */

import { describe, expect, it } from 'vitest'
import { type Usage, usageTotals, usageOfEvents } from '../../src/context/usage.ts'
import type { JsonValue } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { initialState } from '../../src/state/state.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
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

/** The cache hit rate of one usage. */
const rateOf = (prompt_tokens: number, cache_read_tokens: number) =>
  usageOfEvents([stats({ a: metrics(0, { prompt_tokens, cache_read_tokens }) })]).cache_hit_rate

describe('usage', () => {
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
    expect({ ...usage, by_id: [...usage.by_id] }).toEqual({
      cost: 0.75,
      prompt_tokens: 120,
      completion_tokens: 12,
      cache_read_tokens: 50,
      cache_write_tokens: 5,
      reasoning_tokens: 3,
      context_window: 1000,
      cache_hit_rate: 50 / 120,
      by_id: [
        ['agent', expect.objectContaining({ model_name: 'm', cost: 0.5, prompt_tokens: 100 })],
        ['condenser', expect.objectContaining({ model_name: 'small', cost: 0.25, context_window: 400 })],
      ],
    })
  })

  it('takes the latest update of each usage', () => {
    const log = [stats({ a: metrics(1), b: metrics(2) }), stats({ a: metrics(3) }), stats({})]
    expect(costs(usageOfEvents(log))).toEqual([5, { a: 3, b: 2 }])
  })

  it('is nothing before the first update', () => {
    expect(usageOfEvents([])).toMatchObject({ cost: 0, prompt_tokens: 0, cache_hit_rate: null })
    expect(costs(usageTotals(initialState()))).toEqual([0, {}])
  })

  it('reads a cache that stands beside the prompt', () => {
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
  ])('counts %j as nothing', (value) => {
    const usage = usageOfEvents([update('s', 'stats', value), { kind: 'ConversationStateUpdateEvent' }])
    expect({ ...usage, by_id: null }).toEqual({
      cost: 0,
      prompt_tokens: 0,
      completion_tokens: 0,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      reasoning_tokens: 0,
      context_window: 0,
      cache_hit_rate: null,
      by_id: null,
    })
  })

  it('takes any name for a usage, and sums what is too large to be summed', () => {
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

  it('reads nothing but `stats`', () => {
    const other = update('s', 'full_state', { stats: { usage_to_metrics: { a: metrics(1) } } })
    expect(costs(usageOfEvents([other, pause('p'), user('u')]))).toEqual([0, {}])
  })
})

describe('usage of a state', () => {
  it('is that of the whole log, whatever branch HEAD is on', () => {
    const log = [user('u'), stats({ a: metrics(1) }), user('v'), stats({ a: metrics(2) }), moveHead('h', 'u')]
    expect(costs(usageTotals(replay(log)))).toEqual([2, { a: 2 }])
  })

  it('leaves out a second event under a known id', () => {
    const first = update('same', 'stats', { usage_to_metrics: { a: metrics(1) } })
    const second = update('same', 'stats', { usage_to_metrics: { a: metrics(2) } })
    expect(costs(usageTotals(replay([first, second])))).toEqual([1, { a: 1 }])
  })

  it('is refused where updates were let go', () => {
    const state = evict(replay([user('u'), stats({ a: metrics(1) })]))
    expect(() => usageTotals(state)).toThrow(expect.objectContaining({ code: 'evicted' }))
    expect(costs(usageTotals(evict(replay([user('u')]))))).toEqual([0, {}])
  })
})
