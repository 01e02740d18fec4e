/**
 * The PostgreSQL store passes the conformance kit without a dedicated connection: behind a pooler, through a client
 * without a session, on a single client, and on a pool of one.
 */

import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PostgresClient, PostgresStoreOptions } from '../../src/store/postgres/index.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { type Pooler, startPooler } from '../postgres/pooler.ts'
import { opener, ROWS, schemas } from '../postgres/schemas.ts'

const BACKENDS = 4

let database: TestDatabase
let pooler: Pooler
let single: pg.Pool
let clients: pg.Client[]
let client: PostgresClient
let singleClient: pg.Client
const SCHEMAS = schemas('pooled', () => single)

beforeAll(async () => {
  database = await testDatabase()
  pooler = await startPooler(database.url, BACKENDS)
  single = new pg.Pool({ connectionString: database.url, max: 1 })
  single.on('error', () => undefined)
  clients = Array.from({ length: BACKENDS }, () => new pg.Client(database.url))
  for (const one of clients) one.on('error', () => undefined)
  await Promise.all(clients.map((one) => one.connect()))
  client = sessionless(clients)
  singleClient = new pg.Client(database.url)
  await singleClient.connect()
})

beforeEach(SCHEMAS.releaseAll)

afterAll(async () => {
  await pooler.close()
  await single.end()
  await Promise.all([...clients, singleClient].map((one) => one.end()))
  await database.drop()
})

/** Has only `query`, uses another backend each time, and resets its session: anything that needs a session fails. */
function sessionless(backends: readonly pg.Client[]): PostgresClient {
  let turn = 0
  const last = backends.map(() => Promise.resolve<unknown>(null))
  return {
    query: async (text, values) => {
      if (typeof text !== 'string') throw new Error('there are no prepared statements here')
      if (/^\s*(LISTEN|UNLISTEN|SET|BEGIN|COMMIT|PREPARE)\b/i.test(text))
        throw new Error(`no session: ${text}`)
      const index = (turn += 1) % backends.length
      const backend = backends[index] as pg.Client
      const result = (last[index] as Promise<unknown>).then(() => backend.query(text, values))
      const discard = (): Promise<unknown> => backend.query('DISCARD ALL')
      last[index] = result.then(discard, discard)
      return result
    },
  }
}

const CONNECTIONS: Readonly<Record<string, () => PostgresStoreOptions>> = {
  'by the URL of a pooler in transaction mode': () => ({ url: pooler.url }),
  'through a client without a session': () => ({ client }),
  'through a single client': () => ({ client: singleClient }),
  'through a pool with one connection': () => ({ client: single, prepare: true }),
}

/** Wakes work differently in each way, so these cases run in all of them. */
const WATCH_CASES = /watch|close|reopen/
/** Concurrent cases run over many connections and over one. The other cases alternate between all ways. */
const CONCURRENT_CASES = /many|concurrent|another process|at once|meanwhile|while|lease/

/** Appends without a transaction, unlike those with the caller's own rows. */
const SESSIONLESS = 1

const isRun = (name: string, index: number, connection: number): boolean =>
  name.startsWith('within')
    ? connection !== SESSIONLESS
    : WATCH_CASES.test(name) ||
      (CONCURRENT_CASES.test(name) ? index % 2 === connection % 2 : index % 4 === connection)

describe.each(Object.entries(CONNECTIONS))('the PostgreSQL store, connected %s', (name, options) => {
  const cases = storeConformance({
    name,
    rows: ROWS,
    ...opener(SCHEMAS, () => ({ ...options(), pollInterval: 20 })),
    size: 'quick',
  })
  const connection = Object.keys(CONNECTIONS).indexOf(name)
  const selected = cases.filter((one, index) => isRun(one.name, index, connection))
  for (const one of selected) it(one.name, one.run)

  it('skips no case of the conformance kit', () => {
    expect(selected.length).toBeGreaterThan(30)
    expect(cases.length).toBeGreaterThan(100)
    expect(cases.filter(({ skipped }) => skipped !== null)).toEqual([])
  })
})

describe('the test pooler', () => {
  it('uses every backend, and keeps no prepared statement and no LISTEN', async () => {
    expect(pooler.served()).toBe(BACKENDS)
    const named = new pg.Client(pooler.url)
    const heard: string[] = []
    named.on('notification', ({ channel }) => heard.push(channel))
    await named.connect()
    await named.query('LISTEN pooled')
    const statement = { name: `named ${Math.random()}`, text: 'SELECT pg_backend_pid() AS pid' }
    const { rows } = await named.query<{ readonly pid: number }>(statement)
    await expect(named.query(statement)).rejects.toMatchObject({ code: '26000' })
    await named.query(`NOTIFY pooled`)
    const other = await named.query('SELECT pg_backend_pid() AS pid')
    expect(other.rows).not.toEqual(rows)
    expect(heard).toEqual([])
    await named.end()
  })
})
