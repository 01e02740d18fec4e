/** No statement walks a table: the plans of all that the store does, inside of its functions too, as PostgreSQL carried them out (law C). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { shardOf } from '../../src/store/kit/feed.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { ConversationFilter, ConversationQuery } from '../../src/store/contract/conversation-record.ts'
import { type EventQuery, MOST_COUNTED, MOST_LOOKED_AT } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { run, until } from '../postgres/bystander.ts'
import { type Explainer, explainer, type Plan, type PlanNode } from '../postgres/plans.ts'
import { startServer, type TestServer } from '../postgres/server.ts'
import { bothPages, everyFilter, ORDERS } from './every-list.ts'

/** The events of the conversation that is looked at; a page of it is ten. */
const LENGTH = 3_000

/** What a call may look at: some pages, and never what grows with the conversation. */
const FEW = 500

const OTHERS = 50_000

let server: TestServer
let explaining: Explainer
let store: Store
let calls = 0

beforeAll(async () => {
  server = await startServer()
  const filling = postgresStore({ url: server.url })
  await filling.getConversation('c')
  // It is for the test to say when the planner may count.
  const tables = ['conversations', 'events', 'lanes', 'snapshots', 'snapshot_parts']
  await run(
    server.url,
    ...tables.map((name) => `ALTER TABLE colloquy.${name} SET (autovacuum_enabled = off)`),
  )
  for (const id of ['c', ...Array.from({ length: 20 }, (_, i) => `other ${i}`)]) {
    await filling.createConversation({ id })
    const batches = id === 'c' ? LENGTH / 100 : 3
    for (let batch = 0; batch < batches; batch += 1) await filling.append(id, facts(batch))
  }
  await filling.close()
  explaining = explainer(server.url)
  store = postgresStore({ client: explaining.pool, prepare: true, pollInterval: 2 ** 30 })
})

afterAll(async () => {
  await store.close()
  await explaining.pool.end()
  await server.stop()
})

/** A hundred events: two kinds by turns, a message now and then, and a branch. */
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

/** As many conversations again as a server may have, of one event each; then the planner counts. */
const MANY = [
  `INSERT INTO colloquy.conversations
    (conversation_id, title_folded, public, tags, metadata, parent_conversation_id, sandbox_id, status, created_at, updated_at)
  SELECT 't' || i, 't' || i, i % 2 = 0, CASE WHEN i % 3 = 0 THEN '{a=x,b=y}' ELSE '{}' END::text[], '{}',
    CASE WHEN i % 5 = 0 THEN 'p' END, CASE WHEN i % 7 = 0 THEN 's' END, 'idle', i, i
  FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.events
    (conversation_id, seq, lane, time, max_time, can_be_head, stamped, id, kind, source, body)
  SELECT 't' || i, 0, 0, i, i, true, true, 'e0', 'PauseEvent', 'user', '{"kind":"PauseEvent"}'
  FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.lanes (conversation_id, lane, last_seq) SELECT 't' || i, 0, 0 FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.snapshots SELECT 't' || i, 1 FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.snapshot_parts SELECT 't' || i, 0, '' FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.items (collection, id, due_at, keys, body)
  SELECT 'plans', 't' || i, 9e15, '{"k":"v"}', '{}' FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.item_keys SELECT 'plans', 'k', 'v', 't' || i FROM generate_series(1, ${OTHERS}) i`,
  'ANALYZE',
]

/** Ways to look at the long conversation. */
const FILTERS: Readonly<Record<string, Partial<EventQuery>>> = {
  everything: {},
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

/** Does everything that a store can do. What comes first in a name is the method; a `!` marks what may read a lot. */
function* everything(): Generator<readonly [name: string, call: () => Promise<unknown>]> {
  const id = `n${(calls += 1)}`
  const pause = (own: string, parent_id?: string): Event => ({
    kind: 'PauseEvent',
    id: `${id} ${own}`,
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
  const old = { kind: 'PauseEvent', id: 'e9', timestamp: timeOf(9), source: 'environment' } as const
  yield [
    'append an import',
    () => store.append('c', [old, pause('g', `${id} m`), pause('h', 'e1')], { mode: 'import' }),
  ]
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
  yield ['watch', async () => watched()]
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

/** The first look at a conversation that is watched. */
async function watched(): Promise<void> {
  let woken = 0
  const unwatch = store.watch('c', () => (woken += 1))
  await until(() => woken > 0)
  unwatch()
}

/** The rows that a step looked at, whether they were given or not. */
const rowsOf = (node: PlanNode): number =>
  node['Actual Loops'] *
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0))

/** Each filter alone; and each order with each of them, with all together, and with some others. */
const singleFilters = (): ConversationFilter[] => everyFilter().filter((filter) => partsOf(filter) < 2)

const partsOf = (filter: ConversationFilter): number =>
  new Set(Object.keys(filter).map((name) => name.replace(/Gte$|Lt$/, ''))).size

const someLists = (): ConversationQuery[] =>
  everyFilter()
    .filter((filter, at) => partsOf(filter) < 2 || partsOf(filter) === 8 || at % 97 === 0)
    .flatMap((filter) => ORDERS.flatMap((order) => bothPages(filter, order)))

/** What a list may not do. */
function listWrongs(nodes: readonly PlanNode[]): string[] {
  const sorts = nodes.filter((node) => /Sort|Bitmap|Seq Scan|Hash/.test(node['Node Type']))
  const keyed = nodes.filter(({ 'Index Name': name = '' }) => name === 'conversation_keys_by_value')
  const walked = nodes
    .filter(({ 'Index Name': name = '' }) => /_by_(value|time|creation)$/.test(name))
    .map(rowsOf)
  return [
    ...sorts.map((node) => `has a step ${node['Node Type']}`),
    ...keyed
      .filter((node) => !/^\(?\(name = /.test(node['Index Cond'] ?? ''))
      .map((node) => `goes by ${node['Index Cond']}`),
    ...walked.filter((rows) => rows > MOST_COUNTED + 1).map((rows) => `walks ${rows} rows`),
  ]
}

/** What is wrong with plans, in words. */
function wrongs(
  plans: readonly Plan[],
  { isFull, mayReadMuch, isList }: { isFull: boolean; mayReadMuch: boolean; isList: boolean },
): string[] {
  return plans.flatMap(({ text, nodes }) => {
    const say = (what: string): string => `${what}: ${text}`
    const reads = nodes.filter((node) => node['Node Type'] !== 'ModifyTable')
    const scans = reads.filter((node) => node['Node Type'] === 'Seq Scan' && rowsOf(node) > 0)
    const walked = scans.map((node) => node['Relation Name'] ?? '')
    // A table that fits on a page is best walked; this one never does.
    const found = walked.filter(
      (name) => name === 'events' || (isFull && !mayReadMuch && name !== 'schema_version'),
    )
    const conditions = reads.filter((node) => /^events_|^lanes_|^snap/.test(node['Index Name'] ?? ''))
    const unkeyed = conditions.filter((node) => !/^\(*conversation_id = /.test(node['Index Cond'] ?? ''))
    const looked = reads.filter((node) => /^(events|lanes)$/.test(node['Relation Name'] ?? '')).map(rowsOf)
    const most = looked.reduce((all, one) => all + one, 0)
    return [
      ...found.map((name) => say(`walks ${name}`)),
      ...(isList ? listWrongs(nodes).map(say) : []),
      ...unkeyed.map((node) => say(`goes by ${node['Index Name']} without the conversation`)),
      ...(mayReadMuch || most <= FEW ? [] : [say(`looks at ${most} rows`)]),
    ]
  })
}

const STATES = ['that was never counted', 'that was counted', 'where most conversations have one event']

describe.each(STATES)('in a database %s', (state) => {
  const isFull = state === STATES[2]

  beforeAll(async () => {
    if (state === STATES[1]) await run(server.url, 'ANALYZE')
    if (isFull) await run(server.url, ...MANY)
  })

  it.each(['force_custom_plan', 'force_generic_plan'])(
    'each call goes by the keys, with plans of %s',
    async (mode) => {
      await explaining.pool.query(`SET plan_cache_mode = ${mode}`)
      await store.getConversation('c')
      const wrong: string[] = []
      let statements = 0
      for (const [name, call] of everything()) {
        explaining.take()
        await call()
        const plans = explaining.take()
        statements += plans.length
        const mayReadMuch = name.includes('!')
        const isList =
          /^(list|count)Conv(?!.*exact)/.test(name) || (isFull && /^(list|count)Items/.test(name))
        wrong.push(...wrongs(plans, { isFull, mayReadMuch, isList }).map((what) => `${name} ${what}`))
        const most = name.startsWith('listConv') ? MOST_LOOKED_AT : MOST_COUNTED + 1
        const looked = plans.flatMap(({ nodes }) =>
          nodes.filter((node) => node['Relation Name'] === 'conversations'),
        )
        // What is told of many loops is rounded.
        if (isList && !mayReadMuch && looked.some((node) => rowsOf(node) > 1.02 * most))
          wrong.push(`${name} looks at ${Math.max(...looked.map(rowsOf))} conversations`)
      }
      expect(wrong).toEqual([])
      expect(statements).toBeGreaterThan(100)
    },
  )
})

describe('what was looked at', () => {
  it('is all that a store can do, and every function of the schema', async () => {
    const methods = new Set([...everything()].map(([name]) => name.split(/[ !]/)[0]))
    expect([...methods, 'name', 'close'].toSorted()).toEqual(Object.keys(store).toSorted())
    await explaining.pool.query('SELECT pg_stat_force_next_flush()')
    // What is in SQL becomes a part of what calls it.
    const rows = await run(
      server.url,
      `SELECT p.proname AS name FROM pg_proc p LEFT JOIN pg_stat_user_functions s ON s.funcid = p.oid
      WHERE p.pronamespace = 'colloquy'::regnamespace AND p.prolang <> (SELECT oid FROM pg_language WHERE lanname = 'sql') AND coalesce(s.calls, 0) = 0`,
    )
    expect(rows).toEqual([])
  })
})

describe('keys', () => {
  it('begin with the conversation, but for those of lists of conversations, of items and of the feed', async () => {
    const rows = (await run(
      server.url,
      `SELECT i.indexrelid::regclass::text AS index,
        (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[0]) AS first
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'colloquy'::regnamespace ORDER BY 1`,
    )) as { readonly index: string; readonly first: string }[]
    expect(rows.length).toBeGreaterThan(8)
    expect(rows.filter(({ first }) => first !== 'conversation_id')).toEqual([
      { index: 'colloquy.conversation_changes_by_time', first: 'updated_at' },
      { index: 'colloquy.conversation_keys_by_value', first: 'name' },
      { index: 'colloquy.conversations_by_creation', first: 'created_at' },
      { index: 'colloquy.feed_pkey', first: 'shard' },
      { index: 'colloquy.item_keys_pkey', first: 'collection' },
      { index: 'colloquy.items_by_due', first: 'collection' },
      { index: 'colloquy.items_pkey', first: 'collection' },
      { index: 'colloquy.schema_version_pkey', first: 'one' },
    ])
  })
})
