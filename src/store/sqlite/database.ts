import { ColloquyError, type ErrorCode, isColloquyError } from '../../event/errors.ts'
import { invalidWithin } from '../kit/errors.ts'
import type { Change, SqlValue, SqlStep, Work } from '../sql/dialect.ts'

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

/** A statement, and whether it returns rows. Drivers refuse to read rows of other statements. */
interface Prepared {
  readonly statement: SqliteStatement
  readonly returnsRows: boolean
  readonly mayWrite: boolean
  /** The names of the columns if the driver returns rows as lists; null if it returns objects. */
  readonly columns: readonly string[] | null
}

/** Statement methods of node:sqlite since Node.js 22.16. Rows as objects are slow to create and to read. */
type Listing = { setReturnArrays(on: boolean): void; columns(): readonly { readonly name: string }[] }

const RETURNS_ROWS = /^\s*(?:SELECT|PRAGMA|EXPLAIN|WITH RECURSIVE)|\bRETURNING\b/
const READS = /^\s*SELECT\b/

/** Maximum number of prepared statements of a connection. Further statements are prepared for each call. */
const MAX_PREPARED = 500

/** Carries out one of the units of work that share a transaction. */
type Part = <T>(work: () => Work<T>) => T

/** One connection and its statements. Calls read all rows at once, so no call restarts a statement midway. */
export class Connection {
  readonly database: SqliteDatabase
  readonly #statements = new Map<string, Prepared>()
  #hasWritten = false
  /** Whether a transaction is open. A call during it is made by the caller's work. */
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
    // Objects that are copies of one share its layout, and are created faster than field by field.
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

  /** Runs work in a transaction that excludes other writers; an exception rolls the work back. */
  write<T>(work: () => Work<T>): T {
    return this.#transaction('BEGIN IMMEDIATE', () => this.run(work))
  }

  /**
   * Runs work in one transaction, durable when this returns; an exception of a `part` rolls back that part.
   * Savepoints, which undo a failed part, are slow: they are set only in a second attempt, if a part has
   * failed after its first change.
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

  /** Carries out a unit of work on one state of the database. Most units are one statement. */
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

  /** Calls the caller's work. A savepoint shows whether the work has ended the transaction. */
  #callBack(callback: (handle: unknown) => unknown): void {
    this.all('SAVEPOINT colloquy_callback')
    let result: unknown
    try {
      result = callback(this.database)
    } catch (error) {
      throw new CallbackError(error)
    }
    if (typeof (result as PromiseLike<unknown> | null | undefined)?.then === 'function') {
      // Whatever becomes of it, it is not part of this transaction.
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

  /** Runs a part. @throws what the work throws, or the driver's error if SQLite has ended the transaction. */
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
    // SQLite compiles a statement again for each value of a plain `LIMIT ?`, to plan with it.
    const statement = this.database.prepare(sql.replaceAll('LIMIT ?', 'LIMIT 0 + ?'))
    const returnsRows = RETURNS_ROWS.test(sql)
    const columns = returnsRows ? columnsOf(statement) : null
    const prepared = { statement, returnsRows, columns, mayWrite: !READS.test(sql) }
    if (this.#statements.size < MAX_PREPARED) this.#statements.set(sql, prepared)
    return prepared
  }
}

function columnsOf(statement: SqliteStatement | (SqliteStatement & Listing)): string[] | null {
  if (!('setReturnArrays' in statement)) return null
  statement.setReturnArrays(true)
  return statement.columns().map(({ name }) => name)
}

/** A part of a shared transaction has failed after its first change. */
export class PartlyWritten extends Error {}

/** An exception of the caller's own work, which is not a fault of the connection. */
export class CallbackError extends Error {
  constructor(cause: unknown) {
    super('The work within an append has failed.', { cause })
  }
}

/** SQLite's primary result codes that tell a caller what to do. */
const RESULTS: Readonly<Record<number, string>> = {
  5: 'BUSY',
  6: 'LOCKED',
  8: 'READONLY',
  10: 'IOERR',
  11: 'CORRUPT',
  13: 'FULL',
  14: 'CANTOPEN',
  26: 'NOTADB',
}

/** Result codes: the file of an open connection was replaced or deleted. */
const MOVED: readonly unknown[] = [1032, 'SQLITE_READONLY_DBMOVED']

/** Result codes: to undo a crashed writer's changes, the database must be opened for writing. */
const UNDO: readonly unknown[] = [776, 'SQLITE_READONLY_ROLLBACK']

type Meaning = readonly [code: ErrorCode, message: string]

const BUSY: Meaning = [
  'store_busy',
  'Another process locked the database for longer than the busy timeout. Retry.',
]

const MEANINGS: Readonly<Record<string, Meaning>> = {
  BUSY,
  LOCKED: BUSY,
  READONLY: [
    'store_read_only',
    'The database is read-only. Open it without `readOnly`, and check that its file is writable.',
  ],
  FULL: ['store_full', 'The disk or the database is full. Free space, then retry.'],
  CORRUPT: ['store_unavailable', 'The database file is damaged. Restore it from a backup.'],
  NOTADB: ['store_unavailable', 'The file is not an SQLite database. Pass the path of one.'],
  CANTOPEN: [
    'store_unavailable',
    'The database file cannot be opened. Check that its folder exists and is accessible.',
  ],
  IOERR: ['store_unavailable', 'The disk reports an error. Fix the cause, then retry.'],
}

/** For READONLY's other extended codes (not MOVED or UNDO): a fault of the files next to the database. */
const FOLDER_FAULT: Meaning = [
  'store_read_only',
  'SQLite needs to write in the folder of the database file, even for reads. Get permission to write there.',
]

const OTHER: Meaning = ['store_unavailable', 'The database reports an error. Fix the cause, then retry.']

/**
 * Maps a driver's error to a store error by SQLite's result code (node:sqlite `errcode`, bun:sqlite `errno`,
 * better-sqlite3 `code`); returns others unchanged. O(1).
 */
export function toStoreError(error: unknown): unknown {
  if (isColloquyError(error) || typeof error !== 'object' || error === null) return error
  const { errcode, errno, code, message } = error as Readonly<Record<string, unknown>>
  const number = [errcode, errno].find((value) => typeof value === 'number')
  const name = typeof code === 'string' && code.startsWith('SQLITE_') ? code : null
  const detail = typeof message === 'string' ? message : ''
  if (number === undefined && name === null && !isClosed(code, detail)) return error
  const primary = RESULTS[(number ?? 0) & 0xff] ?? name?.split('_')[1] ?? ''
  const isExtended = (number ?? 0) > 0xff || name?.split('_')[2] !== undefined
  const isFolder = primary === 'READONLY' && isExtended && !UNDO.includes(number ?? name)
  const known = isFolder ? FOLDER_FAULT : (MEANINGS[primary] ?? OTHER)
  const [meaning, sentence] = MOVED.includes(number ?? name) ? OTHER : known
  return new ColloquyError(
    meaning,
    `${sentence} SQLite reports: ${detail}.`,
    { sqlite: name ?? number },
    { cause: error },
  )
}

/** Whether an index or a key already has the values, or a value is missing. The statement changed nothing then. */
export function isTaken(error: unknown): boolean {
  const { errcode, errno, code } = (error ?? {}) as Readonly<Record<string, unknown>>
  return TAKEN.some((taken) => taken === errcode || taken === errno || taken === code)
}

const TAKEN: readonly unknown[] = [
  1299,
  1555,
  2067,
  'SQLITE_CONSTRAINT_NOTNULL',
  'SQLITE_CONSTRAINT_PRIMARYKEY',
  'SQLITE_CONSTRAINT_UNIQUE',
]

const isClosed = (code: unknown, message: string): boolean =>
  code === 'ERR_INVALID_STATE' || /database.{0,100}(?:not open|closed)|has been finalized/i.test(message)
