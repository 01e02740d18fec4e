/** Databases of live conversation tests. Any number of stores can be opened on the same one. */

import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { settled } from '../postgres/sql-sessions.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { folder } from '../store/sqlite-drivers.ts'

export interface Backend {
  readonly open: () => Store
  /** Argument with which another process opens it: a file, or a URL and schema; empty for memory. */
  readonly location: string
  /** Resolves when the database has ended the statements of killed processes. */
  readonly settled: () => Promise<void>
}

export interface Backends {
  readonly names: readonly string[]
  make(name: string): Promise<Backend>
  remove(): Promise<void>
}

const alreadySettled = async (): Promise<void> => undefined

/** Memory, SQLite files and PostgreSQL schemas, started on demand. */
export function backends(): Backends {
  const files = folder()
  let database: Promise<TestDatabase> | null = null
  let schemas = 0
  const makers: Record<string, () => Promise<Backend>> = {
    async memory() {
      const store = memoryStore()
      // The memory store itself is the backend and survives `close`.
      return {
        location: '',
        open: () => ({ ...store, close: async () => undefined }),
        settled: alreadySettled,
      }
    },
    async sqlite() {
      const file = files.next()
      const open = () => sqliteStore({ file, synchronous: 'normal', pollInterval: 5 })
      return { location: file, open, settled: alreadySettled }
    },
    async postgres() {
      database ??= testDatabase()
      const { url } = await database
      const schema = `place_${(schemas += 1)}`
      const open = () => postgresStore({ url, schema, pollInterval: 1_000 })
      return { location: `${url} ${schema}`, open, settled: () => settled(url) }
    },
  }
  return {
    names: Object.keys(makers),
    make: (name) => (makers[name] as () => Promise<Backend>)(),
    async remove() {
      files.remove()
      await (await database)?.drop()
    },
  }
}
