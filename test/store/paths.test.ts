/** SQLite and PostgreSQL page along a path as the memory store does, with long, numerous or interleaved branches (laws C, S). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seeded } from '../../bench/workload.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { EventFilter } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { folder, openStore } from './sqlite-drivers.ts'
import { pages } from './pages.ts'

const FILES = folder()
let database: TestDatabase
let memory: Store
let stores: Store[] = []

beforeAll(async () => {
  database = await testDatabase()
  memory = memoryStore()
  stores = [
    openStore('node:sqlite', FILES.next(), { synchronous: 'normal' }),
    postgresStore({ url: database.url }),
  ]
})

afterAll(async () => {
  for (const store of stores) await store.close()
  await database.drop()
  FILES.remove()
})

/** The branch of the event at each position; some positions start a new branch. */
interface Shape {
  readonly length: number
  branchAt(seq: number): number
  /** The branch it starts from, which already has events. */
  stemOf(branch: number): number
}

const random = seeded(11)

const SHAPES: Readonly<Record<string, Shape>> = {
  'two alternating branches': { length: 240, branchAt: (seq) => seq % 2, stemOf: () => 0 },
  'a branch that is continued after a long other branch': {
    length: 500,
    branchAt: (seq) => (seq > 50 && seq < 350 ? 1 : 0),
    stemOf: () => 0,
  },
  'a new branch every seven events': {
    length: 450,
    branchAt: (seq) => Math.floor(seq / 7),
    stemOf: (branch) => branch - 1,
  },
  'random branches that are continued at random': {
    length: 400,
    branchAt: (seq) => Math.floor(random() ** 3 * (1 + seq / 40)),
    stemOf: (branch) => Math.floor(branch / 2),
  },
}

/** A time-ordered log with equal timestamps, common and rare kinds, and state updates. */
function logOf({ length, branchAt, stemOf }: Shape): Event[] {
  const ends = new Map<number, string>()
  return Array.from({ length }, (_, seq): Event => {
    const branch = branchAt(seq)
    const parent_id = ends.get(branch) ?? ends.get(stemOf(branch)) ?? ends.get(0) ?? null
    const timestamp = new Date(1e12 + Math.floor(seq / 3) * 1_000).toISOString()
    const common = { id: `e${seq}`, timestamp, parent_id }
    if (seq % 11 === 10) return { ...common, kind: 'ConversationStateUpdateEvent', key: 'stats', value: seq }
    ends.set(branch, common.id)
    if (seq % 97 === 5) return { ...common, kind: 'InterruptEvent', source: 'user' }
    return { ...common, kind: 'PauseEvent', source: seq % 2 === 0 ? 'user' : 'agent' }
  })
}

const FILTERS: readonly Omit<EventFilter, 'conversationId'>[] = [
  {},
  { source: 'agent' },
  { kinds: ['InterruptEvent'] },
  { kinds: ['PauseEvent', 'InterruptEvent'], source: 'user' },
  { excludeKinds: ['PauseEvent'] },
  {
    timestampGte: new Date(1e12 + 30_000).toISOString(),
    timestampLt: new Date(1e12 + 110_000).toISOString(),
  },
]

describe('a search along a path in both databases', () => {
  it.each(Object.entries(SHAPES))(
    'returns the same pages as the memory store for %s',
    async (name, shape) => {
      const log = logOf(shape)
      for (const store of [memory, ...stores]) {
        await store.createConversation({ id: name })
        for (let index = 0; index < log.length; index += 100)
          await store.append(name, log.slice(index, index + 100))
      }
      const leaves = [log.at(-1), log.at(-2), log[Math.floor(log.length * 0.6)], log[5]]
      let full = 0
      for (const leaf of leaves) {
        for (const filter of FILTERS) {
          for (const order of ['timestamp', 'timestamp_desc'] as const) {
            for (const limit of [17, 100]) {
              const query = { conversationId: name, leafId: leaf?.id ?? '', order, limit, ...filter }
              const expected = await pages(memory, query)
              full += expected.length - 1
              for (const store of stores) expect(await pages(store, query), store.name).toEqual(expected)
            }
          }
        }
      }
      expect(full).toBeGreaterThan(50)
    },
  )

  it.each([1, 3])('sorts by time if the last events are the earliest (batches of %i)', async (size) => {
    const id = `backwards ${size}`
    // The branch begins in time order, then goes back before all of its ancestors.
    const seconds = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 5, 6, 7, 8, 9, 1, 2]
    const log = seconds.map((second, i): Event => ({
      kind: 'PauseEvent',
      id: `e${i}`,
      timestamp: new Date(1e12 + second * 1_000).toISOString(),
      ...(i === 10 && { parent_id: 'e4' }),
    }))
    for (const store of [memory, ...stores]) {
      await store.createConversation({ id })
      for (let index = 0; index < log.length; index += size)
        await store.append(id, log.slice(index, index + size))
    }
    for (const order of ['timestamp', 'timestamp_desc'] as const) {
      const query = { conversationId: id, leafId: 'e17', order, limit: 5 }
      const expected = await pages(memory, query)
      expect(expected).toHaveLength(3)
      for (const store of stores) expect(await pages(store, query), store.name).toEqual(expected)
    }
  })
})
