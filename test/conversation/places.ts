/** The stores that the tests of live conversations run over: places by name, each of which any number of stores may be opened on. */

import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { folder } from '../store/sqlite-drivers.ts'

/** Where the events of some conversations are kept. */
export interface Place {
  /** Opens a store there, beside those that are open. */
  readonly open: () => Store
  /** What another process needs to open one: a file, or an address and a schema; empty where none can. */
  readonly where: string
}

/** The places of one test file. */
export interface Places {
  readonly names: readonly string[]
  make(name: string): Promise<Place>
  /** Removes them all. */
  remove(): Promise<void>
}

/** Memory, SQLite in a file and PostgreSQL in a schema; nothing of them is started before it is asked for. */
export function places(): Places {
  const files = folder()
  let database: Promise<TestDatabase> | null = null
  let schemas = 0
  const makers: Record<string, () => Promise<Place>> = {
    async memory() {
      const store = memoryStore()
      // A memory store is its own place, and outlives those that are opened on it.
      return { where: '', open: () => ({ ...store, close: async () => undefined }) }
    },
    async sqlite() {
      const file = files.next()
      return { where: file, open: () => sqliteStore({ file, synchronous: 'normal', pollInterval: 5 }) }
    },
    async postgres() {
      database ??= testDatabase()
      const { url } = await database
      const schema = `place_${(schemas += 1)}`
      return { where: `${url} ${schema}`, open: () => postgresStore({ url, schema, pollInterval: 1_000 }) }
    },
  }
  return {
    names: Object.keys(makers),
    make: (name) => (makers[name] as () => Promise<Place>)(),
    async remove() {
      files.remove()
      await (await database)?.drop()
    },
  }
}
