/** Stores in several processes wake each other by notifications, and catch up after a lost connection. */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { postgresStore, type PostgresStoreOptions } from '../../src/store/postgres/index.ts'
import type { HeldClient, PostgresPool } from '../../src/store/postgres/driver.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { run, session, until } from '../postgres/sql-sessions.ts'
import { otherProcess } from '../postgres/process.ts'
import { superDatabase, type TestDatabase } from '../postgres/database.ts'

/** Longer than any test, so no poll can wake. */
const NEVER = 2 ** 30

/** Polls happen only at the start of a watch and of LISTEN, so most of these wakes are notifications. */
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

function openPool(max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: testerUrl(), max })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

/** Cleanup runs in reverse order, so the store closes before its pool. */
function openStore(options: PostgresStoreOptions): Store {
  const store = postgresStore({ pollInterval: NEVER, ...options })
  onTestFinished(() => store.close())
  return store
}

/** Waits, only by watching, until an event is the last one. */
async function waitForLast(store: Store, id: string): Promise<void> {
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

const CONNECTIONS: Readonly<Record<string, () => PostgresStoreOptions>> = {
  'by URL': () => ({ url: testerUrl() }),
  'through a pool': () => ({ client: openPool(4) }),
}

describe.each(Object.entries(CONNECTIONS))('PostgreSQL stores connected %s', (_, options) => {
  it('wake each other across processes, also after the listening connection was lost', async () => {
    const schema = `notify_${(schemas += 1)}`
    const observer = await session(database.url)
    onTestFinished(() => observer.end())
    const store = openStore({ ...options(), schema })
    await store.createConversation({ id: 'c' })
    const other = await otherProcess(database.url, schema)
    await other.send('echo')
    let last = ''
    let position = -1
    store.watch('c', () => {
      void store.read('c', { direction: 'backward', limit: 1 }).then(
        ([event]) => {
          // Reads use several connections, so an older one may arrive last.
          if (event !== undefined && event.seq > position)
            ({ seq: position, id: last } = { ...event, id: event.id ?? '' })
        },
        () => null,
      )
    })
    const pingAll = async (name: string): Promise<void> => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const id = `ping-${name}-${round}`
        await store.append('c', [{ kind: 'PauseEvent', id }])
        await until(() => last === `reply to ${id}`)
      }
    }
    await pingAll('first')

    await observer.query('ALTER ROLE tester NOLOGIN')
    onTestFinished(() => run(database.url, 'ALTER ROLE tester LOGIN').then(() => undefined))
    const [pid] = await listeners(observer)
    expect(pid).toBeDefined()
    await observer.query('SELECT pg_terminate_backend($1)', [pid])
    await until(async () => !(await listeners(observer)).includes(pid as number))
    await other.send('append missed')
    await observer.query('ALTER ROLE tester LOGIN')
    await until(() => last === 'missed')
    await pingAll('second')
    expect(await listeners(observer)).toHaveLength(1)

    await store.createConversation({ id: 'd' })
    const wakes = countWakes(store, 'd')
    await until(() => wakes.count === 1)
    await openStore({ ...options(), schema }).deleteConversation('d')
    await until(() => wakes.count > 1)
  })
})

it('a process ends by itself after its last watch has ended', async () => {
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
  #isReleased = false
  readonly totalCount = 4
  /** Releases each poll whose result has arrived, in order. */
  readonly polls: (() => void)[] = []
  readonly requests: unknown[] = []
  readonly canConnect = Promise.withResolvers<void>()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async query(text: string, values: unknown[] = []): Promise<{ readonly rows: unknown[] }> {
    const result = await this.#pool.query(text, values)
    if (text.includes('conversation_id AS id, version')) {
      this.requests.push(values[0])
      if (!this.#isReleased) await new Promise<void>((resolve) => this.polls.push(resolve))
    }
    return result
  }

  async connect(): Promise<HeldClient> {
    await this.canConnect.promise
    return this.#pool.connect()
  }

  /** Releases all polls from now on. */
  releaseAll(): void {
    this.#isReleased = true
    for (const go of this.polls.splice(0)) go()
  }

  /** Releases the next poll, or waits for it. */
  async releaseNext(): Promise<void> {
    await until(() => this.polls.length > 0)
    this.polls.shift()?.()
  }
}

const openSlow = async (listen: boolean, pollInterval = NEVER) => {
  const schema = `notify_${(schemas += 1)}`
  const pool = new SlowPool(openPool(4))
  const other = openStore({ client: openPool(2), schema, listen: false })
  for (const id of ['c', 'd']) await other.createConversation({ id })
  return { pool, other, store: openStore({ client: pool, schema, listen, pollInterval }) }
}

const countWakes = (store: Store, id: string): { count: number } => {
  const wakes = { count: 0 }
  store.watch(id, () => (wakes.count += 1))
  return wakes
}

it('a poll wakes for a recreated conversation with the same id and number of events', async () => {
  const { pool, other, store } = await openSlow(false, 20)
  await other.append('c', [{ kind: 'PauseEvent', id: 'a' }])
  const wakes = countWakes(store, 'c')
  await pool.releaseNext()
  await until(() => wakes.count === 1)
  // Polls do not overlap, so none sees the state between the two.
  await until(() => pool.polls.length === 1)
  await other.deleteConversation('c')
  await other.createConversation({ id: 'c' })
  await other.append('c', [{ kind: 'PauseEvent', id: 'b' }])
  pool.releaseAll()
  await until(() => wakes.count === 2)
})

it('a poll wakes for the deletion of a conversation without events', async () => {
  const { pool, other, store } = await openSlow(false, 20)
  pool.releaseAll()
  const wakes = countWakes(store, 'c')
  await until(() => wakes.count === 1)
  await other.deleteConversation('c')
  await until(() => wakes.count === 2)
})

it('each new watch first polls only its own conversation', async () => {
  const { pool, store } = await openSlow(false)
  for (const id of ['c', 'd', 'c']) {
    const wakes = countWakes(store, id)
    await pool.releaseNext()
    await until(() => wakes.count === 1)
  }
  expect(pool.requests).toEqual([['c'], ['d'], ['c']])
})

describe('a poll in progress', () => {
  it('does not replace the first poll of a watch that starts in the meantime', async () => {
    const { pool, store } = await openSlow(false)
    const first = countWakes(store, 'c')
    await until(() => pool.polls.length === 1)
    const second = countWakes(store, 'd')
    await pool.releaseNext()
    await until(() => first.count === 1)
    await pool.releaseNext()
    await until(() => second.count === 1)
  })

  it('does not replace the poll after LISTEN, so an append before LISTEN wakes', async () => {
    const { pool, other, store } = await openSlow(true)
    const wakes = countWakes(store, 'c')
    await pool.releaseNext()
    await until(() => wakes.count === 1)
    countWakes(store, 'd')
    await until(() => pool.polls.length === 1)
    await other.append('c', [{ kind: 'PauseEvent', id: 'a' }])
    pool.canConnect.resolve()
    const observer = await session(database.url)
    onTestFinished(() => observer.end())
    await until(async () => (await listeners(observer)).length > 0)
    // Its result predates the append.
    await pool.releaseNext()
    await pool.releaseNext()
    await until(() => wakes.count === 2)
  })
})

describe('three stores that share a pool', () => {
  it.each([1, 2, 3])('can all work and watch, with a maximum of %i connections', async (max) => {
    const pool = openPool(max)
    const [one, two, three] = ['a', 'b', 'c'].map((name) =>
      openStore({ client: pool, schema: `shared_${max}_${name}`, pollInterval: 20 }),
    )
    const stores = [one, two, three] as readonly Store[]
    for (const store of stores) {
      await store.createConversation({ id: 'c' })
      store.watch('c', () => undefined)
    }
    await Promise.all(
      stores.map(async (store) => {
        await store.append('c', [{ kind: 'PauseEvent', id: 'a' }])
        await waitForLast(store, 'a')
      }),
    )
  })
})
