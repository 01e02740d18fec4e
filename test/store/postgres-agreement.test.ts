/** The PostgreSQL store returns the same events, errors, pages and cursors as the memory store, for malformed and valid logs (law S). */

import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RUNS } from '../../properties/run.ts'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { EventQuery } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { hostileLog } from '../../src/testing/hostile-log.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { pages } from './pages.ts'
import { withoutUndefined, performStep, queries, resolveTargets, step, timestamp } from './steps.ts'

let database: PooledDatabase
let pool: pg.Pool
let memory: Store
let postgres: Store
let runs = 0
const clock = () => 1n

beforeAll(async () => {
  database = await pooledDatabase()
  pool = database.pool
  memory = memoryStore({ clock })
  postgres = postgresStore({ client: pool, clock, prepare: true })
})

afterAll(async () => {
  await postgres.close()
  await database.drop()
})

/** The result of a call, or its error code and version. */
async function outcome<T>(call: Promise<T>): Promise<unknown> {
  try {
    return await call
  } catch (error) {
    const { code, data } = error as { readonly code: string; readonly data: { readonly version?: number } }
    return { code, version: data.version }
  }
}

async function both<T>(call: (store: Store) => Promise<T>): Promise<T> {
  const [expected, actual] = await Promise.all([outcome(call(memory)), outcome(call(postgres))])
  expect(actual).toEqual(expected)
  return expected as T
}

/** Compares everything about a conversation. Returns the number of pages, and how many were of paths. */
async function agreeOn(
  id: string,
  queries: readonly { readonly leaf: number | undefined }[],
): Promise<{ pages: number; paths: number }> {
  const stored = await both((store) => store.read(id, { limit: 10_000 }))
  await both((store) => store.read(id, { direction: 'backward', limit: 5 }))
  await both((store) => store.getConversation(id))
  const ids = stored.map((event) => event.id ?? 'none')
  await both((store) => store.getMany(id, ids))
  const counts = { pages: 0, paths: 0 }
  for (const leafId of ids.slice(-4))
    await both((store) => pages(store, { conversationId: id, leafId, limit: 9 }))
  for (const { leaf, ...rest } of queries) {
    const leafId = leaf === undefined ? undefined : (stored[leaf % stored.length]?.id ?? undefined)
    const one = withoutUndefined<EventQuery>({ ...rest, conversationId: id, leafId })
    const result = await both((store) => pages(store, one))
    await both((store) => store.count(one))
    counts.pages += result.length
    if (leafId !== undefined && result.length > 1) counts.paths += 1
  }
  return counts
}

describe('the PostgreSQL store', () => {
  it('agrees with the memory store on imports of malformed logs, in time order or not', async () => {
    const counts = { pages: 0, paths: 0, runs: 0 }
    const log = fc
      .record({ log: hostileLog(), times: fc.option(fc.infiniteStream(timestamp)) })
      .map((input) =>
        input.log.flatMap((fact): Fact[] => {
          if (!isQuarantined(fact) && fact.kind === 'StreamingDeltaEvent') return []
          if (input.times === null || isQuarantined(fact)) return [fact]
          return [Object.freeze({ ...fact, timestamp: input.times.next().value as string })]
        }),
      )
    await fc.assert(
      fc.asyncProperty(log, queries, async (facts, requests) => {
        const id = `import ${(runs += 1)}`
        await both((store) => store.createConversation({ id }))
        for (let index = 0; index < facts.length; index += 7) {
          await both((store) => store.append(id, facts.slice(index, index + 7), { mode: 'import' }))
        }
        const result = await agreeOn(id, requests)
        counts.pages += result.pages
        counts.paths += result.paths
        counts.runs += 1
      }),
      { numRuns: Math.ceil(RUNS / 4) },
    )
    expect(counts.pages).toBeGreaterThan(counts.runs * 5)
    expect(counts.paths).toBeGreaterThan(counts.runs / 4)
  })

  it('agrees with the memory store on live appends, leases, versions, zones and imports', async () => {
    const counts: Record<string, number> = {}
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), queries, async (steps, requests) => {
        const id = `live ${(runs += 1)}`
        await both((store) => store.createConversation({ id }))
        const known: string[] = []
        for (const planned of steps) {
          const one = resolveTargets(planned, known)
          const done = await both((store) => performStep(store, id, one))
          const name = 'append' in one ? ((done as { code?: string }).code ?? 'appended') : 'other'
          counts[name] = (counts[name] ?? 0) + 1
          if (name === 'appended' && 'append' in one) known.push(...one.append.map((event) => event.id ?? ''))
        }
        await agreeOn(id, requests)
      }),
      { numRuns: Math.max(50, Math.ceil(RUNS / 2)) },
    )
    for (const code of ['id_conflict', 'version_conflict', 'unknown_parent', 'unknown_event', 'lease_lost']) {
      expect(counts[code], code).toBeGreaterThan(5)
    }
    expect(counts['appended']).toBeGreaterThan(150)
  })

  it('rejects no concurrent append to a log, and survives a deletion in the meantime', async () => {
    const kinds = ['PauseEvent', 'InterruptEvent', 'CondensationRequest'] as const
    const sources = ['user', 'agent', 'environment', 'hook'] as const
    const id = `kinds ${(runs += 1)}`
    const fresh = (): Event => {
      runs += 1
      const [kind, source] = [kinds[runs % 3] as 'PauseEvent', sources[runs % 4] as 'user']
      return { kind, source, id: `fresh ${runs}` }
    }
    for (let round = 0; round < 6; round += 1) {
      await postgres.createConversation({ id })
      const appendAll = async () => {
        // Three ways to write: one event, a batch, and a decision made by the caller.
        const appends = Array.from({ length: 12 }, (_, i) => {
          if (i % 3 === 0) return postgres.append(id, [fresh()])
          const facts = [fresh(), fresh()]
          return postgres.append(id, facts, { mode: i % 3 === 1 ? 'live' : 'import' })
        })
        return Promise.allSettled(appends)
      }
      expect((await appendAll()).filter(({ status }) => status === 'rejected')).toEqual([])
      // Appends before, during and after the deletion and recreation.
      const recreated = postgres.deleteConversation(id).then(() => postgres.createConversation({ id }))
      await Promise.all([appendAll(), recreated, appendAll()])
      await postgres.deleteConversation(id)
    }
  })

  it('agrees with the memory store on a path through 60 lanes, in time order or not', async () => {
    for (const direction of [1, -1]) {
      const id = `lanes ${(runs += 1)}`
      await both((store) => store.createConversation({ id }))
      const timeOf = (i: number): string => new Date(1e12 + direction * i * 1000).toISOString()
      await both((store) => store.append(id, [{ kind: 'PauseEvent', id: 'n0', timestamp: timeOf(0) }]))
      for (let i = 1; i <= 60; i += 1) {
        const facts: Event[] = [
          { kind: 'PauseEvent', id: `side${i}`, timestamp: timeOf(i) },
          {
            kind: 'InterruptEvent',
            id: `n${i}`,
            parent_id: `n${i - 1}`,
            timestamp: timeOf(i),
            source: i % 2 ? 'user' : 'agent',
          },
          { kind: 'PauseEvent', id: `m${i}`, parent_id: `n${i}`, timestamp: timeOf(i + 40) },
        ]
        await both((store) => store.append(id, facts))
      }
      const filters = [{}, { source: 'user' as const }, { kinds: ['InterruptEvent' as const] }]
      for (const order of ['timestamp', 'timestamp_desc'] as const) {
        for (const more of filters) {
          for (const limit of [13, 100]) {
            const query = { conversationId: id, leafId: 'm60', limit, order, ...more }
            await both((store) => pages(store, query))
          }
        }
      }
    }
  })
})
