/** What the models of a conversation have cost, as agent servers say it; what was counted once is not read again. */

import { COUNTING, type ModelUsage, usageCount, type UsageCount } from '../../context/usage.ts'
import { hasCode } from '../../event/errors.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { loadedEvent } from '../../log/entry.ts'
import type { State } from '../../state/state.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import { Latest } from '../async/latest.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'

/** How far the log of a conversation was counted. */
interface Counted {
  readonly count: UsageCount
  readonly start: number
  readonly next: number
  /** Id of the last entry that was counted: another log has another one there. Null before the first. */
  readonly last: string | null
}

const MOST = 10_000

/** One for each store, for as long as that is there. */
const counts = new WeakMap<Store, Latest<Promise<Counted>>>()

/**
 * The totals of a conversation: `usage_to_metrics` by usage id, and one `metrics` of all. O(events since it was asked
 * before); they come from memory, and from the store where they are there no more.
 */
export async function statsOf(
  store: Store,
  { id, metadata }: Pick<ConversationRecord, 'id' | 'metadata'>,
  { log }: State,
): Promise<{ readonly stats: JsonObject; readonly metrics: JsonObject }> {
  const known = counts.get(store) ?? new Latest<Promise<Counted>>(MOST)
  counts.set(store, known)
  // What a fork has copied need not count.
  const { counted_from: from } = metadata
  const start = typeof from === 'number' ? from : 0
  // One after the other: no event is counted twice.
  const counting = (known.get(id) ?? Promise.resolve(null)).then((before) =>
    countOn(store, id, log, before ?? startAt(start)),
  )
  known.set(id, counting)
  const { count } = await counting.catch((error: unknown) => {
    known.delete(id)
    throw error
  })
  const usage = count.usage()
  // What state updates say stands under its own id; what replies say of themselves, under that of their model.
  const each =
    usage.by_id.size > 0
      ? [...usage.by_id]
      : Array.from(usage.by_model, ([model, one]) => [model ?? 'default', one] as const)
  const model_name = [...usage.by_model.keys()].find((name) => name !== null) ?? null
  return {
    stats: { usage_to_metrics: Object.fromEntries(each.map(([name, one]) => [name, metricsOf(one)])) },
    metrics: metricsOf({ ...usage, model_name }),
  }
}

async function countOn(store: Store, id: string, log: State['log'], before: Counted): Promise<Counted> {
  const idAt = (seq: number): string | null => log.entries.get(seq)?.id ?? null
  // A look at an earlier state changes nothing; a log that was replaced is counted anew.
  if (before.next > log.entries.length) return before
  const holds = before.last === null || idAt(before.next - 1) === before.last
  const { count, next, start } = holds ? before : startAt(before.start)
  const reached = await countFrom(store, id, log, count, next)
  return { count, start, next: reached, last: reached === start ? null : idAt(reached - 1) }
}

const startAt = (start: number): Counted => ({ count: usageCount(), start, next: start, last: null })

/** Gives the position up to which it was counted. */
async function countFrom(
  store: Store,
  id: string,
  log: State['log'],
  count: UsageCount,
  from: number,
): Promise<number> {
  let next = from
  try {
    for (; next < log.entries.length; next += 1) {
      const entry = log.entries.get(next)
      const event = entry?.inTree === true ? loadedEvent(entry, COUNTING) : null
      if (event !== null) count.add(event)
    }
    return next
  } catch (error) {
    if (!hasCode(error, 'evicted')) throw error
  }
  while (next < log.entries.length) {
    const page = await store.read(id, {
      from: next,
      limit: Math.min(MAX_PAGE_SIZE, log.entries.length - next),
    })
    if (page.length === 0) break
    for (const { fact } of page) if (!isQuarantined(fact)) count.add(fact)
    next += page.length
  }
  return next
}

/** As agent servers write it. */
function metricsOf(usage: ModelUsage): JsonObject {
  const { model_name, cost, prompt_tokens, completion_tokens, context_window, ...rest } = usage
  const model = model_name ?? 'default'
  return {
    model_name: model,
    accumulated_cost: cost,
    max_budget_per_task: null,
    accumulated_token_usage: {
      model,
      prompt_tokens,
      completion_tokens,
      cache_read_tokens: rest.cache_read_tokens,
      cache_write_tokens: rest.cache_write_tokens,
      reasoning_tokens: rest.reasoning_tokens,
      context_window,
      per_turn_token: 0,
      response_id: '',
    },
  }
}
