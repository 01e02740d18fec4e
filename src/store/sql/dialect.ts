/** What the SQL core and a database share: statements, units of work, and how a dialect writes what databases differ in. */

import type { Clock } from '../kit/record.ts'

/** A value of a statement. */
export type SqlValue = null | boolean | number | bigint | string | Uint8Array | readonly (string | null)[]

/** A statement with a `?` for each of its values, in order. */
export interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/**
 * A row that is changed, and what follows from it, all or nothing in one step. The `row` statement returns `columns`,
 * or no row, and then nothing else is done. The effects select from `changed`, which holds that row. They do not see
 * each other's changes, and none may touch a row that another one does.
 */
export interface Change {
  readonly row: Statement
  readonly columns: readonly string[]
  readonly effects: readonly Statement[]
}

/**
 * A step of a unit of work, answered with its rows. `confirm`: what was read is about to be acknowledged, so it must
 * survive what a write of this store survives. `callback`: the caller's own work on the driver's handle, in the same
 * transaction.
 */
export type Step =
  | Statement
  | { readonly change: Change }
  | { readonly confirm: true }
  | { readonly callback: (handle: unknown) => unknown }

/** A unit of work. An engine carries out its steps and resumes it with their rows. */
export type Work<T> = Generator<Step, T, readonly object[]>

/** All rows of a statement. The caller knows which columns it selects. */
export function* all<R extends object>(sql: string, ...values: SqlValue[]): Work<readonly R[]> {
  return (yield { sql, values }) as readonly R[]
}

/** The first row of a statement. */
export function* first<R extends object>(sql: string, ...values: SqlValue[]): Work<R | undefined> {
  return ((yield { sql, values }) as readonly R[])[0]
}

/** The row of a change, or undefined when nothing was changed. */
export function* change<R extends object>(
  row: Statement,
  columns: readonly string[],
  effects: readonly Statement[] = [],
): Work<R | undefined> {
  return ((yield { change: { row, columns, effects } }) as readonly R[])[0]
}

/** Waits until what was read would survive the loss of the server. */
export function* confirm(): Work<void> {
  yield { confirm: true }
}

/** A statement. */
export const statement = (sql: string, ...values: SqlValue[]): Statement => ({ sql, values })

/** Names of the tables. */
export type Table =
  | 'conversation'
  | 'tag'
  | 'log'
  | 'event'
  | 'blob'
  | 'blob_piece'
  | 'blob_use'
  | 'lane'
  | 'snapshot'
  | 'snapshot_part'
  | 'item'
  | 'item_key'
  | 'feed'
  | 'conversations'
  | 'events'
  | 'text'

/** How a database writes SQL. */
export interface Dialect {
  /** The full name of a table. */
  table(name: Table): string
  /** A hint that names the index to use; empty without one. */
  by(index: string): string
  /** A `?` for the clock's time in microseconds, or null for the time of the database. */
  readonly now: string
  /** The larger of two values. */
  readonly greatest: string
  /** The position of a text in another, from 1 on; 0 where it is not in it. */
  readonly find: string
  /** Appended to a subquery whose rows no other transaction may change until this one is done. */
  readonly lock: string
  /** The items of a JSON array `?` of texts, as rows `listed (value)`. */
  readonly elements: string
  /** The fields of a JSON object `?` of texts, as rows `listed (key, value)`. */
  readonly entries: string
  /** A join with at most one row of a table, looked up for each row before it. */
  lookUp(table: Table, alias: string, condition: string, order?: string): string
  /**
   * The rows of a table that have some values, in the order of a time and then of ids: bounds, and the columns of the
   * order.
   */
  walk(bounds: WalkBounds): Statement & { readonly order: readonly string[] }
  /** The column of `event` that orders the events of a log by position. */
  readonly place: string
  /** The value of that column. */
  placeOf(log: number, seq: number): number | bigint
  /** The position that is the value of that column, as SQL. */
  readonly seq: string
  /** The name of the row that an insert of a table conflicts with. */
  own(table: Table): string
  /** Effects that delete the events of the log of a change, where that is not done by the deletion of the log. */
  readonly deleteEvents: readonly Statement[]
  /** Statements that page through ranges of events; see `EventRange`. */
  pageOfRanges(form: RangeForm, ranges: readonly EventRange[], columns: string, limit: number): Statement
  countRanges(form: RangeForm, ranges: readonly EventRange[]): Statement
  /**
   * The event `e` of a hit `h`, and what only a text `t` of a conversation that exists fits; empty where there is no
   * other.
   */
  readonly textEvent: string
  readonly textFits: string
  /** Columns and values that a row of the feed has besides, each with a leading comma. */
  readonly feedColumn: string
  readonly feedValue: string
}

/** Where a walk of conversations begins and ends. */
export interface WalkBounds {
  /** Columns that begin the index, with their values; null for what is null. */
  readonly key: readonly (readonly [column: string, value: string | number | null])[]
  /** The column of the time. */
  readonly time: string
  readonly descending: boolean
  /** The walk begins beyond this one. */
  readonly start: { readonly time: bigint; readonly id: string }
  /** The last instant, which is left out upwards. */
  readonly end: bigint
}

/** The place of an event in time order. */
export interface EventPlace {
  readonly time: bigint
  readonly seq: number
}

/** Events of one log, and of one kind and source or of all, that lie between two places, both excluded. */
export interface EventRange {
  readonly kind: string | null
  readonly source: string | null
  /** Only the events of this lane. */
  readonly lane: number | null
  readonly low: EventPlace
  readonly high: EventPlace
}

/** What all ranges of a statement have in common. */
export interface RangeForm {
  readonly log: number
  readonly isByKind: boolean
  readonly descending: boolean
  readonly text: string | null
}

/** What a store over a database needs of it. */
export interface Engine {
  readonly dialect: Dialect
  readonly name: string
  /** Microseconds; null for the database's own clock. */
  readonly clock: () => ReturnType<Clock> | null
  /** Runs a unit of work that reads. */
  read<T>(work: () => Work<T>): Promise<T>
  /** Runs a unit of work that writes, all or nothing. */
  write<T>(work: () => Work<T>): Promise<T>
}
