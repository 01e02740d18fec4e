/**
 * Counts each operation's work at two lengths of the log. Most operations must cost about the same in a log
 * nine times as long; the linear ones must not cost more per event.
 */

import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Growth, Operation } from '../bench/growth/operations.ts'
import { spentOn, startCounting, stopCounting } from '../bench/growth/spent.ts'

/**
 * Both lengths have the same number of events in the view, and in a snapshot's last chunk of 4,096, which is
 * rewritten.
 */
const LENGTHS = [500, 4_581] as const
/** Linear work is counted in shorter logs, whose views already have several blocks of units. */
const SHORT = [400, 1_600] as const
/** Maximum growth of work between the two lengths: linear work grows by four, quadratic by sixteen. */
const MAX_GROWTH: Readonly<Record<Growth, number>> = { constant: 1.5, logarithmic: 1.5, linear: 6 }
/** Runs of an operation, each for another event. */
const REPETITIONS = 4

type Group = 'fold' | 'view' | 'memory' | 'sqlite'
const operationsByLog = new Map<string, readonly Operation[]>()
const cleanUps: (() => unknown)[] = []

beforeAll(async () => {
  startCounting()
  const { foldOperations, logOf, storeOperations, viewOperations } =
    await import('../bench/growth/operations.ts')
  const { makeEvents } = await import('../bench/workload.ts')
  const { memoryStore } = await import('../src/store/memory/store.ts')
  const { sqliteStore } = await import('../src/store/sqlite/index.ts')
  const sizes = { action: 90, observation: 120, systemPrompt: 300, message: 90 }
  for (const length of [...LENGTHS, ...SHORT]) {
    const events = logOf(length)
    const stores = { memory: memoryStore(), sqlite: sqliteStore({ database: new DatabaseSync(':memory:') }) }
    operationsByLog.set(`fold ${length}`, foldOperations(events))
    operationsByLog.set(`view ${length}`, length > 1_000 ? [] : viewOperations(makeEvents(length, { sizes })))
    for (const [name, store] of Object.entries(stores)) {
      operationsByLog.set(`${name} ${length}`, await storeOperations(store, events))
      cleanUps.push(() => store.close())
    }
  }
})

afterAll(async () => {
  stopCounting()
  for (const close of cleanUps) await close()
})

async function workOf({ run, growth }: Operation): Promise<number> {
  if (growth === 'linear') return spentOn(() => run(1))
  // The first run fills caches for later ones.
  await run(0)
  return spentOn(async () => {
    for (let n = 1; n <= REPETITIONS; n += 1) await run(n)
  })
}

describe.each<Group>(['fold', 'view', 'memory', 'sqlite'])(
  'the counted work of each %s operation',
  (group) => {
    it('grows at most at its declared rate', async () => {
      const operations = operationsByLog.get(`${group} ${LENGTHS[0]}`) ?? []
      const excessive: unknown[] = []
      for (const { name, growth } of operations) {
        const works: number[] = []
        for (const length of growth === 'linear' ? SHORT : LENGTHS) {
          const operation = operationsByLog
            .get(`${group} ${length}`)
            ?.find((candidate) => candidate.name === name)
          works.push(operation === undefined ? 0 : await workOf(operation))
        }
        const [short = 0, long = 0] = works
        if (!(short > 0 && long <= short * MAX_GROWTH[growth])) excessive.push({ name, growth, short, long })
      }
      expect(operations.length).toBeGreaterThan(5)
      expect(excessive).toEqual([])
    })
  },
)
