import type { EventKind } from '../../event/kinds.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { Source } from '../../event/shapes.ts'
import type { BlobMode, BlobReference } from './blobs.ts'

/** Maximum and default number of items on a page of any list. */
export const MAX_PAGE_SIZE = 100

/**
 * Maximum number of conversations that a page compares. With few matches, a page has fewer items than its
 * limit, or none, and a next page.
 */
export const MOST_LOOKED_AT = 1_000

/** Maximum number of items that a count visits, unless an exact count is requested. */
export const MOST_COUNTED = 10_000

/** How to count. */
export interface CountOptions {
  /** Whether to count all. Default: stop at {@link MOST_COUNTED}. */
  readonly exact?: boolean
}

/** How many there are. */
export interface Count {
  readonly count: number
  /** Whether there may be more, because not all were visited. */
  readonly more: boolean
}

/** Which events of a conversation to find; an omitted field does not narrow the search. */
export interface EventFilter {
  readonly conversationId: string
  /** None at all lets nothing through. */
  readonly kinds?: readonly EventKind[]
  readonly excludeKinds?: readonly EventKind[]
  /** The source of the event, by its kind's default where the body names none. */
  readonly source?: Source
  /**
   * Case-insensitive substring of content and extended content, as lines of the store kit's `messageText`.
   * Other kinds have no text; empty matches every message.
   */
  readonly text?: string
  /**
   * ISO 8601 instants with date and time, with a zone or in UTC, compared in microseconds. `Gte` is
   * inclusive, `Lt` exclusive.
   */
  readonly timestampGte?: string
  readonly timestampLt?: string
  /** Only events on the path from the root to this one. Unknown: an empty page. */
  readonly leafId?: string
}

/** A query for a page of events in the tree: without repeated ids and quarantined lines. */
export interface EventQuery extends EventFilter {
  /** By (instant, seq) upwards or downwards. Default: timestamp. */
  readonly order?: 'timestamp' | 'timestamp_desc'
  readonly cursor?: string
  readonly limit?: number
  /**
   * Approximate maximum bytes of bodies: the page ends with the event that reaches it, so has at least one,
   * and a cursor. Later bodies are not read. Default: unlimited.
   */
  readonly maxBytes?: number
  /** Whether long strings are read as references, which `maxBytes` then counts. Default: `whole`. */
  readonly blobs?: BlobMode
}

/**
 * A page. Its `cursor`, passed in the same query, returns the next one, and is null exactly at the end.
 * Earlier pages are full, unless bounded by bytes or compared conversations.
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
  /** Id of the entry it hangs on; null for a root and for what is not in the tree. */
  readonly parentId: string | null
  readonly inTree: boolean
  /**
   * Microseconds since 1970-01-01T00:00:00Z; the previous entry's if unreadable; 0 without any. Digits, since
   * JSON numbers may be too small: use `BigInt(time)`.
   */
  readonly time: string
  /** The references in the body; only where the event was read with `blobs: 'refs'` and has some. */
  readonly blobs?: readonly BlobReference[]
}
