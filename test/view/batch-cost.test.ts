/** Measures that the cost of a call does not grow with the number of calls, on any branch. */

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

/** A call of the reply `r` with a parent. */
const callAfter = (id: string, callId: string, parent: string): Event =>
  call(id, callId, 'r', { parent_id: parent })

const BATCH: readonly Event[] = [callAfter('a', 'c', '__root__'), callAfter('b', 'd', 'a')]

/** Events that change a pending batch, by index. */
const LOGS: Readonly<Record<string, (index: number) => Event>> = {
  'calls with one id on separate branches': (index) => callAfter(`e${index}`, 'x', 'a'),
  'calls with distinct ids on separate branches': (index) => callAfter(`e${index}`, `x${index}`, 'a'),
  'a growing batch next to calls with one id on separate branches': (index) =>
    index % 2 === 0
      ? callAfter(`e${index}`, `x${index}`, index === 0 ? 'b' : `e${index - 2}`)
      : callAfter(`e${index}`, 'x', `e${index - 1}`),
  'consecutive calls with one id': (index) =>
    callAfter(`e${index}`, 'x', index === 0 ? 'b' : `e${index - 1}`),
  'results of one call on separate branches': (index) => result(`e${index}`, 'c', 'a', { parent_id: 'b' }),
}

const perEvent = (length: number, make: (index: number) => Event): number => {
  const events = Array.from({ length }, (_, index) => make(index))
  const initial = replay(BATCH)
  return countSpent(length, () => {
    let state = initial
    for (const event of events) state = reduce(state, event)
  })
}

describe('the counted work of an event in a batch', () => {
  it.each(Object.entries(LOGS))('grows at most logarithmically for %s', (_, make) => {
    // A tree of eight times as many calls has about three more levels.
    expect(perEvent(4_000, make) / perEvent(500, make)).toBeLessThan(2)
  })

  it('is less than 1.5 times as large after a snapshot is opened', () => {
    const calls = Array.from({ length: 2_000 }, (_, index) =>
      callAfter(`e${index}`, `x${index}`, index === 0 ? 'b' : `e${index - 1}`),
    )
    const whole = replay([...BATCH, ...calls])
    const opened = decodeSnapshot(encodeSnapshot(whole), '')
    expect(opened).not.toBeNull()
    const laterCalls = Array.from({ length: 500 }, (_, index) => callAfter(`f${index}`, `x${index}`, 'e1999'))
    const [live, over] = [whole, opened as State].map((initial) =>
      countSpent(laterCalls.length, () => laterCalls.reduce((state, event) => reduce(state, event), initial)),
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

/** Call indexes in another order than the log. */
const shuffled = (count: number): number[] => Array.from({ length: count }, (_, index) => (index * 7) % count)

/** Fields and items in new objects of the header, per event. A copied list counts in full. */
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
  const initial = replay(working(length))
  return countSpent(length, () => shuffled(length).reduce(fold, initial))
}

describe('the completion of a working call', () => {
  it.each<readonly [string, (state: State, index: number) => State]>([
    ['folding it', (state, index) => reduce(state, completion(index))],
    [
      'deciding and folding it',
      (state, index) =>
        decideComplete(state, `e${index}`, 'done').reduce((now, event) => reduce(now, event), state),
    ],
  ])('costs O(log n) for %s in a log of n events', (_, fold) => {
    expect(perCompletion(500, fold)).toBeGreaterThan(5)
    expect(perCompletion(4_000, fold) / perCompletion(500, fold)).toBeLessThan(2)
  })

  it('costs as much as a plain message if no call is working', () => {
    const [completed, plain] = [completion, message].map((make) => perEvent(500, (index) => make(index)))
    expect(completed).toBe(plain)
  })
})

describe('the progress of a working call', () => {
  it.each(['reported', 'completed'])('creates O(log k) header slots when %s, for k calls', (name) => {
    const spent = (length: number): number => {
      const reports = shuffled(length).map((index) => update(index, { progress: index }))
      const initial = replay(working(length))
      return name === 'reported'
        ? newSlots(initial, reports)
        : newSlots(
            reports.reduce((state, event) => reduce(state, event), initial),
            shuffled(length).map(completion),
          )
    }
    expect(spent(200)).toBeGreaterThan(10)
    expect(spent(1_600) / spent(200)).toBeLessThan(2)
  })

  it('is the latest report of its call, with and without a snapshot', () => {
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
