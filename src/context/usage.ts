/** Tokens and cost of a conversation, for each usage and in all. */

import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { Event } from '../event/types.ts'
import type { State } from '../state/state.ts'
import { loadedEvent } from './loaded-event.ts'

/** Tokens by what they were for, under the names of the wire. */
export interface TokenCounts {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly reasoning_tokens: number
  /** The widest context window, not a sum. */
  readonly context_window: number
}

/** What one use of a model has cost. */
export interface ModelUsage extends TokenCounts {
  /** Null where no update says it. */
  readonly model_name: string | null
  /** In the currency of the producer, which is US dollars for the public one. */
  readonly cost: number
}

/** What all uses together have cost, and each of them by its usage id, in the order in which they were first named. */
export interface Usage extends TokenCounts {
  readonly cost: number
  /** The share of the input that was read from a cache, 0 to 1; null while there was no input. */
  readonly cache_hit_rate: number | null
  readonly by_id: ReadonlyMap<string, ModelUsage>
}

/**
 * The totals that some events give, in log order: `ConversationStateUpdateEvent`s with key `stats`. Of each usage id
 * the latest update that names it counts, since updates are running totals. A number that is none, or below 0, counts
 * as 0, and what has another shape is passed over. O(events + size of the updates).
 *
 * @example
 * const value = { usage_to_metrics: { agent: { accumulated_cost: 0.5, accumulated_token_usage: { prompt_tokens: 10 } } } }
 * const { cost, prompt_tokens } = usageOfEvents([{ kind: 'ConversationStateUpdateEvent', key: 'stats', value }])
 * [cost, prompt_tokens] // [0.5, 10]
 */
export function usageOfEvents(events: Iterable<Event>): Usage {
  const latest = new Map<string, JsonObject>()
  for (const event of events) {
    if (event.kind !== 'ConversationStateUpdateEvent' || event.key !== 'stats') continue
    const metrics = objectIn(event.value, 'usage_to_metrics')
    for (const [id, value] of Object.entries(metrics)) if (isObject(value)) latest.set(id, value)
  }
  return combined(new Map(Array.from(latest, ([id, metrics]) => [id, usageOf(metrics)])))
}

/**
 * `usageOfEvents` of the whole log of a state: what was spent on a branch that was left is spent too. O(n).
 * @throws ColloquyError `evicted` when the state comes from a snapshot or `evict`, which dropped state updates: give
 * `usageOfEvents` the events that the store finds by their kind.
 * @example
 * usageTotals(initialState()).cost // 0
 */
export const usageTotals = ({ log }: State): Usage => usageOfEvents(updatesIn(log.entries))

function* updatesIn(entries: State['log']['entries']): IterableIterator<Event> {
  for (const entry of entries) {
    // A second event under a known id is no fact.
    const event = entry.inTree ? loadedEvent(entry, ['ConversationStateUpdateEvent']) : null
    if (event !== null) yield event
  }
}

function usageOf(metrics: JsonObject): ModelUsage {
  const usage = objectIn(metrics, 'accumulated_token_usage')
  const name = metrics['model_name']
  return {
    model_name: typeof name === 'string' ? name : null,
    cost: amount(metrics['accumulated_cost']),
    prompt_tokens: amount(usage['prompt_tokens']),
    completion_tokens: amount(usage['completion_tokens']),
    cache_read_tokens: amount(usage['cache_read_tokens']),
    cache_write_tokens: amount(usage['cache_write_tokens']),
    reasoning_tokens: amount(usage['reasoning_tokens']),
    context_window: amount(usage['context_window']),
  }
}

function combined(by_id: ReadonlyMap<string, ModelUsage>): Usage {
  const all = [...by_id.values()]
  const sum = (field: keyof TokenCounts | 'cost') =>
    all.reduce((total, each) => finite(total + each[field]), 0)
  const [prompt_tokens, cache_read_tokens] = [sum('prompt_tokens'), sum('cache_read_tokens')]
  // Some providers count what a cache gave as part of the prompt, others beside it.
  const input = cache_read_tokens > prompt_tokens ? prompt_tokens + cache_read_tokens : prompt_tokens
  return {
    cost: sum('cost'),
    prompt_tokens,
    completion_tokens: sum('completion_tokens'),
    cache_read_tokens,
    cache_write_tokens: sum('cache_write_tokens'),
    reasoning_tokens: sum('reasoning_tokens'),
    context_window: all.reduce((most, each) => Math.max(most, each.context_window), 0),
    cache_hit_rate: input === 0 ? null : cache_read_tokens / finite(input),
    by_id,
  }
}

/** An object inside a value, or one without fields. */
function objectIn(value: JsonValue | undefined, key: string): JsonObject {
  const inner = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return isObject(inner) ? inner : {}
}

const amount = (value: JsonValue | undefined): number =>
  typeof value === 'number' && value > 0 ? finite(value) : 0

/** Sums of hostile numbers stay numbers that JSON can write. */
const finite = (value: number): number => Math.min(value, Number.MAX_VALUE)
