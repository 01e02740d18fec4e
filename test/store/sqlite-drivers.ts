/** The drivers that the SQLite store is tried with, and ways to open stores with them in a folder of their own. */

import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type SqliteDatabase, sqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite/index.ts'
import type { OwnRows } from '../../src/testing/index.ts'
import type { Store } from '../../src/store/contract/store.ts'

/** The names of the drivers. */
export const DRIVERS = ['node:sqlite', 'better-sqlite3'] as const

export type Driver = (typeof DRIVERS)[number]

const BetterSqlite3 = createRequire(import.meta.url)('better-sqlite3') as new (
  file: string,
  options: { readonly readonly: boolean },
) => SqliteDatabase

/**
 * Opens a database with the driver itself. A file must not be opened with two drivers in one process: each brings a SQLite of its own,
 * and the locks of one process do not stop it from writing beside itself.
 */
export function openDatabase(driver: Driver, file: string, readOnly = false): SqliteDatabase {
  return driver === 'node:sqlite'
    ? new DatabaseSync(file, { readOnly })
    : new BetterSqlite3(file, { readonly: readOnly })
}

/** A table beside those of the store. */
export const ROWS: OwnRows = {
  insert(tx, text) {
    const database = tx as SqliteDatabase
    database.exec('CREATE TABLE IF NOT EXISTS note (text TEXT NOT NULL)')
    database.prepare('INSERT INTO note (text) VALUES (?)').run(text)
  },
  list(tx) {
    const database = tx as SqliteDatabase
    database.exec('CREATE TABLE IF NOT EXISTS note (text TEXT NOT NULL)')
    return (database.prepare('SELECT text FROM note').all() as { readonly text: string }[]).map(
      ({ text }) => text,
    )
  },
}

/** A temporary folder that hands out paths of files that are not there yet. */
export interface Folder {
  readonly path: string
  next(): string
  remove(): void
}

export function folder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'colloquy-sqlite-'))
  let count = 0
  return {
    path,
    next: () => join(path, `${(count += 1)}.db`),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

type Settings = Omit<SqliteStoreOptions, 'file' | 'database'>

/** A store over a file: Node's own driver by the file's path, as most will have it, any other by an open database. */
export function openStore(driver: Driver, file: string, settings: Settings = {}): Store {
  return driver === 'node:sqlite'
    ? sqliteStore({ file, ...settings })
    : sqliteStore({ database: openDatabase(driver, file), ...settings })
}

/** What the conformance kit needs. Durability against a loss of power is left out: no test can see it, and each append would wait. */
export function opener(driver: Driver, files: Folder, more: Settings = {}) {
  const settings: Settings = { synchronous: 'normal', pollInterval: 5, ...more }
  const paths = new WeakMap<Store, string>()
  const openFile = async (file: string): Promise<Store> => {
    const store = openStore(driver, file, settings)
    paths.set(store, file)
    return store
  }
  return {
    open: () => openFile(files.next()),
    reopen: (store: Store) => openFile(paths.get(store) as string),
    openInMemory: async (): Promise<Store> => openStore(driver, ':memory:', settings),
  }
}
