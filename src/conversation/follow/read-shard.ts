/** Gives the handler of a follower what happened in one shard, in order, and again until it has ended well. */

import type { FeedItem, FeedQuery } from '../../store/contract/feed.ts'
import type { Store } from '../../store/contract/store.ts'
import { pause } from '../async/pause.ts'
import type { RunInOrder } from '../async/serial.ts'
import { type LoggedEvent, toLogged } from '../logged-event.ts'
import type { News } from './news.ts'
import type { HeldShard } from './shards.ts'

/** What a follower is given. */
export type FollowItem =
  /** An event of a conversation. */
  | (LoggedEvent & { readonly conversationId: string })
  /**
   * `changed`: a conversation was created, or its record was changed otherwise than by an append; what it is by now,
   * its record says. `deleted`: it was deleted.
   */
  | { readonly type: 'changed' | 'deleted'; readonly conversationId: string }
  /**
   * The database does not hold what was read of it, since it was restored to an earlier state, or is another one. What
   * was given before may not hold; the conversations of this shard are given from the first that there is.
   */
  | { readonly type: 'reset'; readonly shard: number }

/** What a handler is given beside items. */
export interface Following {
  /** Aborted when the follower is closed, or another process may be given the same items. */
  readonly signal: AbortSignal
}

/** Is given items of one shard, in order. When it throws, they are given again. */
export type FollowHandler = (items: readonly FollowItem[], following: Following) => Promise<void> | void

/** What a shard is read with. */
export interface ShardReader {
  readonly store: Store
  readonly news: News
  readonly limit: number
  /** Bounds how many handlers are at work. */
  readonly inTurn: RunInOrder
  readonly handler: FollowHandler
  readonly onError: (error: unknown, items: readonly FollowItem[]) => void
  /** Milliseconds before the first repetition, and at most. */
  readonly retryDelay: number
  readonly maxRetryDelay: number
  readonly closing: AbortSignal
}

/** Reads a shard until it is to be given back, or is lost. Never rejects. */
export async function readShard(shard: HeldShard, reader: ShardReader): Promise<void> {
  const { news, retryDelay, maxRetryDelay, closing } = reader
  const signal = AbortSignal.any([closing, shard.lost])
  let failures = 0
  let more = true
  while (!shard.ending.aborted) {
    if (!more) await news.wait(shard.number, shard.ending)
    if (shard.ending.aborted) return
    let items: readonly FollowItem[] = []
    try {
      const page = shard.isReset ? null : await reader.store.feed(queryOf(shard, reader))
      if (page?.reset === true) {
        // Kept before it is told: else who holds the shard next may go on where a handler has dropped all before.
        await shard.startOver(page.next)
        more = true
        continue
      }
      items = page?.items.map(toFollowItem) ?? [{ type: 'reset', shard: shard.number }]
      const isDone = items.length === 0 || (await reader.inTurn(() => handle(shard, reader, items, signal)))
      if (!isDone || shard.lost.aborted) return
      items = []
      const next = page === null ? shard.place : page.next
      if (page === null || next !== shard.place) await shard.keep(next)
      more = page?.more ?? true
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      more = true
      reader.onError(error, items)
      const most = Math.min(maxRetryDelay, retryDelay * 2 ** Math.min(failures, 30))
      failures += 1
      await pause(most / 2 + Math.random() * (most / 2), shard.ending)
    }
  }
}

const queryOf = ({ number, place }: HeldShard, { limit }: ShardReader): FeedQuery => ({
  shard: number,
  limit,
  ...(place !== null && { after: place }),
})

/** False when it was too late to begin. */
async function handle(
  { ending }: HeldShard,
  { handler }: ShardReader,
  items: readonly FollowItem[],
  signal: AbortSignal,
): Promise<boolean> {
  if (ending.aborted) return false
  await handler(items, { signal })
  return true
}

const toFollowItem = (item: FeedItem): FollowItem =>
  item.type === 'event'
    ? { ...toLogged(item.event), conversationId: item.conversationId }
    : { type: item.type, conversationId: item.conversationId }
