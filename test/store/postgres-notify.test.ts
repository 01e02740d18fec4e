/** Stores in several processes wake each other by notification instead of polling, and catch up after a lost connection. */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { postgresStore, type PostgresStoreOptions } from '../../src/store/postgres/index.ts'
import type { HeldClient, PostgresPool } from '../../src/store/postgres/driver.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { run, session, until } from '../postgres/bystander.ts'
import { otherProcess } from '../postgres/process.ts'
import { superDatabase, type TestDatabase } from '../postgres/database.ts'

/** Longer than any test, so no poll can wake. */
const NEVER = 2 ** 30

/** Two polls happen at the start of a watch and of LISTEN, so most of these wakes are notifications. */
const ROUNDS = 12

let database: TestDatabase
let schemas = 0

beforeAll(async () => {
  database = await superDatabase()
  await run(database.url, `CREATE ROLE tester LOGIN SUPERUSER PASSWORD 'x'`)
})

afterAll(async () => {
  // Objects of the role go with the database.
  const { url, drop } = database
  await drop()
  await run(new URL('/postgres', url).href, 'DROP ROLE tester')
})

/** A role of its own, so that its connections can be identified. */
function testerUrl(): string {
  const url = new URL(database.url)
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

/** Cleanup runs in reverse order, so the store closes before its pool. */
function opened(options: PostgresStoreOptions): Store {
  const store = postgresStore({ pollInterval: NEVER, ...options })
  onTestFinished(() => store.close())
  return store
}

/** Waits, only by watching, until an event is the last one. */
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

/** Backends that listen for the role of this process. */
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
    const looker = await session(database.url)
    onTestFinished(() => looker.end())
    const store = opened({ ...to(), schema })
    await store.createConversation({ id: 'c' })
    const other = await otherProcess(database.url, schema)
    await other.tell('echo')
    let last = ''
    let index = -1
    store.watch('c', () => {
      void store.read('c', { direction: 'backward', limit: 1 }).then(
        ([event]) => {
          // Reads use several connections, so an older one may arrive last.
          if (event !== undefined && event.seq > index)
            ({ seq: index, id: last } = { ...event, id: event.id ?? '' })
        },
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
    onTestFinished(() => run(database.url, 'ALTER ROLE tester LOGIN').then(() => undefined))
    const [pid] = await listeners(looker)
    expect(pid).toBeDefined()
    await looker.query('SELECT pg_terminate_backend($1)', [pid])
    await until(async () => !(await listeners(looker)).includes(pid as number))
    await other.tell('append missed')
    await looker.query('ALTER ROLE tester LOGIN')
    await until(() => last === 'missed')
    await play('second')
    expect(await listeners(looker)).toHaveLength(1)

    await store.createConversation({ id: 'd' })
    const wakes = woken(store, 'd')
    await until(() => wakes.count === 1)
    await opened({ ...to(), schema }).deleteConversation('d')
    await until(() => wakes.count > 1)
  })
})

it('no process is kept alive by what listened, once the last watch has ended', async () => {
  const code = `
    import { postgresStore } from ${JSON.stringify(join(inject('built'), 'store/postgres/index.js'))}
    const store = postgresStore({ url: ${JSON.stringify(testerUrl())}, schema: 'notify_ends' })
    await store.createConversation({ id: 'c' })
    await new Promise((resolve) => {
      const unwatch = store.watch('c', () => {
        unwatch()
        resolve()
      })
    })
    const unwatch = store.watch('c', () => undefined)
    setTimeout(() => console.log('it goes on') ?? unwatch(), 100).unref()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    timeout: 10_000,
  })
  expect(stdout).toBe('it goes on\n')
})

/** A pool whose version polls and whose client for LISTEN wait until the test releases them. */
class SlowPool implements PostgresPool {
  readonly #pool: pg.Pool
  #isFree = false
  readonly totalCount = 4
  /** Releases each poll whose result has arrived, in order. */
  readonly looks: (() => void)[] = []
  readonly requests: unknown[] = []
  readonly lent = Promise.withResolvers<void>()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async query(text: string, values: unknown[] = []): Promise<{ readonly rows: unknown[] }> {
    const answer = await this.#pool.query(text, values)
    if (text.includes('conversation_id AS id, version')) {
      this.requests.push(values[0])
      if (!this.#isFree) await new Promise<void>((resolve) => this.looks.push(resolve))
    }
    return answer
  }

  async connect(): Promise<HeldClient> {
    await this.lent.promise
    return this.#pool.connect()
  }

  /** Releases all polls from now on. */
  letAll(): void {
    this.#isFree = true
    for (const go of this.looks.splice(0)) go()
  }

  /** Releases the next poll, or waits for it. */
  async look(): Promise<void> {
    await until(() => this.looks.length > 0)
    this.looks.shift()?.()
  }
}

const start = async (listen: boolean, pollInterval = NEVER) => {
  const schema = `notify_${(schemas += 1)}`
  const pool = new SlowPool(pooled(4))
  const other = opened({ client: pooled(2), schema, listen: false })
  for (const id of ['c', 'd']) await other.createConversation({ id })
  return { pool, other, store: opened({ client: pool, schema, listen, pollInterval }) }
}

const woken = (store: Store, id: string): { count: number } => {
  const wakes = { count: 0 }
  store.watch(id, () => (wakes.count += 1))
  return wakes
}

it('a look wakes for another conversation under the id, of as many events as the one before', async () => {
  const { pool, other, store } = await start(false, 20)
  await other.append('c', [{ kind: 'PauseEvent', id: 'a' }])
  const wakes = woken(store, 'c')
  await pool.look()
  await until(() => wakes.count === 1)
  // Polls do not overlap, so none sees the state between the two.
  await until(() => pool.looks.length === 1)
  await other.deleteConversation('c')
  await other.createConversation({ id: 'c' })
  await other.append('c', [{ kind: 'PauseEvent', id: 'b' }])
  pool.letAll()
  await until(() => wakes.count === 2)
})

it('a look wakes for the deletion of a conversation without events', async () => {
  const { pool, other, store } = await start(false, 20)
  pool.letAll()
  const wakes = woken(store, 'c')
  await until(() => wakes.count === 1)
  await other.deleteConversation('c')
  await until(() => wakes.count === 2)
})

it('what begins a watch is a look at that conversation alone', async () => {
  const { pool, store } = await start(false)
  for (const id of ['c', 'd', 'c']) {
    const wakes = woken(store, id)
    await pool.look()
    await until(() => wakes.count === 1)
  }
  expect(pool.requests).toEqual([['c'], ['d'], ['c']])
})

describe('a look that is under way', () => {
  it('does not stand for the first one of a watch that began meanwhile', async () => {
    const { pool, store } = await start(false)
    const first = woken(store, 'c')
    await until(() => pool.looks.length === 1)
    const second = woken(store, 'd')
    await pool.look()
    await until(() => first.count === 1)
    await pool.look()
    await until(() => second.count === 1)
  })

  it('does not stand for the one when listening has begun: what came in between was not heard', async () => {
    const { pool, other, store } = await start(true)
    const wakes = woken(store, 'c')
    await pool.look()
    await until(() => wakes.count === 1)
    woken(store, 'd')
    await until(() => pool.looks.length === 1)
    await other.append('c', [{ kind: 'PauseEvent', id: 'a' }])
    pool.lent.resolve()
    const looker = await session(database.url)
    onTestFinished(() => looker.end())
    await until(async () => (await listeners(looker)).length > 0)
    // Its result predates the append.
    await pool.look()
    await pool.look()
    await until(() => wakes.count === 2)
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
