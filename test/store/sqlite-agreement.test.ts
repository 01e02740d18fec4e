/** The SQLite store returns the same pages and cursors as the memory store, on hostile logs with any filter (law S). */

import type { Event } from '../../src/event/types.ts'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventQuery } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { storable } from '../../src/testing/conformance/facts.ts'
import { hostileLog } from '../../src/testing/hostile-log.ts'
import { DRIVERS, folder, openStore } from './sqlite-drivers.ts'
import { pages } from './pages.ts'
import { only, query, timestamp } from './steps.ts'

const FILES = folder()
afterAll(FILES.remove)

/** All conversations are created and changed at the same time. */
const clock = (): bigint => 1n

/** A hostile log, in time order or not. */
const facts = fc
  .record({ log: hostileLog(), times: fc.option(fc.infiniteStream(timestamp)) })
  .map(({ log, times }) =>
    storable(log).map((fact): Fact => {
      if (times === null || isQuarantined(fact)) return fact
      return Object.freeze({ ...fact, timestamp: times.next().value as string })
    }),
  )

describe.each(DRIVERS)('SQLite with %s', (driver) => {
  it('agrees with memory', async () => {
    const seen = { deep: 0, paths: 0, runs: 0 }
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
          const requests = only<EventQuery>({ ...rest, conversationId: 'c', leafId })
          const result = await both((store) => pages(store, requests))
          await both((store) => store.count(requests))
          if (result.length > 2) seen.deep += 1
          if (result.length > 1 && leafId !== undefined) seen.paths += 1
        }
        await Promise.all(stores.map((store) => store.close()))
        seen.runs += 1
      }),
      { numRuns: 80 },
    )
    expect(seen.deep).toBeGreaterThan(seen.runs / 2)
    expect(seen.paths).toBeGreaterThan(seen.runs / 4)
  })

  it('agrees on a path through more lanes than one statement takes, in time order and not', async () => {
    for (const step of [1, -1]) {
      const stores = [
        memoryStore({ clock }),
        openStore(driver, FILES.next(), { clock, synchronous: 'normal' }),
      ]
      const index = (i: number): string => new Date(1e12 + step * i * 1000).toISOString()
      for (const store of stores) {
        await store.createConversation({ id: 'c' })
        await store.append('c', [{ kind: 'PauseEvent', id: 'n0', timestamp: index(0) }])
        for (let i = 1; i <= 60; i += 1) {
          await store.append('c', [
            { kind: 'PauseEvent', id: `side${i}`, timestamp: index(i) },
            {
              kind: 'InterruptEvent',
              id: `n${i}`,
              parent_id: `n${i - 1}`,
              timestamp: index(i),
              source: i % 2 ? 'user' : 'agent',
            },
            { kind: 'PauseEvent', id: `m${i}`, parent_id: `n${i}`, timestamp: index(i + 40) },
          ])
        }
      }
      for (const order of ['timestamp', 'timestamp_desc'] as const) {
        for (const more of [{}, { source: 'user' as const }, { kinds: ['InterruptEvent' as const] }]) {
          const requests = { conversationId: 'c', leafId: 'm60', limit: 13, order, ...more }
          const [memory, sqlite] = await Promise.all(stores.map((store) => pages(store, requests)))
          expect(sqlite).toEqual(memory)
          expect(memory?.length).toBeGreaterThan(2)
        }
      }
      await Promise.all(stores.map((store) => store.close()))
    }
  })

  it('agrees on lanes with more kinds and sources than one statement takes', async () => {
    const stores = [memoryStore({ clock }), openStore(driver, ':memory:', { clock })]
    const sources = ['user', 'agent', 'environment'] as const
    const kinds = ['PauseEvent', 'InterruptEvent', 'CondensationRequest', 'MessageEvent'] as const
    const all = kinds.flatMap((kind) => sources.map((source) => ({ kind, source })))
    for (const store of stores) {
      await store.createConversation({ id: 'c' })
      const log = Array.from({ length: 7 * all.length }, (_, i): Event => {
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
        const requests = {
          conversationId: 'c',
          leafId: 'e83',
          limit,
          order,
          excludeKinds: ['TokenEvent' as const],
        }
        const [memory, sqlite] = await Promise.all(stores.map((store) => pages(store, requests)))
        expect(sqlite).toEqual(memory)
      }
    }
    await Promise.all(stores.map((store) => store.close()))
  })
})
