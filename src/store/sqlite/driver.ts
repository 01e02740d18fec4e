/** A bound value. Texts are well-formed and without NUL, because some drivers change other texts. */
export type SqliteValue = null | number | bigint | string | Uint8Array

/** A prepared statement. Its `?` are bound in order. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
}

/**
 * An open database: `DatabaseSync` of node:sqlite, or `Database` of better-sqlite3 or bun:sqlite. It must
 * return integers as numbers, the default of these drivers.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}
