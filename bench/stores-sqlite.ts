/** What the SQLite store costs beside the same rows through the bare driver, at growing lengths: `node --expose-gc bench/stores-sqlite.ts`. */

import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { decodeLine } from '../src/event/decode.ts'
import type { Event } from '../src/event/types.ts'
import type { EventFilter, EventQuery } from '../src/store/query.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/store.ts'
import type { StoredEvent } from '../src/store/stored-event.ts'
import { machine } from './measure.ts'
import { makeLines, MEASURED_MIX, type WorkloadOptions } from './workload.ts'

/** One measured pair: microseconds per unit, of the store and of its floor in the same turns. */
export interface Beside {
  readonly name: string
  readonly store: number
  readonly floor: number
  /** The most that the store may cost, as a multiple of its floor. */
  readonly target: number
}

/** What is measured. */
export interface SqliteBenchOptions {
  /** Numbers of events in the log. */
  readonly lengths: readonly number[]
  readonly sizes?: NonNullable<WorkloadOptions['sizes']>
  readonly synchronous?: 'full' | 'normal'
}

/** Bodies of about one kilobyte each. */
export const ONE_KB = { action: 800, observation: 700, systemPrompt: 700, message: 700 } as const

const ID = 'bench'

interface Pair {
  readonly name: string
  /** Units of work in one call. */
  readonly count: number
  readonly store: () => Promise<unknown>
  readonly floor: () => unknown
}

/** Times pairs in turns, the store and its floor one right after the other, and takes medians. */
async function beside(pairs: readonly Pair[], rounds: number, target: number): Promise<Beside[]> {
  const times = pairs.map(() => ({ store: [] as number[], floor: [] as number[] }))
  for (let round = -3; round < rounds; round += 1) {
    for (const [i, { count, store, floor }] of pairs.entries()) {
      const start = performance.now()
      await store()
      const middle = performance.now()
      floor()
      const end = performance.now()
      if (round < 0) continue
      times[i]?.store.push(((middle - start) * 1_000) / count)
      times[i]?.floor.push(((end - middle) * 1_000) / count)
    }
  }
  return pairs.map(({ name }, i) => ({
    name,
    target,
    store: median(times[i]?.store ?? []),
    floor: median(times[i]?.floor ?? []),
  }))
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** The kinds and sources that a log of the workload lacks, so that filters by them have something to find. */
function spice(events: readonly Event[]): Event[] {
  return events.map((event, i): Event => {
    const { id, timestamp } = event
    const common = { ...(id !== undefined && { id }), ...(timestamp !== undefined && { timestamp }) }
    if (i % 500 === 499)
      return Object.freeze({ kind: 'PauseEvent', ...common, source: i % 1000 === 499 ? 'user' : 'agent' })
    if (i % 20 === 19) {
      return Object.freeze({
        kind: 'ConversationStateUpdateEvent',
        ...common,
        key: 'stats',
        value: 'x'.repeat(500),
      })
    }
    return event
  })
}

function makeEvents(length: number, options: WorkloadOptions): Event[] {
  return spice(
    makeLines(length, options).map((line) => {
      const decoded = decodeLine(line)
      if (!decoded.ok) throw new Error(decoded.issues[0]?.msg ?? '')
      return decoded.event
    }),
  )
}

async function fill(store: Store, events: readonly Event[]): Promise<void> {
  await store.createConversation({ id: ID })
  for (let at = 0; at < events.length; at += 500) {
    await store.append(ID, events.slice(at, at + 500), { mode: 'import' })
  }
}

/** Runs the whole comparison at each length. */
export async function benchSqlite(options: SqliteBenchOptions): Promise<Map<number, Beside[]>> {
  const { lengths, sizes = ONE_KB, synchronous = 'full' } = options
  const results = new Map<number, Beside[]>()
  for (const length of lengths) {
    const folder = mkdtempSync(join(tmpdir(), 'colloquy-bench-'))
    try {
      const [file, copy] = [join(folder, 'store.db'), join(folder, 'floor.db')]
      const events = makeEvents(length, { sizes, branchEvery: Math.max(40, Math.floor(length / 20)) })
      const filling = sqliteStore({ file, synchronous: 'normal' })
      await fill(filling, events)
      await filling.close()
      copyFileSync(file, copy)
      const store = sqliteStore({ file, synchronous })
      const floor = new DatabaseSync(copy)
      floor.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA foreign_keys = ON`)
      const pages = await pagePairs(store, new DatabaseSync(file))
      results.set(length, [
        ...(await beside(pages, 60, 1.5)),
        ...(await beside(appendPairs(store, floor, length, sizes), 150, 1.5)),
      ])
      floor.close()
      await store.close()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return results
}

/** Appends of one event and of a hundred; the floor writes the events as text into the same rows, known beforehand. */
function appendPairs(
  store: Store,
  bare: DatabaseSync,
  length: number,
  sizes: NonNullable<WorkloadOptions['sizes']>,
): Pair[] {
  const events = makeEvents(20_000, { sizes })
  const time = Date.UTC(2030, 0, 1)
  let given = 0
  const next = (): Event => {
    const event = events[given % events.length] as Event
    const fresh = { ...event, id: `new-${length}-${given}`, timestamp: new Date(time + given).toISOString() }
    given += 1
    return Object.freeze(fresh)
  }
  const insert = bare.prepare(`INSERT INTO colloquy_event
    (conversation_id, seq, id, parent_id, time, lane, real, clock, kind, source, text, body) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)`)
  const update = bare.prepare(
    'UPDATE colloquy_log SET version = ?, updated_at = ?, time = ?, clock = ?, head_id = ?, head_seq = ? WHERE conversation_id = ?',
  )
  const [begin, commit] = [bare.prepare('BEGIN IMMEDIATE'), bare.prepare('COMMIT')]
  let seq = length
  let at = BigInt(time) * 1000n
  const rowOf = (event: Event): SQLInputValue[] => {
    at += 1000n
    const real = event.kind === 'ConversationStateUpdateEvent' ? 0 : 1
    const text = event.kind === 'MessageEvent' ? 'x'.repeat(700) : null
    const row = [ID, seq, `bare-${seq}`, `bare-${seq - 1}`, at, 0, real, at, event.kind, 'agent', text]
    seq += 1
    return row
  }
  const batches = (count: number) => {
    const ours: Event[][] = []
    const theirs: { readonly event: Event; readonly row: SQLInputValue[] }[][] = []
    return {
      ready(): void {
        const batch = Array.from({ length: count }, next)
        ours.push(batch)
        theirs.push(batch.map((event) => ({ event, row: rowOf(event) })))
      },
      store: async () => store.append(ID, ours.shift() ?? []),
      floor(): void {
        begin.run()
        const rows = theirs.shift() ?? []
        for (const { event, row } of rows) insert.run(...row, JSON.stringify(event))
        update.run(seq, at, at, at, rows.at(-1)?.row[2] ?? null, seq - 1, ID)
        commit.run()
      },
    }
  }
  const one = batches(1)
  const hundred = batches(100)
  for (let i = 0; i < 160 * 10; i += 1) one.ready()
  for (let i = 0; i < 160; i += 1) hundred.ready()
  return [
    {
      name: 'append one',
      count: 10,
      async store() {
        for (let i = 0; i < 10; i += 1) await one.store()
      },
      floor() {
        for (let i = 0; i < 10; i += 1) one.floor()
      },
    },
    { name: 'append a batch of 100, per event', count: 100, store: hundred.store, floor: hundred.floor },
  ]
}

interface Page {
  readonly filter: Omit<EventFilter, 'conversationId'>
  /** What a user of the bare driver would ask for; without it the floor reads the rows from where they are known to be. */
  readonly where?: string
}

const SEARCHABLE = 'lane IS NOT NULL AND kind IS NOT NULL'

const PAGES: Readonly<Record<string, Page>> = {
  'no filter': { filter: {}, where: SEARCHABLE },
  'a kind': {
    filter: { kinds: ['ObservationEvent'] },
    where: `${SEARCHABLE} AND kind = 'ObservationEvent' AND source = 'environment'`,
  },
  'a rare kind and a source': {
    filter: { kinds: ['PauseEvent'], source: 'user' },
    where: `${SEARCHABLE} AND kind = 'PauseEvent' AND source = 'user'`,
  },
  'a rare kind': { filter: { kinds: ['PauseEvent'] } },
  'all kinds but one': {
    filter: { excludeKinds: ['ConversationStateUpdateEvent'] },
    where: `${SEARCHABLE} AND kind <> 'ConversationStateUpdateEvent'`,
  },
  'all kinds but the common ones': { filter: { excludeKinds: ['ActionEvent', 'ObservationEvent'] } },
  'a source': { filter: { source: 'agent' }, where: `${SEARCHABLE} AND source = 'agent'` },
  times: {
    filter: { timestampGte: '2026-01-01T00:05:00Z', timestampLt: '2027-01-01T00:00:00Z' },
    where: `${SEARCHABLE} AND time < 1800000000000000`,
  },
  'a leaf': { filter: { leafId: '' } },
  'a leaf and a kind': { filter: { leafId: '', kinds: ['ActionEvent'] } },
}

/** First and deepest pages; the floor reads the same rows and parses their bodies. */
async function pagePairs(store: Store, bare: DatabaseSync): Promise<Pair[]> {
  const leafId = (await store.getConversation(ID))?.headId ?? ''
  const pairs: Pair[] = []
  for (const [name, { filter: given, where }] of Object.entries(PAGES)) {
    const filter = { conversationId: ID, ...given, ...('leafId' in given && { leafId }) }
    for (const depth of ['first', 'deepest'] as const) {
      const query = depth === 'first' ? filter : await deepest(store, filter)
      const { items } = query === null ? { items: [] } : await store.search(query)
      // A page of a few rows is cheap whatever it costs beside them.
      if (query === null || items.length < 100) continue
      pairs.push({
        name: `${depth} page, ${name}`,
        count: 1,
        store: () => store.search(query),
        floor: floorOf(bare, items, where),
      })
    }
  }
  return pairs
}

/** A full page near the end: the query of the last page, found by paging down from there. */
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

function floorOf(
  bare: DatabaseSync,
  items: readonly StoredEvent[],
  where: string | undefined,
): () => unknown {
  const columns = 'event.seq, event.id, event.parent_id, event.time, event.body'
  if (where !== undefined) {
    const [first] = items
    const statement = bare.prepare(`SELECT ${columns} FROM colloquy_event AS event
      WHERE conversation_id = ? AND ${where} AND (time, seq) >= (?, ?) ORDER BY time, seq LIMIT 101`)
    return () =>
      statement.all(ID, first?.time ?? 0n, first?.seq ?? 0).map((row) => JSON.parse(String(row['body'])))
  }
  const placeOf = bare.prepare(
    'SELECT rowid AS place FROM colloquy_event WHERE conversation_id = ? AND seq = ?',
  )
  const places = JSON.stringify(items.map(({ seq }) => Number(placeOf.get(ID, seq)?.['place'])))
  const statement = bare.prepare(
    `SELECT ${columns} FROM json_each(?) AS place CROSS JOIN colloquy_event AS event ON event.rowid = place.value`,
  )
  return () => statement.all(places).map((row) => JSON.parse(String(row['body'])))
}

/** Prints the comparison. */
export async function printSqlite(title: string, options: SqliteBenchOptions): Promise<void> {
  console.log(`\nSQLite, ${title}: microseconds, median, beside the same rows through the bare driver`)
  for (const [length, rows] of await benchSqlite(options)) {
    console.log(`\n${length.toLocaleString('en')} events`)
    for (const { name, store, floor, target } of rows) {
      const ratio = store / floor
      console.log(
        `${name.padEnd(46)}${store.toFixed(1).padStart(9)}${floor.toFixed(1).padStart(9)}${ratio.toFixed(2).padStart(7)}${ratio > target ? ` above ${target}` : ''}`,
      )
    }
  }
}

if (import.meta.main) {
  console.log(machine())
  const lengths = process.argv.slice(2).map(Number).filter(Boolean)
  await printSqlite('bodies of 1 KB', { lengths: lengths.length > 0 ? lengths : [1_000, 100_000] })
  await printSqlite('the measured mix', { lengths: [10_000], sizes: MEASURED_MIX })
}
