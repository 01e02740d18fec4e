/**
 * The PostgreSQL store passes the kit without a connection of its own: behind a pooler, through a bare
 * client, on a single connection.
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
let alone: pg.Client
const SCHEMAS = schemas('pooled', () => single)

beforeAll(async () => {
  database = await testDatabase()
  pooler = await startPooler(database.url, BACKENDS)
  single = new pg.Pool({ connectionString: database.url, max: 1 })
  single.on('error', () => undefined)
  clients = Array.from({ length: BACKENDS }, () => new pg.Client(database.url))
  for (const one of clients) one.on('error', () => undefined)
  await Promise.all(clients.map((one) => one.connect()))
  client = turning(clients)
  alone = new pg.Client(database.url)
  await alone.connect()
})

beforeEach(SCHEMAS.giveBack)

afterAll(async () => {
  await pooler.close()
  await single.end()
  await Promise.all([...clients, alone].map((one) => one.end()))
  await database.drop()
})

/** Has only `query`, uses another backend each time, and resets its session: anything that needs a session fails. */
function turning(backends: readonly pg.Client[]): PostgresClient {
  let turn = 0
  const last = backends.map(() => Promise.resolve<unknown>(null))
  return {
    query: async (text, values) => {
      if (typeof text !== 'string') throw new Error('there are no prepared statements here')
      if (/^\s*(LISTEN|UNLISTEN|SET|BEGIN|COMMIT|PREPARE)\b/i.test(text))
        throw new Error(`no session: ${text}`)
      const index = (turn += 1) % backends.length
      const backend = backends[index] as pg.Client
      const ownValue = (last[index] as Promise<unknown>).then(() => backend.query(text, values))
      const forget = (): Promise<unknown> => backend.query('DISCARD ALL')
      last[index] = ownValue.then(forget, forget)
      return ownValue
    },
  }
}

const WAYS: Readonly<Record<string, () => PostgresStoreOptions>> = {
  'by the URL of a pooler in transaction mode': () => ({ url: pooler.url }),
  'through a client that has nothing but query, and no session': () => ({ client }),
  'through a single client, for calls and notifications alike': () => ({ client: alone }),
  'through a pool of one': () => ({ client: single, prepare: true }),
}

/** Wakes work differently in each way, so these cases run in all of them. */
const WOKEN = /watch|close|reopen/
/** Concurrent cases run over many connections and over one. The other cases alternate between all ways. */
const TOGETHER = /many|at once|meanwhile|while|lease/

/** Appends without a transaction, unlike those with the caller's own rows. */
const BARE = 1

const goes = (name: string, index: number, way: number): boolean =>
  name.startsWith('within')
    ? way !== BARE
    : WOKEN.test(name) || (TOGETHER.test(name) ? index % 2 === way % 2 : index % 4 === way)

describe.each(Object.entries(WAYS))('the PostgreSQL store, %s', (name, to) => {
  // Limits are tested on connections of its own.
  const cases = storeConformance({
    name,
    rows: ROWS,
    ...opener(SCHEMAS, () => ({ ...to(), pollInterval: 20 })),
    size: 'quick',
  })
  const way = Object.keys(WAYS).indexOf(name)
  const ownValue = cases.filter((one, index) => goes(one.name, index, way))
  for (const one of ownValue) it(one.name, one.run)

  it('skips nothing', () => {
    expect(ownValue.length).toBeGreaterThan(30)
    expect(cases.length).toBeGreaterThan(100)
    expect(cases.filter(({ skipped }) => skipped !== null)).toEqual([])
  })
})

describe('a pooler in transaction mode', () => {
  it('was one: statements went to every backend, where neither names nor channels are kept', async () => {
    expect(pooler.served()).toBe(BACKENDS)
    const mine = new pg.Client(pooler.url)
    const heard: string[] = []
    mine.on('notification', ({ channel }) => heard.push(channel))
    await mine.connect()
    await mine.query('LISTEN pooled')
    const named = { name: `named ${Math.random()}`, text: 'SELECT pg_backend_pid() AS pid' }
    const { rows } = await mine.query<{ readonly pid: number }>(named)
    await expect(mine.query(named)).rejects.toMatchObject({ code: '26000' })
    await mine.query(`NOTIFY pooled`)
    const other = await mine.query('SELECT pg_backend_pid() AS pid')
    expect(other.rows).not.toEqual(rows)
    expect(heard).toEqual([])
    await mine.end()
  })
})
