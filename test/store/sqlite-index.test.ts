/** SQLite indexes the events of a log in groups. Results do not depend on whether an event is already indexed (laws S, C). */

import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { isColloquyError } from '../../src/event/errors.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventQuery } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { RUNS } from '../../properties/run.ts'
import { folder, openDatabase, openStore } from './sqlite-drivers.ts'
import { pages } from './pages.ts'
import { withoutUndefined, query } from './steps.ts'

const FILES = folder()
afterAll(FILES.remove)

const KINDS = ['PauseEvent', 'InterruptEvent', 'PauseEvent', 'ConversationStateUpdateEvent'] as const

function eventOf(index: number, hour: number, parent: number | null): Event {
  const kind = KINDS[(index * 7) % KINDS.length] ?? 'PauseEvent'
  return {
    kind,
    id: `e${index}`,
    timestamp: new Date((index + hour) * 3_600_000).toISOString(),
    source: index % 3 === 0 ? 'user' : 'agent',
    ...(kind === 'ConversationStateUpdateEvent' && { key: 'stats', value: index }),
    ...(parent !== null && index > 0 && { parent_id: `e${parent % index}` }),
  } as Event
}

/** Most batches have one event, some have many, so that logs end before, at and after the end of a group. */
const batches = fc.array(
  fc.record({
    size: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 40 })),
    parent: fc.option(fc.nat(), { freq: 4 }),
    // An earlier time makes a search use the index of kinds.
    hour: fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, fc.integer({ min: -9, max: 0 })),
    other: fc.boolean(),
    again: fc.nat(),
    // An import keeps repeated ids, outside of the tree.
    repeats: fc.option(fc.nat(), { freq: 6 }),
    recreates: fc.oneof({ weight: 12, arbitrary: fc.constant(false) }, fc.constant(true)),
  }),
  { minLength: 20, maxLength: 40 },
)

/** Pages of up to 32 events, because the logs are long. */
const longPage = query.map((input) => ({ ...input, limit: 8 * input.limit }))

const outcomeOf = async (call: Promise<unknown>): Promise<unknown> =>
  call.catch((error: unknown) => (isColloquyError(error) ? { code: error.code, data: error.data } : error))

it('two SQLite stores over a file append and search as the memory store does, for logs of any length', async () => {
  let longest = 0
  await fc.assert(
    fc.asyncProperty(batches, fc.array(longPage, { minLength: 4, maxLength: 4 }), async (steps, queries) => {
      const file = FILES.next()
      const memory = memoryStore({ clock: () => 1n })
      const open = (): Store => openStore('node:sqlite', file, { synchronous: 'normal', clock: () => 1n })
      const stores = [open(), open()] as const
      await memory.createConversation({ id: 'c' })
      await stores[0].createConversation({ id: 'c' })
      const expectSame = async (call: (store: Store) => Promise<unknown>, other: boolean): Promise<void> =>
        expect(await outcomeOf(call(stores[Number(other)] as Store))).toEqual(await outcomeOf(call(memory)))
      let length = 0
      for (const { size, parent, hour, other, again, repeats, recreates } of steps) {
        if (recreates && length > 64) {
          await expectSame((store) => store.deleteConversation('c'), !other)
          await expectSame((store) => store.createConversation({ id: 'c' }), other)
          longest = Math.max(longest, length)
          length = 0
        }
        const added = Array.from({ length: size }, (_, index) => eventOf(length + index, hour, parent))
        if (repeats !== null && length > 0) {
          const repeated = Array.from({ length: 3 }, (_, index) =>
            eventOf((repeats + index) % length, hour, null),
          )
          await expectSame((store) => store.append('c', [...repeated, ...added], { mode: 'import' }), other)
        } else await expectSame((store) => store.append('c', added), other)
        length += size
        const known = `e${again % length}`
        await expectSame((store) => store.get('c', known), other)
        await expectSame(
          (store) => store.append('c', [{ kind: 'PauseEvent', id: known, source: 'hook' }]),
          !other,
        )
        await expectSame(async (store) => {
          const event = await store.get('c', known)
          return store.append('c', [event?.fact as Event])
        }, other)
      }
      longest = Math.max(longest, length)
      for (const { leaf, ...rest } of queries) {
        const leafId = leaf === undefined ? undefined : `e${leaf % length}`
        const request = withoutUndefined<EventQuery>({ ...rest, conversationId: 'c', leafId })
        await expectSame((store) => pages(store, request), false)
        await expectSame((store) => store.count(request), true)
      }
      await expectSame((store) => store.deleteConversation('c'), false)
      for (const store of [memory, ...stores]) await store.close()
      const database = openDatabase('node:sqlite', file)
      const tables = ['event', 'event_id', 'event_kind'].map((name) => `SELECT log FROM colloquy_${name}`)
      expect(database.prepare(tables.join(' UNION ALL ')).all()).toEqual([])
      database.close()
    }),
    { numRuns: Math.ceil(RUNS / 4) },
  )
  expect(longest).toBeGreaterThan(128)
})
