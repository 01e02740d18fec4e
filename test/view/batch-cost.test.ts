/** The cost of a call does not grow with the calls of its tool_call_id, on any branch. */

import { describe, expect, it } from 'vitest'
import { countSpent } from '../../bench/count.ts'
import { call, result } from '../../properties/pinned.ts'
import type { Event } from '../../src/event/types.ts'
import { PROGRESS_KEY, WORKING } from '../../src/event/completion.ts'
import type { JsonValue } from '../../src/event/shapes.ts'
import { encodeState, listWorkingCalls } from '../../src/state/read.ts'
import { decideComplete } from '../../src/conversation/late-results.ts'
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

const update = (index: number, value: object): Event => ({
  kind: 'ConversationStateUpdateEvent',
  id: `p${JSON.stringify(value)}`,
  key: PROGRESS_KEY,
  value: { action_id: `e${index}`, ...value },
})

const working = (count: number): Event[] =>
  Array.from({ length: count }, (_, index): Event[] => [
    call(`e${index}`, `x${index}`, `r${index}`),
    {
      kind: 'ObservationEvent',
      id: `w${index}`,
      tool_name: 'work',
      tool_call_id: `x${index}`,
      action_id: `e${index}`,
      observation: { kind: WORKING, task: index },
    },
  ]).flat()

const message = (index: number, more: object = {}): Event => ({
  kind: 'MessageEvent',
  id: `d${index}`,
  source: 'environment',
  llm_message: { role: 'user', content: [], ...more },
})

const completion = (index: number): Event => message(index, { completes: { action_id: `e${index}` } })

/** Calls in an order that is not that of the log. */
const shuffled = (count: number): number[] => Array.from({ length: count }, (_, index) => (index * 7) % count)

/** Fields and items that a header has in new objects, per event: a list that is copied counts whole. */
function newSlots(state: State, events: readonly Event[]): number {
  const known = new WeakSet<object>()
  const count = (value: unknown): number => {
    if (typeof value !== 'object' || value === null || known.has(value)) return 0
    known.add(value)
    return Object.values(value).reduce<number>((sum, part) => sum + 1 + count(part), 0)
  }
  count(state.header)
  let slots = 0
  for (const event of events) {
    state = reduce(state, event)
    slots += count(state.header)
  }
  return slots / events.length
}

function perCompletion(length: number, fold: (state: State, index: number) => State): number {
  const begun = replay(working(length))
  return countSpent(length, () => shuffled(length).reduce(fold, begun))
}

describe('the completion of working calls', () => {
  it.each<readonly [string, (state: State, index: number) => State]>([
    ['folded', (state, index) => reduce(state, completion(index))],
    [
      'decided and folded',
      (state, index) =>
        decideComplete(state, `e${index}`, 'done').reduce((now, event) => reduce(now, event), state),
    ],
  ])('costs O(log n) for each that is %s, in a log of n events', (_, fold) => {
    expect(perCompletion(500, fold)).toBeGreaterThan(5)
    expect(perCompletion(8_000, fold) / perCompletion(500, fold)).toBeLessThan(2)
  })

  it('costs nothing where no call works', () => {
    const [completed, plain] = [completion, message].map((make) => perEvent(500, (index) => make(index)))
    expect(completed).toBe(plain)
  })
})

describe('the progress of working calls', () => {
  it.each(['reported', 'completed'])('costs O(log k) for each that is %s, for k calls', (name) => {
    const spent = (length: number): number => {
      const reports = shuffled(length).map((index) => update(index, { progress: index }))
      const begun = replay(working(length))
      return name === 'reported'
        ? newSlots(begun, reports)
        : newSlots(
            reports.reduce((state, event) => reduce(state, event), begun),
            shuffled(length).map(completion),
          )
    }
    expect(spent(200)).toBeGreaterThan(10)
    expect(spent(3_200) / spent(200)).toBeLessThan(2)
  })

  it('is the latest of each call, in any order, and over a snapshot', () => {
    const count = 40
    const expected = new Map<number, JsonValue>()
    let state = replay(working(count))
    let opened: State | null = null
    for (const [step, index] of [...shuffled(count), ...shuffled(count).slice(9)].entries()) {
      const isDone = step % 5 === 4
      const event = isDone ? completion(index) : update(index, { progress: step })
      if (isDone || !expected.has(index) || expected.get(index) !== null)
        expected.set(index, isDone ? null : step)
      opened = decodeSnapshot(encodeSnapshot(state), '')
      expect(encodeState(reduce(opened as State, event))).toBe(encodeState(reduce(state, event)))
      state = reduce(state, event)
    }
    const latest = listWorkingCalls(state).map(({ action, progress }) => [action.id, progress?.progress])
    const remaining = [...expected].filter(([, step]) => step !== null).toSorted(([a], [b]) => a - b)
    expect(latest).toEqual(remaining.map(([index, step]) => [`e${index}`, step]))
    expect(remaining.length).toBeGreaterThan(10)
  })
})
