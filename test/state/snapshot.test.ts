/** Tests the parts and content of snapshots, and damage to them. Laws R7 to R9 cover the rest. */

import { describe, expect, it } from 'vitest'
import { hashText } from '../../src/event/text.ts'
import type { Event } from '../../src/event/types.ts'
import { isOnPathIn } from '../../src/log/entry.ts'
import { findEventIn, listWarningsIn } from '../../src/log/log.ts'
import { seal, unseal } from '../../src/log/columnar/sealed.ts'
import { listLeavesIn, stateAt, switchTo } from '../../src/state/at.ts'
import { listDroppedResultsIn } from '../../src/state/dropped.ts'
import { encodeState } from '../../src/state/read.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import {
  canReduce,
  evict,
  decodeSnapshot,
  encodeParts,
  encodeSnapshot,
  isEvicted,
  type SnapshotPart,
} from '../../src/state/snapshot.ts'
import { CHUNK_LABEL, CHUNK_SIZE, FOLD_VERSION, STATE_LABEL } from '../../src/state/snapshot/record.ts'
import type { State } from '../../src/state/state.ts'
import { viewEventsIn } from '../../src/view/view.ts'

const pause = (id: string, more: Partial<Event> = {}): Event => ({ kind: 'PauseEvent', id, ...more }) as Event
const message = (id: string, text: string): Event => ({
  kind: 'MessageEvent',
  id,
  timestamp: '2026-01-01T00:00:00Z',
  source: 'user',
  llm_message: { role: 'user', content: [{ text }] },
  activated_skills: ['git'],
})
const action = (id: string, callId = `call-${id}`): Event => ({
  kind: 'ActionEvent',
  id,
  thought: [{ text: 'look' }],
  tool_name: 'ls',
  tool_call_id: callId,
  tool_call: { id: callId, name: 'ls', arguments: '{}', origin: 'completion' },
  llm_response_id: `response-${id}`,
})
const fail = (id: string, callId: string): Event => ({
  kind: 'AgentErrorEvent',
  id,
  tool_name: 'ls',
  tool_call_id: callId,
  error: 'no such folder',
})
const condensation = (id: string, ids: readonly string[]): Event => ({
  kind: 'Condensation',
  id,
  llm_response_id: `response-${id}`,
  forgotten_event_ids: ids,
  summary: 'They said hello.',
  summary_offset: 0,
})

/** A log with every kind of data that a snapshot contains. */
const LOG: readonly Event[] = [
  message('m1', 'hello \uD800'),
  action('a1'),
  fail('o1', 'call-a1'),
  fail('o2', 'call-a1'),
  message('m2', 'more'),
  condensation('c1', ['m1']),
  pause('p1', { parent_id: 'm1' }),
  { kind: 'ConversationStateUpdateEvent', id: 'u1', key: 'leaf_event_id', value: 'c1' },
  action('a2'),
  pause('m2'),
]

const openSnapshot = (parts: readonly SnapshotPart[], conversationId = ''): State => {
  const state = decodeSnapshot(parts, conversationId)
  if (state === null) throw new Error('the snapshot does not open')
  return state
}

const codeOf = (run: () => unknown): unknown => {
  try {
    run()
    return 'no error'
  } catch (error) {
    return (error as { readonly code?: unknown }).code
  }
}

const numbers = (parts: readonly SnapshotPart[]) => parts.map(({ part }) => part)

describe('the content of a snapshot', () => {
  const whole = replay(LOG)
  const states: readonly [string, State][] = [
    ['opened', openSnapshot(encodeSnapshot(whole))],
    ['compacted', evict(whole)],
  ]

  it.each(states)('the %s state keeps only the bodies of the view and of pending calls', (_, state) => {
    expect(encodeState(state)).toBe(encodeState(whole))
    expect([...viewEventsIn(state.branch.view)].map((item) => item.event)).toEqual(
      [...viewEventsIn(whole.branch.view)].map((item) => item.event),
    )
    const current = [...state.log.entries].filter((entry) => entry.event !== null).map((entry) => entry.id)
    expect(current).toEqual(['a1', 'o1', 'm2', 'a2'])
    expect(Object.isFrozen(state.header)).toBe(true)
    expect(listDroppedResultsIn(state.branch)).toEqual([{ id: 'o2', reason: 'duplicate_result' }])
    expect(listWarningsIn(state.log)).toEqual(listWarningsIn(whole.log))
    expect(listLeavesIn(state.log).map((entry) => entry.id)).toEqual(['p1', 'a2'])
  })

  it.each(states)('the %s state reports evicted events and cannot continue from them', (_, state) => {
    expect(['m1', 'c1', 'a2', 'nowhere'].map((id) => isEvicted(state, id))).toEqual([
      true,
      true,
      false,
      false,
    ])
    expect(['m1', 'a2'].map((id) => isEvicted(whole, id))).toEqual([false, false])
    expect(codeOf(() => stateAt(state, 'c1'))).toBe('evicted')
    expect(codeOf(() => switchTo(state, 'p1'))).toBe('evicted')
    expect(codeOf(() => stateAt(state, 'nowhere'))).toBe('unknown_event')
    expect(canReduce(state, pause('p2', { parent_id: 'm1' }))).toBe(false)
    expect(codeOf(() => reduce(state, pause('p2', { parent_id: 'm1' })))).toBe('evicted')
    const move: Event = { kind: 'ConversationStateUpdateEvent', id: 'u2', key: 'leaf_event_id', value: 'p1' }
    expect(canReduce(state, move)).toBe(false)
    expect(canReduce(whole, move)).toBe(true)
  })

  it.each(states)('the %s state folds later events like the original state', (_, state) => {
    const facts: readonly Event[] = [
      fail('o3', 'call-a2'),
      pause('p2', { parent_id: '__root__' }),
      { kind: 'ConversationStateUpdateEvent', id: 'u2', key: 'leaf_event_id', value: null },
      message('m3', 'again'),
      fail('o4', 'call-a1'),
      pause('m1', { parent_id: 'm1' }),
    ]
    let latest = state
    for (const fact of facts) {
      expect(canReduce(latest, fact)).toBe(true)
      latest = reduce(latest, fact)
    }
    expect(encodeState(latest)).toBe(encodeState(replay([...LOG, ...facts])))
    expect(encodeState(evict(latest))).toBe(encodeState(latest))
    const [m1, o3] = ['m1', 'o3'].map((id) => findEventIn(latest.log, id))
    expect(m1 !== undefined && o3 !== undefined && isOnPathIn(m1, o3)).toBe(true)
  })

  it('compacting leaves the original state unchanged', () => {
    const before = encodeState(whole)
    evict(whole)
    expect(encodeState(whole)).toBe(before)
    expect(stateAt(whole, 'm1').log.entries.length).toBe(1)
  })

  it('a snapshot of an empty log opens as an empty state', () => {
    const empty = replay([], { conversationId: 'c' })
    expect(evict(empty)).toBe(empty)
    const state = openSnapshot(encodeSnapshot(empty), 'c')
    expect(encodeState(reduce(state, pause('p')))).toBe(encodeState(reduce(empty, pause('p'))))
  })

  it('a snapshot preserves lone surrogates, byte order marks and empty response ids', () => {
    const odd: readonly Event[] = [
      pause('\uFEFF'),
      action('x', '\uDC00\uFEFF'),
      { ...action('y', '\uD83D'), llm_response_id: '' } as Event,
    ]
    const facts = [
      ...odd,
      { quarantined: true, raw: '?', issues: [], id: 'q', event_kind: 'Odd\uD800' } as const,
    ]
    const state = openSnapshot(encodeSnapshot(replay(facts)))
    expect(encodeState(state)).toBe(encodeState(replay(facts)))
    const rest = fail('o', '\uDC00\uFEFF')
    expect(encodeState(reduce(state, rest))).toBe(encodeState(replay([...facts, rest])))
  })
})

describe('the parts of a snapshot', () => {
  const length = 2 * CHUNK_SIZE + 5
  const events = Array.from({ length }, (_, n) => pause(`p${n}`, { timestamp: '2026-01-01T00:00:00Z' }))
  const states = new Map<number, State>()
  let state = replay([])
  for (const event of events) {
    state = reduce(state, event)
    states.set(state.log.entries.length, state)
  }
  const stateOfLength = (length: number): State => states.get(length) as State

  it('are a head and one chunk per 4,096 positions', () => {
    expect(numbers(encodeSnapshot(state))).toEqual([0, 1, 2, 3])
    expect(numbers(encodeSnapshot(stateOfLength(CHUNK_SIZE)))).toEqual([0, 1])
  })

  it.each([
    [1, [0, 1, 2, 3]],
    [CHUNK_SIZE - 1, [0, 1, 2, 3]],
    [CHUNK_SIZE, [0, 2, 3]],
    [CHUNK_SIZE + 1, [0, 2, 3]],
    [2 * CHUNK_SIZE, [0, 3]],
    [length, [0, 3]],
    // Not an earlier length of this log: everything is written.
    [length + 1, [0, 1, 2, 3]],
    [-1, [0, 1, 2, 3]],
    [NaN, [0, 1, 2, 3]],
  ])('a save since length %s writes the parts %j', (since, expected) => {
    const parts = encodeSnapshot(state, since)
    expect(numbers(parts)).toEqual(expected)
    const before = since > 0 && since <= length ? encodeSnapshot(stateOfLength(since)) : []
    const all = new Map([...before, ...parts].map((each) => [each.part, each]))
    expect(encodeState(openSnapshot([...all.values()]))).toBe(encodeState(state))
  })

  it('are reused byte for byte once a chunk is complete', () => {
    const [, first] = encodeSnapshot(stateOfLength(CHUNK_SIZE))
    const whole = encodeSnapshot(state)
    expect(whole[1]).toEqual(first)
    const again = encodeSnapshot(openSnapshot(whole))
    expect(again).toEqual(whole)
    expect(again[1]?.bytes).toBe(whole[1]?.bytes)
    expect(evict(evict(state)).log.index.columns?.chunks[0]?.bytes).toEqual(whole[1]?.bytes)
  })

  it('are reused when the state is compacted again', () => {
    const compacted = evict(state)
    const again = evict(reduce(compacted, pause('more')))
    const [before, after] = [compacted, again].map((each) => each.log.index.columns?.chunks ?? [])
    expect(before?.map((chunk, index) => chunk === after?.[index])).toEqual([true, true, false])
  })

  it('cannot be combined from two lengths of a log', () => {
    const old = encodeSnapshot(stateOfLength(length - 1))
    const latest = encodeSnapshot(state)
    expect(decodeSnapshot([...latest.slice(0, 3), old[3] as SnapshotPart], '')).toBeNull()
    expect(decodeSnapshot([old[0] as SnapshotPart, ...latest.slice(1)], '')).toBeNull()
  })

  it('cannot be combined with parts of another log with the same ids', () => {
    const other = encodeSnapshot(replay(events.with(3, pause('p3', { timestamp: '2027-01-01T00:00:00Z' }))))
    const parts = encodeSnapshot(state)
    const differing = other.flatMap(({ bytes }, n) => (String(bytes) === String(parts[n]?.bytes) ? [] : [n]))
    expect(differing).toContain(0)
    expect(differing.length).toBeGreaterThan(1)
    for (const n of differing) expect(decodeSnapshot(parts.with(n, other[n] as SnapshotPart), '')).toBeNull()
    expect(decodeSnapshot([other[0] as SnapshotPart, ...parts.slice(1)], '')).toBeNull()
    expect(decodeSnapshot(other, '')).not.toBeNull()
  })
})

describe('a damaged snapshot', () => {
  const state = replay(LOG)
  const parts = encodeParts(state, 0, 4)
  const withPart = (part: number, bytes: Uint8Array): SnapshotPart[] => parts.with(part, { part, bytes })

  it('does not open if any byte of any part is changed', () => {
    for (const { part, bytes } of parts) {
      for (const index of bytes.keys()) {
        const other = bytes.slice()
        other[index] = (other[index] as number) ^ (1 << (index & 7))
        expect(decodeSnapshot(withPart(part, other), '')).toBeNull()
      }
    }
  })

  it('does not open if a part is missing, cut, duplicated or numbered as another', () => {
    for (const { part, bytes } of parts) {
      expect(decodeSnapshot(parts.toSpliced(part, 1), '')).toBeNull()
      expect(decodeSnapshot([...parts, { part, bytes }], '')).toBeNull()
      for (let length = 0; length < bytes.length; length += 7) {
        expect(decodeSnapshot(withPart(part, bytes.slice(0, length)), '')).toBeNull()
      }
      for (const other of parts) {
        if (other.part !== part) expect(decodeSnapshot(withPart(part, other.bytes), '')).toBeNull()
      }
    }
    expect(decodeSnapshot([], '')).toBeNull()
    expect(decodeSnapshot([{ part: 0, bytes: null } as unknown as SnapshotPart], '')).toBeNull()
  })

  it('does not open under another conversation id', () => {
    expect(decodeSnapshot(parts, 'another')).toBeNull()
  })

  it('opens with parts in any order, at any buffer offset, and with extra parts', () => {
    const text = encodeState(state)
    expect(encodeState(openSnapshot(parts.toReversed()))).toBe(text)
    expect(encodeState(openSnapshot([...parts, { part: 99, bytes: new Uint8Array(8) }]))).toBe(text)
    const odd = parts.map(({ part, bytes }) => {
      const buffer = new Uint8Array(bytes.length + 99)
      buffer.set(bytes, 3)
      return { part, bytes: buffer.subarray(3, 3 + bytes.length) }
    })
    const state2 = openSnapshot(odd)
    for (const { bytes } of odd) bytes.fill(0)
    expect(encodeState(state2)).toBe(text)
  })
})

describe('the version of the fold', () => {
  it('a snapshot with another version does not open', () => {
    const parts = encodeSnapshot(replay(LOG))
    const relabelled = (by: number) =>
      parts.map(({ part, bytes }) => {
        const label = part === 0 ? STATE_LABEL : CHUNK_LABEL
        const sections = unseal(label, bytes) ?? []
        return { part, bytes: seal({ ...label, version: label.version + by }, sections) }
      })
    expect(decodeSnapshot(relabelled(0), '')).not.toBeNull()
    expect(decodeSnapshot(relabelled(1), '')).toBeNull()
    expect(decodeSnapshot([...parts.slice(0, 1), ...relabelled(-1).slice(1)], '')).toBeNull()
  })

  it('FOLD_VERSION changes with the fold and the format of the parts', () => {
    // When this fails, raise FOLD_VERSION and write the new pair here.
    const bytes = encodeParts(replay(LOG), 0, 4).map((part) => [...part.bytes].join())
    const fingerprint = hashText([encodeState(replay(LOG)), ...bytes].join('\n'))
    expect([FOLD_VERSION, fingerprint]).toEqual([14, '6e872b24ce04bb60'])
  })
})
