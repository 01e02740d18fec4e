/** The entry `colloquy/sqlite`: a store in a file, or over an open database of any driver. */

import { statSync } from 'node:fs'
import { ColloquyError } from '../../event/errors.ts'
import type { DisposableStore, Unwatch, Wake } from '../contract/store.ts'
import { storeClosed } from '../kit/errors.ts'
import { checkFeedRows } from '../kit/feed.ts'
import { checkOptionNames, checkPollInterval, invalidArgument } from '../../event/check-value.ts'
import { type Clock, microsNow } from '../kit/record.ts'
import { Watches } from '../kit/watches.ts'
import { appendResult, type KnownLog } from '../sql/append.ts'
import { sqlStore } from '../sql/store.ts'
import { CallbackError, Connection, type SqliteDatabase } from './database.ts'
import {
  append,
  changeItems,
  claimItems,
  FEED_LAST,
  FEED_ROWS,
  type FeedEnd,
  type FeedEntry,
  feedTrimmer,
  readFeed,
  SCHEMA,
  SQLITE,
} from './dialect.ts'
import { type ConnectionSource, Runner } from './runner.ts'
import { purge, replaceText, TEXT_INDEX, TEXT_WORK } from './texts.ts'

/** Maximum number of new rows to read; if there are more, all watches are woken. */
const MAX_NEWS = 1_000

/** The position of a feed row, and its random number: in another database, the number differs. */
type FeedPosition = Pick<FeedEnd, 'position' | 'witness'>

const START: FeedPosition = { position: 0, witness: 0 }

/**
 * Polls `PRAGMA data_version` for other connections' writes, then the feed, to wake only watches of changed
 * conversations. Reopens a failed connection, because watching processes make no calls. Keeps no process
 * alive.
 */
class Poll {
  readonly watches = new Watches()
  readonly #runner: Runner
  /** Milliseconds. */
  readonly #interval: number
  #timer: ReturnType<typeof setInterval> | null = null
  /** The last result of `PRAGMA data_version`; null before the first poll. */
  #seen: number | null = null
  #polled: Connection | null = null
  #position: FeedPosition | null = null
  #isOpening = false

  constructor(runner: Runner, interval: number) {
    this.#runner = runner
    this.#interval = interval
  }

  watch(conversationId: string | null, wake: Wake): Unwatch {
    const unwatch = this.watches.add(conversationId, wake)
    this.#start()
    return () => {
      unwatch()
      this.#rest()
    }
  }

  close(): void {
    this.watches.clear()
    this.#rest()
  }

  /** Starts polling, which finds later writes. Does nothing if polling has already started. */
  #start(): void {
    if (this.#timer !== null) return
    this.#position = this.#last()
    // The first poll finds writes from before the timer.
    this.#seen = null
    this.#polled = this.#runner.connection
    this.#reopen()
    this.#timer = setInterval(() => this.#poll(), this.#interval)
    this.#timer.unref?.()
  }

  #rest(): void {
    if (!this.watches.isEmpty) return
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /** Opens a lost connection again, because only an open one sees other processes' writes. */
  #reopen(): void {
    if (this.#runner.connection !== null || this.#isOpening) return
    this.#isOpening = true
    const end = (): void => {
      this.#isOpening = false
    }
    this.#runner.read(function* () {}).then(end, end)
  }

  #poll(): void {
    this.#reopen()
    const connection = this.#runner.connection
    const last = this.#last()
    const seen = this.#all<{ readonly data_version: number }>('PRAGMA data_version')?.[0]?.data_version
    // Unreadable now: retry at the next tick.
    if (last === null || seen === undefined) return
    const isSame = connection === this.#polled
    if (!isSame || this.#position === null) this.watches.wakeAll()
    // An unchanged pragma means that this connection wrote the new rows, and has already woken their watches.
    else if (seen !== this.#seen && !this.#wakeSince(this.#position)) return
    this.#seen = seen
    this.#polled = connection
    this.#position = last
  }

  /** Wakes watches of conversations that changed since a position; false if the database cannot be read now. */
  #wakeSince(from: FeedPosition): boolean {
    const { position } = from
    // Every change that wakes has a row.
    const values = [position, position, MAX_NEWS + 2, position, null, MAX_NEWS + 2]
    const rows = this.#all<FeedEntry>(FEED_ROWS, ...values)
    if (rows === null) return false
    const isThere = from === START || (rows[0]?.position === position && rows[0].witness === from.witness)
    const news = new Set((from === START ? rows : rows.slice(1)).map(({ conversationId }) => conversationId))
    // A restored database has another row at this position, or no row.
    if (!isThere || rows.length > MAX_NEWS + 1) this.watches.wakeAll()
    else for (const id of news) this.watches.wake(id)
    return true
  }

  #last(): FeedPosition | null {
    const rows = this.#all<FeedPosition>(FEED_LAST)
    return rows === null ? null : (rows[0] ?? START)
  }

  #all<R>(sql: string, ...values: (number | null)[]): R[] | null {
    try {
      return this.#runner.connection?.all<R>(sql, ...values) ?? null
    } catch {
      return null
    }
  }
}

export type { SqliteDatabase, SqliteStatement, SqliteValue } from './database.ts'

/** Maximum number of logs whose end is kept in memory, so that the next append need not read it. */
const MAX_LOGS = 1_000

/** Options of a SQLite store: a file for Node's driver, or any driver's open database. */
export type SqliteStoreOptions = (
  | { readonly file: string; readonly database?: never }
  | { readonly database: SqliteDatabase; readonly file?: never }
) & {
  /**
   * `full` (default): acknowledged appends survive a power loss. `normal`: they survive a process kill, but a
   * power loss may lose the last appends, each as a whole.
   */
  readonly synchronous?: 'full' | 'normal'
  /**
   * Opens the file read-only: every change throws `store_read_only`. Open a passed `database` read-only too.
   * The file must already have this version's tables, and its folder must be writable: SQLite creates files
   * that a read-only connection does not remove. Default: false.
   */
  readonly readOnly?: boolean
  /** Milliseconds that a call waits for another writer before it fails with `store_busy`. Default: 5,000. */
  readonly busyTimeout?: number
  /** Milliseconds between polls for changes by other processes, while there are watches. Default: 50. */
  readonly pollInterval?: number
  /** The clock of records, leases and items. Default: the system's. */
  readonly clock?: Clock
  /**
   * Whether to index text for {@link Store.searchText}, earlier events in the background. Set it in every
   * appending process. Default: false.
   */
  readonly fullText?: boolean
  /** The feed removes a deleted conversation's rows after this number of later rows. Default: 100,000. */
  readonly feedRows?: number
}

/**
 * Returns a store in SQLite: a file, `:memory:`, or an open database of `node:sqlite`, better-sqlite3 or
 * bun:sqlite. Several processes can share a file. The first call opens it and creates the `colloquy_…`
 * tables; there can be other tables too. After `store_unavailable`, the next call opens a file again.
 *
 * An open database belongs to the store until `close`, which leaves it open. The store switches it to
 * write-ahead logging, and no other code may hold a transaction on it. Its encoding must be UTF-8, the
 * default; UTF-16, which orders texts differently, throws `store_unavailable`. Use only one driver for a file
 * in a process, because file locks do not separate two drivers.
 *
 * `append` costs O(log n) per fact, and one disk sync per turn of the event loop; `get` O(log n); a page of
 * `search` O(log n + limit) per kind and source in the log, and, with `leafId`, per path segment in the page,
 * at any depth. A text filter, or `leafId` in a log whose times decrease, may read every event. Calls block
 * the calling thread.
 * @throws `invalid_argument` for invalid options; each call throws the database's errors.
 * @example
 * const store = sqliteStore({ file: ':memory:' })
 * await store.createConversation({ id: 'c' })
 * const { version, headId } = await store.append('c', [{ kind: 'PauseEvent', id: 'p1' }], { expected: 'none' })
 * version // 1
 * headId // 'p1'
 * await store.close()
 */
export function sqliteStore(options: SqliteStoreOptions): DisposableStore {
  const { synchronous = 'full', readOnly = false, busyTimeout = 5_000, fullText = false } = options ?? {}
  const pollInterval = checkPollInterval(options?.pollInterval, 50)
  const feedRows = checkFeedRows(options?.feedRows)
  if (synchronous !== 'full' && synchronous !== 'normal')
    invalidArgument('synchronous', 'must be full or normal')
  const { file, database } = (options ?? {}) as { file?: unknown; database?: Partial<SqliteDatabase> }
  if (file === undefined ? typeof database?.prepare !== 'function' : typeof file !== 'string' || file === '')
    invalidArgument('file', 'must be the path of a file; or pass `database`, an open database')
  checkOptionNames(
    options,
    'file database synchronous readOnly busyTimeout pollInterval clock fullText feedRows',
  )
  if (!(busyTimeout >= 0)) invalidArgument('busyTimeout', 'must be 0 or more milliseconds')
  const connect = (database: SqliteDatabase): Connection =>
    setUp(database, { synchronous, readOnly, fullText })
  const source =
    options.file === undefined
      ? givenDatabase(options.database, connect)
      : openedFile(pathOf(options.file), readOnly, connect)
  const runner = new Runner(source, busyTimeout)
  const clock = options.clock ?? microsNow
  const millis = (): number => Number(clock() / 1000n)
  const poll = new Poll(runner, pollInterval)
  const logs = new Map<string, KnownLog>()
  return sqlStore(
    { name: 'sqlite', dialect: SQLITE, clock, read: runner.read, write: runner.write },
    {
      async append(id, facts, options) {
        const isAlone = options.within !== undefined
        const known = logs.get(id) ?? null
        logs.delete(id)
        const { decision, log } = await runner
          .write(() => append(id, facts, options, known, clock(), fullText), { isAlone })
          .catch((error: unknown) => {
            throw error instanceof CallbackError ? error.cause : error
          })
        log.trim()
        logs.set(id, log)
        // The least recently used is the first.
        for (const [oldest] of logs) {
          if (logs.size <= MAX_LOGS) break
          logs.delete(oldest)
        }
        return { result: appendResult(decision), isNew: decision.added.length > 0 }
      },
      transact: runner.write,
      index: runner.write,
      replaceText,
      changeItems: (changes) => () => changeItems(changes, millis()),
      claimItems: (collection, claim) => () => claimItems(collection, claim, millis()),
      feed: (query) => () => readFeed(query),
      feedRows: feedTrimmer(feedRows),
      texts: fullText ? { ...TEXT_WORK, index: readOnly ? null : TEXT_WORK.index } : null,
      purgeTexts: purge,
      watches: poll.watches,
      watch(id, wake) {
        if (runner.isClosed) throw storeClosed()
        return poll.watch(id, wake)
      },
      async close() {
        poll.close()
        await runner.close()
      },
    },
  )
}

type SetUp = (database: SqliteDatabase) => Connection

const givenDatabase = (database: SqliteDatabase, connect: SetUp): ConnectionSource => ({
  open: async () => connect(database),
  close: () => undefined,
  reopens: false,
  check: () => undefined,
})

/** Returns a source that opens a file, and checks that the path still has the same file. */
function openedFile(file: string, readOnly: boolean, connect: SetUp): ConnectionSource {
  const isFile = file !== ':memory:'
  let identity: string | null = null
  return {
    async open() {
      // One that was there and was deleted is not created again, empty.
      if (identity !== null && identityOf(file) === GONE) throw moved(file)
      const database = await openFile(file, readOnly)
      try {
        const connection = connect(database)
        if (isFile) identity = identityOf(file)
        return connection
      } catch (error) {
        database.close()
        throw error
      }
    },
    close: ({ database }) => void database.close(),
    reopens: isFile,
    check() {
      if (isFile && identityOf(file) !== identity) throw moved(file)
    },
  }
}

/** Absolute, because the working directory of the process may change. */
const pathOf = (file: string): string =>
  /^(?:[/\\]|[a-z]:|file:|:memory:$)/i.test(file) ? file : `${process.cwd()}/${file}`

const GONE = ''

function identityOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats === undefined ? GONE : `${stats.dev} ${stats.ino}`
}

const moved = (file: string): ColloquyError =>
  new ColloquyError(
    'store_unavailable',
    'The database file was deleted, moved or replaced while it was open. Restore it at its path and call again.',
    { file },
  )

async function openFile(file: string, readOnly: boolean): Promise<SqliteDatabase> {
  const driver = await import('node:sqlite').catch((cause: unknown) => {
    throw new ColloquyError(
      'store_unavailable',
      'This runtime has no node:sqlite. Pass an open `database` of better-sqlite3 or bun:sqlite instead of a `file`.',
      {},
      { cause },
    )
  })
  return new driver.DatabaseSync(file, { readOnly })
}

/** Maximum bytes of the write-ahead log's file after its content was written to the database. */
const JOURNAL_SIZE = 4 * 2 ** 20

/** Configures a database and creates its tables. Can be called again after a failure. */
function setUp(
  database: SqliteDatabase,
  settings: Required<Pick<SqliteStoreOptions, 'synchronous' | 'readOnly' | 'fullText'>>,
): Connection {
  const { synchronous, readOnly, fullText } = settings
  const connection = new Connection(database)
  // The store waits by itself, without blocking the event loop.
  database.exec('PRAGMA busy_timeout = 0')
  if (!readOnly) {
    // A database in memory returns `memory` here and stays as it is.
    const [mode] = connection.all<{ readonly journal_mode: string }>('PRAGMA journal_mode')
    if (mode?.journal_mode !== 'wal' && mode?.journal_mode !== 'memory')
      database.exec('PRAGMA journal_mode = WAL')
    database.exec(`PRAGMA synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'}`)
    database.exec('PRAGMA secure_delete = ON')
    database.exec(`PRAGMA journal_size_limit = ${JOURNAL_SIZE}`)
  }
  const [row] = connection.all<{ readonly encoding: string }>('PRAGMA encoding')
  if (row !== undefined && row.encoding !== 'UTF-8')
    throw new ColloquyError(
      'store_unavailable',
      `The database encoding is ${row.encoding}, which sorts ids differently. Use a database in UTF-8.`,
      { encoding: row.encoding },
    )
  database.exec('PRAGMA foreign_keys = ON')
  createSchema(connection, readOnly)
  if (fullText) {
    createTextIndex(connection, readOnly)
    // A page of hits reads some hundreds of pages all over the file: SQLite's default keeps 500.
    const [cache] = connection.all<{ readonly cache_size: number }>('PRAGMA cache_size')
    if (cache?.cache_size === -2_000) database.exec('PRAGMA cache_size = -8000')
  }
  return connection
}

/** Version of the schema, stored in a table of its own, because the database may have other tables. */
const VERSION = 1

/** Creates the schema in one transaction. If several processes open a database at once, one creates it. */
function createSchema(connection: Connection, readOnly: boolean): void {
  if (isCreated(connection)) return
  if (readOnly)
    throw new ColloquyError(
      'store_read_only',
      'The database has no Colloquy tables. Open it once without `readOnly`.',
      { missing: 'schema' },
    )
  connection.share(() => {
    if (isCreated(connection)) return
    for (const sql of SCHEMA) connection.database.exec(sql)
    connection.database.exec('CREATE TABLE colloquy_schema (version INTEGER NOT NULL) STRICT')
    connection.database.exec(`INSERT INTO colloquy_schema (version) VALUES (${VERSION})`)
  })
}

const hasTable = (connection: Connection, name: string): boolean =>
  connection.all(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`, name).length > 0

function createTextIndex(connection: Connection, readOnly: boolean): void {
  const isIndexed = (): boolean => hasTable(connection, 'colloquy_text_index')
  if (isIndexed()) return
  if (readOnly)
    throw new ColloquyError(
      'store_read_only',
      'The database has no full-text index. Open it once with `fullText: true` and without `readOnly`.',
      { missing: 'text' },
    )
  connection.share(() => {
    if (!isIndexed()) for (const sql of TEXT_INDEX) connection.database.exec(sql)
  })
}

function isCreated(connection: Connection): boolean {
  if (!hasTable(connection, 'colloquy_schema')) return false
  const [row] = connection.all<{ readonly version: number }>('SELECT version FROM colloquy_schema')
  const version = row?.version ?? 0
  if (version <= VERSION) return version === VERSION
  throw new ColloquyError(
    'store_newer',
    `The database has version ${version}, but this library supports only versions up to ${VERSION}. Upgrade the library.`,
    { version, newest: VERSION },
  )
}
