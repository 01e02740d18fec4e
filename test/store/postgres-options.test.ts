/** Options of the PostgreSQL store, timeouts, prepared statements, and the end of a process that does not close its store. */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { postgresStore, type PostgresStoreOptions } from '../../src/store/postgres/index.ts'
import { run, session, until, waiting } from '../postgres/sql-sessions.ts'
import { testDatabase } from '../postgres/database.ts'

it.each([
  undefined,
  'postgres://localhost/x',
  {},
  { connectionString: 'postgres://localhost/x' },
  { url: 'postgres://localhost/x', client: {} },
  { url: 'postgres://localhost/x', client: { query: () => null } },
  { url: new URL('postgres://localhost/x') },
  { url: 5 },
  { client: {} },
])('postgresStore rejects %j as options', (options) => {
  const message = 'The options of `postgresStore` must have either `url` (a string) or `client`'
  const error = { code: 'invalid_argument', message: expect.stringContaining(message) }
  expect(() => postgresStore(options as unknown as PostgresStoreOptions)).toThrow(
    expect.objectContaining(error),
  )
})

it.each([0, -1, NaN, 2 ** 31, Infinity, '5', null])(
  'postgresStore rejects a poll interval of %j',
  (pollInterval) => {
    expect(() =>
      postgresStore({ url: 'postgres://localhost/x', pollInterval: pollInterval as never }),
    ).toThrow(expect.objectContaining({ code: 'invalid_argument', data: { field: 'pollInterval' } }))
  },
)

it.each(['', 'x'.repeat(64), 'a\u0000', 'a$body$b', '$creation$'])(
  'postgresStore rejects the schema name %j',
  (schema) => {
    expect(() => postgresStore({ url: 'postgres://localhost/x', schema })).toThrow(
      expect.objectContaining({ code: 'invalid_id', data: { name: schema } }),
    )
  },
)

it.each(['$', 'a$b', '$body', 'body$', "it's $other$"])(
  'postgresStore accepts the schema name %j',
  async (schema) => {
    const database = await testDatabase()
    const store = postgresStore({ url: database.url, schema, listen: false })
    await store.createConversation({ id: 'c' })
    await store.append('c', [{ kind: 'PauseEvent', id: 'a' }])
    expect(await store.count({ conversationId: 'c', leafId: 'a' })).toBe(1)
    await store.close()
    await database.drop()
  },
)

it.each(['repeatable read', 'serializable'])(
  'the store rejects default isolation %s, for a new and an existing database, and explains the setting',
  async (isolation) => {
    const database = await testDatabase()
    onTestFinished(() => database.drop())
    const name = new URL(database.url).pathname.slice(1)
    const withStore = async <T>(use: (store: ReturnType<typeof postgresStore>) => Promise<T>): Promise<T> => {
      const store = postgresStore({ url: database.url, listen: false })
      return use(store).finally(() => store.close())
    }
    const rejection = {
      code: 'store_unavailable',
      message: expect.stringMatching(/read committed.*default_transaction_isolation/),
      data: { isolation },
    }
    const alterDatabase = (change: string) => run(database.url, `ALTER DATABASE ${name} ${change}`)
    await alterDatabase(`SET default_transaction_isolation = '${isolation}'`)
    await withStore(async (store) => {
      await expect(store.createConversation({ id: 'c' })).rejects.toMatchObject(rejection)
      expect(await run(database.url, `SELECT to_regnamespace('colloquy') AS schema`)).toEqual([
        { schema: null },
      ])
    })
    await alterDatabase('RESET default_transaction_isolation')
    await withStore((store) => store.createConversation({ id: 'c' }))
    await alterDatabase(`SET default_transaction_isolation = '${isolation}'`)
    await withStore(async (store) => {
      await expect(store.getConversation('c')).rejects.toMatchObject(rejection)
      await expect(store.deleteConversation('c')).rejects.toMatchObject(rejection)
    })
  },
)

it('pages with different `maxBytes` use one prepared statement', async () => {
  const database = await testDatabase()
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  const store = postgresStore({ client: pool, prepare: true, listen: false })
  await store.createConversation({ id: 'c' })
  await store.append(
    'c',
    ['a', 'b', 'd'].map((id) => ({ kind: 'PauseEvent' as const, id })),
  )
  const lengths = []
  for (const maxBytes of [1, 2, 100, 150, Number.MAX_SAFE_INTEGER])
    lengths.push((await store.search({ conversationId: 'c', maxBytes })).items.length)
  expect(lengths).toEqual([1, 1, 3, 3, 3])
  const { rows } = await pool.query(
    `SELECT count(*)::integer AS count FROM pg_prepared_statements WHERE statement LIKE '%octet_length%'`,
  )
  expect(rows).toEqual([{ count: 1 }])
  await store.close()
  await pool.end()
  await database.drop()
})

it('the store prepares at most 500 statements', async () => {
  const names = new Set<string>()
  const client = {
    async query(input: string | { readonly name: string; readonly text: string }) {
      if (typeof input !== 'string') names.add(input.name)
      const text = typeof input === 'string' ? input : input.text
      return { rows: text.includes('schema_version') ? [{ version: 1, isolation: 'read committed' }] : [] }
    },
  }
  const store = postgresStore({ client, prepare: true, listen: false })
  for (let count = 1; count <= 100; count += 1) {
    const tags = Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, 'x']))
    for (const filter of [{}, { owner: 'a' }, { status: 'idle' }, { public: true }, { titleContains: 'x' }])
      await store.listConversations({ tags, ...filter })
  }
  expect(names.size).toBe(500)
  await store.close()
})

it('a process ends by itself if its open store is idle', async () => {
  const database = await testDatabase()
  const source = join(inject('built'), 'store/postgres/index.js')
  const program = `
import { postgresStore } from '${source}'
const store = postgresStore({ url: process.argv[1] })
console.log((await store.countConversations()).count)
setTimeout(() => console.log('something is'), 5_000).unref()`
  const args = ['--input-type=module', '-e', program, database.url]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toBe('0\n')
  await database.drop()
})

it('a process ends after it has closed a store that had a watch', async () => {
  const database = await testDatabase()
  const source = join(inject('built'), 'store/postgres/index.js')
  const program = `
import { postgresStore } from '${source}'
const store = postgresStore({ url: process.argv[1] })
await store.createConversation({ id: 'c' })
const unwatch = store.watch('c', () => undefined)
await store.append('c', [{ kind: 'PauseEvent', id: 'a' }])
unwatch()
await store.close()
console.log('closed')`
  const args = ['--input-type=module', '-e', program, database.url]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toBe('closed\n')
  await database.drop()
})

it('calls fail at the timeout if the server does not respond, and the store can be closed', async () => {
  const silent = postgresStore({ client: { query: () => new Promise<never>(() => undefined) }, timeout: 60 })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const calls = [
    silent.getConversation('c'),
    silent.append('c', [{ kind: 'PauseEvent', id: 'a' }]),
    silent.feed(),
  ]
  const failures = calls.map((call) => expect(call).rejects.toMatchObject({ code: 'store_unavailable' }))
  let isClosed = false
  const closing = Promise.all(failures)
    .then(() => silent.close())
    .then(() => (isClosed = true))
  await vi.advanceTimersByTimeAsync(2_000)
  expect(isClosed).toBe(true)
  await closing
  for (const timeout of [0, -1, Number.NaN, '5'])
    expect(() => postgresStore({ url: 'postgres://localhost/x', timeout: timeout as number })).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    )
})

/** A store whose client never responds to statements that match `silence.pattern`. */
async function storeWithSilence(timeout: number, options: Partial<PostgresStoreOptions> = {}) {
  const database = await testDatabase()
  const first = postgresStore({ url: database.url, listen: false })
  await first.getConversation('c')
  await first.close()
  const pool = new pg.Pool({ connectionString: database.url })
  const silence = { pattern: /^$/ }
  const client = {
    query: (text: string, values?: unknown[]) =>
      silence.pattern.test(text) ? new Promise<never>(() => undefined) : pool.query(text, values),
  }
  const store = postgresStore({ ...options, client, timeout, listen: false } as PostgresStoreOptions)
  onTestFinished(async () => {
    await store.close()
    await pool.end()
    await database.drop()
  })
  return { store, silence, url: database.url }
}

it('the store works again after its first statement got no response', async () => {
  const { store, silence } = await storeWithSilence(1_000)
  silence.pattern = /version/
  await expect(store.getConversation('c')).rejects.toMatchObject({ code: 'store_unavailable' })
  silence.pattern = /^$/
  // On a busy machine a response can be late.
  await until(() =>
    store.getConversation('c').then(
      (record) => record === null,
      () => false,
    ),
  )
})

it('polling continues after a poll got no response', async () => {
  const { store, silence, url } = await storeWithSilence(1_000, { pollInterval: 50 })
  const other = postgresStore({ url, listen: false })
  await other.createConversation({ id: 'c' })
  silence.pattern = /AS state FROM/
  let wakes = 0
  const unwatch = store.watch('c', () => (wakes += 1))
  await new Promise((resolve) => setTimeout(resolve, 1_300))
  silence.pattern = /^$/
  await until(async () => wakes > 0)
  const before = wakes
  await other.append('c', [{ kind: 'PauseEvent', id: 'a' }])
  await until(async () => wakes > before)
  unwatch()
  await other.close()
})

it('an append that timed out while waiting for a lock is cancelled on the server', async () => {
  const database = await testDatabase()
  const first = postgresStore({ url: database.url })
  await first.createConversation({ id: 'c' })
  await first.close()
  const store = postgresStore({ url: database.url, timeout: 1_000 })
  const rival = await session(database.url)
  await rival.query('BEGIN')
  await rival.query('SELECT FROM colloquy.log FOR UPDATE')
  const append = store.append('c', [{ kind: 'PauseEvent', id: 'a' }])
  await expect(append).rejects.toMatchObject({ code: expect.stringMatching(/^store_(unavailable|busy)$/) })
  await until(async () => (await waiting(rival, new URL(database.url).pathname.slice(1))) === 0)
  await rival.query('COMMIT')
  expect(await store.count({ conversationId: 'c' })).toBe(0)
  await rival.end()
  await store.close()
  await database.drop()
})

it('a schema without a version is reported at once', async () => {
  const database = await testDatabase()
  onTestFinished(() => database.drop())
  const first = postgresStore({ url: database.url, listen: false })
  await first.createConversation({ id: 'c' })
  await first.close()
  // Like a dump without data.
  await run(database.url, 'DELETE FROM colloquy.schema_version')
  const pool = new pg.Pool({ connectionString: database.url, max: 2 })
  let statements = 0
  const client = {
    query: (text: string, values?: unknown[]) => ((statements += 1), pool.query(text, values)),
  }
  const store = postgresStore({ client, timeout: 2_000, listen: false } as PostgresStoreOptions)
  await expect(store.getConversation('c')).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('schema_version has no row'),
  })
  const known = statements
  expect(known).toBeLessThan(5)
  await store.close()
  expect(statements).toBe(known)
  await pool.end()
})

it('watches are polled while other watches begin', async () => {
  let version = 1
  let begun = 0
  const client = {
    async query(text: string, values: readonly unknown[] = []) {
      await new Promise((resolve) => setTimeout(resolve, 2))
      if (text.includes('schema_version')) return { rows: [{ version: 1, isolation: 'read committed' }] }
      if (!text.includes('conversation_id = ANY')) return { rows: [] }
      // A query is always followed by the query of another watch.
      if ((begun += 1) < 1_000) store.watch(`other${begun}`, () => undefined)
      return { rows: (values[0] as string[]).map((id) => ({ id, state: String(version) })) }
    },
  }
  const store = postgresStore({ client, pollInterval: 10 })
  onTestFinished(() => store.close())
  let wakes = 0
  store.watch('c', () => (wakes += 1))
  await expect.poll(() => wakes, { interval: 5 }).toBe(1)
  version = 2
  await expect.poll(() => wakes, { interval: 5 }).toBe(2)
  expect(begun).toBeLessThan(1_000)
})
