/** The feed: what happened in all conversations, for programs that follow a store as a whole. */

import type { StoredEvent } from './query.ts'

/** Number of shards that conversations are distributed over, by `shardOf`; several processes divide them. */
export const SHARDS = 64

/** From where to read a feed. */
export interface FeedQuery {
  /** The `next` of a page that was read before, with the same shard. */
  readonly after?: string
  /** Where to begin without `after`: with the first that there is (default), or behind all that there is. */
  readonly from?: 'start' | 'end'
  /** Only the conversations of this shard, from 0 on. Default: all. */
  readonly shard?: number
  readonly limit?: number
}

/**
 * One change. `changed` means that a conversation was created, or its record was changed other than by an
 * append; `getConversation` returns the current record.
 */
export type FeedItem =
  | { readonly type: 'event'; readonly conversationId: string; readonly event: StoredEvent }
  | { readonly type: 'changed' | 'deleted'; readonly conversationId: string }

/** A page of a feed. It may be empty and have more behind it. */
export interface FeedPage {
  readonly items: readonly FeedItem[]
  /** The position behind this page, valid after a restart, in every process, and for an empty store. */
  readonly next: string
  readonly more: boolean
  /**
   * Whether this database does not know `after`: it is another one, even with equal content, or was restored.
   * The page is then empty, `more` is true, and `next` begins at the start.
   */
  readonly reset: boolean
}

/** Gives the feed of a store. */
export interface Feed {
  /**
   * Returns the changes of all conversations: each event, and each change and deletion of a conversation, at
   * least once and in order within a conversation, also for one that is recreated after a deletion. Earlier
   * items of a deleted conversation may be missing. Rejected calls, leases, snapshots and items are not
   * included. A reader that continues with `next` misses nothing, whichever of several writers finishes
   * first.
   *
   * An open transaction of another program that has written delays the rows of later ones.
   *
   * O(limit + log n). @throws `invalid_query` for an invalid limit or shard; `invalid_cursor`, also for an
   * `after` of another shard.
   */
  feed(query?: FeedQuery): Promise<FeedPage>
}
