/** Runs the suite in a runtime that runs programs (Node, Bun, Deno), with the databases that it has; a line of JSON for each part. */

import { DatabaseSync } from 'node:sqlite'
import { PGlite } from '@electric-sql/pglite'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { type Database, runSuite } from './suite.ts'

const databases: Database[] = []

const sqlite: Database = {
  name: 'SQLite (node:sqlite)',
  open: async () => sqliteStore({ database: new DatabaseSync(':memory:') }),
}
databases.push(sqlite)

const client = await PGlite.create()
let schemas = 0
databases.push({
  name: 'PostgreSQL (PGlite)',
  open: async () => postgresStore({ client, schema: `s${(schemas += 1)}` }),
})

for await (const outcome of runSuite(databases)) console.log(JSON.stringify(outcome))
await client.close()
