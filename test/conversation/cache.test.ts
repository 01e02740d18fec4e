/** Compares the cache of idle conversations with a model while conversations are used, grow and are deleted. */

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RUNS } from '../../properties/run.ts'
import { EngineContext } from '../../src/conversation/engine-context.ts'
import type { Replica } from '../../src/conversation/replica.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { pause, user } from '../build.ts'
import { idCounter } from './states.ts'

const CACHE = 40_000

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e')

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('use' as const), id }) },
  // A message of 50,000 characters is larger than the cache.
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('grow' as const),
      id,
      length: fc.constantFrom(10, 3_000, 9_000, 15_000, 50_000),
    }),
  },
  // 1,000 events cause an eviction of bodies before the conversation is idle.
  { weight: 1, arbitrary: fc.record({ type: fc.constant('evict' as const), id }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('pin' as const), id }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('release' as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('delete' as const, 'lose' as const), id }) },
)

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1))

it('the cache of idle conversations agrees with its model', async () => {
  const seen = { evicted: 0, oversized: 0, replaced: 0, shrunk: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const store = memoryStore()
      const stamp = { newId: idCounter(), clock: () => 1_767_225_600_000_000n }
      const context = new EngineContext(store, stamp, CACHE, false, 45_000, 'whole')
      /** Least recently used first. */
      const idle = new Map<string, number>()
      const pins: { readonly id: string; readonly replica: Replica; readonly release: () => void }[] = []
      const isPinned = (id: string): boolean => pins.some((pin) => pin.id === id)
      const settle = async (id: string, replica: Replica): Promise<void> => {
        if (isPinned(id)) return
        if (replica.isDue) seen.shrunk += 1
        while (replica.isDue) await turn()
        const { bytes } = replica
        idle.set(id, bytes)
        const sizes = [...idle].filter(([, size]) => size <= CACHE)
        if (bytes > CACHE) {
          seen.oversized += 1
          for (const [other, size] of idle)
            if (other !== id && size > CACHE && idle.delete(other)) seen.replaced += 1
        }
        for (let sum = sizes.reduce((total, [, size]) => total + size, 0); sum > CACHE; seen.evicted += 1) {
          const [oldest = '', size = 0] = sizes.shift() ?? []
          idle.delete(oldest)
          sum -= size
        }
      }
      const use = async (id: string, work: (replica: Replica) => Promise<unknown>): Promise<void> => {
        idle.delete(id)
        const used = await context.use(id, async (replica) => {
          await work(replica)
          return replica
        })
        await settle(id, used)
      }
      for (const id of ['a', 'b', 'c', 'd', 'e']) await store.createConversation({ id })
      for (const step of steps) {
        if (step.type === 'use') await use(step.id, async () => undefined)
        else if (step.type === 'grow')
          await use(step.id, (replica) =>
            replica.commit(() => [user(stamp.newId(), 'x'.repeat(step.length))]),
          )
        else if (step.type === 'evict')
          await use(step.id, (replica) =>
            replica.commit(() => Array.from({ length: 1_000 }, () => pause(stamp.newId()))),
          )
        else if (step.type === 'pin') {
          idle.delete(step.id)
          pins.push({ id: step.id, ...(await context.pin(step.id)) })
        } else if (step.type === 'release') {
          const pin = pins.shift()
          pin?.release()
          pin?.release()
          if (pin !== undefined) await settle(pin.id, pin.replica)
        } else if (!isPinned(step.id)) {
          const { id } = step
          if (step.type === 'delete') await context.delete(id)
          else await store.deleteConversation(id)
          await store.createConversation({ id })
          if (step.type === 'delete') idle.delete(id)
          // Another process deleted it: a reader loads the new one, which stays in memory.
          else await use(id, (replica) => replica.refresh())
        }
        const expectedIds = new Set([...idle.keys(), ...pins.map((pin) => pin.id)])
        const cached = ['a', 'b', 'c', 'd', 'e'].filter((id) => context.cachedState(id) !== null)
        expect(cached, step.type).toEqual([...expectedIds].toSorted())
        expect(context.size).toBe(expectedIds.size)
      }
      for (const { release } of pins) release()
      await context.close()
    }),
    // Fewer runs may not reach each case.
    { numRuns: Math.max(50, Math.ceil(RUNS / 2)) },
  )
  for (const [name, count] of Object.entries(seen)) expect(count, name).toBeGreaterThan(4)
})
