/** `within` writes rows of the caller in the transaction of an append: after kills, in messages and runs, and joined with the SQL views. */

import { spawnSync } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { ROWS as POSTGRES } from '../postgres/schemas.ts'
import { folder, ROWS as SQLITE } from './sqlite-drivers.ts'

const FILES = folder()
let database: PooledDatabase
beforeAll(async () => void (database = await pooledDatabase()))
afterAll(async () => {
  FILES.remove()
  await database.drop()
})

/** For each database: the target for a child process, a store, the table of rows, and a query function for the views. */
const DATABASES = {
  sqlite: () => {
    const file = FILES.next()
    const query = async (sql: string): Promise<unknown[]> => {
      const other = new DatabaseSync(file)
      try {
        return other.prepare(sql).all()
      } finally {
        other.close()
      }
    }
    return { target: file, store: sqliteStore({ file }), rows: SQLITE, views: 'colloquy_', query }
  },
  postgres: () => {
    const query = async (sql: string): Promise<unknown[]> => (await database.pool.query(sql)).rows
    return {
      target: database.url,
      store: postgresStore({ client: database.pool }),
      rows: POSTGRES,
      views: 'colloquy.',
      query,
    }
  },
}

const idsIn = async (store: Store, id: string): Promise<unknown[]> =>
  (await store.read(id)).map((event) => event.id)

async function* step() {
  yield {
    kind: 'MessageEvent',
    source: 'agent',
    id: 'reply',
    llm_message: { role: 'assistant', content: [{ text: '4' }] },
  } as const
}

describe.each(Object.entries(DATABASES))('`within` in %s', (_, make) => {
  it('commits the row and the event together or not at all, when the process is killed', async () => {
    const { target, store, rows } = make()
    await store.createConversation({ id: 'c' })
    for (const moment of ['before', 'after-row', 'after-commit']) {
      const { signal } = spawnSync(
        process.execPath,
        [new URL('own-rows-child.ts', import.meta.url).pathname, target, moment],
        { encoding: 'utf8' },
      )
      expect(signal, moment).toBe('SIGKILL')
    }
    let matches: readonly string[] = []
    const keep = (texts: readonly string[]): void => void (matches = texts)
    await store.append('c', [{ kind: 'PauseEvent', id: 'end' }], {
      within: (tx) => {
        const list = rows.list(tx)
        return 'then' in list ? list.then(keep) : keep(list)
      },
    })
    expect(matches).toEqual(['after-commit'])
    expect(await idsIn(store, 'c')).toEqual(['after-commit', 'end'])
    await store.deleteConversation('c')
    await store.close()
  })

  it('works in appends, messages and runs, and an error undoes only its append', async () => {
    const { store, rows, views, query } = make()
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: "it's", title: 'T', owner: 'ann' })
    const within = (
      tx: unknown,
      { events }: { readonly events: readonly { readonly id: string | null }[] },
    ) => rows.insert(tx, `it's ${events.map(({ id }) => id).join()}`)
    await conversation.sendMessage('Hello', { key: 'k', within })
    await conversation.sendMessage('Hello', { key: 'k', within })
    await conversation.append(
      { kind: 'ConversationStateUpdateEvent', key: 'x', value: 1, id: 'u' },
      { within },
    )
    let isBroken = true
    const run = () =>
      conversation.run(step, {
        within(tx, appended) {
          if (isBroken) throw new Error('no room')
          return within(tx, appended)
        },
      })
    await expect(run()).rejects.toThrow('no room')
    expect(await idsIn(store, conversation.id)).toHaveLength(2)
    isBroken = false
    expect(await run()).toMatchObject({ status: 'finished' })
    const joined = await query(
      `SELECT e.kind, count(*) AS count FROM ${views}events e JOIN ${views}conversations c ON c.id = e.conversation_id
      JOIN ${views === 'colloquy.' ? 'public.' : ''}note n ON n.text LIKE '%' || e.id || '%'
      WHERE c.owner = 'ann' AND e.in_tree GROUP BY e.kind ORDER BY e.kind`,
    )
    expect(joined.map((row) => Object.values(row as object).map(String))).toEqual([
      // The run also appends its status.
      ['ConversationStateUpdateEvent', '2'],
      ['MessageEvent', '2'],
    ])
    await engine.close()
    await store.close()
  })

  it('uses a database with the documented columns in its views', async () => {
    const { store, views, query } = make()
    const createdAt = '2001-01-01T00:00:00Z'
    await store.createConversation({ id: 'v', title: 'T', owner: 'bob', tags: { a: 'b' }, createdAt })
    await store.append('v', [
      { kind: 'PauseEvent', id: 'p0', timestamp: '2001-01-02T00:00:00Z' },
      { kind: 'PauseEvent', id: 'p1', timestamp: '2001-01-03T00:00:00Z' },
    ])
    const [record] = await query(`SELECT * FROM ${views}conversations WHERE owner = 'bob'`)
    const micros = String(Date.parse(createdAt) * 1000)
    const { created_at: created, updated_at: _, ...rest } = record as Readonly<Record<string, unknown>>
    expect(String(created)).toBe(micros)
    expect(rest).toEqual({
      id: 'v',
      title: 'T',
      owner: 'bob',
      public: 0,
      tags: '{"a":"b"}',
      metadata: '{}',
      parent_conversation_id: null,
      status: null,
      event_count: 2,
      head_id: 'p1',
    })
    const events = await query(`SELECT * FROM ${views}events WHERE conversation_id = 'v' ORDER BY position`)
    expect(events.map((row) => ({ ...(row as object), created_at: null, in_tree: null }))).toEqual(
      ['p0', 'p1'].map((id, position) => ({
        conversation_id: 'v',
        position,
        id,
        parent_id: position === 0 ? null : 'p0',
        kind: 'PauseEvent',
        source: 'user',
        created_at: null,
        in_tree: null,
        body: expect.stringContaining(`"id":"${id}"`),
      })),
    )
    await store.close()
  })
})

it('the memory store rejects `within`, and the conversation remains usable', async () => {
  const engine = createEngine({ store: memoryStore() })
  const conversation = await engine.create()
  await expect(conversation.sendMessage('Hello', { within: () => 1 })).rejects.toThrow(
    '`within` requires a SQLite or PostgreSQL store',
  )
  expect(await conversation.sendMessage('Hello')).toHaveLength(1)
  await engine.close()
})

it('SQLite rejects an asynchronous `within` or a ROLLBACK, and queues store calls made inside it', async () => {
  const store = sqliteStore({ file: FILES.next() })
  await store.createConversation({ id: 'c' })
  const append = (id: string, within: (tx: DatabaseSync) => unknown) =>
    store.append('c', [{ kind: 'PauseEvent', id }], { within })
  await expect(append('a', async () => 1)).rejects.toThrow('must be synchronous in SQLite')
  await expect(append('b', (tx) => tx.exec('INSERT INTO missing VALUES (1)'))).rejects.toThrow(
    'no such table',
  )
  await expect(append('c', (tx) => tx.exec('ROLLBACK'))).rejects.toThrow('must not end the transaction')
  expect(await idsIn(store, 'c')).toEqual([])
  const calls: Promise<unknown>[] = []
  await append('d', () => {
    calls.push(store.search({ conversationId: 'c' }), store.append('c', [{ kind: 'PauseEvent', id: 'e' }]))
    calls.push(store.listConversations({ owner: 'x' }))
  })
  // The search also finds `e` if the append runs first.
  expect(await Promise.all(calls)).toMatchObject([
    { items: { 0: { id: 'd' } } },
    { version: 2 },
    { items: [] },
  ])
  await store.close()
})

it('PostgreSQL rejects a `within` with a failed statement or a ROLLBACK, for a pool and for a client', async () => {
  const client = new pg.Client(database.url)
  await client.connect()
  for (const [nth, one] of [database.pool, client].entries()) {
    const store = postgresStore({ client: one, schema: `own_${nth}` })
    await store.createConversation({ id: 'c' })
    const append = (id: string, within: (tx: pg.ClientBase) => unknown) =>
      store.append('c', [{ kind: 'PauseEvent', id }], { within })
    await expect(
      append('a', (tx) => tx.query('INSERT INTO missing VALUES (1)').catch(() => undefined)),
    ).rejects.toMatchObject({ code: 'store_unavailable' })
    await expect(append('b', (tx) => tx.query('ROLLBACK'))).rejects.toThrow('must not end the transaction')
    await expect(append('c', (tx) => tx.query('SELECT 1/0'))).rejects.toThrow('division by zero')
    expect(await idsIn(store, 'c')).toEqual([])
    const both = await Promise.all([
      append('d', (tx) => tx.query('SELECT pg_sleep(0.2)')),
      store.append('c', [{ kind: 'PauseEvent', id: 'e' }]),
    ])
    expect(both.map(({ version }) => version)).toEqual([1, 2])
    await store.close()
  }
  await client.end()
})

it('PostgreSQL rolls back a `within` that exceeds the timeout', async () => {
  const patient = postgresStore({ url: database.url, schema: 'slow' })
  await patient.createConversation({ id: 'c' })
  await patient.close()
  const store = postgresStore({ url: database.url, schema: 'slow', timeout: 1_000 })
  const never = new Promise<never>(() => undefined)
  await expect(
    store.append('c', [{ kind: 'PauseEvent', id: 'a' }], { within: () => never }),
  ).rejects.toMatchObject({ code: 'store_unavailable' })
  await expect
    .poll(() =>
      store.append('c', [{ kind: 'PauseEvent', id: 'b' }]).then(
        ({ version }) => version,
        () => 0,
      ),
    )
    .toBe(1)
  expect(await idsIn(store, 'c')).toEqual(['b'])
  await store.close()
})
