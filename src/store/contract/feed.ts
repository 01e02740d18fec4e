/** The feed: what happened in all conversations, for programs that follow a store as a whole. */

import type { StoredEvent } from './query.ts'

/** Prefix of the item collections in which followers store their positions, one item per shard. */
export const FOLLOWERS = 'follow:'

/** Number of shards that conversations are distributed over, by `shardOf`; several processes divide them. */
export const SHARDS = 64

/** Default number of the latest rows of a feed that stay, even for deleted conversations. */
export const FEED_ROWS = 100_000

/** Start, shard and length of a page of the feed. */
export interface FeedQuery {
  /** The `next` of a page that was read before, with the same shard. */
  readonly after?: string
  /** Where to begin without `after`: at the first row (default), or after the last. */
  readonly from?: 'start' | 'end'
  /** Only the conversations of this shard, from 0 on. Default: all. */
  readonly shard?: number
  readonly limit?: number
}

/**
 * One change. `changed`: a conversation was created, or its record changed except by an append;
 * `getConversation` returns it.
 */
export type FeedItem =
  | { readonly type: 'event'; readonly conversationId: string; readonly event: StoredEvent }
  | { readonly type: 'changed' | 'deleted'; readonly conversationId: string }

/** A page of a feed. An empty page can have a next page. */
export interface FeedPage {
  readonly items: readonly FeedItem[]
  /** The position behind this page, valid after a restart, in every process, and for an empty store. */
  readonly next: string
  readonly more: boolean
  /**
   * Whether the rows behind `after` are unknown: the database was restored or is another one, even with equal
   * content, or deletions behind `after` were forgotten. The page is empty, `more` is true, and `next` begins
   * at the start, from where all existing conversations follow.
   */
  readonly reset: boolean
}

/** Reads the feed of a store. */
export interface Feed {
  /**
   * Returns all conversations' events, changes and deletions, at least once and in order per conversation,
   * also after recreation. Earlier items of deleted conversations may be missing. Excludes rejected calls,
   * leases, snapshots and items. Continuing with `next` misses nothing, whichever writer finishes first.
   *
   * Rows of deleted conversations are removed once `feedRows` later ones exist (an option of each store, by
   * default {@link FEED_ROWS}), except those that a follower active in the last 30 days has not read. A reader
   * that was away for longer gets a reset.
   *
   * Another program's open transaction delays later rows.
   *
   * O(limit + log n). @throws `invalid_query` for an invalid limit or shard; `invalid_cursor`, also for
   * another shard's `after`.
   */
  feed(query?: FeedQuery): Promise<FeedPage>
}
