/** The SQLite store returns the same events, counts, pages and cursors as the memory store, for malformed logs and any filter (law S). */

import type { Event } from '../../src/event/types.ts'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { RUNS } from '../../properties/run.ts'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventQuery } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { storable } from '../../src/testing/conformance/facts.ts'
import { hostileLog } from '../../src/testing/hostile-log.ts'
import { DRIVERS, folder, openStore } from './sqlite-drivers.ts'
import { pages } from './pages.ts'
import { withoutUndefined, query, timestamp } from './steps.ts'

const FILES = folder()
afterAll(FILES.remove)

/** All conversations are created and changed at the same time. */
const clock = (): bigint => 1n

/** A malformed log, in time order or not. */
const facts = fc
  .record({ log: hostileLog(), times: fc.option(fc.infiniteStream(timestamp)) })
  .map(({ log, times }) =>
    storable(log).map((fact): Fact => {
      if (times === null || isQuarantined(fact)) return fact
      return Object.freeze({ ...fact, timestamp: times.next().value as string })
    }),
  )

describe.each(DRIVERS)('the SQLite store with %s', (driver) => {
  it('agrees with the memory store on imports of malformed logs', async () => {
    const counts = { deep: 0, paths: 0, runs: 0 }
    await fc.assert(
      fc.asyncProperty(facts, fc.array(query, { minLength: 6, maxLength: 6 }), async (log, queries) => {
        const stores = [memoryStore({ clock }), openStore(driver, ':memory:', { clock })] as const
        const both = async <T>(call: (store: Store) => Promise<T>): Promise<T> => {
          const [memory, sqlite] = await Promise.all(stores.map((store) => call(store)))
          expect(sqlite).toEqual(memory)
          return memory as T
        }
        await both((store) => store.createConversation({ id: 'c' }))
        for (let index = 0; index < log.length; index += 7) {
          await both((store) => store.append('c', log.slice(index, index + 7), { mode: 'import' }))
        }
        const stored = await both((store) => store.read('c'))
        await both((store) => store.getConversation('c'))
        await both((store) =>
          store.getMany(
            'c',
            stored.map(({ id }) => id ?? 'none'),
          ),
        )
        for (const { leaf, ...rest } of queries) {
          const leafId = leaf === undefined ? undefined : (stored[leaf % stored.length]?.id ?? undefined)
          const query = withoutUndefined<EventQuery>({ ...rest, conversationId: 'c', leafId })
          const result = await both((store) => pages(store, query))
          await both((store) => store.count(query))
          if (result.length > 2) counts.deep += 1
          if (result.length > 1 && leafId !== undefined) counts.paths += 1
        }
        await Promise.all(stores.map((store) => store.close()))
        counts.runs += 1
      }),
      { numRuns: Math.ceil(RUNS / 4) },
    )
    expect(counts.deep).toBeGreaterThan(counts.runs / 2)
    expect(counts.paths).toBeGreaterThan(counts.runs / 4)
  })

  it('agrees with the memory store on a path through 60 lanes, in time order or not', async () => {
    for (const step of [1, -1]) {
      const stores = [
        memoryStore({ clock }),
        openStore(driver, FILES.next(), { clock, synchronous: 'normal' }),
      ]
      const timeOf = (i: number): string => new Date(1e12 + step * i * 1000).toISOString()
      for (const store of stores) {
        await store.createConversation({ id: 'c' })
        await store.append('c', [{ kind: 'PauseEvent', id: 'n0', timestamp: timeOf(0) }])
        for (let i = 1; i <= 60; i += 1) {
          await store.append('c', [
            { kind: 'PauseEvent', id: `side${i}`, timestamp: timeOf(i) },
            {
              kind: 'InterruptEvent',
              id: `n${i}`,
              parent_id: `n${i - 1}`,
              timestamp: timeOf(i),
              source: i % 2 ? 'user' : 'agent',
            },
            { kind: 'PauseEvent', id: `m${i}`, parent_id: `n${i}`, timestamp: timeOf(i + 40) },
          ])
        }
      }
      for (const order of ['timestamp', 'timestamp_desc'] as const) {
        for (const more of [{}, { source: 'user' as const }, { kinds: ['InterruptEvent' as const] }]) {
          const query = { conversationId: 'c', leafId: 'm60', limit: 13, order, ...more }
          const [memory, sqlite] = await Promise.all(stores.map((store) => pages(store, query)))
          expect(sqlite).toEqual(memory)
          expect(memory?.length).toBeGreaterThan(2)
        }
      }
      await Promise.all(stores.map((store) => store.close()))
    }
  })

  it('agrees with the memory store on lanes with four kinds and three sources', async () => {
    const stores = [memoryStore({ clock }), openStore(driver, ':memory:', { clock })]
    const sources = ['user', 'agent', 'environment'] as const
    const kinds = ['PauseEvent', 'InterruptEvent', 'CondensationRequest', 'MessageEvent'] as const
    const all = kinds.flatMap((kind) => sources.map((source) => ({ kind, source })))
    for (const store of stores) {
      await store.createConversation({ id: 'c' })
      const log = Array.from({ length: 4 * all.length }, (_, i): Event => {
        const { kind, source } = all[(i * 7) % all.length] as (typeof all)[number]
        const common = { id: `e${i}`, source, timestamp: new Date(1e12 + i * 1000).toISOString() }
        // The path leaves a lane every six events.
        const parent = i % 6 === 0 && i > 0 ? { parent_id: `e${i - 2}` } : {}
        return kind === 'MessageEvent'
          ? { kind, ...common, ...parent, llm_message: { role: 'user' } }
          : { kind, ...common, ...parent }
      })
      await store.append('c', log)
    }
    for (const order of ['timestamp', 'timestamp_desc'] as const) {
      for (const limit of [1, 2, 5, 100]) {
        const query = {
          conversationId: 'c',
          leafId: 'e47',
          limit,
          order,
          excludeKinds: ['TokenEvent' as const],
        }
        const [memory, sqlite] = await Promise.all(stores.map((store) => pages(store, query)))
        expect(sqlite).toEqual(memory)
      }
    }
    await Promise.all(stores.map((store) => store.close()))
  })
})
