/** `replayTest` and `golden`: a correct fold passes; each wrong one fails by its law, with a short log. */

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
  /** A value that cannot be frozen, in the states of some tests. */
  readonly unfreezable?: Map<unknown, unknown> | Set<unknown> | Int32Array
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

let total = 0
const isAction = (fact: Fact): boolean => 'kind' in fact && fact.kind === 'ActionEvent'

const encodeMap = ({ unfreezable }: Counts): string => JSON.stringify([...(unfreezable ?? [])])
/** Compares the state itself, without encoding it. */
const withoutCodec: { readonly encode?: never; readonly decode?: never } = {
  encode: undefined,
  decode: undefined,
} as object

const withUpdate = (state: Counts, fact: Fact, update: (unfreezable: never) => void): Counts => {
  if (isAction(fact)) update(state.unfreezable as never)
  return { ...state }
}

const WRONG: readonly (readonly [law: string, name: string, Partial<ReplaySubject<Counts, string>>])[] = [
  [
    'R2',
    'throws on some facts',
    {
      reduce: (state, fact) => {
        if (isAction(fact)) throw new Error('what?')
        return state
      },
    },
  ],
  [
    'R3',
    'mutates its state',
    {
      reduce: (state, fact) => {
        if (isAction(fact)) (state.calls as string[]).push('x')
        return state
      },
    },
  ],
  [
    'R3',
    'mutates the fact',
    {
      reduce: (state, fact) => {
        if (isAction(fact)) (fact as { id?: string }).id = 'x'
        return state
      },
    },
  ],
  [
    'R3',
    'mutates a map of its state, and returns a new state',
    {
      initial: { ...initial, unfreezable: new Map() },
      reduce: (state, fact) =>
        withUpdate(state, fact, (unfreezable: Map<unknown, unknown>) => unfreezable.set(fact.id, 1)),
      encode: encodeMap,
      decode: (text) => ({ ...initial, unfreezable: new Map(JSON.parse(text) as [unknown, unknown][]) }),
    },
  ],
  [
    'R3',
    'mutates a nested map of a state without encoding',
    {
      initial: { ...initial, unfreezable: new Map([['far inside', new Map()]]) },
      reduce: (state, fact) =>
        withUpdate(state, fact, (unfreezable: Map<string, Map<unknown, unknown>>) =>
          unfreezable.get('far inside')?.set(fact.id, 1),
        ),
      ...withoutCodec,
    },
  ],
  [
    'R3',
    'mutates a set of its state, and returns the same state',
    {
      initial: { ...initial, unfreezable: new Set() },
      reduce: (state, fact) => {
        if (isAction(fact)) (state.unfreezable as Set<unknown>).add(fact.id)
        return state
      },
      ...withoutCodec,
    },
  ],
  [
    'R3',
    'mutates a typed array of its state',
    {
      initial: { ...initial, unfreezable: new Int32Array(1) },
      reduce: (state, fact) =>
        withUpdate(state, fact, (unfreezable: Int32Array) => (unfreezable[0] = (unfreezable[0] ?? 0) + 1)),
      ...withoutCodec,
    },
  ],
  [
    'R5',
    'counts outside of its state',
    { reduce: (state, fact) => (isAction(fact) ? { ...state, count: (total += 1) } : state) },
  ],
  [
    'R7',
    'loses data when it decodes',
    { decode: (text) => ({ ...(JSON.parse(text) as Counts), calls: [] }) },
  ],
  [
    'E1',
    'upcasts a current fact',
    { upcast: (fact) => (isAction(fact) ? { ...fact, id: `${fact.id}!` } : fact) },
  ],
]

describe('replayTest', () => {
  it("passes a user's fold, and the library's own", () => {
    replayTest(hostileLog(), right, { numRuns: 30 })
    replayTest(legalLog(), { initial: initialState(), reduce, project: encodeState }, { numRuns: 5 })
  })

  it('passes a fold that copies maps and sets, and never changes the initial state', () => {
    const initial = { kinds: new Map<unknown, number>(), ids: new Set<unknown>() }
    const counts = {
      initial,
      reduce: ({ kinds, ids }: typeof initial, fact: Fact) => {
        const kind = 'kind' in fact ? fact.kind : null
        return { kinds: new Map(kinds).set(kind, (kinds.get(kind) ?? 0) + 1), ids: new Set(ids).add(fact.id) }
      },
    }
    replayTest(hostileLog(), counts, { numRuns: 30 })
    expect([initial.kinds.size, initial.ids.size]).toEqual([0, 0])
    const changing = {
      initial,
      reduce: (state: typeof initial, fact: Fact) => {
        state.ids.add(fact.id)
        return state
      },
    }
    // Replaying by path finds it again, unless an earlier case changed the initial state.
    const path = /seed: (-?\d+), path: '([\d:]+)'/.exec(messageOf(() => replayTest(legalLog(), changing)))
    const again = { seed: Number(path?.[1]), path: path?.[2] ?? '' }
    expect(messageOf(() => replayTest(legalLog(), changing, again))).toContain('Broken law R3: ')
    expect(initial.ids.size).toBe(0)
  })

  it.each(WRONG)('%s: finds a fold that %s', (law, _, wrong) => {
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

class Hidden {
  #count = 0
  add(): Hidden {
    const next = new Hidden()
    next.#count = this.#count + Math.random()
    return next
  }
}

const PAUSE = '{"kind":"PauseEvent","id":"p"}'

describe('replayTest cannot test', () => {
  it.each<[string, ReplaySubject<unknown>]>([
    ['Promise', { initial: 0, reduce: async () => Math.random() }],
    ['Promise', { initial: {}, reduce: () => ({ later: Promise.resolve(Math.random()) }) }],
    ['Hidden', { initial: new Hidden(), reduce: (state) => (state as Hidden).add() }],
    ['WeakMap', { initial: new Map([['all', new WeakMap()]]), reduce: (state) => state }],
  ])('a state with a %s', (name, subject) => {
    const text = messageOf(() => replayTest([PAUSE], subject))
    expect(text).toContain(`Cannot compare a ${name}, because its fields cannot be read. Pass \`project\``)
    replayTest([PAUSE], { ...subject, project: () => 0 })
    expect(() => recordReplay([PAUSE], subject)).toThrow(`Cannot compare a ${name}`)
  })

  it('no logs at all', () => {
    for (const numRuns of [0, -1, NaN, 1.5, '5' as unknown as number])
      expect(() => replayTest(legalLog(), right, { numRuns })).toThrow('`numRuns` must be')
    for (const log of [`${PAUSE}\n`, null, new Set([PAUSE])])
      expect(() => replayTest(log as unknown as readonly string[], right)).toThrow('`log` must be a list')
  })
})

it('compares instances by `toJSON`, and errors by their texts', () => {
  class Box {
    readonly #count: number
    constructor(count: number) {
      this.#count = count
    }
    toJSON(): object {
      return { count: this.#count }
    }
  }
  for (const make of [(): object => new Box(Math.random()), (): object => new Error(String(Math.random()))])
    expect(messageOf(() => replayTest([PAUSE], { initial: {}, reduce: make }))).toContain('Broken law R5')
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

  it('records once, passes for an equal replay, and reports the first difference', async () => {
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

  it.each(['{"seq":0,"id":"p","kind":"Pau', '<<<<<<< HEAD\n{}', 'null', '[]'])(
    'reports the damaged recording %j',
    async (text) => {
      const damaged = { read: () => text, write: () => undefined }
      await expect(golden('counts', lines, right, damaged)).rejects.toThrow(
        'Line 1 of the recording counts is damaged. Record it again with `update: true`.',
      )
    },
  )
})

describe('a recording of values without a JSON form', () => {
  const states: readonly (readonly [name: string, values: readonly [unknown, unknown], line: object])[] = [
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
    ['a bigint', [1n, 2n ** 64n], { set: { '$.bigint': '18446744073709551616' } }],
    ['NaN', [{ n: null }, { n: NaN }], { set: { '$.n.number': 'NaN' }, gone: ['$.n'] }],
    ['-Infinity', [{ n: NaN }, { n: -Infinity }], { set: { '$.n.number': '-Infinity' } }],
    ['bytes', [new Uint8Array([1]), new Uint8Array([1, 2])], { set: { '$.bytes': '1 2' } }],
    ['a Date', [new Date(0), new Date(1)], { set: { $: '1970-01-01T00:00:00.001Z' } }],
  ]
  const pause = '{"kind":"PauseEvent","id":"p"}'

  it.each(states)('contains the change to %s', async (_, [before, after], changed) => {
    const subject = { initial: before, reduce: () => after }
    const event = { seq: 0, id: 'p', kind: 'PauseEvent' }
    const text = recordReplay([pause], subject)
    expect(JSON.parse(text)).toEqual({ ...event, ...changed })
    // A subject that does not change has a different recording.
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
