import type { EventKind } from '../../event/kinds.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { Source } from '../../event/shapes.ts'
import type { BlobMode, BlobReference } from './blobs.ts'

/** Maximum number of results on a page. Also the default, except for `searchText` (default: 20). */
export const MAX_PAGE_SIZE = 100

/**
 * Maximum number of conversations that a query visits for one page. When a query reaches this maximum, its
 * page has a `cursor`, even if the page has no conversation or fewer than `limit`.
 */
export const MAX_VISITED = 1_000

/** Maximum number of conversations or items that a count visits, unless `exact` is true. */
export const MAX_COUNTED = 10_000

export interface CountOptions {
  /** Whether to count all matches, instead of stopping at {@link MAX_COUNTED}. Default: false. */
  readonly exact?: boolean
}

export interface Count {
  readonly count: number
  /** Whether the count stopped at its maximum, so that more conversations or items may match. */
  readonly more: boolean
}

/** Filter for events of a conversation. An event must match every criterion. */
export interface EventFilter {
  readonly conversationId: string
  /** Kinds to find. An empty list matches no event. */
  readonly kinds?: readonly EventKind[]
  /** Kinds not to find. */
  readonly excludeKinds?: readonly EventKind[]
  /** Source of the event. An event without a source has the default source of its kind. */
  readonly source?: Source
  /**
   * Text to find in a message's content and extended content, ignoring case. The texts of a message are
   * joined by line breaks, as in `messageText`. Matches only messages; an empty string matches all messages.
   */
  readonly text?: string
  /** ISO 8601 date and time; in UTC if it has no zone. `…Gte` is inclusive, `…Lt` exclusive. */
  readonly timestampGte?: string
  readonly timestampLt?: string
  /** Only events on the path from the root to the event with this id. An unknown id matches no event. */
  readonly leafId?: string
}

/** A query for one page of events. Quarantined lines and events outside the tree are never found. */
export interface EventQuery extends EventFilter {
  /** Order by instant and then by `seq`, ascending or descending. Default: timestamp. */
  readonly order?: 'timestamp' | 'timestamp_desc'
  /** The `cursor` of the previous page. Default: the first page. */
  readonly cursor?: string
  /** Maximum number of events, 1 to `MAX_PAGE_SIZE` (default). */
  readonly limit?: number
  /** A page ends with the event at which the page's bodies reach this number of bytes. Default: unlimited. */
  readonly maxBytes?: number
  /** With `refs`, long strings become references, and count as 0 bytes for `maxBytes`. Default: `whole`. */
  readonly blobs?: BlobMode
}

/**
 * A page. To get the next page, repeat the query with the page's `cursor`, which is null on the last page. A
 * page has fewer than `limit` items only if it is the last page, or if it reached `maxBytes` or {@link
 * MAX_VISITED}.
 */
export interface Page<T> {
  readonly items: readonly T[]
  readonly cursor: string | null
}

export type EventPage = Page<StoredEvent>

/** An entry of a stored log. */
export interface StoredEvent {
  readonly conversationId: string
  readonly seq: number
  /** The event's id, derived if the body has none. Null only for a quarantined line without a readable id. */
  readonly id: string | null
  /** The event, which is frozen. For a quarantined line: the unchanged line. */
  readonly fact: Fact
  /** Id of the parent entry; null for a root, and for an entry outside the tree. */
  readonly parentId: string | null
  /** Whether the entry is in the tree. False for a duplicate id, and for a line without a readable id. */
  readonly inTree: boolean
  /**
   * Time of the event in microseconds since 1970. If the event has no readable timestamp, this is the time of
   * the previous entry, or 0 for the first entry. A decimal string, because a JSON number could lose
   * precision. To read it, use `BigInt(time)`.
   */
  readonly time: string
  /** References in the body. Present if the event has long strings and was read with `blobs: 'refs'`. */
  readonly blobs?: readonly BlobReference[]
}
