import type { SqliteDatabase } from './driver.ts'

/** Maximum bytes of the write-ahead log's file after its content was written to the database. */
const MAX_BYTES = 4 * 2 ** 20

/** Milliseconds without a write after which the write-ahead log is copied to the database and emptied. */
export const IDLE = 1_000

export function enableWriteAheadLog(database: SqliteDatabase): void {
  // A database in memory returns `memory` here and stays as it is.
  const [row] = database.prepare('PRAGMA journal_mode').all() as { readonly journal_mode: string }[]
  if (row?.journal_mode !== 'wal' && row?.journal_mode !== 'memory')
    database.exec('PRAGMA journal_mode = WAL')
  database.exec(`PRAGMA journal_size_limit = ${MAX_BYTES}`)
}

/**
 * Empties the write-ahead log's file, which otherwise keeps deleted data and the size that it reached during
 * a slow read. Readers of other processes may delay this to the next idle time.
 */
export function emptyWriteAheadLog(database: SqliteDatabase): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // Another process uses the database, and also empties the file when it is idle.
  }
}
