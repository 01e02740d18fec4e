/** Every fault of the server leads to one clear error. Once the fault is removed, calls and watches work again. */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type PostgresClient, postgresStore } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { session, until, waiting } from '../postgres/sql-sessions.ts'
import { FAULTS, holdRow, pause } from '../postgres/faults.ts'
import { APP, faultDatabase, type FaultDatabase, createAppRole } from '../postgres/fault-database.ts'
import { startServer, type TestServer } from '../postgres/server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer()
  await createAppRole(server)
})

afterAll(() => server.stop())

function openStore(url: string): Store {
  const store = postgresStore({ url, pollInterval: 30 })
  onTestFinished(() => store.close())
  return store
}

/** Expects one error of the library that leaks nothing. */
async function expectError(call: Promise<unknown>, code: string, message: RegExp): Promise<void> {
  const error: unknown = await call.then(
    (value) => expect.unreachable(`the call returned ${inspect(value)}`),
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ name: 'ColloquyError', code, message: expect.stringMatching(message) })
  expect((error as Error).message).toMatch(/^[^\n]*PostgreSQL[^\n]+[;,:.] [^\n]*[a-z][^\n]*$/)
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(APP.password)
}

async function unusedUrl(): Promise<string> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return `postgres://app:${APP.password}@127.0.0.1:${port}/nothing`
}

/** Calls that must work whatever happened to other calls. */
async function expectReadable(store: Store): Promise<string[]> {
  expect((await store.getConversation('c'))?.version).toBe(1)
  expect(await store.count({ conversationId: 'c' })).toBe(1)
  return (await store.read('c')).map(({ id }) => id ?? '')
}

const CONNECTIONS: Readonly<Record<string, (url: string) => Store>> = {
  'by URL': openStore,
  'through a pool': (url) => {
    const pool = new pg.Pool({ connectionString: url })
    pool.on('error', () => undefined)
    const store = postgresStore({ client: pool, pollInterval: 30, prepare: true })
    onTestFinished(() => store.close().then(() => pool.end()))
    return store
  },
}

const isFailing = (store: Store): Promise<boolean> =>
  store.getConversation('c').then(
    () => false,
    () => true,
  )

/** Appends with a second store and waits for the first one's watch. */
async function expectWake(store: Store, { url }: FaultDatabase): Promise<void> {
  let count = 0
  const woken = new Promise<void>((resolve) => {
    store.watch('c', () => {
      count += 1
      void store.read('c').then((events) => events.some(({ id }) => id === 'z') && resolve())
    })
  })
  await until(() => count > 0)
  await openStore(url).append('c', [pause('z')])
  await woken
}

describe.each(Object.entries(CONNECTIONS))('an open PostgreSQL store, connected %s', (_, open) => {
  // Error codes do not depend on the kind of connection; losing and restoring a connection does.
  for (const fault of FAULTS.filter(({ code }) => open === openStore || code === 'store_unavailable')) {
    it(`fails with ${fault.code} while ${fault.name}, and then works again`, async () => {
      const database = await faultDatabase(server)
      const store = open(database.url)
      await store.createConversation({ id: 'c' })
      await store.append('c', [pause('a')])
      let last: string | null | undefined
      // Watched before the fault; results in the meantime do not matter.
      const readLast = (): Promise<unknown> =>
        store.read('c', { direction: 'backward', limit: 1 }).then(
          ([event]) => (last = event?.id),
          () => null,
        )
      store.watch('c', () => void readLast())
      await until(() => last === 'a')
      const facts = fault.facts ?? [pause('b')]

      const end = await fault.begin(database)
      // Connections accepted late must be closed too.
      if (fault.mayConnectLate === true)
        await until(() => database.cutConnections().then(() => isFailing(store)))
      const call = expectError(store.append('c', facts), fault.code, fault.message)
      await Promise.all([call, fault.during?.(database)])
      if (fault.readable === true) expect(await expectReadable(store)).toEqual(['a'])
      else await expectError(store.read('c'), fault.code, fault.message)
      await end()

      const { version } = await store.append('c', facts)
      expect(version).toBe(1 + facts.length)
      expect((await store.read('c')).map(({ id }) => id)).toEqual(['a', ...facts.map(({ id }) => id)])
      await openStore(database.url).append('c', [pause('z')])
      await until(() => last === 'z')
    })
  }

  it('replaces terminated idle connections without an error', async () => {
    const database = await faultDatabase(server)
    const store = open(database.url)
    await store.createConversation({ id: 'c' })
    await store.append('c', [pause('a')])
    await Promise.all(Array.from({ length: 20 }, () => store.read('c')))
    await database.cutConnections()
    // The store notices the termination with a delay.
    await sleep(50)
    expect((await store.append('c', [pause('b')])).version).toBe(2)
    await expectWake(store, database)
  })
})

describe('a PostgreSQL store that is opened during a fault', () => {
  for (const { name, begin, code, message } of FAULTS.filter(({ atOpening }) => atOpening === true)) {
    it(`fails each call with ${code} while ${name}, and then works`, async () => {
      const database = await faultDatabase(server)
      const end = await begin(database)
      const store = openStore(database.url)
      store.watch('c', () => undefined)
      const calls = [store.createConversation({ id: 'c' }), store.read('c'), store.listConversations()]
      await Promise.all(calls.map((call) => expectError(call, code, message)))
      await end()
      await store.createConversation({ id: 'c' })
      await expectWake(store, database)
    })
  }

  it('fails with store_read_only if the user cannot create a schema', async () => {
    const database = await faultDatabase(server)
    await database.asSuperuser(`REVOKE CREATE ON DATABASE ${database.name} FROM app`)
    const store = openStore(database.url)
    await expectError(store.createConversation({ id: 'c' }), 'store_read_only', /permission denied/)
    await database.asSuperuser(`GRANT CREATE ON DATABASE ${database.name} TO app`)
    await store.createConversation({ id: 'c' })
  })

  it('fails with store_unavailable, listing each address of a host that refuses the connection', async () => {
    const { port } = new URL(await unusedUrl())
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
    await expectError(
      store.read('c'),
      'store_unavailable',
      /ECONNREFUSED 127.0.0.1:.*ECONNREFUSED 127.0.0.2:/,
    )
    await store.close()
  })

  it('fails with store_unavailable if nothing listens at the address', async () => {
    await expectError(openStore(await unusedUrl()).read('c'), 'store_unavailable', /ECONNREFUSED/)
  })
})

describe('concurrent calls', () => {
  it('each fail with one error if their connections end, and can be retried', async () => {
    const database = await faultDatabase(server)
    const store = openStore(database.url)
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
    await database.rival.query('BEGIN')
    await database.rival.query('LOCK TABLE colloquy.conversation, colloquy.log, colloquy.event')
    const failing = Promise.all(
      calls.map((call) => expectError(call(), 'store_unavailable', /terminating connection/)),
    )
    await until(async () => (await waiting(database.observer, database.name)) === calls.length)
    await database.cutConnections()
    await failing
    await database.rival.query('ROLLBACK')
    await Promise.all(calls.map((call) => call()))
    const idsOf = async (id: string) => (await store.read(id)).map((event) => event.id)
    expect(await Promise.all(['c', 'two', 'three'].map(idsOf))).toEqual([
      ['a', 'b'],
      ['a', 'd', 'e'],
      ['a', 'f'],
    ])
  })
})

describe('a store on a single client', () => {
  it('fails with store_unavailable after the connection ends, and can be closed', async () => {
    const database = await faultDatabase(server)
    const client = await session(database.url)
    const store = postgresStore({ client, pollInterval: 30 })
    await store.createConversation({ id: 'c' })
    store.watch('c', () => undefined)
    await database.cutConnections()
    await expectError(store.read('c'), 'store_unavailable', /connection|terminat/i)
    await expectError(store.append('c', [pause('a')]), 'store_unavailable', /not queryable/)
    await store.close()
  })
})

describe('close', () => {
  it('completes while the server is down, after waiting calls have failed', async () => {
    const database = await faultDatabase(server)
    const store = openStore(database.url)
    await store.createConversation({ id: 'c' })
    store.watch('c', () => undefined)
    await holdRow(database)
    const call = expectError(store.append('c', [pause('a')]), 'store_unavailable', /terminat/)
    await until(async () => (await waiting(database.observer, database.name)) > 0)
    const { rows } = await database.rival.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const holder = rows[0]?.pid as number
    // Stop this backend, or it may notice the dead server first and release its lock.
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

describe('an event whose stored body is not JSON', () => {
  it('fails with store_unavailable when it is read, and does not affect other events', async () => {
    const database = await faultDatabase(server)
    const store = openStore(database.url)
    await store.createConversation({ id: 'c' })
    await store.append('c', [pause('a'), pause('b')])
    await database.asSuperuser(`UPDATE colloquy.event SET body = '{"kind' WHERE id = 'a'`)
    await expect(store.get('c', 'a')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/position 0 of "c" is not a JSON object/),
    })
    expect((await store.get('c', 'b'))?.seq).toBe(1)
  })
})
