/** What rows are measured on: one log of one length, in a store and, row for row the same, in the tables of its floor. */

import type { Event } from '../../src/event/types.ts'
import type { EventQuery } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { StoredEvent } from '../../src/store/contract/stored-event.ts'
import type { Sizes } from './log.ts'
import type { Pair } from './pair.ts'

/** A page that was found, and how a user of the bare driver would ask for it. */
export interface FoundPage {
  readonly query: EventQuery
  /**
   * Each way is one statement over the columns `kind`, `source` and `time`: a condition, or several that exclude each other, the ranges of
   * which are merged, where they hold anything. Null for a filter by leaf: then the path is walked, and its rows are read by their keys as if these were known.
   */
  readonly ways: readonly (readonly string[])[] | null
  readonly items: readonly StoredEvent[]
  /** Whether more events follow: a page is read with one row more, to know that. */
  readonly more: boolean
}

/** The bare driver at the same rows. Everything that is decided about an event is known beforehand and costs nothing. */
export interface Floor {
  /**
   * The next events of the log, as work still to be done: their bodies written as JSON, the rows inserted and the end of the log moved, in
   * one transaction as durable as the store's. Made in order, to be done in that order.
   */
  append(events: readonly Event[]): () => unknown
  /** Ways to read the rows of a page with their bodies parsed; the fastest one counts. */
  pages(page: FoundPage): Promise<readonly (() => unknown)[]>
}

/** A log to measure on. */
export interface Ground {
  readonly id: string
  readonly length: number
  readonly sizes: Sizes
  readonly store: Store
  readonly floor: Floor
}

/** A kind of database: it fills logs for as long as it is open, and leaves nothing behind. */
export interface Adapter {
  fill(length: number, sizes: Sizes): Promise<Ground>
  /** Does now what the database would do by itself sooner or later, so that it falls on nobody. */
  settle(): Promise<void>
  close(): Promise<void>
}

/** Rows that belong together, made from a log. */
export interface RowGroup {
  readonly title: string
  /** How many turns each pair gets, in a full run. */
  readonly rounds: number
  /** Whether the cost is promised to be the same at every length. */
  readonly flat: boolean
  pairs(ground: Ground): Promise<Pair[]>
}
