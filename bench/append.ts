/**
 * Compares the latency of `conversation.append`, up to the acknowledged and folded event, with the bare
 * driver's insert of the same JSON. Rounds of both are interleaved; medians are compared. The floor is the
 * bare driver's least transaction that also keeps the positions of a log, its length, and the order in which
 * logs change.
 *
 * Usage: npm run bench:append [-- --length 100000] [--rounds 40] [--postgres]
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { createEngine } from '../src/conversation/engine.ts'
import type { Conversation } from '../src/conversation/conversation.ts'
import type { Event } from '../src/event/types.ts'
import { memoryStore } from '../src/store/memory/store.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/contract/store.ts'
import { startServer } from '../test/postgres/server.ts'
import { orUsage } from '../test/usage.ts'
import { ONE_KB } from './events-of-size.ts'
import { decoded, makeLines } from './workload.ts'

const {
  length: LENGTH,
  rounds: ROUNDS,
  postgres: withPostgres,
} = orUsage(() => {
  const { values } = parseArgs({
    options: {
      length: { type: 'string', default: '100' },
      rounds: { type: 'string', default: '40' },
      postgres: { type: 'boolean', default: false },
    },
  })
  const count = (name: 'length' | 'rounds'): number => {
    if (/^[1-9]\d*$/.test(values[name])) return Number(values[name])
    throw new Error(`--${name} ${values[name]}: must be a positive integer`)
  }
  return { length: count('length'), rounds: count('rounds'), postgres: values.postgres }
})

const APPENDS_PER_ROUND = 25
const WARM_UP = 3_000
/** Number of conversations that append concurrently. */
const CONCURRENT = 32

interface Candidate {
  readonly name: string
  readonly store: Store
  /** Inserts the next event, as durably as the store does. */
  readonly bare: (id: string, position: number, body: string) => unknown
  /** Inserts the next event as `bare` does, with its position, and updates the row of its log. */
  readonly floor: (id: string, position: number, body: string) => unknown
  /** Begins or commits the transaction of the first rows. A commit for each row would take minutes. */
  readonly transaction: (statement: 'BEGIN' | 'COMMIT') => unknown
  /** Maximum multiple of the bare insert. */
  readonly target: number
  readonly close: () => Promise<void>
}

const lines = makeLines(2_000, { sizes: ONE_KB })
let streams = 0

/** Events of the measured mix, with ids unique to the stream. */
function eventStream(): () => Event {
  const stream = (streams += 1)
  let count = 0
  return () => {
    const event = decoded(lines[count % lines.length] as string)
    const { parent_id: _, timestamp: __, ...rest } = event as Event & Record<string, unknown>
    return { ...rest, id: `${stream}-${(count += 1)}` } as Event
  }
}

const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[all.length >> 1] ?? NaN

async function measure({
  name,
  store,
  bare,
  floor,
  transaction,
  target,
  close,
}: Candidate): Promise<boolean> {
  const engine = createEngine({ store })
  const conversation: Conversation = await engine.create({ id: 'c' })
  const [nextEvent, nextBare, nextWarm] = [eventStream(), eventStream(), eventStream()]
  // Warm up both sides, so that their code is compiled as in a server.
  const warm = await engine.create({ id: 'warm' })
  for (let index = 0; index < WARM_UP; index += 1) {
    const event = nextWarm()
    await warm.append([event])
    await bare(event.id ?? '', -1 - index, JSON.stringify(event))
    await floor(event.id ?? '', -1 - index, JSON.stringify(event))
  }
  for (let index = 0; index < LENGTH; index += 500)
    await conversation.append(Array.from({ length: Math.min(500, LENGTH - index) }, nextEvent))
  await transaction('BEGIN')
  for (let index = 0; index < LENGTH; index += 1) {
    const body = JSON.stringify(nextBare())
    await bare(`b${index}`, index, body)
    await floor(`b${index}`, index, body)
  }
  await transaction('COMMIT')
  const concurrent = await Promise.all(
    Array.from({ length: CONCURRENT }, (_, index) => engine.create({ id: `at once ${index}` })),
  )
  // Each log has its own stream: calls without results would stay pending.
  const nextConcurrent = concurrent.map(eventStream)
  const conversationTimes: number[] = []
  const concurrentTimes: number[] = []
  const storeTimes: number[] = []
  const bareTimes: number[] = []
  const floorTimes: number[] = []
  let position = LENGTH
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let i = 0; i < APPENDS_PER_ROUND; i += 1) {
      const event = nextEvent()
      const start = performance.now()
      await conversation.append([event])
      conversationTimes.push(performance.now() - start)
    }
    for (let i = 0; i < APPENDS_PER_ROUND; i += 1) {
      const events = nextConcurrent.map((next) => next())
      const start = performance.now()
      await Promise.all(concurrent.map((other, index) => other.append([events[index] as Event])))
      concurrentTimes.push((performance.now() - start) / CONCURRENT)
    }
    await store.createConversation({ id: `own ${round}` })
    const nextStored = eventStream()
    for (let i = 0; i < APPENDS_PER_ROUND; i += 1) {
      const event = nextStored()
      const start = performance.now()
      await store.append(`own ${round}`, [event])
      storeTimes.push(performance.now() - start)
    }
    for (const [insert, times] of [
      [bare, bareTimes],
      [floor, floorTimes],
    ] as const) {
      for (let i = 0; i < APPENDS_PER_ROUND; i += 1) {
        const event = nextBare()
        const start = performance.now()
        await insert(event.id ?? '', position, JSON.stringify(event))
        times.push(performance.now() - start)
        position += 1
      }
    }
  }
  const micros = (all: readonly number[]): string => `${(1000 * median(all)).toFixed(1)} µs`.padStart(12)
  const times = [bareTimes, floorTimes, conversationTimes, storeTimes, concurrentTimes].map(micros)
  const ratioTo = (all: readonly number[]): string =>
    (median(conversationTimes) / median(all)).toFixed(2).padStart(9)
  const holds = median(conversationTimes) <= target * median(bareTimes)
  console.log(
    `${name.padEnd(24)}${times.join('')}${ratioTo(floorTimes)}${ratioTo(bareTimes)}  (at most ${target})  ${holds ? 'holds' : 'MISSES'}`,
  )
  await engine.close()
  await close()
  return holds
}

const folder = mkdtempSync(join(tmpdir(), 'colloquy-bench-'))

function sqlite(synchronous: 'full' | 'normal', target: number): Candidate {
  const store = sqliteStore({ file: join(folder, `${synchronous}.db`), synchronous })
  const plain = new DatabaseSync(join(folder, `${synchronous}-plain.db`))
  plain.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
    CREATE TABLE plain (id TEXT, position INTEGER PRIMARY KEY, body TEXT);
    CREATE TABLE event (number INTEGER PRIMARY KEY, log INTEGER, position INTEGER, id TEXT, body TEXT);
    CREATE UNIQUE INDEX event_position ON event (log, position);
    CREATE TABLE log (number INTEGER PRIMARY KEY, version INTEGER, updated_at INTEGER);
    CREATE INDEX log_updated ON log (updated_at); INSERT INTO log VALUES (1, 0, 0)`)
  const insert = plain.prepare('INSERT INTO plain VALUES (?, ?, ?)')
  const insertEvent = plain.prepare('INSERT INTO event (log, position, id, body) VALUES (1, ?, ?, ?)')
  const updateLog = plain.prepare('UPDATE log SET version = ?, updated_at = updated_at + 1')
  return {
    name: `SQLite, ${synchronous}`,
    store,
    bare: (id, position, body) => insert.run(id, position, body),
    floor(id, position, body) {
      const isAlone = !plain.isTransaction
      if (isAlone) plain.exec('BEGIN IMMEDIATE')
      insertEvent.run(position, id, body)
      updateLog.run(position)
      if (isAlone) plain.exec('COMMIT')
    },
    transaction: (statement) => plain.exec(statement),
    target,
    close: async () => {
      await store.close()
      plain.close()
    },
  }
}

function memory(): Candidate {
  const store = memoryStore()
  return {
    name: 'memory (JSON round trip)',
    store,
    bare: (_, __, body) => JSON.parse(body),
    floor: (_, __, body) => JSON.parse(body),
    transaction: () => undefined,
    target: 5,
    close: () => store.close(),
  }
}

/** Starts a PostgreSQL server with the default durability. */
async function postgres(): Promise<Candidate> {
  const server = await startServer({ durable: true })
  const { url } = server
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  await pool.query('CREATE SCHEMA bench_append')
  await pool.query(`CREATE TABLE bench_append.plain (id text, position bigint PRIMARY KEY, body text);
    CREATE TABLE bench_append.event (log bigint, position bigint, id text, body text, PRIMARY KEY (log, position));
    CREATE UNIQUE INDEX event_id ON bench_append.event (log, id);
    CREATE TABLE bench_append.log (number bigint PRIMARY KEY, version bigint, updated_at bigint);
    CREATE INDEX log_updated ON bench_append.log (updated_at); INSERT INTO bench_append.log VALUES (1, 0, 0)`)
  const store = postgresStore({ url, schema: 'bench_append_store' })
  return {
    name: 'PostgreSQL',
    store,
    bare: (id, position, body) =>
      pool.query({
        name: 'bare',
        text: 'INSERT INTO bench_append.plain VALUES ($1, $2, $3)',
        values: [id, position, body],
      }),
    floor: (id, position, body) =>
      pool.query({
        name: 'floor',
        text: `WITH log AS (
          UPDATE bench_append.log SET version = $2, updated_at = updated_at + 1 WHERE number = 1 RETURNING number
        ) INSERT INTO bench_append.event SELECT number, $2, $1, $3 FROM log`,
        values: [id, position, body],
      }),
    transaction: (statement) => pool.query(statement),
    target: 1.5,
    close: async () => {
      await store.close()
      await pool.end()
      await server.stop()
    },
  }
}

try {
  console.log(
    `${LENGTH} events, ${ROUNDS} rounds of ${APPENDS_PER_ROUND}; medians per event: bare insert, floor, conversation.append, store.append, conversation.append of ${CONCURRENT} conversations at once; ratios of conversation.append to the floor and to the bare insert`,
  )
  const all = [memory(), sqlite('full', 1.5), sqlite('normal', 6)]
  if (withPostgres) all.push(await postgres())
  let holds = true
  for (const one of all) holds = (await measure(one)) && holds
  if (!holds) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
