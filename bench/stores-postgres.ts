/** What the PostgreSQL store costs beside the same rows through the bare driver, at growing lengths: `node bench/stores-postgres.ts`. */

import pg from 'pg'
import { decodeLine } from '../src/event/decode.ts'
import type { Event } from '../src/event/types.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import type { EventFilter, EventQuery } from '../src/store/query.ts'
import type { Store } from '../src/store/store.ts'
import { startServer } from '../test/postgres/server.ts'
import { machine } from './measure.ts'
import { PostgresFloor } from './postgres-floor.ts'
import { type Beside, ONE_KB } from './stores-sqlite.ts'
import { makeLines, MEASURED_MIX, type WorkloadOptions } from './workload.ts'

/** What is measured. */
export interface PostgresBenchOptions {
  /** Numbers of events in the log. */
  readonly lengths: readonly number[]
  readonly sizes?: NonNullable<WorkloadOptions['sizes']>
}

const TARGET = 1.5

interface Pair {
  readonly name: string
  /** Calls in one turn. */
  readonly count: number
  readonly store: () => Promise<unknown>
  readonly floor: () => Promise<unknown>
}

interface Bench {
  readonly store: Store
  readonly floor: PostgresFloor
  readonly client: pg.Client
  readonly sizes: NonNullable<WorkloadOptions['sizes']>
}

/**
 * Runs the whole comparison at each length, on a server of its own whose commits wait for the disk.
 *
 * The floor of an append: the conversation's row updated, which locks it and gives the position, and the rows inserted there, in one
 * statement that is prepared by name, over tables with the same indexes. The floor of a page: the same rows alone in a conversation, read
 * as one range of the time index by a prepared statement, and their bodies parsed.
 */
export async function benchPostgres(options: PostgresBenchOptions): Promise<Map<number, Beside[]>> {
  const { lengths, sizes = ONE_KB } = options
  const results = new Map<number, Beside[]>()
  const server = await startServer({ durable: true })
  const client = new pg.Client(server.url)
  await client.connect()
  const store = postgresStore({ url: server.url, schema: 'store' })
  const twin = postgresStore({ url: server.url, schema: 'floor' })
  try {
    await twin.countConversations()
    const bench = { store, floor: new PostgresFloor(client, 'floor'), client, sizes }
    for (const length of lengths) {
      const id = String(length)
      await fill(bench, id, length)
      const appends = await beside(appendPairs(bench, id), 30)
      await settle(client)
      results.set(length, [...appends, ...(await beside(await pagePairs(bench, id), 40))])
    }
  } finally {
    await Promise.all([store.close(), twin.close(), client.end()])
    await server.stop()
  }
  return results
}

/** Times pairs in turns, the store and its floor one right after the other, and takes medians. */
async function beside(pairs: readonly Pair[], rounds: number): Promise<Beside[]> {
  const times = pairs.map(() => ({ store: [] as number[], floor: [] as number[] }))
  for (let round = -8; round < rounds; round += 1) {
    for (const [i, { count, store, floor }] of pairs.entries()) {
      // Who goes first changes, since each finds the caches as the other left them.
      for (const side of round % 2 === 0 ? (['store', 'floor'] as const) : (['floor', 'store'] as const)) {
        const run = side === 'store' ? store : floor
        const start = performance.now()
        for (let call = 0; call < count; call += 1) await run()
        if (round >= 0) times[i]?.[side].push(((performance.now() - start) * 1_000) / count)
      }
    }
  }
  return pairs.map(({ name }, i) => ({
    name,
    target: TARGET,
    store: median(times[i]?.store),
    floor: median(times[i]?.floor),
  }))
}

/** The same log on both sides, with branches, some rare kinds and sources, and state updates. */
async function fill({ store, floor, client, sizes }: Bench, id: string, length: number): Promise<void> {
  const branchEvery = Math.max(40, Math.floor(length / 60))
  const events = makeLines(length, { sizes, branchEvery }).map((line, i) => spiced(decoded(line), i))
  await store.createConversation({ id })
  await floor.create(id)
  for (let at = 0; at < length; at += 500) {
    const batch = events.slice(at, at + 500)
    await store.append(id, batch, { mode: 'import' })
    await floor.insertMany(id, batch)
  }
  await settle(client)
}

/** What the server does by itself sooner or later, done now, so that it falls on nobody. */
async function settle(client: pg.Client): Promise<void> {
  for (const schema of ['store', 'floor']) {
    for (const table of ['events', 'conversations', 'lanes'])
      await client.query(`VACUUM ANALYZE ${schema}.${table}`)
  }
  await client.query('CHECKPOINT')
}

function decoded(line: string): Event {
  const result = decodeLine(line)
  if (!result.ok) throw new Error(result.issues[0]?.msg ?? '')
  return result.event
}

function spiced(event: Event, i: number): Event {
  const { id = '', timestamp = '' } = event
  if (i % 500 === 499)
    return { kind: 'PauseEvent', id, timestamp, source: i % 1000 === 499 ? 'user' : 'agent' }
  if (i % 20 !== 19 || event.kind === 'ConversationStateUpdateEvent') return event
  return { kind: 'ConversationStateUpdateEvent', id, timestamp, key: 'stats', value: 'x'.repeat(500) }
}

/** Appends of one event and of a hundred. */
function appendPairs({ store, floor, sizes }: Bench, id: string): Pair[] {
  const events = makeLines(5_000, { sizes }).map(decoded)
  let given = 0
  const next = (): Event => {
    const event = events[given % events.length] as Event
    const timestamp = new Date(Date.UTC(2030, 0, 1) + given).toISOString()
    given += 1
    return Object.freeze({ ...event, id: `new-${given}`, timestamp })
  }
  const hundred = (): Event[] => Array.from({ length: 100 }, next)
  return [
    {
      name: 'append one',
      count: 100,
      store: () => store.append(id, [next()]),
      floor: () => floor.insertOne(id, next()),
    },
    {
      name: 'append a batch of 100',
      count: 1,
      store: () => store.append(id, hundred()),
      floor: () => floor.insertMany(id, hundred()),
    },
  ]
}

const FILTERS: Readonly<Record<string, Omit<EventFilter, 'conversationId'>>> = {
  'no filter': {},
  'a kind': { kinds: ['ObservationEvent'] },
  'a rare kind': { kinds: ['PauseEvent'] },
  'a rare kind and a source': { kinds: ['PauseEvent'], source: 'user' },
  'two kinds': { kinds: ['ActionEvent', 'ObservationEvent'] },
  'all kinds but one': { excludeKinds: ['ConversationStateUpdateEvent'] },
  'all kinds but the common ones': { excludeKinds: ['ActionEvent', 'ObservationEvent'] },
  'a source': { source: 'agent' },
  times: { timestampGte: '2026-01-01T00:05:00Z', timestampLt: '2027-01-01T00:00:00Z' },
  'a leaf': { leafId: '' },
  'a leaf and a kind': { leafId: '', kinds: ['ActionEvent'] },
}

/** First and deepest pages. */
async function pagePairs({ store, floor, client }: Bench, id: string): Promise<Pair[]> {
  const leafId = (await store.getConversation(id))?.headId ?? ''
  const pairs: Pair[] = []
  for (const [name, given] of Object.entries(FILTERS)) {
    const filter = { conversationId: id, ...given, ...('leafId' in given && { leafId }) }
    for (const depth of ['first', 'deepest'] as const) {
      const query = depth === 'first' ? filter : await deepest(store, filter)
      if (query === null) continue
      const { items, next_page_id: more } = await store.search(query)
      if (items.length === 0) continue
      const alone = `${id}, ${depth} page, ${name}`
      const last = more === null ? [] : items.slice(-1)
      await floor.create(alone)
      await floor.insertMany(
        alone,
        [...items, ...last].map(({ fact }, i) => ({ ...(fact as Event), id: `row-${i}` })),
      )
      pairs.push({
        name: `${depth} page, ${name}${items.length < 100 ? ` (${items.length} events)` : ''}`,
        count: 5,
        store: () => store.search(query),
        floor: () => floor.page(alone, items.length + last.length),
      })
    }
  }
  await settle(client)
  return pairs
}

/** A full page near the end, found by paging down from there: downwards, the page before the first one's mirror. */
async function deepest(store: Store, filter: EventFilter): Promise<EventQuery | null> {
  const count = await store.count(filter)
  if (count < 300) return null
  let query: EventQuery = filter
  for (let left = count; left > 200; left -= 100) {
    const { next_page_id: cursor } = await store.search(query)
    if (cursor === null) return null
    query = { ...filter, cursor }
  }
  return query
}

/** Prints the comparison. */
export async function printPostgres(title: string, options: PostgresBenchOptions): Promise<void> {
  console.log(`\nPostgreSQL, ${title}: microseconds, median, beside the same rows through the bare driver`)
  for (const [length, rows] of await benchPostgres(options)) {
    console.log(`\n${length.toLocaleString('en')} events`)
    for (const { name, store, floor, target } of rows) {
      const ratio = store / floor
      const times = `${store.toFixed(0).padStart(9)}${floor.toFixed(0).padStart(9)}${ratio.toFixed(2).padStart(7)}`
      console.log(`${name.padEnd(60)}${times}${ratio > target ? ` above ${target}` : ''}`)
    }
  }
}

if (import.meta.main) {
  console.log(machine())
  const lengths = process.argv.slice(2).map(Number).filter(Boolean)
  await printPostgres('bodies of 1 KB', { lengths: lengths.length > 0 ? lengths : [1_000, 100_000] })
  await printPostgres('the measured mix', { lengths: [10_000], sizes: MEASURED_MIX })
}

const median = (values: readonly number[] = []): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
