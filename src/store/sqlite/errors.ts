import { ColloquyError, type ErrorCode, isColloquyError } from '../../event/errors.ts'

/** SQLite's primary result codes to which a caller can react. */
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

/** Result codes: the database must be opened for writing, so that SQLite can undo a crashed writer's changes. */
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
  NOTADB: ['store_unavailable', 'The file is not a SQLite database. Pass the path of one.'],
  CANTOPEN: [
    'store_unavailable',
    'The database file cannot be opened. Check that its folder exists and is accessible.',
  ],
  IOERR: ['store_unavailable', 'The disk reports an error. Fix the cause, then retry.'],
}

/** Meaning of READONLY's extended codes, except MOVED and UNDO: SQLite cannot write files next to the database. */
const FOLDER_FAULT: Meaning = [
  'store_read_only',
  'SQLite needs to write in the folder of the database file, even for reads. Grant permission to write there.',
]

const OTHER: Meaning = ['store_unavailable', 'The database reports an error. Fix the cause, then retry.']

/**
 * Maps a driver's error to a store error by SQLite's result code (node:sqlite `errcode`, bun:sqlite `errno`,
 * better-sqlite3 `code`). Returns any other value unchanged. O(1).
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

/** Whether a statement failed because of a unique index, a key or a null value, and so changed nothing. */
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
