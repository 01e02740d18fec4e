/** The PostgreSQL store passes the whole kit through a pool, and skips nothing. */

import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { postgresStore, type PostgresStoreOptions } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { schemas } from '../postgres/schemas.ts'

let database: PooledDatabase
let pool: pg.Pool
const SCHEMAS = schemas('kit', () => pool)

beforeAll(async () => {
  database = await pooledDatabase()
  pool = database.pool
})

beforeEach(SCHEMAS.giveBack)

afterAll(() => database.drop())

/** Opens stores over one pool, each on a schema of its own, and knows which schema each has. */
function opener(to: () => PostgresStoreOptions): {
  open(): Promise<Store>
  reopen(store: Store): Promise<Store>
} {
  const schemaOf = new Map<Store, string>()
  const on = async (schema: string): Promise<Store> => {
    const store = postgresStore({ ...to(), schema, pollInterval: 200 })
    schemaOf.set(store, schema)
    return store
  }
  return {
    open: async () => on(await SCHEMAS.take()),
    reopen: (store) => on(schemaOf.get(store) as string),
  }
}

describe('the PostgreSQL store, through a pool', () => {
  const cases = storeConformance({ name: 'postgres', ...opener(() => ({ client: pool })) })

  it('is tried in full', () => {
    expect(cases.length).toBeGreaterThan(60)
    expect(cases.filter(({ skipped }) => skipped !== null)).toEqual([])
  })

  for (const { name, run } of cases) it(name, run)
})
