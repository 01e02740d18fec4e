/** PostgreSQL pages along branches that are left and resumed many times, as the memory store does (law S). */

import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { RUNS } from '../../properties/run.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { EventQuery } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { pages } from './pages.ts'

let database: PooledDatabase
let pool: pg.Pool
let memory: Store
let postgres: Store
let runs = 0

beforeAll(async () => {
  database = await pooledDatabase()
  pool = database.pool
  memory = memoryStore()
  postgres = postgresStore({ client: pool, prepare: true })
})

afterAll(async () => {
  await postgres.close()
  await database.drop()
})

/** A number of events on a branch, at its end or far enough above to start a new branch. */
interface Run {
  readonly branch: number
  readonly above: number
  readonly length: number
  /** Position of a state update in the run, on the branch or on its base. */
  readonly update: number
  readonly updateOf: number
  readonly updateAbove: number
}

const run: fc.Arbitrary<Run> = fc.record({
  branch: fc.nat(5),
  above: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(150) }),
  length: fc.oneof(
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 1, max: 60 }),
    fc.integer({ min: 90, max: 330 }),
  ),
  update: fc.nat(600),
  updateOf: fc.nat(5),
  updateAbove: fc.oneof(fc.constant(0), fc.nat(300)),
})

/** Events in time order with their parents, and the leaf of each branch. */
function makeLog(runs: readonly Run[]): { readonly log: Event[]; readonly leaves: string[] } {
  const branches: string[][] = [[]]
  const log: Event[] = []
  const add = (event: object): string => {
    const id = `e${log.length}`
    const timestamp = new Date(1e12 + Math.floor(log.length / 3) * 1_000).toISOString()
    log.push({ ...event, id, timestamp } as Event)
    return id
  }
  for (const { branch, above, length, update, updateOf, updateAbove } of runs) {
    const chosen = branches[branch % branches.length] as string[]
    const path = above === 0 ? chosen : chosen.slice(0, Math.max(0, chosen.length - above))
    if (path !== chosen) branches.push(path)
    for (let index = 0; index < length; index += 1) {
      const parent_id = path.at(-1)
      const kind = log.length % 7 === 0 ? 'InterruptEvent' : 'PauseEvent'
      const source = log.length % 5 === 0 ? 'user' : 'environment'
      path.push(add({ kind, source, ...(parent_id !== undefined && { parent_id }) }))
      if (index !== update) continue
      const inTree = (branches[updateOf % branches.length] as string[]).at(-1 - updateAbove) ?? path.at(-1)
      const stateUpdate = add({
        kind: 'ConversationStateUpdateEvent',
        key: 'title',
        value: 'x',
        parent_id: inTree,
      })
      // State updates can be parents as well.
      if (log.length % 2 === 0)
        path.push(add({ kind: 'PauseEvent', source: 'agent', parent_id: stateUpdate }))
    }
  }
  return { log, leaves: branches.flatMap((path) => path.at(-1) ?? []) }
}

const FILTERS: readonly Omit<EventQuery, 'conversationId'>[] = [
  {},
  { excludeKinds: ['ConversationStateUpdateEvent'] },
  { kinds: ['InterruptEvent'] },
  { source: 'environment' },
  {
    timestampGte: new Date(1e12 + 40_000).toISOString(),
    timestampLt: new Date(1e12 + 150_000).toISOString(),
  },
]

it('PostgreSQL returns the same pages along every branch as the memory store', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(run, { minLength: 2, maxLength: 8 }),
      fc.integer({ min: 1, max: 100 }),
      async (input, limit) => {
        const id = `runs ${(runs += 1)}`
        const { log, leaves } = makeLog(input)
        for (const store of [memory, postgres]) {
          await store.createConversation({ id })
          await store.append(id, log, { mode: 'import' })
        }
        for (const leafId of leaves) {
          for (const order of ['timestamp', 'timestamp_desc'] as const) {
            for (const filter of FILTERS) {
              const query = { conversationId: id, leafId, order, limit: limit < 50 ? 100 : limit, ...filter }
              expect(await pages(postgres, query)).toEqual(await pages(memory, query))
            }
          }
        }
      },
    ),
    { numRuns: Math.ceil(RUNS / 8) },
  )
})
