/** The PostgreSQL store passes the whole kit through a pool and skips nothing. */

import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { opener, ROWS, schemas } from '../postgres/schemas.ts'

let database: PooledDatabase
let pool: pg.Pool
const SCHEMAS = schemas('kit', () => pool)

beforeAll(async () => {
  database = await pooledDatabase()
  pool = database.pool
})

beforeEach(SCHEMAS.giveBack)

afterAll(() => database.drop())

describe('the PostgreSQL store, through a pool', () => {
  const cases = storeConformance({
    name: 'postgres',
    rows: ROWS,
    ...opener(SCHEMAS, () => ({ client: pool, pollInterval: 200 })),
  })

  it('is tried in full', () => {
    expect(cases.length).toBeGreaterThan(60)
    expect(cases.filter(({ skipped }) => skipped !== null)).toEqual([])
  })

  for (const { name, run } of cases) it(name, run)
})
