/** Opens a connection to SQLite, set up for the store. */

import { ColloquyError } from '../../event/errors.ts'
import { Connection } from './connection.ts'
import type { SqliteDatabase } from './database.ts'
import { migrate } from './migrate.ts'

/** How a connection is set up. */
export interface Setup {
  readonly synchronous: 'full' | 'normal'
  readonly readOnly: boolean
}

/**
 * Opens a file with Node's own driver.
 * @throws `store_unavailable` where the runtime has none; whatever the driver throws.
 */
export async function openFile(file: string, readOnly: boolean): Promise<SqliteDatabase> {
  const driver = await import('node:sqlite').catch((cause: unknown) => {
    throw new ColloquyError(
      'store_unavailable',
      'This runtime has no node:sqlite; give an open `database` of better-sqlite3 or bun:sqlite instead of a `file`.',
      {},
      { cause },
    )
  })
  return new driver.DatabaseSync(file, { readOnly })
}

/**
 * Makes a connection what the store expects: write-ahead log, the durability asked for, foreign keys, the newest
 * schema. May be called again when it failed half way.
 *
 * @throws `store_unavailable` for a database in UTF-16; what {@link migrate} throws; whatever the driver throws.
 */
export function setUp(database: SqliteDatabase, { synchronous, readOnly }: Setup): Connection {
  const connection = new Connection(database)
  // The store waits by itself, without holding up the event loop.
  database.exec('PRAGMA busy_timeout = 0')
  if (!readOnly) {
    // A database in memory gives `memory` here and stays as it is.
    const mode = connection.get<{ journal_mode: string }>('PRAGMA journal_mode')?.journal_mode
    if (mode !== 'wal' && mode !== 'memory') database.exec('PRAGMA journal_mode = WAL')
    database.exec(`PRAGMA synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'}`)
  }
  refuseOtherEncodings(connection)
  database.exec('PRAGMA foreign_keys = ON')
  migrate(connection, readOnly)
  return connection
}

/** Texts are ordered by their bytes, and in UTF-16 that is not the order of code points. */
function refuseOtherEncodings(connection: Connection): void {
  const encoding = connection.get<{ readonly encoding: string }>('PRAGMA encoding')?.encoding
  if (encoding === undefined || encoding === 'UTF-8') return
  throw new ColloquyError(
    'store_unavailable',
    `The database keeps its text in ${encoding}, which orders ids otherwise; give one whose encoding is UTF-8.`,
    { encoding },
  )
}
