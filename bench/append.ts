/**
 * Compares the latency of `conversation.append`, up to the acknowledged and folded event, with the bare
 * driver's insert of the same JSON. Rounds of both are interleaved; medians are compared.
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

async function measure({ name, store, bare, transaction, target, close }: Candidate): Promise<boolean> {
  const engine = createEngine({ store })
  const conversation: Conversation = await engine.create({ id: 'c' })
  const [nextEvent, nextBare, nextWarm] = [eventStream(), eventStream(), eventStream()]
  // Warm up both sides, so that their code is compiled as in a server.
  const warm = await engine.create({ id: 'warm' })
  for (let index = 0; index < WARM_UP; index += 1) {
    const event = nextWarm()
    await warm.append([event])
    await bare(event.id ?? '', -1 - index, JSON.stringify(event))
  }
  for (let index = 0; index < LENGTH; index += 500)
    await conversation.append(Array.from({ length: Math.min(500, LENGTH - index) }, nextEvent))
  await transaction('BEGIN')
  for (let index = 0; index < LENGTH; index += 1) await bare(`b${index}`, index, JSON.stringify(nextBare()))
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
    for (let i = 0; i < APPENDS_PER_ROUND; i += 1) {
      const event = nextBare()
      const start = performance.now()
      await bare(event.id ?? '', position, JSON.stringify(event))
      bareTimes.push(performance.now() - start)
      position += 1
    }
  }
  const micros = (all: readonly number[]): string => `${(1000 * median(all)).toFixed(1)} µs`.padStart(12)
  const ratio = median(conversationTimes) / median(bareTimes)
  const holds = ratio <= target
  console.log(
    `${name.padEnd(24)}${micros(bareTimes)}${micros(conversationTimes)}${micros(storeTimes)}${micros(concurrentTimes)}${ratio.toFixed(2).padStart(9)}  (at most ${target})  ${holds ? 'holds' : 'MISSES'}`,
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
    CREATE TABLE plain (id TEXT, position INTEGER PRIMARY KEY, body TEXT)`)
  const insert = plain.prepare('INSERT INTO plain VALUES (?, ?, ?)')
  return {
    name: `SQLite, ${synchronous}`,
    store,
    bare: (id, position, body) => insert.run(id, position, body),
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
  await pool.query('CREATE TABLE bench_append.plain (id text, position bigint PRIMARY KEY, body text)')
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
    `${LENGTH} events, ${ROUNDS} rounds of ${APPENDS_PER_ROUND}; medians per event: bare insert, conversation.append, store.append, conversation.append of ${CONCURRENT} conversations at once; ratio of the second to the first`,
  )
  const all = [memory(), sqlite('full', 1.5), sqlite('normal', 6)]
  if (withPostgres) all.push(await postgres())
  let holds = true
  for (const one of all) holds = (await measure(one)) && holds
  if (!holds) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
