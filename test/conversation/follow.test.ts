/** Followers receive every event at least once and in order, even if some crash, hang, fail or leave (law B4). */

import { copyFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import {
  checkFollowers,
  followSteps,
  followsSeen,
  nameOf,
  type Place,
  SCRIPTED,
  TTL,
} from '../../properties/checks/followed.ts'
import { RUNS } from '../../properties/run.ts'
import { VirtualTime } from '../../properties/virtual-time.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { user } from '../build.ts'
import { folder } from '../store/sqlite-drivers.ts'

const FILES = folder()
afterAll(() => FILES.remove())

let time = new VirtualTime()
beforeEach(() => {
  time = new VirtualTime()
  time.install()
})
afterEach(() => time.remove())

const clock = () => BigInt(Date.now()) * 1000n

function sqliteFile(): Place {
  let file = FILES.next()
  let stored: string | null = null
  return {
    open: () => sqliteStore({ file, clock, synchronous: 'normal', pollInterval: 20 }),
    keep: () => copyFileSync(file, (stored = FILES.next())),
    putBack: () => {
      if (stored !== null) copyFileSync(stored, (file = FILES.next()))
    },
  }
}

it.each<[string, () => Place, number]>([
  [
    'memory',
    () => ({ open: () => memoryStore({ clock }), keep: null, putBack: () => undefined }),
    Math.ceil(RUNS / 8),
  ],
  ['sqlite', sqliteFile, Math.ceil(RUNS / 20)],
])('followers receive every event at least once and in order, over %s', async (name, make, numRuns) => {
  for (const key of Object.keys(followsSeen)) Object.assign(followsSeen, { [key]: 0 })
  const property = fc.asyncProperty(followSteps, (steps) => checkFollowers(make(), time, steps))
  await fc.assert(property, { numRuns, examples: [[SCRIPTED]] })
  const { reset, rewound, ...others } = followsSeen
  for (const [what, times] of Object.entries(others)) expect(times, what).toBeGreaterThan(0)
  if (name === 'sqlite') expect(Math.min(reset, rewound)).toBeGreaterThan(0)
})

it.each<[string, () => readonly [Store, Store]]>([
  [
    'an append in memory',
    () => {
      const store = memoryStore()
      return [store, store]
    },
  ],
  [
    'an append to the same SQLite file',
    () => {
      const file = FILES.next()
      return [sqliteStore({ file }), sqliteStore({ file, pollInterval: 10 })]
    },
  ],
])('%s wakes a follower without polling, and only the changed shard is read', async (_, make) => {
  const [writing, watching] = make()
  const feed = vi.spyOn(watching, 'feed')
  const engine = createEngine({ store: watching })
  const inputs: string[] = []
  const follower = await time.ended(
    engine.follow({ name: 'f', from: 'now', pollInterval: 2 ** 31 - 1 }, (items) => {
      inputs.push(...items.map(nameOf))
    }),
  )
  await time.pass(TTL)
  await time.ended(writing.createConversation({ id: 'c' }))
  feed.mockClear()
  await time.ended(writing.append('c', [user('e1')]))
  await time.pass(TTL)
  expect(inputs).toEqual(['changed c', 'e1'])
  if (writing === watching) expect(feed).toHaveBeenCalledTimes(1)
  await time.ended(follower.close())
  await time.ended(Promise.all([writing.close(), watching.close()]))
})

it('a follower that its handler closes ends after the handler has returned', async () => {
  const engine = createEngine({ store: memoryStore({ clock }) })
  await time.ended(engine.create({ id: 'c' }))
  const closer = Promise.withResolvers<() => Promise<void>>()
  let isDone = false
  const follower = await time.ended(
    engine.follow({ name: 'f' }, async () => {
      void (await closer.promise)()
      await Promise.resolve()
      isDone = true
    }),
  )
  closer.resolve(() => follower.close())
  await time.ended(follower.closed)
  expect(isDone).toBe(true)
  await time.ended(engine.close())
})
