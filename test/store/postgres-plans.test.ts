/** No statement of any call scans a table, including statements inside functions: checks the executed plans (law C). */

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { shardOf } from '../../src/store/kit/feed.ts'
import { SESSION } from '../../src/store/postgres/connection.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { ConversationFilter, ConversationQuery } from '../../src/store/contract/conversation-record.ts'
import { type EventQuery, MAX_COUNTED, MAX_VISITED } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { run, until } from '../postgres/sql-sessions.ts'
import { type Explainer, explainer, rowsOf, planFaults } from '../postgres/plans.ts'
import { superDatabase, type TestDatabase } from '../postgres/database.ts'
import { bothPages, everyFilter, ORDERS } from './every-list.ts'
import { OTHERS, STATES } from './plan-states.ts'

/** Number of events in the tested conversation. Pages have ten. */
const LENGTH = 3_000

let database: TestDatabase
let explained: Explainer
let store: Store
let calls = 0

beforeAll(async () => {
  database = await superDatabase()
  const filling = postgresStore({ url: database.url })
  await filling.getConversation('c')
  // The test decides when statistics are collected.
  const tables = ['conversation', 'log', 'event', 'lane', 'snapshot_part']
  await run(
    database.url,
    ...tables.map((name) => `ALTER TABLE colloquy.${name} SET (autovacuum_enabled = off)`),
  )
  // A single line, read near its start.
  await filling.createConversation({ id: 'line' })
  await filling.append(
    'line',
    Array.from({ length: LENGTH }, (_, n): Event => {
      const common = { id: `e${n}`, timestamp: timeOf(n) }
      return { ...common, kind: n % 2 === 0 ? 'PauseEvent' : 'InterruptEvent', source: 'environment' }
    }),
  )
  for (const id of ['c', ...Array.from({ length: 20 }, (_, i) => `other ${i}`)]) {
    await filling.createConversation({ id })
    const batches = id === 'c' ? LENGTH / 100 : 3
    for (let batch = 0; batch < batches; batch += 1) await filling.append(id, facts(batch))
  }
  await filling.close()
  explained = explainer(database.url)
  store = postgresStore({ client: explained.pool, prepare: true, pollInterval: 2 ** 30 })
})

afterAll(async () => {
  await store.close()
  await explained.pool.end()
  await database.drop()
})

/** A hundred events: two alternating kinds, an occasional message, and a branch. */
function facts(batch: number): Event[] {
  return Array.from({ length: 100 }, (_, i): Event => {
    const n = batch * 100 + i
    const common = { id: `e${n}`, timestamp: timeOf(n) }
    if (i === 50 && batch > 0)
      return { ...common, kind: 'PauseEvent', parent_id: `e${(batch - 1) * 100 + 40}` }
    if (i % 25 === 0) {
      const llm_message = { role: 'user' as const, content: [{ text: `word ${n}` }] }
      return { ...common, kind: 'MessageEvent', source: 'user', llm_message }
    }
    return { ...common, kind: i % 2 === 0 ? 'PauseEvent' : 'InterruptEvent', source: 'environment' }
  })
}

const timeOf = (n: number): string => new Date(1e12 + n * 1_000).toISOString()

const FILTERS: Readonly<Record<string, Partial<EventQuery>>> = {
  allCalls: {},
  'a kind': { kinds: ['PauseEvent'] },
  'a rare kind': { kinds: ['MessageEvent'] },
  'all kinds but one': { excludeKinds: ['PauseEvent'] },
  'a source': { source: 'user' },
  'from the middle on': { timestampGte: timeOf(LENGTH / 2) },
  'up to the middle': { timestampLt: timeOf(LENGTH / 2), kinds: ['InterruptEvent'] },
  'a path': { leafId: 'e2999' },
  'a kind on a path': { leafId: 'e2999', kinds: ['PauseEvent'] },
  'a rare kind on a path': { leafId: 'e2999', kinds: ['MessageEvent'] },
  'a source on a path, from the middle on': {
    leafId: 'e2999',
    source: 'user',
    timestampGte: timeOf(LENGTH / 2),
  },
}

const EARLY_PATHS: Readonly<Record<string, Partial<EventQuery>>> = {
  'a path that ends early': {},
  'a kind on a path that ends early': { kinds: ['PauseEvent'] },
  'a kind that a path lacks which ends early': { kinds: ['MessageEvent'] },
  'a source on a path that ends early': { source: 'environment' },
  'a text on a path that ends early': { text: 'none' },
}

const long = (id: string, length: number): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ image_urls: ['x'.repeat(length)] }] },
})

async function readBlob(): Promise<void> {
  const [one] = await store.read('c', { direction: 'backward', limit: 1, blobs: 'refs' })
  for await (const _ of (await store.readBlob('c', one?.blobs?.[0]?.hash ?? ''))?.content ?? []);
}

/** Every call of a store. A name starts with its method; `!` marks calls that may read a lot. */
function* allCalls(): Generator<readonly [name: string, call: () => Promise<unknown>]> {
  const id = `n${(calls += 1)}`
  const pause = (suffix: string, parent_id?: string): Event => ({
    kind: 'PauseEvent',
    id: `${id} ${suffix}`,
    ...(parent_id !== undefined && { parent_id }),
  })
  yield ['createConversation', () => store.createConversation({ id })]
  yield ['append', () => store.append('c', [pause('a')])]
  yield ['append a branch', () => store.append('c', [pause('b', 'e77'), pause('d')])]
  const move = { kind: 'ConversationStateUpdateEvent', key: 'leaf_event_id', value: 'e2999' } as const
  yield ['append a move', () => store.append('c', [{ ...move, id: `${id} m` }])]
  yield ['append onto a move', () => store.append('c', [pause('e', `${id} m`)])]
  yield [
    'append a batch',
    () =>
      store.append(
        'c',
        Array.from({ length: 50 }, (_, i) => pause(`f${i}`)),
      ),
  ]
  yield ['append what is there', () => store.append('c', [pause('a')])]
  const old = { kind: 'PauseEvent', id: 'e9', timestamp: timeOf(LENGTH), source: 'environment' } as const
  yield [
    'append an import',
    () => store.append('c', [old, pause('g', `${id} m`), pause('h', 'e1')], { mode: 'import' }),
  ]
  yield ['append a long string', () => store.append('c', [long(`${id} l`, 70_000), long(`${id} k`, 2 ** 21)])]
  yield ['read long strings', () => store.read('c', { direction: 'backward', limit: 2 })]
  yield ['readBlob', () => readBlob()]
  yield ['auditBlobs!', () => store.auditBlobs()]
  yield ['read', () => store.read('c', { from: LENGTH / 2, limit: 10 })]
  yield ['read backward', () => store.read('c', { direction: 'backward', limit: 10 })]
  yield ['read backward from', () => store.read('c', { direction: 'backward', from: LENGTH / 2, limit: 10 })]
  yield ['get', () => store.get('c', 'e2000')]
  yield ['getMany', () => store.getMany('c', ['e1', 'e2000', 'e2001', 'none'])]
  for (const [filter, more] of Object.entries(FILTERS)) {
    for (const order of ['timestamp', 'timestamp_desc'] as const) {
      yield [
        `search ${filter}, ${order}`,
        () => store.search({ ...more, conversationId: 'c', order, limit: 10 }),
      ]
    }
    yield [`count! ${filter}`, () => store.count({ ...more, conversationId: 'c' })]
  }
  for (const [filter, more] of Object.entries(EARLY_PATHS)) {
    const query = { ...more, conversationId: 'line', leafId: 'e50' }
    for (const order of ['timestamp', 'timestamp_desc'] as const)
      for (const limit of [1, 60])
        yield [`search ${limit} of ${filter}, ${order}`, () => store.search({ ...query, order, limit })]
    yield [`count ${filter}`, () => store.count(query)]
  }
  yield ['search! text', () => store.search({ conversationId: 'c', text: 'none', limit: 10 })]
  yield ['count! text', () => store.count({ conversationId: 'c', text: 'none' })]
  yield ['getConversation', () => store.getConversation('c')]
  yield ['updateConversation', () => store.updateConversation('c', { title: id })]
  yield ['acquireLease', () => store.acquireLease('c', 'me', 1_000)]
  yield ['getLease', () => store.getLease('c')]
  yield ['listLeases', () => store.listLeases({ expired: true })]
  yield ['releaseLease', () => release()]
  yield ['saveSnapshot', () => store.saveSnapshot('c', [{ part: 0, bytes: new Uint8Array(9) }])]
  yield ['loadSnapshot', () => store.loadSnapshot('c')]
  yield ['deleteSnapshot', () => store.deleteSnapshot('c')]
  yield ['deleteConversation', () => store.deleteConversation(id)]
  const item = { collection: 'plans', id: 'i' }
  yield ['changeItems', () => store.changeItems([{ ...item, put: { body: {}, keys: { k: 'v' }, dueIn: 0 } }])]
  yield ['getItem', () => store.getItem('plans', 'i')]
  yield ['listItems', () => store.listItems('plans', { by: 'k', limit: 10 })]
  yield ['claimItems', () => store.claimItems('plans', { ttl: 1 })]
  yield ['feed of a shard', () => store.feed({ shard: shardOf('c'), limit: 10 })]
  yield ['feed of all', () => store.feed({ limit: 10 })]
  yield ['feed from the end', () => store.feed({ from: 'end' })]
  yield ['watch', async () => firstPoll()]
  yield ['setStatus', () => store.setStatus('other 1', 'idle', 300)]
  yield ['countItems', () => store.countItems('plans', { by: 'k', value: 'w' })]
  yield ['countItems! all', () => store.countItems('plans', { by: 'k' })]
  for (const query of someLists())
    yield [
      `listConversations ${JSON.stringify(query)}`,
      () => store.listConversations({ ...query, limit: 10 }),
    ]
  for (const filter of singleFilters())
    yield [`countConversations ${JSON.stringify(filter)}`, () => store.countConversations(filter)]
  yield ['countConversations! exact', () => store.countConversations({}, { exact: true })]
}

async function release(): Promise<void> {
  const lease = await store.acquireLease('c', 'me', 60_000)
  expect(lease !== null && (await store.releaseLease(lease))).toBe(true)
}

/** The first poll of a watched conversation. */
async function firstPoll(): Promise<void> {
  let woken = 0
  const unwatch = store.watch('c', () => (woken += 1))
  await until(() => woken > 0)
  unwatch()
}

/** Each filter alone, and each order with single, combined and all filters. */
const singleFilters = (): ConversationFilter[] => everyFilter().filter((filter) => partsOf(filter) < 2)

function partsOf(filter: ConversationFilter): number {
  return new Set(Object.keys(filter).map((name) => name.replace(/Gte$|Lt$/, ''))).size
}

const FILTER_PARTS = Math.max(...everyFilter().map(partsOf))

const someLists = (): ConversationQuery[] =>
  everyFilter()
    .filter((filter, index) => partsOf(filter) < 2 || partsOf(filter) === FILTER_PARTS || index % 97 === 0)
    .flatMap((filter) => ORDERS.flatMap((order) => bothPages(filter, order)))

describe.each(STATES)(
  'a PostgreSQL database $name',
  ({
    statements = [],
    after = [],
    modes = ['force_custom_plan', 'force_generic_plan'],
    lists = true,
    isFull = false,
  }) => {
    beforeAll(async () => {
      await run(database.url, ...statements)
    })

    afterAll(async () => {
      await run(database.url, ...after)
    })

    it.each(modes)('has no table scan and no large read in any call, with %s', async (mode) => {
      await explained.pool.query(`SET plan_cache_mode = ${mode}`)
      await store.getConversation('c')
      const faults: string[] = []
      let statements = 0
      for (const [name, call] of allCalls()) {
        if (!lists && /^(list|count)Conv/.test(name)) continue
        explained.take()
        await call()
        const plans = explained.take()
        statements += plans.length
        const mayReadMuch = name.includes('!')
        const isList =
          /^(list|count)Conv(?!.*exact)/.test(name) || (isFull && /^(list|count)Items/.test(name))
        faults.push(...planFaults(plans, { isFull, mayReadMuch, isList }).map((fault) => `${name} ${fault}`))
        const limit = name.startsWith('listConv') ? MAX_VISITED : MAX_COUNTED + 1
        const conversationReads = plans.flatMap(({ nodes }) =>
          nodes.filter((node) => node['Relation Name'] === 'conversation'),
        )
        // PostgreSQL rounds the row counts of many loops.
        if (isList && !mayReadMuch && conversationReads.some((node) => rowsOf(node) > 1.02 * limit))
          faults.push(`${name} reads ${Math.max(...conversationReads.map(rowsOf))} conversations`)
      }
      expect(faults).toEqual([])
      expect(statements).toBeGreaterThan(100)
    })
  },
)

describe('the checked calls', () => {
  it('cover every method of the store and every function of the schema', async () => {
    const methods = new Set([...allCalls()].map(([name]) => name.split(/[ !]/)[0]))
    // texts.test.ts covers text search; a replacement only writes by key.
    expect([...methods, 'name', 'close', 'replaceEvents', 'searchText', 'textIndex'].toSorted()).toEqual(
      Object.keys(store).toSorted(),
    )
    await explained.pool.query('SELECT pg_stat_force_next_flush()')
    // SQL functions are inlined into their caller.
    const rows = await run(
      database.url,
      `SELECT p.proname AS name FROM pg_proc p LEFT JOIN pg_stat_user_functions s ON s.funcid = p.oid
      WHERE p.pronamespace = 'colloquy'::regnamespace AND p.prolang <> (SELECT oid FROM pg_language WHERE lanname = 'sql') AND coalesce(s.calls, 0) = 0
        AND p.proname NOT IN ('write_text', 'index_texts')`,
    )
    expect(rows).toEqual([])
  })
})

describe('indexes in PostgreSQL', () => {
  it('start with the log or the conversation, except the listed ones', async () => {
    const rows = (await run(
      database.url,
      `SELECT i.indexrelid::regclass::text AS index,
        (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[0]) AS first
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'colloquy'::regnamespace ORDER BY 1`,
    )) as { readonly index: string; readonly first: string | null }[]
    expect(rows.length).toBeGreaterThan(8)
    expect(rows.filter(({ first }) => !['conversation_id', 'log', 'number'].includes(first ?? ''))).toEqual([
      { index: 'colloquy.blob_piece_pkey', first: 'hash' },
      { index: 'colloquy.blob_pkey', first: 'hash' },
      { index: 'colloquy.blob_use_hash', first: 'hash' },
      { index: 'colloquy.conversation_created', first: 'created_at' },
      { index: 'colloquy.conversation_owner', first: 'owner' },
      { index: 'colloquy.conversation_parent', first: 'parent_conversation_id' },
      { index: 'colloquy.conversation_public', first: 'public' },
      { index: 'colloquy.conversation_sandbox', first: 'sandbox_id' },
      { index: 'colloquy.conversation_status', first: 'status' },
      { index: 'colloquy.conversation_tag', first: 'name' },
      { index: 'colloquy.feed_pkey', first: 'shard' },
      { index: 'colloquy.item_collection_id_key', first: 'collection' },
      { index: 'colloquy.item_due', first: 'collection' },
      { index: 'colloquy.item_key_pkey', first: 'collection' },
      { index: 'colloquy.log_updated', first: 'updated_at' },
      { index: 'colloquy.schema_version_pkey', first: 'one' },
      { index: 'colloquy.text_words', first: null },
    ])
  })
})

it('a claim of items uses a generic plan after five custom plans', async () => {
  await run(
    database.url,
    `INSERT INTO colloquy.item (collection, id, due_at, keys, body)
    SELECT 'due', 'i' || i, 0, '{}', '{}' FROM generate_series(1, ${OTHERS}) i`,
    'ANALYZE colloquy.item',
  )
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  const claiming = postgresStore({ client: pool, prepare: true, pollInterval: 2 ** 30 })
  for (let i = 0; i < 20; i += 1)
    expect(await claiming.claimItems('due', { ttl: 60_000, limit: 10 })).toHaveLength(10)
  // PostgreSQL tries five custom plans before it considers a generic one.
  const { rows } = await pool.query(
    `SELECT custom_plans::int, generic_plans::int FROM pg_prepared_statements WHERE statement LIKE '%SKIP LOCKED%'`,
  )
  expect(rows).toEqual([{ custom_plans: 5, generic_plans: 15 }])
  await claiming.close()
  await pool.end()
})

it('a deletion reads only its own conversation, even without the session settings', async () => {
  const large = await superDatabase()
  const { pool, take } = explainer(large.url)
  const deleting = postgresStore({ client: pool, listen: false, fullText: true })
  await deleting.createConversation({ id: 'long' })
  for (let batch = 0; batch < LENGTH / 100; batch += 1) await deleting.append('long', facts(batch))
  await pool.query('ANALYZE')
  await deleting.createConversation({ id: 'short' })
  await deleting.append('short', facts(0))
  await pool.query(SESSION.replaceAll(/SET (\w+) = \w+/g, 'RESET $1'))
  take()
  await deleting.deleteConversation('short')
  const nodes = take().flatMap((plan) => plan.nodes)
  const rows = (table: string): number[] =>
    nodes.filter((node) => node['Relation Name'] === table && node['Node Type'] !== 'ModifyTable').map(rowsOf)
  expect([rows('event'), rows('text')]).toEqual([[100], [4]])
  await deleting.close()
  await pool.end()
  await large.drop()
})
