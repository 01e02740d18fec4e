/** Databases of live conversation tests. Any number of stores can be opened on the same one. */

import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { settled } from '../postgres/bystander.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { folder } from '../store/sqlite-drivers.ts'

export interface Place {
  readonly open: () => Store
  /** Argument with which another process opens it: a file, or a URL and schema; empty for memory. */
  readonly where: string
  /** Resolves when the database has ended the statements of killed processes. */
  readonly settled: () => Promise<void>
}

export interface Places {
  readonly names: readonly string[]
  make(name: string): Promise<Place>
  remove(): Promise<void>
}

const atOnce = async (): Promise<void> => undefined

/** Memory, SQLite files and PostgreSQL schemas, started on demand. */
export function places(): Places {
  const files = folder()
  let database: Promise<TestDatabase> | null = null
  let schemas = 0
  const makers: Record<string, () => Promise<Place>> = {
    async memory() {
      const store = memoryStore()
      // The memory store itself is the place and survives `close`.
      return { where: '', open: () => ({ ...store, close: async () => undefined }), settled: atOnce }
    },
    async sqlite() {
      const file = files.next()
      const open = () => sqliteStore({ file, synchronous: 'normal', pollInterval: 5 })
      return { where: file, open, settled: atOnce }
    },
    async postgres() {
      database ??= testDatabase()
      const { url } = await database
      const schema = `place_${(schemas += 1)}`
      const open = () => postgresStore({ url, schema, pollInterval: 1_000 })
      return { where: `${url} ${schema}`, open, settled: () => settled(url) }
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
