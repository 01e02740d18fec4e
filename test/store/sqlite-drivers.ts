/** The tested SQLite drivers, and stores in a temporary folder. */

import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type SqliteDatabase, sqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite/index.ts'
import type { OwnRows } from '../../src/testing/index.ts'
import type { Store } from '../../src/store/contract/store.ts'

export const DRIVERS = ['node:sqlite', 'better-sqlite3'] as const

export type Driver = (typeof DRIVERS)[number]

const BetterSqlite3 = createRequire(import.meta.url)('better-sqlite3') as new (
  file: string,
  options: { readonly readonly: boolean },
) => SqliteDatabase & { defaultSafeIntegers(on: boolean): SqliteDatabase }

/** Opens a database in memory that returns integers as bigints to other users. */
export const openWithBigints = (driver: Driver): SqliteDatabase =>
  driver === 'node:sqlite'
    ? new DatabaseSync(':memory:', { readBigInts: true })
    : new BetterSqlite3(':memory:', { readonly: false }).defaultSafeIntegers(true)

/**
 * Opens a database with the driver itself. Do not open a file with two drivers in one process: each links its
 * own SQLite, and POSIX locks do not protect a process from itself.
 */
export function openDatabase(driver: Driver, file: string, readOnly = false): SqliteDatabase {
  return driver === 'node:sqlite'
    ? new DatabaseSync(file, { readOnly })
    : new BetterSqlite3(file, { readonly: readOnly })
}

/** A table of the caller in the database of the store. */
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

/** A store on a file: by path for Node's driver, the usual case, or by an open database. */
export function openStore(driver: Driver, file: string, settings: Settings = {}): Store {
  return driver === 'node:sqlite'
    ? sqliteStore({ file, ...settings })
    : sqliteStore({ database: openDatabase(driver, file), ...settings })
}

/** Options for the conformance kit. Power-loss durability is off: no test can observe it, and it slows each append. */
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
