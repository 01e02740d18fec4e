/** The feed: what happened in all conversations, for programs that follow a store as a whole. */

import type { StoredEvent } from './query.ts'

/** Conversations are spread over so many shards, by `shardOf`: what several processes divide among them. */
export const SHARDS = 64

/** From where to read a feed. */
export interface FeedQuery {
  /** The `next` of a page that was read before, with the same shard. */
  readonly after?: string
  /** Where to begin without `after`: with the first that there is (default), or behind all that there is. */
  readonly from?: 'start' | 'end'
  /** Only the conversations of this shard, from 0 on. Default: all. */
  readonly shard?: number
  /** 1 to `MAX_PAGE_SIZE`, which is the default. */
  readonly limit?: number
}

/**
 * One thing that happened. `changed` says that a conversation was created, or that its record was changed otherwise
 * than by an append; what it is by now, `getConversation` says.
 */
export type FeedItem =
  | { readonly type: 'event'; readonly conversationId: string; readonly event: StoredEvent }
  | { readonly type: 'changed' | 'deleted'; readonly conversationId: string }

/** A page of a feed. It may be empty and have more behind it. */
export interface FeedPage {
  readonly items: readonly FeedItem[]
  /** Goes on behind this page, now or after a restart, in every process; also of a page of a store that is empty. */
  readonly next: string
  /** Whether there may be more already. */
  readonly more: boolean
  /**
   * Whether `after` is not known to this database: it is another one, also one that holds the same, or one that was
   * restored to an earlier state. Then the page is empty, there is more, and `next` begins at the start.
   */
  readonly reset: boolean
}

/** Gives the feed of a store. */
export interface Feed {
  /**
   * What happened in all conversations: each event, and each change and deletion of a conversation. At least once;
   * within a conversation in order, and so with a conversation that is made anew behind the deletion of the one before.
   * What happened in a conversation that is deleted by now may be left out, but for the deletion. What is refused, what
   * changes nothing, leases, snapshots and items are not told. A reader that goes on by `next` misses nothing,
   * whichever of several writers is done first.
   *
   * What another program has begun to write and not finished holds back what others wrote after it.
   *
   * O(limit + log n). @throws `invalid_query` for a limit or a shard that is none; `invalid_cursor`, also for an
   * `after` of another shard.
   */
  feed(query?: FeedQuery): Promise<FeedPage>
}
