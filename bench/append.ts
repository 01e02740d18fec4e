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

const EACH = 25
const WARM = 3_000
/** Conversations that append at once. */
const AT_ONCE = 32

interface Measured {
  readonly name: string
  readonly store: Store
  /** Inserts the next event, as durably as the store does. */
  readonly bare: (id: string, position: number, body: string) => unknown
  /** Begins or ends the transaction in which the first rows are inserted: a commit of each takes minutes. */
  readonly transact: (statement: 'BEGIN' | 'COMMIT') => unknown
  /** Maximum multiple of the bare insert. */
  readonly target: number
  readonly end: () => Promise<void>
}

const lines = makeLines(2_000, { sizes: ONE_KB })
let streams = 0

/** The measured mix, with ids that are unique to the stream. */
function eventStream(): () => Event {
  const stream = (streams += 1)
  let made = 0
  return () => {
    const event = decoded(lines[made % lines.length] as string)
    const { parent_id: _, timestamp: __, ...rest } = event as Event & Record<string, unknown>
    return { ...rest, id: `${stream}-${(made += 1)}` } as Event
  }
}

const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[all.length >> 1] ?? NaN

async function measure({ name, store, bare, transact, target, end }: Measured): Promise<boolean> {
  const engine = createEngine({ store })
  const conversation: Conversation = await engine.create({ id: 'c' })
  const [nextOurs, nextBare, nextWarm] = [eventStream(), eventStream(), eventStream()]
  // Both sides are compiled first, as in a server.
  const warm = await engine.create({ id: 'warm' })
  for (let index = 0; index < WARM; index += 1) {
    const event = nextWarm()
    await warm.append([event])
    await bare(event.id ?? '', -1 - index, JSON.stringify(event))
  }
  for (let index = 0; index < LENGTH; index += 500)
    await conversation.append(Array.from({ length: Math.min(500, LENGTH - index) }, nextOurs))
  await transact('BEGIN')
  for (let index = 0; index < LENGTH; index += 1) await bare(`b${index}`, index, JSON.stringify(nextBare()))
  await transact('COMMIT')
  const others = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, index) => engine.create({ id: `at once ${index}` })),
  )
  // Each log is whole: calls without results would stay pending.
  const nextOthers = others.map(eventStream)
  const ours: number[] = []
  const shared: number[] = []
  const ownValue: number[] = []
  const floor: number[] = []
  let position = LENGTH
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let i = 0; i < EACH; i += 1) {
      const event = nextOurs()
      const start = performance.now()
      await conversation.append([event])
      ours.push(performance.now() - start)
    }
    for (let i = 0; i < EACH; i += 1) {
      const events = nextOthers.map((next) => next())
      const start = performance.now()
      await Promise.all(others.map((other, index) => other.append([events[index] as Event])))
      shared.push((performance.now() - start) / AT_ONCE)
    }
    await store.createConversation({ id: `own ${round}` })
    const nextOwn = eventStream()
    for (let i = 0; i < EACH; i += 1) {
      const event = nextOwn()
      const start = performance.now()
      await store.append(`own ${round}`, [event])
      ownValue.push(performance.now() - start)
    }
    for (let i = 0; i < EACH; i += 1) {
      const event = nextBare()
      const start = performance.now()
      await bare(event.id ?? '', position, JSON.stringify(event))
      floor.push(performance.now() - start)
      position += 1
    }
  }
  const micros = (all: readonly number[]): string => `${(1000 * median(all)).toFixed(1)} µs`.padStart(12)
  const ratio = median(ours) / median(floor)
  const holds = ratio <= target
  console.log(
    `${name.padEnd(24)}${micros(floor)}${micros(ours)}${micros(ownValue)}${micros(shared)}${ratio.toFixed(2).padStart(9)}  (at most ${target})  ${holds ? 'holds' : 'MISSES'}`,
  )
  await engine.close()
  await end()
  return holds
}

const folder = mkdtempSync(join(tmpdir(), 'colloquy-bench-'))

function sqlite(synchronous: 'full' | 'normal', target: number): Measured {
  const store = sqliteStore({ file: join(folder, `${synchronous}.db`), synchronous })
  const plain = new DatabaseSync(join(folder, `${synchronous}-plain.db`))
  plain.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
    CREATE TABLE plain (id TEXT, position INTEGER PRIMARY KEY, body TEXT)`)
  const insert = plain.prepare('INSERT INTO plain VALUES (?, ?, ?)')
  return {
    name: `SQLite, ${synchronous}`,
    store,
    bare: (id, position, body) => insert.run(id, position, body),
    transact: (statement) => plain.exec(statement),
    target,
    end: async () => {
      await store.close()
      plain.close()
    },
  }
}

function memory(): Measured {
  const store = memoryStore()
  return {
    name: 'memory (JSON round trip)',
    store,
    bare: (_, __, body) => JSON.parse(body),
    transact: () => undefined,
    target: 5,
    end: () => store.close(),
  }
}

/** On a server of its own, with the default durability. */
async function postgres(): Promise<Measured> {
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
    transact: (statement) => pool.query(statement),
    target: 1.5,
    end: async () => {
      await store.close()
      await pool.end()
      await server.stop()
    },
  }
}

try {
  console.log(
    `${LENGTH} events, ${ROUNDS} rounds of ${EACH}; medians: bare, conversation.append, store.append, conversation.append of ${AT_ONCE} conversations at once (each event), ratio of the second to the first`,
  )
  const all = [memory(), sqlite('full', 1.5), sqlite('normal', 6)]
  if (withPostgres) all.push(await postgres())
  let holds = true
  for (const one of all) holds = (await measure(one)) && holds
  if (!holds) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
