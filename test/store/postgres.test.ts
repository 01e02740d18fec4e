/** The PostgreSQL store passes the whole kit through a pool, and skips nothing; and through a single client. */

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store/store.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'

let database: TestDatabase
let pool: pg.Pool
let schemas = 0

beforeAll(async () => {
  database = await testDatabase()
  pool = new pg.Pool({ connectionString: database.url, max: 8 })
  pool.on('error', () => undefined)
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** Opens stores over one pool, each on a schema of its own, and knows which schema each has. */
function opener(): { open(): Promise<Store>; reopen(store: Store): Promise<Store> } {
  const schemaOf = new Map<Store, string>()
  const on = async (schema: string): Promise<Store> => {
    const store = postgresStore({ client: pool, schema, pollInterval: 200 })
    schemaOf.set(store, schema)
    return store
  }
  return {
    open: () => on(`kit_${(schemas += 1)}`),
    reopen: (store) => on(schemaOf.get(store) as string),
  }
}

describe('the PostgreSQL store, through a pool', () => {
  const cases = storeConformance({ name: 'postgres', ...opener() })

  it('is tried in full', () => {
    expect(cases.length).toBeGreaterThan(60)
    expect(cases.filter(({ skipped }) => skipped !== null)).toEqual([])
  })

  for (const { name, run } of cases) it(name, run)
})
