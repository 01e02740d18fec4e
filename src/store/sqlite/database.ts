import { statSync } from 'node:fs'
import { invalidArgument } from '../../event/check-value.ts'
import { ColloquyError } from '../../event/errors.ts'
import { attempt } from '../../event/json.ts'
import { invalidWithin } from '../kit/errors.ts'
import type { Clock } from '../kit/record.ts'
import type { Change, SqlValue, SqlStep, Work } from '../sql/dialect.ts'
import { SCHEMA } from './dialect.ts'
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './driver.ts'
import { TEXT_INDEX } from './texts.ts'

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
   * The file must already have this version's tables, and its folder must be writable, because SQLite creates
   * files there. A read-only connection does not remove them. Default: false.
   */
  readonly readOnly?: boolean
  /** Milliseconds that a call waits for another writer before it fails with `store_busy`. Default: 5,000. */
  readonly busyTimeout?: number
  /** Milliseconds between polls for changes by other processes, while there are watches. Default: 50. */
  readonly pollInterval?: number
  /** The clock of records, leases and items. Default: the system's. */
  readonly clock?: Clock
  /**
   * Whether to index text for {@link Store.searchText}. Earlier events are indexed in the background. Set
   * this option in every process that appends. Default: false.
   */
  readonly fullText?: boolean
  /** The feed removes a row of a deleted conversation once this many later rows exist. Default: 100,000. */
  readonly feedRows?: number
}

export interface ConnectionSource {
  open(): Promise<Connection>
  /** Closes a connection that `open` has opened. Missing if the caller passed an open database. */
  readonly close?: (connection: Connection) => void
  /** Whether to reopen after connection errors. False for a database in memory, and for one that the caller opened. */
  readonly reopens: boolean
  /** Checks that the database file and its `-wal` file were not replaced. @throws `store_unavailable` otherwise. */
  readonly check?: () => void
  readonly busyTimeout: number
}

export function connectionSource(options: SqliteStoreOptions): ConnectionSource {
  const { synchronous = 'full', readOnly = false, busyTimeout = 5_000, fullText = false } = options ?? {}
  if (synchronous !== 'full' && synchronous !== 'normal')
    invalidArgument('synchronous', "must be 'full' or 'normal'")
  const { file, database } = (options ?? {}) as { file?: unknown; database?: Partial<SqliteDatabase> }
  if (file === undefined ? typeof database?.prepare !== 'function' : typeof file !== 'string' || file === '')
    invalidArgument('file', 'must be the path of a file; or pass `database`, an open database')
  if (typeof busyTimeout !== 'number' || !(busyTimeout >= 0))
    invalidArgument('busyTimeout', 'must be 0 or more milliseconds')
  const settings = { synchronous, readOnly, busyTimeout, fullText }
  if (options.file !== undefined) return openedFile(pathOf(options.file), settings)
  return { open: async () => setUp(options.database, settings), reopens: false, busyTimeout }
}

type Settings = Required<Pick<SqliteStoreOptions, 'synchronous' | 'readOnly' | 'busyTimeout' | 'fullText'>>

function openedFile(file: string, settings: Settings): ConnectionSource {
  // SQLite also accepts a URI, such as `file:a%20b.db?mode=rw`. Its scheme is in lower case.
  const isFile = !/^:memory:$|^file:(?::memory:|.*[?&](?:mode=memory|vfs=memdb))/.test(file)
  const [, inUri] = /^file:(?:\/\/[^/]*)?([^?#]*)/.exec(file) ?? []
  const path = inUri === undefined ? file : pathOf(attempt(() => decodeURIComponent(inUri), inUri))
  let [log, identity] = ['', '']
  return {
    async open() {
      // A deleted file is not created again as an empty one.
      if (identity !== '' && identityOf(path) === '') throw moved(file)
      const database = await openFile(file, settings.readOnly)
      try {
        const connection = setUp(database, settings)
        const [main] = connection.all<{ readonly file: string }>('PRAGMA database_list')
        if (isFile) [log, identity] = [`${main?.file}-wal`, identityOf(path, `${main?.file}-wal`)]
        return connection
      } catch (error) {
        database.close()
        throw error
      }
    },
    close: ({ database }) => void database.close(),
    reopens: isFile,
    check() {
      if (isFile && identityOf(path, log) !== identity) throw moved(file)
    },
    busyTimeout: settings.busyTimeout,
  }
}

/** Returns an absolute path, because the working directory of the process may change. */
const pathOf = (file: string): string =>
  /^(?:[/\\]|[a-z]:|file:|:memory:$)/i.test(file) ? file : `${process.cwd()}/${file}`

function identityOf(...paths: readonly string[]): string {
  const stats = paths.map((path) => statSync(path, { throwIfNoEntry: false }))
  return stats.map((one) => one && `${one.dev} ${one.ino}`).join()
}

const moved = (file: string): ColloquyError =>
  new ColloquyError(
    'store_unavailable',
    'The database file or its write-ahead log was deleted, moved or replaced while it was open. Restore the file and retry.',
    { file },
  )

async function openFile(file: string, readOnly: boolean): Promise<SqliteDatabase> {
  const driver = await import('node:sqlite').catch((cause: unknown) => {
    throw new ColloquyError(
      'store_unavailable',
      'This runtime has no `node:sqlite`. Pass an open `database` of `better-sqlite3` or `bun:sqlite` instead of a `file`.',
      {},
      { cause },
    )
  })
  return new driver.DatabaseSync(file, { readOnly })
}

/** Maximum bytes of the write-ahead log's file after its content was written to the database. */
const MAX_LOG_BYTES = 4 * 2 ** 20

/** Prepares a database for use. Can be called again after a failure. */
function setUp(database: SqliteDatabase, { synchronous, readOnly, fullText }: Settings): Connection {
  const connection = new Connection(database)
  // The store itself waits for its `busyTimeout`, without blocking the event loop.
  database.exec('PRAGMA busy_timeout = 0')
  if (!readOnly) {
    // A database in memory returns `memory` here and stays as it is.
    const [mode] = connection.all<{ readonly journal_mode: string }>('PRAGMA journal_mode')
    if (mode?.journal_mode !== 'wal' && mode?.journal_mode !== 'memory')
      database.exec('PRAGMA journal_mode = WAL')
    database.exec(`PRAGMA journal_size_limit = ${MAX_LOG_BYTES}`)
    database.exec(`PRAGMA synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'}`)
    database.exec('PRAGMA secure_delete = ON')
  }
  const [row] = connection.all<{ readonly encoding: string }>('PRAGMA encoding')
  if (row !== undefined && row.encoding !== 'UTF-8')
    throw new ColloquyError(
      'store_unavailable',
      `The database encoding is ${row.encoding}, which sorts ids wrongly. Use a database in UTF-8.`,
      { encoding: row.encoding },
    )
  database.exec('PRAGMA foreign_keys = ON')
  createSchema(connection, readOnly)
  if (fullText) {
    createTextIndex(connection, readOnly)
    // A text search reads some hundreds of pages of the file; SQLite's default cache has 500.
    const [cache] = connection.all<{ readonly cache_size: number }>('PRAGMA cache_size')
    if (cache?.cache_size === -2_000) database.exec('PRAGMA cache_size = -8000')
  }
  return connection
}

/** Version of the schema, stored in a table of its own, because the database may have other tables. */
const VERSION = 1

/** Creates the schema if it is missing. If several processes open a database at once, only one creates it. */
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

/** A statement. `returnsRows`: drivers reject `all` for a statement that returns no rows. */
interface Prepared {
  readonly statement: SqliteStatement
  readonly returnsRows: boolean
  readonly mayWrite: boolean
  /** The names of the columns if the driver returns rows as lists; null if it returns objects. */
  readonly columns: readonly string[] | null
}

/** Methods of node:sqlite since Node.js 22.16, for rows as lists: rows as objects are slow to create and to read. */
type Listing = { setReturnArrays(on: boolean): void; columns(): readonly { readonly name: string }[] }

const RETURNS_ROWS = /^\s*(?:SELECT|PRAGMA|EXPLAIN|WITH RECURSIVE)|\bRETURNING\b/

const MAX_PREPARED = 500

type Part = <T>(work: () => Work<T>) => T

/** Runs statements. Each call reads all its rows at once, so no call restarts a statement in use. */
export class Connection {
  readonly database: SqliteDatabase
  readonly #statements = new Map<string, Prepared>()
  #hasWritten = false
  /** Whether a transaction is open. A call that arrives meanwhile is from a `within` function. */
  isInTransaction = false

  constructor(database: SqliteDatabase) {
    this.database = database
  }

  all<R>(sql: string, ...values: SqlValue[]): R[] {
    const { statement, returnsRows, columns, mayWrite } = this.#statements.get(sql) ?? this.#prepare(sql)
    let rows: unknown[] = []
    if (returnsRows) rows = statement.all(...(values as SqliteValue[]))
    else statement.run(...(values as SqliteValue[]))
    if (mayWrite) this.#hasWritten = true
    if (columns === null) return rows as R[]
    // Copies of one object share a layout, and are created faster than field by field.
    const empty: Record<string, SqlValue> = {}
    for (const column of columns) empty[column] = null
    return (rows as SqlValue[][]).map((row) => {
      const object = { ...empty }
      for (let index = 0; index < columns.length; index += 1)
        object[columns[index] ?? ''] = row[index] ?? null
      return object as R
    })
  }

  run<T>(work: () => Work<T>): T {
    const steps = work()
    for (let next = steps.next([]); ;) {
      if (next.done === true) return next.value
      next = this.#answer(steps, next.value)
    }
  }

  write<T>(work: () => Work<T>): T {
    return this.#transaction('BEGIN IMMEDIATE', () => this.run(work))
  }

  /**
   * Runs work in one transaction, which is durable when `share` returns. If a `part` throws, only this part
   * is rolled back. Such a rollback needs savepoints, which are slow. So the first attempt sets no
   * savepoints. If a part fails after a change, a second attempt runs the whole work again with savepoints.
   */
  share<T>(work: (part: Part) => T): T {
    const attempt = (savesParts: boolean): T =>
      this.#transaction('BEGIN IMMEDIATE', () => work((one) => this.#part(one, savesParts)))
    try {
      return attempt(false)
    } catch (error) {
      if (!(error instanceof PartlyWritten)) throw error
      return attempt(true)
    }
  }

  /** Carries out a unit of work, whose statements see one state of the database. Usually it is one statement. */
  read<T>(work: () => Work<T>): T {
    const steps = work()
    const start = steps.next([])
    const next = start.done === true ? start : this.#answer(steps, start.value)
    return next.done === true ? next.value : this.#transaction('BEGIN', () => this.run(work))
  }

  #answer<T>(steps: ReturnType<() => Work<T>>, step: SqlStep): IteratorResult<SqlStep, T> {
    let rows: readonly object[] = []
    try {
      if ('sql' in step) rows = this.all(step.sql, ...step.values)
      else if ('callback' in step) this.#callBack(step.callback)
      else if ('change' in step) rows = this.#change(step.change)
    } catch (error) {
      return steps.throw(error)
    }
    return steps.next(rows)
  }

  #change({ row, effects }: Change): readonly object[] {
    const rows = this.all<Readonly<Record<string, SqlValue>>>(row.sql, ...row.values)
    const [changed] = rows
    if (changed === undefined) return rows
    const columns = Object.keys(changed)
    const head = `WITH changed (${columns.join(', ')}) AS (SELECT ${columns.map(() => '?').join(', ')}) `
    for (const { sql, values } of effects) this.all(head + sql, ...Object.values(changed), ...values)
    return rows
  }

  /** Calls the function of the option `within`. A savepoint shows whether the function has ended the transaction. */
  #callBack(callback: (handle: unknown) => unknown): void {
    this.all('SAVEPOINT colloquy_callback')
    let result: unknown
    try {
      result = callback(this.database)
    } catch (error) {
      throw new CallbackError(error)
    }
    if (typeof (result as PromiseLike<unknown> | null | undefined)?.then === 'function') {
      // Ignores a rejection: the promise is not part of this transaction.
      Promise.resolve(result as PromiseLike<unknown>).catch(() => undefined)
      throw new CallbackError(invalidWithin('must be synchronous in SQLite, but returned a promise'))
    }
    try {
      this.all('RELEASE colloquy_callback')
    } catch {
      throw new CallbackError(invalidWithin('must not end the transaction'))
    }
  }

  #transaction<T>(begin: string, work: () => T): T {
    this.all(begin)
    this.isInTransaction = true
    try {
      const result = work()
      this.all('COMMIT')
      return result
    } catch (error) {
      try {
        this.all('ROLLBACK')
      } catch {
        // SQLite has ended the transaction by itself, as it does when the disk is full.
      }
      throw error
    } finally {
      this.isInTransaction = false
    }
  }

  /** Runs a part of `share`. @throws the part's error, or `PartlyWritten` if it changed data without a savepoint. */
  #part<T>(work: () => Work<T>, isSaved: boolean): T {
    if (!isSaved) {
      this.#hasWritten = false
      try {
        return this.run(work)
      } catch (error) {
        throw this.#hasWritten ? new PartlyWritten() : error
      }
    }
    this.all('SAVEPOINT colloquy_part')
    try {
      const result = this.run(work)
      this.all('RELEASE colloquy_part')
      return result
    } catch (error) {
      this.all('ROLLBACK TO colloquy_part')
      this.all('RELEASE colloquy_part')
      throw error
    }
  }

  #prepare(sql: string): Prepared {
    // SQLite may compile a plain `LIMIT ?` or `= ?` again for each value, to use the value in the plan.
    const statement = this.database.prepare(sql.replaceAll(/(LIMIT|[<=>]) \?/g, '$1 +?'))
    statement.setReadBigInts?.(false)
    statement.safeIntegers?.(false)
    const returnsRows = RETURNS_ROWS.test(sql)
    const columns = returnsRows ? columnsOf(statement) : null
    const prepared = { statement, returnsRows, columns, mayWrite: !/^\s*SELECT\b/.test(sql) }
    if (this.#statements.size < MAX_PREPARED) this.#statements.set(sql, prepared)
    return prepared
  }
}

function columnsOf(statement: SqliteStatement | (SqliteStatement & Listing)): string[] | null {
  if (!('setReturnArrays' in statement)) return null
  statement.setReturnArrays(true)
  return statement.columns().map(({ name }) => name)
}

export class PartlyWritten extends Error {}

/** The failure of a caller's `within` function, which is not a fault of the connection. */
export class CallbackError extends Error {
  constructor(cause: unknown) {
    super('The work within an append has failed.', { cause })
  }
}
