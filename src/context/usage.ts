import { checkNumber, checkOptionNames } from '../event/check-value.ts'
import { isObject } from '../event/json.ts'
import { isOfReply, replyOf } from '../event/reply.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { Event } from '../event/types.ts'
import { amount, finite, type ReplyTokens, tokensIn } from '../messages/reply-usage.ts'
import { objectOf } from '../messages/text.ts'
import type { State, StateTree } from '../state/state.ts'
import { loadedEvent } from '../log/entry.ts'

/** Token counts by purpose, with the field names of `stats` updates. */
export interface TokenCounts {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly reasoning_tokens: number
  /** Maximum tokens of the model's requests; 0 if unknown. */
  readonly context_window: number
}

/** Usage of one model or usage id. */
export interface ModelUsage extends TokenCounts {
  readonly model_name: string | null
  /** Sum of the reported costs, usually in US dollars. Records of replies have no cost, and count as 0. */
  readonly cost: number
}

/** Tokens and costs. */
export interface Usage extends TokenCounts {
  readonly cost: number
  /** Share of the input that was read from a cache, 0 to 1; null without input. */
  readonly cache_hit_rate: number | null
  /** Usage by usage id, such as `agent`, without the records of replies, which have no usage id. */
  readonly by_id: ReadonlyMap<string, ModelUsage>
  /** Usage by model; the key null is usage without a model. */
  readonly by_model: ReadonlyMap<string | null, ModelUsage>
}

/**
 * Returns the tokens and costs that events report. State updates with the key `stats` have running totals;
 * for each usage id, the latest total counts. A reply's record (`reply.tokens`, `reply.usage`) counts only if
 * no `stats` update follows, because the totals of a later update include it. Values that are not positive
 * numbers count as 0. O(events + size of the updates).
 * @example
 * const value = { usage_to_metrics: { agent: { accumulated_cost: 0.5,
 *   accumulated_token_usage: { prompt_tokens: 10 } } } }
 * const { cost, prompt_tokens } = usageOfEvents([{ kind: 'ConversationStateUpdateEvent', key: 'stats', value }])
 * [cost, prompt_tokens] // [0.5, 10]
 */
export function usageOfEvents(events: Iterable<Event>): Usage {
  const count = usageCount()
  for (const event of events) count.add(event)
  return count.usage()
}

/** Counts usage event by event. Adding an event costs O(its size). */
export interface UsageCount {
  /** Adds the usage that an event records. Call it in log order. */
  readonly add: (event: Event) => void
  readonly usage: () => Usage
}

export function usageCount(): UsageCount {
  const latest = new Map<string, JsonObject>()
  const replies = new Map<string | null, ModelUsage>()
  return {
    add(event) {
      if (event.kind === 'ConversationStateUpdateEvent' && event.key === 'stats') {
        const metrics = Object.entries(objectOf(objectOf(event.value)['usage_to_metrics']))
        for (const [id, value] of metrics) if (isObject(value)) latest.set(id, value)
        if (metrics.some(([, value]) => isObject(value))) replies.clear()
      }
      if (!isOfReply(event)) return
      const record = replyOf(event)
      const tokens = record === null ? null : tokensIn(record)
      if (tokens === null) return
      const reply = usageOfReply(tokens, record?.model)
      const { model_name } = reply
      const sum = replies.get(model_name)
      replies.set(model_name, sum === undefined ? reply : { model_name, ...totalOf([sum, reply]) })
    },
    usage() {
      const byId = new Map(Array.from(latest, ([id, metrics]) => [id, modelUsage(metrics)]))
      return combined(byId, [...byId.values(), ...replies.values()])
    },
  }
}

/** Options of `usageTotals`. */
export interface UsageOptions {
  /** Position of the first event that counts. For a fork, pass the number of copied events. Default: 0. */
  readonly from?: number
}

/**
 * Returns the usage of a state's whole log, including branches that HEAD has left. O(n).
 * @throws ColloquyError `evicted` when a snapshot or `evict` left out state updates or replies. Then pass the
 *   events from the store to `usageOfEvents`. `invalid_argument` for an invalid number.
 * @example
 * usageTotals(initialState()).cost // 0
 */
export function usageTotals({ log }: State, options: UsageOptions = {}): Usage {
  checkOptionNames(options, 'from')
  return usageOfEvents(eventsIn(log.entries, checkNumber('from', options.from ?? 0, { least: 0 })))
}

/** Usage of a conversation without and with its subagents. */
export interface TreeUsage {
  readonly alone: Usage
  readonly withChildren: Usage
}

/**
 * Returns the usage of a conversation, and the sum with its subagents. O(n). @throws ColloquyError `evicted`,
 * see `usageTotals`.
 * @example
 * const tree = { id: 'c', title: null, actionId: null, state: initialState(), children: [] }
 * usageOfTree(tree).withChildren.cost // 0
 */
export function usageOfTree(tree: StateTree): TreeUsage {
  const alone = usageTotals(tree.state)
  const all = [alone, ...usagesBelow(tree)]
  const byId = sumsBy(all.flatMap((usage) => [...usage.by_id]))
  const byModel = all.flatMap((usage) => [...usage.by_model.values()])
  return { alone, withChildren: combined(byId, byModel) }
}

const usagesBelow = ({ children }: StateTree): Usage[] =>
  children.flatMap((child) => [usageTotals(child.state), ...usagesBelow(child)])

function sumsBy<K>(all: readonly (readonly [K, ModelUsage])[]): Map<K, ModelUsage> {
  const byKey = Map.groupBy(all, ([key]) => key)
  return new Map(
    Array.from(byKey, ([key, pairs]) => {
      const usages = pairs.map(([, usage]) => usage)
      const names = new Set(usages.map(({ model_name }) => model_name))
      const [name = null] = names
      return [key, { model_name: names.size === 1 ? name : null, ...totalOf(usages) }]
    }),
  )
}

function* eventsIn(entries: State['log']['entries'], from: number): IterableIterator<Event> {
  for (const entry of entries) {
    // A second event with a known id is ignored.
    const event = entry.inTree && entry.seq >= from ? loadedEvent(entry, COUNTING) : null
    if (event !== null) yield event
  }
}

function usageOfReply(tokens: ReplyTokens, model: unknown): ModelUsage {
  const { input, output, cache_read, cache_write, reasoning } = tokens
  return {
    model_name: typeof model === 'string' ? model : null,
    cost: 0,
    prompt_tokens: input,
    completion_tokens: output,
    cache_read_tokens: cache_read,
    cache_write_tokens: cache_write,
    reasoning_tokens: reasoning,
    context_window: 0,
  }
}

export const COUNTING = ['ConversationStateUpdateEvent', 'ActionEvent', 'MessageEvent'] as const

const COUNTS = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'context_window',
] as const satisfies readonly (keyof TokenCounts)[]

const countsFrom = (read: (field: keyof TokenCounts) => number): TokenCounts =>
  Object.fromEntries(COUNTS.map((field) => [field, read(field)])) as unknown as TokenCounts

function modelUsage(metrics: JsonObject): ModelUsage {
  const usage = objectOf(metrics['accumulated_token_usage'])
  const name = metrics['model_name']
  return {
    model_name: typeof name === 'string' ? name : null,
    cost: amount(metrics['accumulated_cost']),
    ...countsFrom((field) => amount(usage[field])),
  }
}

const combined = (by_id: ReadonlyMap<string, ModelUsage>, all: readonly ModelUsage[]): Usage => ({
  ...withHitRate(totalOf(all)),
  by_id,
  by_model: sumsBy(all.map((usage) => [usage.model_name, usage])),
})

function withHitRate(totals: Omit<ModelUsage, 'model_name'>): Omit<Usage, 'by_id' | 'by_model'> {
  const { prompt_tokens, cache_read_tokens } = totals
  // Some providers count cached tokens as part of the prompt, others separately.
  const input = cache_read_tokens > prompt_tokens ? prompt_tokens + cache_read_tokens : prompt_tokens
  return { ...totals, cache_hit_rate: input === 0 ? null : cache_read_tokens / finite(input) }
}

function totalOf(all: readonly ModelUsage[]): Omit<ModelUsage, 'model_name'> {
  const sum = (field: keyof TokenCounts | 'cost'): number =>
    all.reduce((total, each) => finite(total + each[field]), 0)
  const context_window = all.reduce((max, each) => Math.max(max, each.context_window), 0)
  return { cost: sum('cost'), ...countsFrom(sum), context_window }
}
