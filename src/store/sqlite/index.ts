/** The entry `colloquy/sqlite`: a store in a file, or over an open database of any driver. */

import { type Clock, microsNow } from '../kit/record.ts'
import { checkPollInterval, invalidArgument } from '../kit/query/check-value.ts'
import type { Store } from '../contract/store.ts'
import type { Connection } from './connection.ts'
import type { SqliteDatabase } from './database.ts'
import { openFile, setUp } from './open.ts'
import { Runner, type ConnectionSource } from './runner.ts'
import { SqliteStore } from './store.ts'

export type { SqliteDatabase, SqliteStatement, SqliteValue } from './database.ts'

/** How a SQLite store is made: over a file, which Node's own driver opens, or over an open database of any driver. */
export type SqliteStoreOptions = (
  | { readonly file: string; readonly database?: never }
  | { readonly database: SqliteDatabase; readonly file?: never }
) & {
  /**
   * What an acknowledged append survives: `full` (default) a loss of power, `normal` a kill of the process, and with a
   * loss of power the last appends may be gone, though never a part of one.
   */
  readonly synchronous?: 'full' | 'normal'
  /**
   * Refuses every change. The database must exist and be of this version. SQLite still makes files beside it, which a
   * connection that only reads does not remove, so its folder must let it. Default: false.
   */
  readonly readOnly?: boolean
  /** For how many milliseconds a call waits while another process writes. Default: 5,000. */
  readonly busyTimeout?: number
  /**
   * How often it is looked, in milliseconds, whether another process has appended, while there are watches. Default:
   * 50.
   */
  readonly pollInterval?: number
  /** Gives the time of records and leases. Default: the system's. */
  readonly clock?: Clock
}

/**
 * A store in a SQLite database: a file, `:memory:`, or an open database of `node:sqlite`, better-sqlite3 or bun:sqlite.
 * The tables are named `colloquy_…` and may stand beside others. The database is opened and migrated by the first call,
 * and opened anew by the next one after an error that makes it `store_unavailable`. Several processes may hold one file
 * at once.
 *
 * An open database belongs to the store until `close`, which leaves it open: it is switched to write-ahead logging, and
 * no other code may hold a transaction on it. Its encoding is UTF-8, as SQLite has it unless it is told otherwise: one
 * in UTF-16, which orders texts otherwise, is refused as `store_unavailable`. Within one process, open a file with one
 * driver only: each brings a SQLite of its own, and the locks that keep processes apart do not keep the two apart.
 *
 * Costs: `append` O(log n) for each fact and one sync of the disk in all, which the writes that are asked for in one
 * turn of the event loop share; `get` O(log n); a page of `search` O(log n +
 * limit) for each kind and source in the log, at any depth, with any filter but text. Each call runs on the calling
 * thread.
 *
 * @throws `invalid_argument` for options that are none; what a database can throw comes with the first call.
 *
 * @example
 * const store = sqliteStore({ file: ':memory:' })
 * await store.createConversation({ id: 'c' })
 * const { version, headId } = await store.append('c', [{ kind: 'PauseEvent', id: 'p1' }], { expected: 'none' })
 * version // 1
 * headId // 'p1'
 * await store.close()
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const { synchronous = 'full', readOnly = false, busyTimeout = 5_000 } = options ?? {}
  const pollInterval = checkPollInterval(options?.pollInterval, 50)
  if (synchronous !== 'full' && synchronous !== 'normal')
    invalidArgument('synchronous', 'must be full or normal')
  const { file, database } = (options ?? {}) as { file?: unknown; database?: Partial<SqliteDatabase> }
  if (file === undefined ? typeof database?.prepare !== 'function' : typeof file !== 'string' || file === '')
    invalidArgument('file', 'must be the path of a file, or `database` an open database')
  if (!(busyTimeout >= 0)) invalidArgument('busyTimeout', 'must be a number of milliseconds')
  const setup = { synchronous, readOnly }
  const source =
    options.file === undefined
      ? givenDatabase(options.database, (database) => setUp(database, setup))
      : openedFile(options.file, readOnly, (database) => setUp(database, setup))
  return new SqliteStore(new Runner(source, busyTimeout), options.clock ?? microsNow, pollInterval)
}

type SetUp = (database: SqliteDatabase) => Connection

const givenDatabase = (database: SqliteDatabase, connect: SetUp): ConnectionSource => ({
  open: async () => connect(database),
  close: () => undefined,
  reopens: false,
})

const openedFile = (file: string, readOnly: boolean, connect: SetUp): ConnectionSource => ({
  async open() {
    const database = await openFile(file, readOnly)
    try {
      return connect(database)
    } catch (error) {
      database.close()
      throw error
    }
  },
  close: ({ database }) => void database.close(),
  reopens: file !== ':memory:',
})
