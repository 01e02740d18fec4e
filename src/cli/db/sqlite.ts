/** Opens a SQLite file, or says in the command's words why it cannot be used. */

import { open, stat } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import type { Store } from '../../index.ts'
import { FileError, OldRuntime } from '../failure.ts'
import { readPackage } from '../package.ts'
import { checkToRead, checkToWrite, logSize } from './place.ts'

/** A store, and how it ends. */
export interface Opened {
  readonly store: Store
  /** Leaves nothing of its own beside the database. */
  readonly close: () => Promise<void>
  /** What is wrong with everything that was read, where that shows at the end only. */
  readonly checkIntegrity?: () => Promise<FileError | null>
}

/** Settings of the store beside the file. */
interface Settings {
  readonly clock?: () => bigint
}

/** Why a database cannot be read that its reader may not write beside. */
export const SHUT_FOLDER =
  'cannot be read: SQLite needs files beside it, and permission to write there is denied; get that, or copy the database with them'

/** To be read and written; made when it is not there. @throws FileError; OldRuntime. */
export async function openToWrite(file: string, settings: Settings): Promise<Opened> {
  await loadDriver()
  await checkToWrite(file)
  const store = await storeOf({ file, ...settings })
  return { store, close: () => store.close() }
}

/** To be read only. @throws FileError; OldRuntime. */
export async function openToRead(file: string, settings: Settings): Promise<Opened> {
  const Driver = await loadDriver()
  const { path, isShut } = await checkToRead(file)
  const log = await logSize(path)
  if (isShut && log === null && (await keepsLog(path))) return openStill(path, Driver, settings)
  const store = await storeOf({ file, readOnly: true, ...settings })
  return {
    store,
    async close() {
      await store.close()
      if (!isShut) await tidy(path, log, Driver)
    },
  }
}

/**
 * A database in write-ahead mode that no process writes just now, whose reader may make no files beside it: without
 * them SQLite reads it as one that cannot change. It can all the same, which is looked for at the end.
 */
async function openStill(path: string, Driver: Driver, settings: Settings): Promise<Opened> {
  const before = await traceOf(path)
  const database = openImmutable(path, Driver)
  const store = await storeOf({ database, readOnly: true, ...settings })
  return {
    store,
    async close() {
      await store.close()
      database.close()
    },
    checkIntegrity: async () =>
      (await logSize(path)) === null && (await traceOf(path)) === before
        ? null
        : new FileError('unreadable', 'was changed while it was read; ask again'),
  }
}

type Source = { readonly file: string } | { readonly database: DatabaseSync }

async function storeOf(options: Source & Settings & { readonly readOnly?: boolean }): Promise<Store> {
  const { sqliteStore } = await import('../../store/sqlite/index.ts')
  return sqliteStore(options)
}

type Driver = typeof DatabaseSync

async function loadDriver(): Promise<Driver> {
  try {
    return (await import('node:sqlite')).DatabaseSync
  } catch {
    const { node } = await readPackage()
    throw new OldRuntime(`needs Node ${node} or newer; this is ${process.versions.node}`)
  }
}

function openImmutable(path: string, Driver: Driver): DatabaseSync {
  try {
    return new Driver(`${pathToFileURL(path).href}?immutable=1`, { readOnly: true })
  } catch {
    // Node takes no such address before 22.15.
    throw new FileError('unreadable', SHUT_FOLDER)
  }
}

/**
 * A connection that only reads makes files that it cannot remove. One that may write does so when it is the last to
 * close, and SQLite knows whether it is. A log that was there before is left to whom it belongs, unless nothing stands
 * in it.
 */
async function tidy(path: string, before: bigint | null, Driver: Driver): Promise<void> {
  const log = await logSize(path)
  if (log === null || (log > 0n && before !== null)) return
  try {
    const database = new Driver(path)
    try {
      database.prepare('SELECT 1 FROM sqlite_master').get()
    } finally {
      database.close()
    }
  } catch {
    // Another process is at work, and closes later.
  }
}

/** Whether the database is in write-ahead mode, by its header. */
async function keepsLog(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(20), 0, 20, 0)
    return bytesRead === 20 && buffer[18] === 2
  } finally {
    await file.close()
  }
}

/** What is another as soon as a process has written. */
async function traceOf(path: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true })
  return [ino, size, mtimeNs].join()
}
