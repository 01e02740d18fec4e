/** Stores in several processes wake each other by notifications, not by polling, and find what they missed when they could not hear. */

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

/** Longer than any test: what wakes is no look at the database. */
const NEVER = 2 ** 30

/** A look is made when watching begins, and another when listening does; of so many wakes most are notifications. */
const ROUNDS = 12

let database: TestDatabase
let schemas = 0

beforeAll(async () => {
  database = await superDatabase()
  await run(database.url, `CREATE ROLE tester LOGIN SUPERUSER PASSWORD 'x'`)
})

afterAll(async () => {
  // What it owns goes with the database.
  const { url, drop } = database
  await drop()
  await run(new URL('/postgres', url).href, 'DROP ROLE tester')
})

/** As a user of its own, whose connections can be told from others. */
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
          // Reads go over several connections: one that began earlier may be the later to come.
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
    import { postgresStore } from ${JSON.stringify(join(inject('built'), 'store/postgres/index.ts'))}
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

/** A pool whose looks at versions, and whose lending of a client to listen, wait for whoever tests to let them on. */
class SlowPool implements PostgresPool {
  readonly #pool: pg.Pool
  #isFree = false
  readonly totalCount = 4
  /** What goes on with each look whose answer is there, in order. */
  readonly looks: (() => void)[] = []
  /** The conversations of each look. */
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

  /** Lets on all looks from now on. */
  letAll(): void {
    this.#isFree = true
    for (const go of this.looks.splice(0)) go()
  }

  /** Lets on a look, which is the next one; waits for it when it has yet to come. */
  async look(): Promise<void> {
    await until(() => this.looks.length > 0)
    this.looks.shift()?.()
  }
}

/** A store over a slow pool, and another one, which writes. */
const start = async (listen: boolean, pollInterval = NEVER) => {
  const schema = `notify_${(schemas += 1)}`
  const pool = new SlowPool(pooled(4))
  const other = opened({ client: pooled(2), schema, listen: false })
  for (const id of ['c', 'd']) await other.createConversation({ id })
  return { pool, other, store: opened({ client: pool, schema, listen, pollInterval }) }
}

/** Counts how often a conversation was woken for. */
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
  // While a look is under way no other one begins, so that none sees what is between the two.
  await until(() => pool.looks.length === 1)
  await other.deleteConversation('c')
  await other.createConversation({ id: 'c' })
  await other.append('c', [{ kind: 'PauseEvent', id: 'b' }])
  pool.letAll()
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
    // Its answer was there before the append.
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
