/** Replay tests: a correct fold passes; each wrong one fails by its law, with a short log. */

import { describe, expect, it } from 'vitest'
import type { Fact } from '../../src/event/quarantine.ts'
import { encodeState } from '../../src/state/read.ts'
import { reduce } from '../../src/state/reduce.ts'
import { initialState } from '../../src/state/state.ts'
import {
  golden,
  hostileLog,
  legalLog,
  type ReplaySubject,
  replayTest,
  testClock,
  testIds,
  testScheduler,
} from '../../src/testing/index.ts'
import { recordReplay } from '../../src/testing/golden.ts'
import { makeLines } from '../../bench/workload.ts'

interface Counts {
  readonly calls: readonly string[]
  readonly count: number
  /** Cannot be frozen; only states of these tests have it. */
  readonly seen?: Map<unknown, unknown> | Set<unknown> | Int32Array
}

const initial: Counts = { calls: [], count: 0 }

/** A custom reader, which counts calls and messages. */
function count(state: Counts, fact: Fact): Counts {
  if (!('kind' in fact)) return state
  if (fact.kind === 'ActionEvent') return { ...state, calls: [...state.calls, fact.tool_name] }
  return fact.kind === 'MessageEvent' ? { ...state, count: state.count + 1 } : state
}

const right: ReplaySubject<Counts, string> = {
  initial,
  reduce: count,
  encode: (state) => JSON.stringify(state),
  decode: (text) => JSON.parse(text) as Counts,
}

let seen = 0
const isAction = (fact: Fact): boolean => 'kind' in fact && fact.kind === 'ActionEvent'

const keptMap = ({ seen }: Counts): string => JSON.stringify([...(seen ?? [])])
/** Compares the state itself, without encoding it. */
const unkept: { readonly encode?: never; readonly decode?: never } = {
  encode: undefined,
  decode: undefined,
} as object

const seeing = (state: Counts, fact: Fact, see: (seen: never) => void): Counts => {
  if (isAction(fact)) see(state.seen as never)
  return { ...state }
}

const WRONG: readonly (readonly [law: string, wrong: string, Partial<ReplaySubject<Counts, string>>])[] = [
  [
    'R2',
    'throws on what it does not know',
    {
      reduce: (state, fact) => {
        if (isAction(fact)) throw new Error('what?')
        return state
      },
    },
  ],
  [
    'R3',
    'changes its state',
    {
      reduce: (state, fact) => {
        if (isAction(fact)) (state.calls as string[]).push('x')
        return state
      },
    },
  ],
  [
    'R3',
    'changes the fact',
    {
      reduce: (state, fact) => {
        if (isAction(fact)) (fact as { id?: string }).id = 'x'
        return state
      },
    },
  ],
  [
    'R3',
    'changes a map of its state, and gives another state around it',
    {
      initial: { ...initial, seen: new Map() },
      reduce: (state, fact) => seeing(state, fact, (seen: Map<unknown, unknown>) => seen.set(fact.id, 1)),
      encode: keptMap,
      decode: (text) => ({ ...initial, seen: new Map(JSON.parse(text) as [unknown, unknown][]) }),
    },
  ],
  [
    'R3',
    'changes a map of its state, which nothing but the state says',
    {
      initial: { ...initial, seen: new Map([['far inside', new Map()]]) },
      reduce: (state, fact) =>
        seeing(state, fact, (seen: Map<string, Map<unknown, unknown>>) =>
          seen.get('far inside')?.set(fact.id, 1),
        ),
      ...unkept,
    },
  ],
  [
    'R3',
    'changes a set of its state, and gives the same state',
    {
      initial: { ...initial, seen: new Set() },
      reduce: (state, fact) => {
        if (isAction(fact)) (state.seen as Set<unknown>).add(fact.id)
        return state
      },
      ...unkept,
    },
  ],
  [
    'R3',
    'changes a list of numbers, which cannot be frozen either',
    {
      initial: { ...initial, seen: new Int32Array(1) },
      reduce: (state, fact) => seeing(state, fact, (seen: Int32Array) => (seen[0] = (seen[0] ?? 0) + 1)),
      ...unkept,
    },
  ],
  [
    'R5',
    'counts outside of its state',
    { reduce: (state, fact) => (isAction(fact) ? { ...state, count: (seen += 1) } : state) },
  ],
  ['R7', 'loses what it keeps', { decode: (text) => ({ ...(JSON.parse(text) as Counts), calls: [] }) }],
  [
    'E1',
    'upcasts what is of today',
    { upcast: (fact) => (isAction(fact) ? { ...fact, id: `${fact.id}!` } : fact) },
  ],
]

describe('replayTest', () => {
  it('passes a fold of a user, and the library’s own', () => {
    replayTest(hostileLog(), right, { numRuns: 30 })
    replayTest(legalLog(), { initial: initialState(), reduce, project: encodeState }, { numRuns: 5 })
  })

  it('passes a fold that copies its maps and sets, and leaves the first state of its user as it was', () => {
    const first = { kinds: new Map<unknown, number>(), ids: new Set<unknown>() }
    const counts = {
      initial: first,
      reduce: ({ kinds, ids }: typeof first, fact: Fact) => {
        const kind = 'kind' in fact ? fact.kind : null
        return { kinds: new Map(kinds).set(kind, (kinds.get(kind) ?? 0) + 1), ids: new Set(ids).add(fact.id) }
      },
    }
    replayTest(hostileLog(), counts, { numRuns: 30 })
    expect([first.kinds.size, first.ids.size]).toEqual([0, 0])
    const changing = {
      initial: first,
      reduce: (state: typeof first, fact: Fact) => {
        state.ids.add(fact.id)
        return state
      },
    }
    // Replaying by path finds it again, unless an earlier case changed the initial state.
    const path = /seed: (-?\d+), path: '([\d:]+)'/.exec(messageOf(() => replayTest(legalLog(), changing)))
    const again = { seed: Number(path?.[1]), path: path?.[2] ?? '' }
    expect(messageOf(() => replayTest(legalLog(), changing, again))).toContain('Broken law R3: ')
    expect(first.ids.size).toBe(0)
  })

  it.each(WRONG)('%s: finds one that %s', (law, _, wrong) => {
    const subject = { ...right, ...wrong }
    const lines = makeLines(200, { sizes: { action: 90, observation: 30, systemPrompt: 30, message: 30 } })
    for (const run of [() => replayTest(lines, subject), () => replayTest(legalLog(), subject)]) {
      const text = messageOf(run)
      expect(text.split('\n')[0]).toMatch(new RegExp(`^Broken law ${law}: .`))
      // Only the few events that show the failure, each on a readable line.
      const log = text.split('\n').filter((line) => line.startsWith('{'))
      expect(log.length).toBeGreaterThan(0)
      expect(log.length).toBeLessThan(8)
      for (const line of log) JSON.parse(line)
    }
    expect(messageOf(() => replayTest(legalLog(), subject, { seed: 7 }))).toContain(
      'again: { seed: 7, path: ',
    )
  })
})

function messageOf(run: () => void): string {
  try {
    run()
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
  return ''
}

describe('golden', () => {
  const lines = makeLines(12, { sizes: { action: 90, observation: 30, systemPrompt: 30, message: 30 } })
  const stored = new Map<string, string>()
  const files = {
    read: (name: string) => stored.get(name) ?? null,
    write: (name: string, text: string) => void stored.set(name, text),
  }

  it('records once, passes what says the same, and names the first difference', async () => {
    await golden('counts', lines, right, files)
    expect(stored.get('counts')).toBe(recordReplay(lines, right))
    await golden('counts', lines, right, files)
    const other = {
      ...right,
      reduce: (state: Counts, fact: Fact) => {
        const next = count(state, fact)
        return { ...next, calls: next.calls.map((tool) => `${tool}!`) }
      },
    }
    const first = lines.findIndex((line) => line.includes('"ActionEvent"'))
    await expect(golden('counts', lines, other, files)).rejects.toThrow(
      new RegExp(
        `counts differs at position ${first}, ActionEvent "[^"]+":\n {2}\\$\\.calls\\[0\\]: "\\w+" -> "\\w+!"`,
      ),
    )
    await expect(golden('counts', lines.slice(1), right, files)).rejects.toThrow('the event: ')
    await golden('counts', lines, other, files, { update: true })
    expect(stored.get('counts')).toBe(recordReplay(lines, other))
  })
})

describe('a recording of what JSON has no form for', () => {
  const states: readonly (readonly [what: string, values: readonly [unknown, unknown], line: object])[] = [
    [
      'a map',
      [new Map(), new Map([['a', 1]])],
      { set: { '$.map[0][0]': 'a', '$.map[0][1]': 1 }, gone: ['$.map'] },
    ],
    [
      'a map inside of a map',
      [new Map([[1, new Map()]]), new Map([[1, new Map([[2n, 3]])]])],
      {
        set: { '$.map[0][1].map[0][0].bigint': '2', '$.map[0][1].map[0][1]': 3 },
        gone: ['$.map[0][1].map'],
      },
    ],
    ['a set', [new Set([1]), new Set([1, 2])], { set: { '$.set[1]': 2 } }],
    ['a large integer', [1n, 2n ** 64n], { set: { '$.bigint': '18446744073709551616' } }],
    ['what is no number', [{ n: null }, { n: NaN }], { set: { '$.n.number': 'NaN' }, gone: ['$.n'] }],
    ['no end of numbers', [{ n: NaN }, { n: -Infinity }], { set: { '$.n.number': '-Infinity' } }],
    ['bytes', [new Uint8Array([1]), new Uint8Array([1, 2])], { set: { '$.bytes': '1 2' } }],
    ['a time, which has a form', [new Date(0), new Date(1)], { set: { $: '1970-01-01T00:00:00.001Z' } }],
  ]
  const pause = '{"kind":"PauseEvent","id":"p"}'

  it.each(states)('says what changed: %s', async (_, [before, after], changed) => {
    const subject = { initial: before, reduce: () => after }
    const event = { seq: 0, id: 'p', kind: 'PauseEvent' }
    const text = recordReplay([pause], subject)
    expect(JSON.parse(text)).toEqual({ ...event, ...changed })
    // A subject that does not change is another recording.
    const files = { read: () => text, write: () => undefined }
    await golden('same', [pause], subject, files)
    await expect(golden('other', [pause], { ...subject, reduce: () => before }, files)).rejects.toThrow(
      'position 0',
    )
  })
})

describe('a deterministic run', () => {
  it('has the same ids, times and order for the same seed', async () => {
    const orders = await Promise.all(
      [1, 1, 2, 3].map(async (seed) => {
        const scheduler = testScheduler(seed)
        const order: string[] = []
        const [clock, newId] = [testClock(), testIds(seed)]
        for (let n = 0; n < 6; n += 1)
          void scheduler.schedule(Promise.resolve(), `${n}`).then(() => order.push(`${n} ${clock.micros()}`))
        await scheduler.waitIdle()
        return { order: order.join(), id: newId() }
      }),
    )
    expect(orders[0]).toEqual(orders[1])
    expect(new Set(orders.map(({ order }) => order)).size).toBeGreaterThan(1)
    expect(orders[2]?.id).not.toBe(orders[0]?.id)
  })
})
