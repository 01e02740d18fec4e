/** The PostgreSQL store passes the whole conformance kit through a pool, without skipped cases. */

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

beforeEach(SCHEMAS.releaseAll)

afterAll(() => database.drop())

describe('the PostgreSQL store, connected through a pool', () => {
  const cases = storeConformance({
    name: 'postgres',
    rows: ROWS,
    ...opener(SCHEMAS, () => ({ client: pool, pollInterval: 200 })),
  })

  it('runs all cases of the conformance kit', () => {
    expect(cases.length).toBeGreaterThan(60)
    expect(cases.filter(({ skipped }) => skipped !== null)).toEqual([])
  })

  for (const { name, run } of cases) it(name, run)
})
