import type { EventKind } from '../../event/kinds.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { Source } from '../../event/shapes.ts'
import type { BlobMode, BlobReference } from './blobs.ts'

/** Maximum and default number of items on a page of any list. */
export const MAX_PAGE_SIZE = 100

/**
 * Maximum number of conversations that a page compares. If few of them match, a page has fewer items than its
 * limit, possibly none, and a next page.
 */
export const MOST_LOOKED_AT = 1_000

/** Maximum number of items that a count visits, unless an exact count is requested. */
export const MOST_COUNTED = 10_000

/** How to count. */
export interface CountOptions {
  /** Whether to count all. Default: stop at {@link MOST_COUNTED}. */
  readonly exact?: boolean
}

/** Result of a count. */
export interface Count {
  readonly count: number
  /** Whether there may be more, because not all were visited. */
  readonly more: boolean
}

/** Which events of a conversation to find; an omitted field does not narrow the search. */
export interface EventFilter {
  readonly conversationId: string
  /** An empty list matches no event. */
  readonly kinds?: readonly EventKind[]
  readonly excludeKinds?: readonly EventKind[]
  /** Source of the event. An event whose body names no source has its kind's default. */
  readonly source?: Source
  /**
   * Case-insensitive substring of a message's content and extended content; the store kit's `messageText`
   * joins their texts as lines. Events of other kinds have no text. An empty text matches every message.
   */
  readonly text?: string
  /**
   * ISO 8601 instants with date and time, with a zone or in UTC, compared in microseconds. `Gte` is
   * inclusive, `Lt` exclusive.
   */
  readonly timestampGte?: string
  readonly timestampLt?: string
  /** Only events on the path from the root to this one. An unknown id matches no event. */
  readonly leafId?: string
}

/** A query for one page of events in the tree, which excludes quarantined lines and repeated ids. */
export interface EventQuery extends EventFilter {
  /** By (instant, seq), ascending or descending. Default: timestamp. */
  readonly order?: 'timestamp' | 'timestamp_desc'
  /** The `cursor` of the previous page. Default: the first page. */
  readonly cursor?: string
  /** Maximum number of events, 1 to `MAX_PAGE_SIZE`. */
  readonly limit?: number
  /**
   * Approximate maximum size of the page's bodies in bytes. The page ends with the event that reaches it, so
   * it has at least one event and a cursor. Default: unlimited.
   */
  readonly maxBytes?: number
  /** `refs` reads long strings as references, and `maxBytes` counts those. Default: `whole`. */
  readonly blobs?: BlobMode
}

/**
 * A page. To get the next page, repeat the query with its `cursor`, which is null exactly at the end. Pages
 * before the last are full, unless `maxBytes` or the number of compared conversations bounds them.
 */
export interface Page<T> {
  readonly items: readonly T[]
  readonly cursor: string | null
}

export type EventPage = Page<StoredEvent>

/** One position of a stored log. */
export interface StoredEvent {
  readonly conversationId: string
  readonly seq: number
  /** The event's id, derived when the body has none; null only for a quarantined line without a readable id. */
  readonly id: string | null
  /** The event, frozen; or the line that could not be decoded, unchanged. */
  readonly fact: Fact
  /** Id of the parent entry; null for a root, and for an entry outside the tree. */
  readonly parentId: string | null
  readonly inTree: boolean
  /**
   * Microseconds since 1970-01-01T00:00:00Z; the previous entry's if unreadable; 0 without any. A string of
   * digits, because a JSON number could lose precision: use `BigInt(time)`.
   */
  readonly time: string
  /** The references in the body; only where the event was read with `blobs: 'refs'` and has some. */
  readonly blobs?: readonly BlobReference[]
}
