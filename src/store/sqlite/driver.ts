/** A bound value. Texts are well-formed and without NUL, because some drivers change other texts. */
export type SqliteValue = null | number | bigint | string | Uint8Array

/** A prepared statement. Its `?` are bound in order. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  setReadBigInts?(on: boolean): unknown
  safeIntegers?(on: boolean): unknown
}

/** An open database of node:sqlite, better-sqlite3 or bun:sqlite. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}
