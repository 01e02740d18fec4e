/** Stores in several processes wake each other by notifications, not by polling, and find what they missed when they could not hear. */

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { postgresStore, type PostgresStoreOptions } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store/store.ts'
import { run, session, until } from '../postgres/bystander.ts'
import { otherProcess } from '../postgres/process.ts'
import { startServer, type TestServer } from '../postgres/server.ts'

/** Longer than any test: what wakes is no look at the database. */
const NEVER = 2 ** 30

/** A look is made when watching begins, and another when listening does; of so many wakes most are notifications. */
const ROUNDS = 12

let server: TestServer
let schemas = 0

beforeAll(async () => {
  server = await startServer()
  await run(server.url, `CREATE ROLE tester LOGIN SUPERUSER PASSWORD 'x'`)
})

afterAll(() => server.stop())

/** As a user of its own, whose connections can be told from others. */
function testerUrl(): string {
  const url = new URL(server.url)
  url.username = 'tester'
  url.password = 'x'
  return url.href
}

function pooled(max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: testerUrl(), max })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

/** Closed before what it works through: what is to be done last is named first. */
function opened(options: PostgresStoreOptions): Store {
  const store = postgresStore({ pollInterval: NEVER, ...options })
  onTestFinished(() => store.close())
  return store
}

/** Waits, by watching alone, until an event is the last one. */
async function seen(store: Store, id: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const unwatch = store.watch('c', () => {
      store.read('c', { direction: 'backward', limit: 1 }).then(([last]) => {
        if (last?.id !== id) return
        unwatch()
        resolve()
      }, reject)
    })
  })
}

/** The backends that listen for the user of this process. */
async function listeners(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query<{ readonly pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE usename = 'tester' AND query LIKE 'LISTEN%'`,
  )
  return rows.map(({ pid }) => pid)
}

const WAYS: Readonly<Record<string, () => PostgresStoreOptions>> = {
  'by its URL': () => ({ url: testerUrl() }),
  'through a pool': () => ({ client: pooled(4) }),
}

describe.each(Object.entries(WAYS))('a store, %s', (_, to) => {
  it('and one in another process wake each other, and again after the connection that listens was lost', async () => {
    const schema = `notify_${(schemas += 1)}`
    const looker = await session(server.url)
    onTestFinished(() => looker.end())
    const store = opened({ ...to(), schema })
    await store.createConversation({ id: 'c' })
    const other = await otherProcess(server.url, schema)
    await other.tell('echo')
    let last = ''
    store.watch('c', () => {
      void store.read('c', { direction: 'backward', limit: 1 }).then(
        ([event]) => (last = event?.id ?? ''),
        () => null,
      )
    })
    const play = async (name: string): Promise<void> => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const id = `ping-${name}-${round}`
        await store.append('c', [{ kind: 'PauseEvent', id }])
        await until(() => last === `answer to ${id}`)
      }
    }
    await play('first')

    await looker.query('ALTER ROLE tester NOLOGIN')
    onTestFinished(() => run(server.url, 'ALTER ROLE tester LOGIN').then(() => undefined))
    const [pid] = await listeners(looker)
    expect(pid).toBeDefined()
    await looker.query('SELECT pg_terminate_backend($1)', [pid])
    await until(async () => !(await listeners(looker)).includes(pid as number))
    await other.tell('append missed')
    await looker.query('ALTER ROLE tester LOGIN')
    await until(() => last === 'missed')
    await play('second')
    expect(await listeners(looker)).toHaveLength(1)
  })
})

describe('stores that share a pool', () => {
  it.each([1, 2, 3])(
    'of %i leave one connection to work with, and hear each other as far as there are more',
    async (max) => {
      const pool = pooled(max)
      const [one, two, three] = ['a', 'b', 'c'].map((name) =>
        opened({ client: pool, schema: `shared_${max}_${name}`, pollInterval: 20 }),
      )
      const stores = [one, two, three] as readonly Store[]
      for (const store of stores) {
        await store.createConversation({ id: 'c' })
        store.watch('c', () => undefined)
      }
      await Promise.all(
        stores.map(async (store) => {
          await store.append('c', [{ kind: 'PauseEvent', id: 'a' }])
          await seen(store, 'a')
        }),
      )
    },
  )
})
