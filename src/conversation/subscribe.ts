/** Delivers every event after a position exactly once, in order: first stored events, then live events (law B). */

import { attempt } from '../event/json.ts'
import type { Fact } from '../event/quarantine.ts'
import type { StreamingDeltaEvent } from '../event/types.ts'
import { checkOptionNames, invalidArgument } from '../event/check-value.ts'
import type { Store } from '../store/contract/store.ts'
import { onAbort } from './async.ts'
import { type LoggedEvent, toLogged } from './logged-event.ts'
import type { Status } from '../state/status.ts'
import { hasReferences, type Replica } from './replica.ts'
import { type ReplyOffset, ReplyReader } from './streamed.ts'
import type { EngineContext } from './engine-context.ts'

/** One item of a subscription. */
export type SubscriptionItem =
  /**
   * An event and the status right after it, or the latest status if the state after the event was evicted
   * from memory.
   */
  | (LoggedEvent & { readonly status: Status })
  /**
   * Every event that was in the log when the subscription began has been delivered. Sent once, and again
   * after a `reset`. `seq` is the last delivered position, or `after` if nothing was delivered.
   */
  | { readonly type: 'caught_up'; readonly seq: number }
  /**
   * The log no longer has the delivered events, or has an event other than `afterId` at `after`: the database
   * was restored or failed over. Discard all delivered events. The whole log follows, then `caught_up`.
   */
  | { readonly type: 'reset' }
  /**
   * The next part of a reply in progress, delivered before any later event. The first deltas have everything
   * streamed so far, and no character is repeated. To resume, pass the last `offset` as `replyOffset`. A
   * reply that ends before the reader connects, or while the reader still receives the previous reply, is
   * delivered only as events.
   */
  | { readonly type: 'delta'; readonly event: StreamingDeltaEvent; readonly offset: ReplyOffset }

/** Where a subscription starts, and what ends it. */
export interface SubscribeOptions {
  /** Position of the last event to skip. Default: -1, which reads the whole log. */
  readonly after?: number
  /**
   * Id of the event at `after`. If the log has a different event there, because the database was restored,
   * the subscription begins with `reset`. Pass null for a line without a readable id: null is not compared.
   */
  readonly afterId?: string | null
  /** Aborting it ends the subscription. */
  readonly signal?: AbortSignal
  /** Position in a partial reply: `offset` of the last delta received. */
  readonly replyOffset?: ReplyOffset
}

const PAGE_SIZE = 256

/**
 * Subscribes to a conversation. Readers pull items, so a slow reader does not delay others, needs no queue
 * and misses nothing. O(1) per event.
 * @throws ColloquyError `invalid_argument` for invalid options, `unknown_conversation` when the conversation
 *   is deleted, and the store's errors. After a store error, subscribe again with `after` and `afterId` of
 *   the last event.
 */
export async function* subscribe(
  context: Pick<EngineContext, 'store' | 'pin' | 'listen'>,
  id: string,
  options: SubscribeOptions = {},
): AsyncGenerator<SubscriptionItem, void, undefined> {
  checkOptionNames(options, 'after afterId signal replyOffset')
  const { after = -1, afterId = null, signal, replyOffset: offset = null } = options
  if (!Number.isSafeInteger(after) || after < -1)
    invalidArgument('after', 'must be a position in the log, or -1 for the whole log')
  const { replica, release } = await context.pin(id)
  const reader = new ReplyReader(replica.replies, offset)
  let failure: { readonly error: unknown } | null = null
  let wake: (() => void) | null = null
  const wakeUp = (): void => wake?.()
  const ends = [release, onAbort(signal, wakeUp), onAbort(replica.gone, wakeUp)]
  const isOver = (): boolean => signal?.aborted === true
  function* before(seq: number): Generator<SubscriptionItem> {
    for (let next = reader.next(seq); next !== null && !isOver(); next = reader.next(seq))
      yield { type: 'delta', ...next }
  }
  try {
    ends.push(
      replica.changes.add(wakeUp),
      replica.replies.news.add(() => {
        reader.notice()
        wake?.()
      }),
      replica.failures.add((error) => {
        failure = { error }
        wake?.()
      }),
      replica.follow(),
      context.listen(replica),
    )
    let end = (await replica.refresh()).log.entries.length
    let { epoch } = replica
    let isCaughtUp = false
    let next = after + 1
    let isReplaced = afterId !== null && replica.state.log.entries.get(after)?.id !== afterId
    const mustReset = (): boolean =>
      isReplaced || replica.epoch !== epoch || next > replica.state.log.entries.length
    const isNews = (): boolean =>
      isOver() ||
      failure !== null ||
      replica.gone.aborted ||
      mustReset() ||
      replica.state.log.entries.length > next ||
      reader.has(next)
    while (!isOver()) {
      replica.gone.throwIfAborted()
      if (failure !== null) throw (failure as { readonly error: unknown }).error
      if (mustReset()) {
        ;({ epoch } = replica)
        isReplaced = false
        next = 0
        isCaughtUp = false
        reader.skipStreamed()
        yield { type: 'reset' }
        end = replica.state.log.entries.length
      }
      for (const event of await readFrom(context.store, replica, next)) {
        if (mustReset()) break
        if (reader.mayLag) await reader.finish(event.fact)
        // Each level of generators costs every reader, so `yield*` is avoided where possible.
        if (reader.has(event.seq)) yield* before(event.seq)
        if (isOver()) return
        yield event
        next = event.seq + 1
      }
      if (mustReset()) continue
      if (!isCaughtUp && next >= end) {
        isCaughtUp = true
        yield { type: 'caught_up', seq: next - 1 }
      }
      if (reader.has(next)) yield* before(next)
      end = replica.state.log.entries.length
      if (isNews()) continue
      // Keeps the process alive while its reader waits. The poll of a store does not.
      const alive = setInterval(() => undefined, 2 ** 30)
      await new Promise<void>((resolve) => {
        wake = resolve
        if (isNews()) resolve()
      })
      clearInterval(alive)
    }
  } finally {
    for (const end of ends) end()
  }
}

type LoggedItem = Extract<SubscriptionItem, { type: 'event' }>

async function readFrom(store: Store, replica: Replica, from: number): Promise<LoggedItem[]> {
  const { log } = replica.state
  if (from >= log.entries.length) return []
  const loaded: LoggedItem[] = []
  for (let seq = from; seq < from + PAGE_SIZE; seq += 1) {
    const entry = log.entries.get(seq)
    const fact = entry?.event ?? entry?.quarantined
    if (entry === undefined || !fact || hasReferences(entry)) break
    const event = toLogged({ seq, id: entry.id, parentId: entry.parent?.id ?? null, fact })
    loaded.push({ ...event, status: statusAt(replica, seq, fact) })
  }
  if (loaded.length > 0) return loaded
  const events = await store.read(replica.id, { from, limit: PAGE_SIZE })
  // The log is shorter than before.
  if (events.length === 0) await replica.refresh()
  return events.map((event) => ({ ...toLogged(event), status: statusAt(replica, event.seq, event.fact) }))
}

const statuses = new WeakMap<Replica, WeakMap<Fact, Status>>()

function statusAt(replica: Replica, seq: number, fact: Fact): Status {
  const cache = statuses.get(replica) ?? new WeakMap<Fact, Status>()
  statuses.set(replica, cache)
  const known = cache.get(fact)
  if (known !== undefined) return known
  const { log, header } = replica.state
  const status = attempt(() => log.entries.get(seq)?.header.status, undefined) ?? header.status
  cache.set(fact, status)
  return status
}
