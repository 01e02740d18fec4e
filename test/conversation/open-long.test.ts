/** Opening a long log evicts bodies meanwhile, and its state equals a replay, whichever events the log branches from. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RUNS } from '../../properties/run.ts'
import { openState } from '../../src/conversation/replica.ts'
import type { Event } from '../../src/event/types.ts'
import { encodeState } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import { CHUNK_SIZE } from '../../src/state/snapshot/record.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { action, condensation, observe, pause, user } from '../build.ts'

const LENGTH = 2 * CHUNK_SIZE + 1_500

/** At `position`, the log continues from the event `back` positions before it. */
type Turn = readonly [position: number, back: number]

/** A chain of messages and calls, branched at turns, with a condensation every 300 events. */
function makeLog(turns: readonly Turn[]): Event[] {
  const backAt = new Map(turns)
  let forgotten = 0
  return Array.from({ length: LENGTH }, (_, position): Event => {
    const id = `e${position}`
    const back = backAt.get(position)
    const parent =
      back === undefined || position === 0 ? {} : { parent_id: `e${Math.max(0, position - back)}` }
    if (position % 300 === 299) {
      const ids = Array.from({ length: 250 }, (_, index) => `e${forgotten + index}`)
      forgotten += 300
      return { ...condensation(id, ids), ...parent }
    }
    const event =
      position % 3 === 0
        ? user(id)
        : position % 3 === 1
          ? action(id)
          : observe(id, action(`e${position - 1}`))
    return { ...event, ...parent }
  })
}

async function opened(events: readonly Event[]) {
  const store = memoryStore()
  await store.createConversation({ id: 'c' })
  await store.append('c', events, { mode: 'import' })
  let reads = 0
  const counting: Store = {
    ...store,
    async read(id, options) {
      const result = await store.read(id, options)
      reads += result.length
      return result
    },
  }
  const { state } = await openState(counting, 'c')
  const replayed = async () => {
    const items = await store.read('c', { limit: events.length })
    return replay(
      items.map(({ fact }) => fact),
      { conversationId: 'c' },
    )
  }
  return { state, replayed, reads }
}

/** Turns, many of them near evicted bodies. */
const turns = (furthest: number): fc.Arbitrary<Turn[]> =>
  fc.array(
    fc.tuple(
      fc.oneof(
        fc
          .tuple(fc.constantFrom(1, 2), fc.integer({ min: 0, max: 1_100 }))
          .map(([n, more]) => n * CHUNK_SIZE + more),
        fc.integer({ min: 1, max: LENGTH - 1 }),
      ),
      fc.integer({ min: 1, max: furthest }),
    ),
    { maxLength: 6 },
  )

describe('opening a long log', () => {
  it('produces the state of a replay, whichever events the log branches from', async () => {
    await fc.assert(
      fc.asyncProperty(turns(LENGTH), async (input) => {
        const { state, replayed } = await opened(makeLog(input))
        expect(encodeState(state)).toBe(encodeState(await replayed()))
      }),
      { numRuns: Math.ceil(RUNS / 16) },
    )
  })

  it('evicts early bodies, and reads each event once', async () => {
    const { state, reads } = await opened(makeLog([]))
    expect(reads).toBe(LENGTH)
    expect(state.log.entries.get(0)?.event).toBeNull()
    expect(state.log.entries.get(2 * CHUNK_SIZE)?.event).not.toBeNull()
  })

  it('evicts after each chunk at first, and less often in a longer log', async () => {
    for (const [count, known] of [
      [2, 2],
      [33, 32],
    ] as const) {
      const { state } = await opened(
        Array.from({ length: count * CHUNK_SIZE + 1 }, (_, index) => pause(`e${index}`)),
      )
      expect(state.log.index.columns?.length).toBe(known * CHUNK_SIZE)
    }
  })

  it('evicts only once while the view needs most bodies', async () => {
    const { state } = await opened(Array.from({ length: LENGTH }, (_, index) => user(`e${index}`)))
    expect(state.log.index.columns?.length).toBe(CHUNK_SIZE)
    expect(state.branch.view.length).toBe(LENGTH)
  })

  it('rereads less than a chunk if the log branches from an evicted event', async () => {
    const { state, replayed, reads } = await opened(makeLog([[CHUNK_SIZE + 900, 1_000]]))
    expect(encodeState(state)).toBe(encodeState(await replayed()))
    expect(reads).toBeLessThan(LENGTH + CHUNK_SIZE)
  })
})
