/** The least of a SQLite driver that the store needs, so that any of them will do (design D11). */

/** What is bound to a statement. Text is well-formed and without NUL: some drivers change or cut any other. */
export type SqliteValue = null | number | bigint | string | Uint8Array

/** A prepared statement. Its `?`s are bound in order. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): unknown
  /** The first row as an object; undefined or null when there is none. */
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  /** Where a driver has it (node:sqlite from Node 24 on), rows come as arrays, which are faster to read. */
  setReturnArrays?(enabled: boolean): void
}

/**
 * A synchronous connection: `DatabaseSync` of node:sqlite, better-sqlite3's `Database`, bun:sqlite's `Database`.
 * Integers are read as numbers, as all of them do by default.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}
