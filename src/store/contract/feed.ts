import type { StoredEvent } from './query.ts'

/** Prefix of the collections in which followers store their positions, one item for each shard. */
export const FOLLOWERS = 'follow:'

/** Number of shards that conversations are divided into. Several processes can share the shards. See `shardOf`. */
export const SHARDS = 64

/** Default of `feedRows`: when this many later rows exist, a row of a deleted conversation is removed. */
export const FEED_ROWS = 100_000

export interface FeedQuery {
  /** The `next` of an earlier page of the same shard. */
  readonly after?: string
  /** Where to begin without `after`: at the first row (default), or after the last row. */
  readonly from?: 'start' | 'end'
  /** Only conversations of this shard, 0 to `SHARDS - 1`. Default: all. */
  readonly shard?: number
  readonly limit?: number
}

/** One change. `changed`: a conversation was created, or `updateConversation` was called. */
export type FeedItem =
  | { readonly type: 'event'; readonly conversationId: string; readonly event: StoredEvent }
  | { readonly type: 'changed' | 'deleted'; readonly conversationId: string }

/** A page of the feed. An empty page is not the end of the feed if `more` is true. */
export interface FeedPage {
  readonly items: readonly FeedItem[]
  /** Position after this page; also set in an empty store. Valid in every process, and after a restart. */
  readonly next: string
  readonly more: boolean
  /**
   * True if a reader would miss rows, because the database was restored, or because rows after the position
   * `after` were removed. The page is then empty, and `next` is the start of the feed. From there, the feed
   * reports all existing conversations.
   */
  readonly reset: boolean
}

/**
 * Reads the changes of all conversations.
 * @example
 * const store = memoryStore()
 * await store.createConversation({ id: 'c' })
 * const { items, next } = await store.feed()
 * items // [{ type: 'changed', conversationId: 'c' }]
 * const { items: later } = await store.feed({ after: next })
 * later // []
 */
export interface Feed {
  /**
   * Returns one page of the events, changes and deletions of all conversations. The pages contain each of
   * these at least once, in order within a conversation. To continue, pass `next` as `after`. No row
   * is missed, even if concurrent writes commit out of order. Failed calls, leases, snapshots and stored
   * items are not included. Earlier rows of a deleted conversation may be missing. In PostgreSQL, another
   * program's open transaction delays later rows.
   *
   * A row of a deleted conversation is removed when two conditions are met: `feedRows` later rows exist
   * (default: {@link FEED_ROWS}), and all followers that were active in the last 30 days have read the row.
   * Any other reader may then get a `reset`. O(limit + log n).
   * @throws `invalid_query` for an invalid limit, shard or `from`; `invalid_cursor`, also for another shard's
   *   `after`.
   */
  feed(query?: FeedQuery): Promise<FeedPage>
}
