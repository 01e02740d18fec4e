/** The stores pass the conformance kit with databases that Node, Bun and Deno have. */

import { DatabaseSync } from 'node:sqlite'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, describe, it } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ROWS as POSTGRES_ROWS } from '../postgres/schemas.ts'
import { ROWS as SQLITE_ROWS } from '../store/sqlite-drivers.ts'
import { type ConformanceOptions, storeConformance } from '../../src/testing/index.ts'

const client = await PGlite.create()
afterAll(() => client.close())
let schemas = 0

const KITS: readonly ConformanceOptions[] = [
  {
    name: 'node:sqlite',
    rows: SQLITE_ROWS,
    open: async () => sqliteStore({ database: new DatabaseSync(':memory:') }),
  },
  {
    name: 'PGlite',
    rows: POSTGRES_ROWS,
    open: async () => postgresStore({ client, schema: `s${(schemas += 1)}` }),
  },
]

for (const kit of KITS)
  describe(`the store over ${kit.name}`, () => {
    for (const { name, run } of storeConformance({ ...kit, size: 'quick' })) it(name, run)
  })
