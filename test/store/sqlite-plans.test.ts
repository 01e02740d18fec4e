/** No statement scans a table or sorts: checks the plans of all statements of the store, with every driver (law C). */

import { expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import type { ConversationQuery } from '../../src/store/contract/conversation-record.ts'
import type { EventQuery } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type SqliteDatabase, sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteStatement } from '../../src/store/sqlite/driver.ts'
import { SCHEMA } from '../../src/store/sqlite/dialect.ts'
import { everyFilter, everyList } from './every-list.ts'
import { DRIVERS, openDatabase } from './sqlite-drivers.ts'

/** Records every prepared statement, and prepares each text once: the store keeps only the first ones. */
function recordStatements(database: SqliteDatabase): {
  readonly database: SqliteDatabase
  readonly texts: Set<string>
} {
  const texts = new Set<string>()
  const prepared = new Map<string, SqliteStatement>()
  return {
    texts,
    database: {
      exec: (sql) => database.exec(sql),
      close: () => database.close(),
      prepare(sql) {
        texts.add(sql)
        const statement = prepared.get(sql) ?? database.prepare(sql)
        prepared.set(sql, statement)
        return statement
      },
    },
  }
}

/** The plan's steps that read tables or sort. */
function plan(database: SqliteDatabase, sql: string): string[] {
  const values = Array.from(sql.matchAll(/\?/g), () => 1)
  const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { readonly detail: string }[]
  return rows
    .map(({ detail }) => detail.replace('COVERING ', ''))
    .filter((detail) => /^(SEARCH|SCAN|USE TEMP|MATERIALIZE|AUTOMATIC)/.test(detail))
}

/** Allowed scans: its own rows, the last row of the feed, and its parameters. */
const ALLOWED_SCAN =
  /^(MATERIALIZE changed$|SCAN (range|w|walked|current|changed|segment|half|s|CONSTANT ROW|\d+ CONSTANT|listed VIRTUAL|feed$|colloquy_feed$|(t|colloquy_text_pending)$|sqlite_master|\(subquery|colloquy_schema))/

const FILTERS: readonly Partial<EventQuery>[] = [
  {},
  { kinds: ['PauseEvent'] },
  { excludeKinds: ['PauseEvent'] },
  { source: 'user' },
  { text: 'x' },
  { timestampGte: '2026-01-01T00:00:00Z', timestampLt: '2027-01-01T00:00:00Z' },
]

const pause = (id: string, parent_id?: string): Event => ({
  kind: 'PauseEvent',
  id,
  ...(parent_id !== undefined && { parent_id }),
})

const long = (id: string, length: number): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ image_urls: ['x'.repeat(length)] }] },
})

async function makeAllCalls(store: Store, lists: readonly ConversationQuery[]): Promise<void> {
  await store.createConversation({ id: 'c', tags: { a: 'x' } })
  await store.append('c', [pause('a'), pause('b'), pause('d', 'a'), pause('e'), pause('f', 'b')])
  await store.append('c', [pause('a'), pause('g')], { mode: 'import' })
  await store.append('c', [pause('h')])
  await store.append('c', [long('i', 70_000), long('j', 2 ** 21)])
  await store.append('c', [long('i', 70_000)])
  const [one] = await store.read('c', { direction: 'backward', limit: 1, blobs: 'refs' })
  for await (const _ of (await store.readBlob('c', one?.blobs?.[0]?.hash ?? ''))?.content ?? []);
  await store.read('c')
  await store.read('c', { direction: 'backward' })
  await store.get('c', 'a')
  for (const filter of FILTERS)
    for (const leafId of [undefined, 'f'])
      for (const order of ['timestamp', 'timestamp_desc'] as const) {
        const query = { ...filter, conversationId: 'c', ...(leafId !== undefined && { leafId }) }
        await store.search({ ...query, order })
        await store.count(query)
      }
  await store.updateConversation('c', { title: 't', tags: { b: 'y' } }, { expected: { metadata: {} } })
  await store.setStatus('c', 'idle', 9)
  const lease = await store.acquireLease('c', 'me', 1_000)
  await store.getLease('c')
  await store.listLeases({ expired: true })
  if (lease !== null) await store.releaseLease(lease)
  await store.saveSnapshot('c', [{ part: 0, bytes: new Uint8Array(1) }], { complete: true })
  await store.loadSnapshot('c')
  await store.deleteSnapshot('c')
  for (const shard of [undefined, 1])
    for (const from of ['start', 'end'] as const)
      await store.feed({ from, ...(shard !== undefined && { shard }) })
  await store.changeItems([{ collection: 'k', id: 'i', put: { body: {}, keys: { k: 'v' }, dueIn: 0 } }])
  await store.getItem('k', 'i')
  await store.claimItems('k', { ttl: 1 })
  for (const descending of [false, true])
    for (const query of [{}, { by: 'k' }, { by: 'k', value: 'v' }, { by: 'k', from: 'a', below: 'z' }]) {
      const first = await store.listItems('k', { ...query, descending, limit: 1 })
      if (first.cursor !== null)
        await store.listItems('k', { ...query, descending, limit: 1, cursor: first.cursor })
      await store.countItems('k', query)
    }
  await store.changeItems([{ collection: 'k', id: 'i', put: null }])
  for (const query of lists) await store.listConversations(query)
  const unwatch = store.watch('c', () => undefined)
  unwatch()
  await store.deleteConversation('c')
}

/** Makes all calls with one driver, and returns the text of every statement. */
async function everyStatement(): Promise<ReadonlySet<string>> {
  const { database, texts } = recordStatements(openDatabase('node:sqlite', ':memory:'))
  const store = sqliteStore({ database })
  await makeAllCalls(store, everyList())
  // Neither an order nor a cursor is part of a count.
  for (const filter of everyFilter()) await store.countConversations(filter)
  await store.close()
  return texts
}

let everyText: Promise<ReadonlySet<string>> | undefined

it.each(DRIVERS)('every statement uses an index, and none sorts, with %s', async (driver) => {
  const inner = openDatabase(driver, ':memory:')
  const { database, texts } = recordStatements(inner)
  const store = sqliteStore({ database })
  // The calls have the same statements with each driver, so only one driver executes all lists.
  await makeAllCalls(store, [{}])
  everyText ??= everyStatement()
  const every = await everyText
  expect([...texts].filter((sql) => !every.has(sql))).toEqual([])
  const statements = [...every].filter(
    (sql) => !/^(BEGIN|COMMIT|SAVEPOINT|RELEASE|ROLLBACK|PRAGMA)/.test(sql),
  )
  expect(statements.length).toBeGreaterThan(1_000)
  const faults = statements.flatMap((sql) =>
    plan(inner, sql)
      .filter((step) => !step.startsWith('SEARCH') && !ALLOWED_SCAN.test(step))
      .map((step) => `${step}: ${sql}`),
  )
  expect(faults).toEqual([])
  await store.close()
  inner.close()
})

const searchPlan = (condition: string): string =>
  `SEARCH w USING PRIMARY KEY (log=? AND kind=? AND source=? AND ${condition})`

it('a page scans a range of one index, in both orders', async () => {
  const inner = openDatabase('node:sqlite', ':memory:')
  const { database, texts } = recordStatements(inner)
  const store = sqliteStore({ database })
  await store.createConversation({ id: 'c' })
  const steps = async (query: Partial<EventQuery>): Promise<string[]> => {
    texts.clear()
    await store.search({ ...query, conversationId: 'c' })
    return [...texts].filter((sql) => sql.includes('AS range')).flatMap((sql) => plan(inner, sql))
  }
  const result = ['SCAN range', 'SEARCH e USING INTEGER PRIMARY KEY (rowid=?)']
  const instants = 'time>? AND time<?'
  const positions = ['SEARCH w USING INDEX colloquy_event_seq (log=? AND seq>? AND seq<?)', ...result]
  expect(await steps({})).toEqual(positions)
  expect(await steps({ order: 'timestamp_desc' })).toEqual(positions)
  const kind = searchPlan(instants)
  expect(await steps({ kinds: ['PauseEvent'] })).toEqual([kind, kind, kind, kind, ...result])
  const pauses = ['a', 'b'].map((id): Event => ({
    kind: 'PauseEvent',
    id,
    timestamp: '2026-01-01T00:00:00Z',
  }))
  await store.append('c', pauses)
  const { cursor } = await store.search({ conversationId: 'c', limit: 1 })
  // The same statement is already prepared.
  expect(await steps({ limit: 1, ...(cursor !== null && { cursor }) })).toEqual([])
  // Events at the cursor's timestamp are scanned by position.
  const query = { kinds: ['PauseEvent'], source: 'user', limit: 1 } as const
  const page = await store.search({ ...query, conversationId: 'c' })
  expect(await steps({ ...query, ...(page.cursor !== null && { cursor: page.cursor }) })).toEqual([
    searchPlan('time=? AND seq>?'),
    searchPlan(instants),
    ...result,
  ])
  await store.close()
})

it('every key starts with the log or the conversation, except the listed ones', () => {
  const keys = SCHEMA.flatMap((sql) => [
    ...sql.matchAll(/(?:INDEX \w+ ON \w+|PRIMARY KEY|UNIQUE) \(([^)]*)\)/g),
  ])
  expect(keys.length).toBeGreaterThan(8)
  expect(
    keys
      .map(([, columns = '']) => columns)
      .filter((columns) => !/^(log|number|conversation_id)\b/.test(columns)),
  ).toEqual([
    'hash, start',
    'collection, id',
    'collection, name, value, id',
    'created_at, conversation_id',
    'parent_conversation_id, created_at, conversation_id',
    'status, created_at, conversation_id',
    'sandbox_id, created_at, conversation_id',
    'owner, created_at, conversation_id',
    'public, created_at, conversation_id',
    'name, value, created_at, conversation_id',
    'updated_at, conversation_id',
    'hash, log',
    'collection, due_at, id',
  ])
})
