/** What a search asks for. */

import type { EventKind } from '../../event/kinds.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { Source } from '../../event/shapes.ts'
import type { BlobMode, BlobReference } from './blobs.ts'

/** The most that a page of any list may hold, and what it holds where nothing is said. */
export const MAX_PAGE_SIZE = 100

/**
 * The most conversations that one page of a list looks at. Where few of them fit, the page has fewer than it might, or
 * none, and still a next page.
 */
export const MOST_LOOKED_AT = 1_000

/** The most that one count looks at, unless an exact one is asked for. */
export const MOST_COUNTED = 10_000

/** How to count. */
export interface CountOptions {
  /** Whether to look at all that there are, however many. Default: at {@link MOST_COUNTED}. */
  readonly exact?: boolean
}

/** How many there are. */
export interface Count {
  readonly count: number
  /** Whether there may be more: they were not all looked at. */
  readonly more: boolean
}

/** Which events of a conversation to find; what is left out does not narrow. */
export interface EventFilter {
  readonly conversationId: string
  /** None at all lets nothing through. */
  readonly kinds?: readonly EventKind[]
  /** Also of those that are asked for. */
  readonly excludeKinds?: readonly EventKind[]
  /** The source of the event, by its kind's default where the body names none. */
  readonly source?: Source
  /**
   * Part of the text of a message, letter case ignored: its content and extended content, in lines, as `messageText` of
   * the store kit gives it. Nothing in it is a pattern. No other kind has a text; an empty one is part of any message.
   */
  readonly text?: string
  /**
   * Instants, ISO 8601 with date and time, with a zone or in UTC, compared as instants; microseconds count, and what is
   * beyond them does not. `Gte` takes its own in, `Lt` leaves it out.
   */
  readonly timestampGte?: string
  readonly timestampLt?: string
  /** Only events on the path from the root to this one. Unknown: an empty page. */
  readonly leafId?: string
}

/**
 * A page of events to find: those of the tree. Quarantined lines are never among them, since they have no kind that
 * could be trusted, and neither is a second event under a taken id.
 */
export interface EventQuery extends EventFilter {
  /** By (instant, seq) upwards or downwards. Default: timestamp. */
  readonly order?: 'timestamp' | 'timestamp_desc'
  readonly cursor?: string
  /** 1 to {@link MAX_PAGE_SIZE}, which is the default. */
  readonly limit?: number
  /**
   * A page ends with the event with which its bodies come to so many bytes, roughly; it holds one at least, and a
   * cursor goes on. No body beyond it is read. Default: no bound.
   */
  readonly maxBytes?: number
  /** Whether long strings are read as references, which `maxBytes` then counts. Default: `whole`. */
  readonly blobs?: BlobMode
}

/**
 * A page. `next_page_id` is null exactly when nothing is left; a page before the last holds as many as its limit,
 * unless it is bounded in bytes, or by how many conversations it looks at.
 */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next_page_id: string | null
}

export type EventPage = Page<StoredEvent>

/** One position of a stored log. */
export interface StoredEvent {
  readonly conversationId: string
  /** Position in the log, dense from 0. */
  readonly seq: number
  /** The event's id, derived when the body has none; null only for a quarantined line without a readable id. */
  readonly id: string | null
  /** The event, frozen; or the line that could not be decoded, kept as given. */
  readonly fact: Fact
  /** Id of the entry it hangs on; null for a root and for what is not in the tree. */
  readonly parentId: string | null
  /** Whether it is part of the tree. */
  readonly inTree: boolean
  /**
   * Microseconds since 1970-01-01T00:00:00Z, of the entry before when the body has no time that can be read; 0 when
   * none has. In decimal digits, since they may be more than a JSON number holds: `BigInt(time)` counts with it.
   */
  readonly time: string
  /** The references in the body; only where the event was read with `blobs: 'refs'` and has some. */
  readonly blobs?: readonly BlobReference[]
}
