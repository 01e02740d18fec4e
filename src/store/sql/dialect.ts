/** Statements, units of work, and the dialect, which contains the SQL that differs between databases. */

import type { EventPlace } from '../kit/query/event-query.ts'
import type { Clock } from '../kit/record.ts'

export type SqlValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly (string | SqlRow | null)[]

export type SqlRow = readonly (string | null)[]

/** A statement with a `?` for each of its values, in order. */
export interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/**
 * A change of a row, and effects that are applied together with this change. If `row` returns no row, nothing
 * else happens. Effects select from `changed`, the returned row. They do not see each other's changes, and
 * must touch different rows.
 */
export interface Change {
  readonly row: Statement
  readonly effects: readonly Statement[]
}

/**
 * A step of a unit of work, answered with rows. `confirm` waits until the rows that were read are as durable
 * as a write. `callback` is the caller's work on the driver's handle, in the same transaction.
 */
export type SqlStep =
  | Statement
  | { readonly change: Change }
  | { readonly confirm: true }
  | { readonly callback: (handle: unknown) => unknown }

/** A unit of work. An engine carries out each step and resumes the work with the rows of the step. */
export type Work<T> = Generator<SqlStep, T, readonly object[]>

/** Builds a statement: inserts statements as text, binds other parts as values. In hot paths, use constant texts. */
export function sql(texts: TemplateStringsArray, ...parts: readonly (SqlValue | Statement)[]): Statement {
  let [text = ''] = texts
  const values: SqlValue[] = []
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index] ?? null
    if (part !== null && typeof part === 'object' && 'sql' in part) {
      text += part.sql
      values.push(...part.values)
    } else {
      text += '?'
      values.push(part)
    }
    text += texts[index + 1] ?? ''
  }
  return { sql: text, values }
}

export const statement = (sql: string, ...values: SqlValue[]): Statement => ({ sql, values })

export const [NOTHING, DESCENDING] = [statement(''), statement(' DESC')]

/** Returns all rows of a query. The caller names the row type. */
export function* all<R extends object>(query: Statement | string, ...values: SqlValue[]): Work<readonly R[]> {
  return (yield typeof query === 'string' ? { sql: query, values } : query) as readonly R[]
}

export function* first<R extends object>(
  query: Statement | string,
  ...values: SqlValue[]
): Work<R | undefined> {
  return ((yield typeof query === 'string' ? { sql: query, values } : query) as readonly R[])[0]
}

export function* change<R extends object>(
  row: Statement,
  effects: readonly Statement[] = [],
): Work<R | undefined> {
  return ((yield { change: { row, effects } }) as readonly R[])[0]
}

export function* confirm(): Work<void> {
  yield { confirm: true }
}

export const joined = (parts: readonly Statement[], separator: string): Statement => ({
  sql: parts.map((part) => part.sql).join(separator),
  values: parts.flatMap((part) => part.values),
})

export function allOf(conditions: readonly (Statement | false)[]): Statement {
  const parts = conditions.filter((part) => part !== false)
  return parts.length === 0 ? statement('1 = 1') : joined(parts, ' AND ')
}

/**
 * `none`: times decrease somewhere in the log. `all`, `some`: times never decrease, and searches find all
 * events (`all`) or only some events (`some`).
 */
export const IN_ORDER = { none: 0, all: 1, some: 2 } as const

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

export interface Dialect {
  table(name: Table): string
  /** Returns a hint that names the index to use; empty if the database has no such hints. */
  by(index: string): string
  /** The current time in SQL. Its `?` is bound to the clock's microseconds, or to null for the database's clock. */
  readonly now: string
  readonly greatest: string
  /** The SQL function that returns a text's position in another text, from 1; 0 if it is absent. */
  readonly find: string
  /** Appended to a subquery to lock its rows until the transaction ends. */
  readonly lock: string
  readonly elements: string
  readonly entries: string
  /** Returns a join that looks up at most one row of a table for each row of the preceding tables. */
  lookUp(table: Table, alias: string, condition: string, order?: string): string
  /**
   * Returns a condition, and in `order` the columns by which to sort. The condition selects the rows that
   * have the values of `key` and are within the bounds.
   */
  walk(bounds: {
    readonly key: readonly (readonly [column: string, value: string | number | null])[]
    readonly time: string
    readonly descending: boolean
    readonly start: { readonly time: bigint; readonly id: string }
    /** The end of the range: excluded in ascending order, included in descending order. */
    readonly end: bigint
  }): Statement & { readonly order: readonly string[] }
  /** Selects columns of a log `l` and of its events `e` in the tree whose ids are in `ids`, a JSON list. */
  withIds(columns: string): (conversationId: string, ids: string) => Statement
  /** The table with the kinds and sources of indexed events. */
  readonly kinds: string
  /** Returns the position from which searches read events that are not indexed; null if all events are indexed. */
  firstUnindexed(version: number): number | null
  deleteEvents(conversationId: string): readonly Statement[]
  pageOfRanges(form: RangeForm, ranges: readonly EventRange[], columns: Statement, limit: number): Statement
  countRanges(form: RangeForm, ranges: readonly EventRange[]): Statement
  /** Condition that text `t` belongs to an existing conversation; empty if it always does. */
  readonly textFits: string
  readonly feedColumn: string
  readonly feedValue: string
}

/** Events of one log between two positions, both exclusive. A null `kind`, `source` or `lane` means all. */
export interface EventRange {
  readonly kind: string | null
  readonly source: string | null
  readonly lane: number | null
  readonly low: EventPlace
  readonly high: EventPlace
}

export interface RangeForm {
  readonly log: number
  /** Whether events are read by time, per kind and source. If not, only `seq` bounds a range. */
  readonly isByKind: boolean
  readonly descending: boolean
  readonly text: string | null
  readonly firstUnindexed: number | null
}

export interface FeedTrimmer {
  /** Whether the feed has more rows than it must keep. */
  isLong(): Work<boolean>
  trim(positions: readonly (readonly bigint[] | null)[]): Work<void>
}

/** What the SQL store needs from a database. */
export interface Engine {
  readonly dialect: Dialect
  readonly name: string
  /** Returns microseconds since 1970, or null for the database's own clock. */
  readonly clock: () => ReturnType<Clock> | null
  read<T>(work: () => Work<T>): Promise<T>
  write<T>(work: () => Work<T>): Promise<T>
}
