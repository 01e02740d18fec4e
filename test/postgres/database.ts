/** An empty database per test file, on the server of the test run or of the environment. */

import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { inject } from 'vitest'

export interface TestDatabase {
  readonly url: string
  /** Drops it despite open connections. */
  drop(): Promise<void>
}

/** Creates an empty database. `COLLOQUY_TEST_POSTGRES_URL` selects another server; its user must be able to create databases. */
export async function testDatabase(): Promise<TestDatabase> {
  return databaseOn(process.env.COLLOQUY_TEST_POSTGRES_URL ?? (await serverOfRun()))
}

/** Creates an empty database on the server of the test run, as its superuser. */
export async function superDatabase(): Promise<TestDatabase> {
  return databaseOn(await serverOfRun())
}

async function databaseOn(server: string): Promise<TestDatabase> {
  const name = `colloquy_test_${randomBytes(6).toString('hex')}`
  await run(server, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: () => run(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  }
}

export interface PooledDatabase {
  readonly url: string
  readonly pool: pg.Pool
  drop(): Promise<void>
}

/** Creates an empty database, and a pool that survives lost clients. */
export async function pooledDatabase(): Promise<PooledDatabase> {
  const database = await testDatabase()
  const pool = new pg.Pool({ connectionString: database.url, max: 8 })
  pool.on('error', () => undefined)
  return {
    url: database.url,
    pool,
    async drop() {
      // A failed test can leave a store open that holds clients; the drop ends them.
      void pool.end()
      await database.drop()
    },
  }
}

async function serverOfRun(): Promise<string> {
  const { port, secret } = inject('postgresRequests')
  const socket = connect(port, '127.0.0.1')
  socket.write(secret)
  const url = await text(socket)
  if (url === '') throw new Error('the test server did not start')
  return url
}

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
