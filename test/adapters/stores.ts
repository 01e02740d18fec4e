import type pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { opener, schemas } from '../postgres/schemas.ts'

/**
 * Functions that open an empty store, by the store's name; PostgreSQL is available while the tests run.
 * `releaseAll` releases the schemas of closed PostgreSQL stores to later stores.
 */
export function everyStore(prefix: string): {
  readonly stores: Readonly<Record<string, () => Promise<Store>>>
  releaseAll(): void
} {
  let database: PooledDatabase
  let pool: pg.Pool
  beforeAll(async () => {
    database = await pooledDatabase()
    pool = database.pool
  })
  afterAll(() => database.drop())
  const postgresSchemas = schemas(prefix, () => pool)
  const postgres = opener(postgresSchemas, () => ({ client: pool }))
  return {
    stores: {
      memory: async () => memoryStore(),
      sqlite: async () => sqliteStore({ file: ':memory:' }),
      postgres: () => postgres.open(),
    },
    releaseAll: postgresSchemas.releaseAll,
  }
}
