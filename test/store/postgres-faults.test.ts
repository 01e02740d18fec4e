/** Every fault ends in one clear error. Once its cause is gone, calls and watches work again. */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type PostgresClient, postgresStore } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { session, until, waiting } from '../postgres/bystander.ts'
import { CAUSES, holdRow, pause } from '../postgres/causes.ts'
import { APP, position, type Place, settle } from '../postgres/place.ts'
import { startServer, type TestServer } from '../postgres/server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer()
  await settle(server)
})

afterAll(() => server.stop())

function opened(url: string): Store {
  const store = postgresStore({ url, pollInterval: 30 })
  onTestFinished(() => store.close())
  return store
}

/** Expects one error of the library that leaks nothing. */
async function fails(call: Promise<unknown>, code: string, says: RegExp): Promise<void> {
  const error: unknown = await call.then(
    (value) => expect.unreachable(`it gave ${inspect(value)}`),
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ name: 'ColloquyError', code, message: expect.stringMatching(says) })
  expect((error as Error).message).toMatch(/^[^\n]*PostgreSQL[^\n]+[;,:.] [^\n]*[a-z][^\n]*$/)
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(APP.password)
}

async function refusing(): Promise<string> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return `postgres://app:${APP.password}@127.0.0.1:${port}/nothing`
}

/** Calls that must work whatever happened to other calls. */
async function reads(store: Store): Promise<string[]> {
  expect((await store.getConversation('c'))?.version).toBe(1)
  expect(await store.count({ conversationId: 'c' })).toBe(1)
  return (await store.read('c')).map(({ id }) => id ?? '')
}

const WAYS: Readonly<Record<string, (url: string) => Store>> = {
  'by its URL': opened,
  'through a pool that was given': (url) => {
    const pool = new pg.Pool({ connectionString: url })
    pool.on('error', () => undefined)
    const store = postgresStore({ client: pool, pollInterval: 30, prepare: true })
    onTestFinished(() => store.close().then(() => pool.end()))
    return store
  },
}

const isRefused = (store: Store): Promise<boolean> =>
  store.getConversation('c').then(
    () => false,
    () => true,
  )

/** Appends with a second store and waits for the first one's watch. */
async function wakes(store: Store, { url }: Place): Promise<void> {
  let count = 0
  const woken = new Promise<void>((resolve) => {
    store.watch('c', () => {
      count += 1
      void store.read('c').then((events) => events.some(({ id }) => id === 'z') && resolve())
    })
  })
  await until(() => count > 0)
  await opened(url).append('c', [pause('z')])
  await woken
}

describe.each(Object.entries(WAYS))('a store that is open, %s', (_, open) => {
  // Error codes are the same by any way; losing and restoring a connection differs.
  for (const cause of CAUSES.filter(({ code }) => open === opened || code === 'store_unavailable')) {
    it(`meets ${cause.name}: one ${cause.code}, and goes on`, async () => {
      const index = await position(server)
      const store = open(index.url)
      await store.createConversation({ id: 'c' })
      await store.append('c', [pause('a')])
      let last: string | null | undefined
      // Watched before the fault; results in the meantime do not matter.
      const look = (): Promise<unknown> =>
        store.read('c', { direction: 'backward', limit: 1 }).then(
          ([event]) => (last = event?.id),
          () => null,
        )
      store.watch('c', () => void look())
      await until(() => last === 'a')
      const facts = cause.facts ?? [pause('b')]

      const end = await cause.begin(index)
      // Connections accepted late must be closed too.
      if (cause.mayBeLate === true) await until(() => index.cut().then(() => isRefused(store)))
      const call = fails(store.append('c', facts), cause.code, cause.says)
      await Promise.all([call, cause.during?.(index)])
      if (cause.readable === true) expect(await reads(store)).toEqual(['a'])
      else await fails(store.read('c'), cause.code, cause.says)
      await end()

      const { version } = await store.append('c', facts)
      expect(version).toBe(1 + facts.length)
      expect((await store.read('c')).map(({ id }) => id)).toEqual(['a', ...facts.map(({ id }) => id)])
      await opened(index.url).append('c', [pause('z')])
      await until(() => last === 'z')
    })
  }

  it('loses its idle connections without a word, and makes others', async () => {
    const index = await position(server)
    const store = open(index.url)
    await store.createConversation({ id: 'c' })
    await store.append('c', [pause('a')])
    await Promise.all(Array.from({ length: 20 }, () => store.read('c')))
    await index.cut()
    // The termination takes a moment to arrive.
    await sleep(50)
    expect((await store.append('c', [pause('b')])).version).toBe(2)
    await wakes(store, index)
  })
})

describe('a store that is opened', () => {
  for (const { name, begin, code, says } of CAUSES.filter(({ atOpening }) => atOpening === true)) {
    it(`under ${name}: ${code} for each call, until it works`, async () => {
      const index = await position(server)
      const end = await begin(index)
      const store = opened(index.url)
      store.watch('c', () => undefined)
      const calls = [store.createConversation({ id: 'c' }), store.read('c'), store.listConversations()]
      await Promise.all(calls.map((call) => fails(call, code, says)))
      await end()
      await store.createConversation({ id: 'c' })
      await wakes(store, index)
    })
  }

  it('by a user who may make no schema: store_read_only', async () => {
    const index = await position(server)
    await index.rule(`REVOKE CREATE ON DATABASE ${index.name} FROM app`)
    const store = opened(index.url)
    await fails(store.createConversation({ id: 'c' }), 'store_read_only', /permission denied/)
    await index.rule(`GRANT CREATE ON DATABASE ${index.name} TO app`)
    await store.createConversation({ id: 'c' })
  })

  it('for a host of several addresses that all refuse: store_unavailable, which says so', async () => {
    const { port } = new URL(await refusing())
    const addresses = [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
    ]
    // The system error a driver passes on for such a host; it has no message.
    const client: PostgresClient = {
      query: () =>
        new Promise((_, reject) => {
          const options = { host: 'several.test', port: Number(port), autoSelectFamily: true }
          connect({ ...options, lookup: (_host, _options, give) => give(null, addresses) }).on(
            'error',
            reject,
          )
        }),
    }
    const store = postgresStore({ client, listen: false })
    await fails(store.read('c'), 'store_unavailable', /ECONNREFUSED 127.0.0.1:.*ECONNREFUSED 127.0.0.2:/)
    await store.close()
  })

  it('at an address where nothing listens: store_unavailable', async () => {
    await fails(opened(await refusing()).read('c'), 'store_unavailable', /ECONNREFUSED/)
  })
})

describe('all calls at once', () => {
  it('are each answered by one error when their connections end, and all work afterwards', async () => {
    const index = await position(server)
    const store = opened(index.url)
    // Appends to one conversation wait for each other in the process.
    for (const id of ['c', 'two', 'three']) {
      await store.createConversation({ id })
      await store.append(id, [pause('a')])
    }
    const calls: readonly (() => Promise<unknown>)[] = [
      () => store.append('c', [pause('b')]),
      () => store.append('two', [pause('d'), pause('e', 'a')]),
      () => store.append('three', [pause('f')], { mode: 'import' }),
      () => store.read('c'),
      () => store.get('c', 'a'),
      () => store.search({ conversationId: 'c', kinds: ['PauseEvent'], leafId: 'a' }),
      () => store.count({ conversationId: 'c' }),
      () => store.updateConversation('c', { title: 'x' }),
      () => store.listConversations(),
      () => store.acquireLease('c', 'me', 1000),
    ]
    await index.rival.query('BEGIN')
    await index.rival.query('LOCK TABLE colloquy.conversation, colloquy.log, colloquy.event')
    const failing = Promise.all(
      calls.map((call) => fails(call(), 'store_unavailable', /terminating connection/)),
    )
    await until(async () => (await waiting(index.looker, index.name)) === calls.length)
    await index.cut()
    await failing
    await index.rival.query('ROLLBACK')
    await Promise.all(calls.map((call) => call()))
    const idsOf = async (id: string) => (await store.read(id)).map((event) => event.id)
    expect(await Promise.all(['c', 'two', 'three'].map(idsOf))).toEqual([
      ['a', 'b'],
      ['a', 'd', 'e'],
      ['a', 'f'],
    ])
  })
})

describe('a single client that was given', () => {
  it('is not replaced when its connection ends: store_unavailable, and it closes', async () => {
    const index = await position(server)
    const client = await session(index.url)
    const store = postgresStore({ client, pollInterval: 30 })
    await store.createConversation({ id: 'c' })
    store.watch('c', () => undefined)
    await index.cut()
    await fails(store.read('c'), 'store_unavailable', /connection|terminat/i)
    await fails(store.append('c', [pause('a')]), 'store_unavailable', /not queryable/)
    await store.close()
  })
})

describe('closing', () => {
  it('ends while the server is down, and calls that wait are answered first', async () => {
    const index = await position(server)
    const store = opened(index.url)
    await store.createConversation({ id: 'c' })
    store.watch('c', () => undefined)
    await holdRow(index)
    const call = fails(store.append('c', [pause('a')]), 'store_unavailable', /terminat/)
    await until(async () => (await waiting(index.looker, index.name)) > 0)
    const { rows } = await index.rival.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const holder = rows[0]?.pid as number
    // Stopped, or it may notice the dead server first and let the call through.
    process.kill(holder, 'SIGSTOP')
    try {
      await server.kill()
      await Promise.all([call, store.close()])
    } finally {
      process.kill(holder, 'SIGCONT')
      await server.start()
    }
  })
})

describe('a table that somebody changed', () => {
  it('is store_unavailable for the body that is no JSON, and hides no other event', async () => {
    const index = await position(server)
    const store = opened(index.url)
    await store.createConversation({ id: 'c' })
    await store.append('c', [pause('a'), pause('b')])
    await index.rule(`UPDATE colloquy.event SET body = '{"kind' WHERE id = 'a'`)
    await expect(store.get('c', 'a')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/position 0 of "c" is not a JSON object/),
    })
    expect((await store.get('c', 'b'))?.seq).toBe(1)
  })
})
