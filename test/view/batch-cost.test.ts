/** The cost of a call does not grow with the calls of its tool_call_id, on any branch. */

import { describe, expect, it } from 'vitest'
import { countSpent } from '../../bench/count.ts'
import { call, result } from '../../properties/pinned.ts'
import type { Event } from '../../src/event/types.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot.ts'
import type { State } from '../../src/state/state.ts'

/** A call of the one reply, after an event. */
const callBehind = (id: string, callId: string, parent: string): Event =>
  call(id, callId, 'r', { parent_id: parent })

const BATCH: readonly Event[] = [callBehind('a', 'c', '__root__'), callBehind('b', 'd', 'a')]

/** Changes of a reply that is still open, at one of many positions. */
const LOGS: Readonly<Record<string, (index: number) => Event>> = {
  'calls of one id, each on a branch of its own': (index) => callBehind(`e${index}`, 'x', 'a'),
  'calls of own ids, each on a branch of its own': (index) => callBehind(`e${index}`, `x${index}`, 'a'),
  'a batch that grows, beside calls of one id on branches of their own': (index) =>
    index % 2 === 0
      ? callBehind(`e${index}`, `x${index}`, index === 0 ? 'b' : `e${index - 2}`)
      : callBehind(`e${index}`, 'x', `e${index - 1}`),
  'calls of one id behind each other': (index) =>
    callBehind(`e${index}`, 'x', index === 0 ? 'b' : `e${index - 1}`),
  'results of one call, each on a branch of its own': (index) =>
    result(`e${index}`, 'c', 'a', { parent_id: 'b' }),
}

const perEvent = (length: number, make: (index: number) => Event): number => {
  const events = Array.from({ length }, (_, index) => make(index))
  const begun = replay(BATCH)
  return countSpent(length, () => {
    let state = begun
    for (const event of events) state = reduce(state, event)
  })
}

describe('the counted work of a call', () => {
  it.each(Object.entries(LOGS))('%s', (_, make) => {
    // A tree of 16 times as many calls has about four more levels.
    expect(perEvent(8_000, make) / perEvent(500, make)).toBeLessThan(2)
  })

  it('is the same over a snapshot, which knows the calls of its batches', () => {
    const calls = Array.from({ length: 2_000 }, (_, index) =>
      callBehind(`e${index}`, `x${index}`, index === 0 ? 'b' : `e${index - 1}`),
    )
    const whole = replay([...BATCH, ...calls])
    const opened = decodeSnapshot(encodeSnapshot(whole), '')
    expect(opened).not.toBeNull()
    const behind = Array.from({ length: 500 }, (_, index) => callBehind(`f${index}`, `x${index}`, 'e1999'))
    const [live, over] = [whole, opened as State].map((begun) =>
      countSpent(behind.length, () => behind.reduce((state, event) => reduce(state, event), begun)),
    )
    expect((over ?? Infinity) / (live ?? 1)).toBeLessThan(1.5)
  })
})
