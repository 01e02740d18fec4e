/**
 * Parents and HEAD (design D7, D8) of `replay`, the memory store and the PostgreSQL store, which does not load the
 * whole log, each compared with a simple model.
 */

import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import type { AppendResult, Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { positionOf, type Node, readTree } from '../model/tree.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'

let database: PooledDatabase
let postgres: Store
let runs = 0

beforeAll(async () => {
  database = await pooledDatabase()
  postgres = postgresStore({ client: database.pool })
})

afterAll(async () => {
  await postgres.close()
  await database.drop()
})

/** A reference: an offset to another event, 0 for the event itself, or an id. Earlier events may have been rejected. */
type Ref = number | string | null | undefined

const ref = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -3, max: -1 }) },
  { weight: 3, arbitrary: fc.integer({ min: -40, max: -1 }) },
  fc.integer({ min: 0, max: 2 }),
  fc.constantFrom('__root__', 'nowhere', '', 'e\u0000', '__proto__'),
)

interface EventPlan {
  readonly type: 'pause' | 'move' | 'stats'
  readonly parent: Ref
  readonly value: Ref
}

const plan: fc.Arbitrary<EventPlan> = fc.record({
  type: fc.oneof(
    { weight: 5, arbitrary: fc.constant('pause' as const) },
    { weight: 3, arbitrary: fc.constant('move' as const) },
    { weight: 4, arbitrary: fc.constant('stats' as const) },
  ),
  parent: fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: fc.constantFrom(null, '__root__') },
    { weight: 4, arbitrary: ref },
  ),
  value: fc.oneof({ weight: 5, arbitrary: ref }, fc.constant(null)),
})

/** A chain of state updates, and a move to one of them. */
const updateChain: fc.Arbitrary<EventPlan[]> = fc
  .record({ first: plan, length: fc.integer({ min: 1, max: 3 }), back: fc.integer({ min: -3, max: -1 }) })
  .map(({ first, length, back }) => [
    first,
    ...Array.from({ length }, (): EventPlan => ({ type: 'stats', parent: -1, value: null })),
    { type: 'move', parent: undefined, value: back },
  ])

const batches = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.array(plan, { minLength: 1, maxLength: 1 }) },
    { weight: 2, arbitrary: fc.array(plan, { minLength: 2, maxLength: 6 }) },
    updateChain,
  ),
  { minLength: 3, maxLength: 20 },
)

function eventAt(n: number, { type, parent, value }: EventPlan): Event {
  const idOf = (one: Ref): Ref => (typeof one === 'number' ? `e${n + one}` : one)
  const common = { id: `e${n}`, ...(parent !== undefined && { parent_id: idOf(parent) as string | null }) }
  if (type === 'pause') return { kind: 'PauseEvent', ...common }
  const key = type === 'move' ? 'leaf_event_id' : 'stats'
  return { kind: 'ConversationStateUpdateEvent', ...common, key, value: idOf(value) as string | null }
}

/** The model's result for a batch after the accepted events: the error code, or the parents and HEAD. */
function modelResult(nodes: readonly Node[], from: number) {
  const idOf = (index: number | null): string | null => (index === null ? null : (nodes[index]?.id ?? null))
  const warning = nodes
    .slice(from)
    .flatMap(({ warnings }) => warnings)
    .map((code) => (code === 'unknown_parent' ? code : 'unknown_event'))[0]
  if (warning !== undefined) return warning
  return {
    parents: nodes.slice(from).map(({ parent }) => idOf(parent)),
    headId: idOf(nodes.at(-1)?.head ?? null),
    version: nodes.length,
  }
}

const report = ({ events, headId, version }: AppendResult) => ({
  parents: events.map(({ parentId }) => parentId),
  headId,
  version,
})

it('replay and both stores have the same parents, HEAD and rejections as the model', async () => {
  const counts = { unknown_parent: 0, unknown_event: 0, up: 0, far: 0 }
  await fc.assert(
    fc.asyncProperty(batches, async (all) => {
      const id = `c${(runs += 1)}`
      const memory = memoryStore()
      await memory.createConversation({ id })
      await postgres.createConversation({ id })
      const allEvents: Event[] = []
      const accepted: Event[] = []
      let before: readonly Node[] = []
      for (const batch of all) {
        const events = batch.map((one, i) => eventAt(allEvents.length + i, one))
        allEvents.push(...events)
        const nodes = readTree([...accepted, ...events])
        const expected = modelResult(nodes, accepted.length)

        const inMemory = await memory.append(id, events).then(report, (error: { code: string }) => error.code)
        expect(inMemory).toEqual(expected)
        const inPostgres = await postgres
          .append(id, events)
          .then(report, (error: { code: string }) => error.code)
        expect(inPostgres).toEqual(expected)

        if (typeof expected === 'string') {
          counts[expected] += 1
          continue
        }
        for (const node of nodes.slice(accepted.length)) {
          const updates = node.moved ? updatesAbove(nodes, node.event) : 0
          if (updates > 0) counts[updates === 1 ? 'up' : 'far'] += 1
        }
        accepted.push(...events)
        before = nodes
      }
      const stored = await postgres.read(id, { limit: 10_000 })
      expect(stored.map(({ parentId }) => parentId)).toEqual(
        before.map(({ parent }) => (parent === null ? null : before[parent]?.id)),
      )

      // The log accepts everything.
      const nodes = readTree(allEvents, id)
      const { log } = replay(allEvents, { conversationId: id })
      expect([...log.entries].map(({ parent }) => parent?.seq ?? null)).toEqual(
        nodes.map(({ parent }) => parent),
      )
      expect(log.head?.seq ?? null).toBe(nodes.at(-1)?.head ?? null)
      expect([...log.entries].map(({ warnings }) => warnings.map(({ code }) => code))).toEqual(
        nodes.map(({ warnings }) => warnings),
      )
    }),
    { numRuns: 120 },
  )
  for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(15)
})

/** State updates between the target of a move, included, and the resulting HEAD. */
function updatesAbove(nodes: readonly Node[], move: Event | null): number {
  const value = move?.kind === 'ConversationStateUpdateEvent' ? move.value : null
  let updates = 0
  for (
    let index = typeof value === 'string' ? positionOf(nodes, value) : null;
    index !== null && nodes[index]?.kind === 'ConversationStateUpdateEvent';
    index = nodes[index]?.parent ?? null
  )
    updates += 1
  return updates
}
