/** One clear error of the library for whatever a SQLite driver throws. */

import { ColloquyError, type ErrorCode, isColloquyError } from '../../event/errors.ts'

/** SQLite's primary result codes, as far as they tell callers what to do. */
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

/** What belongs beside the file in write-ahead mode cannot be made or used: recovery, lock, initialisation, folder. */
const SHUT: readonly unknown[] = [
  264,
  520,
  1288,
  1544,
  'SQLITE_READONLY_RECOVERY',
  'SQLITE_READONLY_CANTLOCK',
  'SQLITE_READONLY_CANTINIT',
  'SQLITE_READONLY_DIRECTORY',
]

/** The file under an open connection is another one, or gone. */
const MOVED = { name: 'SQLITE_READONLY_DBMOVED', number: 1032 } as const

interface Meaning {
  readonly code: ErrorCode
  readonly message: string
}

const BUSY: Meaning = {
  code: 'store_busy',
  message: 'Another process holds the database for longer than the busy timeout; call again.',
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  BUSY,
  LOCKED: BUSY,
  READONLY: {
    code: 'store_read_only',
    message:
      'The database may only be read; open it for writing, and see whether its file may be written to.',
  },
  FULL: { code: 'store_full', message: 'The disk or the database is full; make room and call again.' },
  CORRUPT: unavailable('The database file is damaged; restore it from a backup.'),
  NOTADB: unavailable('The file is no SQLite database; give the path of another one.'),
  CANTOPEN: unavailable('The database file cannot be opened; see whether its folder exists and may be used.'),
  IOERR: unavailable('The disk does not answer as it should; call again once it does.'),
}

const SHUT_FOLDER: Meaning = {
  code: 'store_read_only',
  message:
    'SQLite keeps files beside the database, and they may not be written, not even to read it; get permission to write in its folder.',
}

function unavailable(message: string): Meaning {
  return { code: 'store_unavailable', message }
}

/**
 * The error of the contract for what was caught: errors of the library stay, a driver's are told apart by SQLite's
 * result code (node:sqlite `errcode`, bun:sqlite `errno`, better-sqlite3 `code`), and what no driver throws stays as it
 * is. O(1).
 *
 * @example
 * toStoreError({ errcode: 5, message: 'database is locked' }).code // 'store_busy'
 * toStoreError({ code: 'SQLITE_FULL', message: 'database or disk is full' }).code // 'store_full'
 */
export function toStoreError(error: unknown): unknown {
  if (isColloquyError(error) || typeof error !== 'object' || error === null) return error
  const { errcode, errno, code, message } = error as Readonly<Record<string, unknown>>
  const number = [errcode, errno].find((value) => typeof value === 'number')
  const name = typeof code === 'string' && code.startsWith('SQLITE_') ? code : null
  const said = typeof message === 'string' ? message : ''
  if (number === undefined && name === null && !isClosed(code, said)) return error
  const primary = RESULTS[(number ?? 0) & 0xff] ?? name?.split('_')[1] ?? ''
  const moved = number === MOVED.number || name === MOVED.name
  const shut = SHUT.includes(number ?? name)
  const meaning = moved ? undefined : shut ? SHUT_FOLDER : MEANINGS[primary]
  const { code: own, message: text } = meaning ?? unavailable('The database gives an error.')
  return new ColloquyError(own, `${text} SQLite says: ${said}.`, { sqlite: name ?? number }, { cause: error })
}

/** Whether a driver complains that the connection was closed. */
const isClosed = (code: unknown, message: string): boolean =>
  code === 'ERR_INVALID_STATE' || /database.{0,100}(?:not open|closed)|has been finalized/i.test(message)
