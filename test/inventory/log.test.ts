/** Group A of the inventory: order of facts, their ids and their ancestors. */

import { describe, expect, it } from 'vitest'
import { loadLine } from '../../src/event/load.ts'
import type { Event } from '../../src/event/types.ts'
import { hasCode } from '../../src/event/errors.ts'
import { decodeEvent } from '../../src/event/decode.ts'
import { pathToEntry } from '../../src/log/entry.ts'
import { findEventIn, listWarningsIn } from '../../src/log/log.ts'
import { stateAt, switchTo } from '../../src/state/at.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { initialState } from '../../src/state/state.ts'
import { pause, user, users } from '../build.ts'
import { entry, fold, head, ids, parent, path, decode, warnings } from './inspect.ts'

function thrownBy(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return undefined
}

describe('group A: the log', () => {
  it('A1 an empty log has no entries', () => {
    const { entries } = initialState().log
    expect(entries.length).toBe(0)
    expect([...entries]).toEqual([])
    expect([entries.get(0), entries.get(-1), entries.last()]).toEqual([undefined, undefined, undefined])
  })

  it('A2 a second event with the same id is reported and left out of the tree', () => {
    const state = fold(user('m', 'first'), user('m', 'second'), user('n'))
    expect(warnings(state)).toEqual(['m duplicate_id'])
    expect(listWarningsIn(state.log)[0]?.message).toBe('id "m" already exists at position 0')
    expect(ids(state)).toEqual(['m', 'n'])
    expect(entry(state, 'm').seq).toBe(0)
    expect(state.log.entries.length).toBe(3)
    expect(state.log.entries.get(1)).toMatchObject({ inTree: false, parent: null })
    expect(parent(state, 'n')).toBe('m')
  })

  it('A3 two versions of a log can append the same id at different positions', () => {
    const root = fold(user('m'))
    const one = reduce(root, decode(user('x', 'here')))
    const other = reduce(reduce(root, decode(user('y'))), decode(user('x', 'there')))
    expect(warnings(one)).toEqual([])
    expect(warnings(other)).toEqual([])
    expect([entry(one, 'x').seq, entry(other, 'x').seq]).toEqual([1, 2])
    expect(findEventIn(one.log, 'y')).toBeUndefined()
  })

  it('A4 entries can be read by their distance from the end', () => {
    const { entries } = fold(...users('a', 'b', 'c')).log
    expect(entries.last()?.id).toBe('c')
    expect([1, 2, 3, 4].map((back) => entries.get(entries.length - back)?.id)).toEqual([
      'c',
      'b',
      'a',
      undefined,
    ])
  })

  it('A5 an id has its position, and an unknown id fails with unknown_event', () => {
    const state = fold(...users('a', 'b', 'c'))
    expect(['a', 'b', 'c'].map((id) => findEventIn(state.log, id)?.seq)).toEqual([0, 1, 2])
    expect(findEventIn(state.log, 'nope')).toBeUndefined()
    const error = thrownBy(() => stateAt(state, 'nope'))
    expect(hasCode(error, 'unknown_event')).toBe(true)
    expect(String(error)).toContain('nope')
  })

  it('A6 a position has its entry, and undefined outside the log', () => {
    const { entries } = fold(...users('a', 'b', 'c')).log
    expect([-1, 0, 1, 2, 3].map((seq) => entries.get(seq)?.id)).toEqual([undefined, 'a', 'b', 'c', undefined])
  })

  it('A8 an unparsable line is quarantined at its position', () => {
    const state = replay([decode(user('a')), loadLine('{"kind": "MessageEv').fact, decode(user('b'))])
    expect(state.log.entries.length).toBe(3)
    expect(state.log.entries.get(1)?.quarantined?.raw).toBe('{"kind": "MessageEv')
    expect(warnings(state)).toEqual(['null quarantined'])
    expect(ids(state)).toEqual(['a', 'b'])
    expect(path(state)).toEqual(['a', 'b'])
  })

  it('A19 an entry is the same object in every version of the log', () => {
    const before = fold(...users('a', 'b'))
    const after = reduce(before, decode(user('c')))
    const first = before.log.entries.get(0)
    expect(first?.id).toBe('a')
    expect(before.log.entries.get(0)).toBe(first)
    expect(after.log.entries.get(0)).toBe(first)
    expect(findEventIn(after.log, 'a')).toBe(first)
  })

  it('A20 reading in order and by position returns the same objects', () => {
    const { entries } = fold(...users('a', 'b', 'c')).log
    const once = [...entries]
    const again = [...entries]
    expect(once).toHaveLength(3)
    for (const [seq, one] of once.entries()) {
      expect(entries.get(seq)).toBe(one)
      expect(again[seq]).toBe(one)
    }
  })

  it('A22 a log of 100,002 events can be read and appended to', () => {
    const state = replay(Array.from({ length: 100_002 }, (_, seq): Event => pause(`p${seq}`)))
    const { entries } = state.log
    expect(entries.length).toBe(100_002)
    expect([99_999, 100_000, 100_001].map((seq) => entries.get(seq)?.id)).toEqual([
      'p99999',
      'p100000',
      'p100001',
    ])
    expect([...entries].every((one, seq) => one.seq === seq && one.id === `p${seq}`)).toBe(true)
    expect(reduce(state, pause('next')).log.entries.length).toBe(100_003)
    expect(entries.length).toBe(100_002)
  })

  it('A23 decoding rejects the root marker as an id', () => {
    const decoded = decodeEvent({ ...user('x'), id: '__root__' })
    expect(decoded.ok).toBe(false)
    expect(decoded.ok ? [] : decoded.issues.map((one) => one.loc)).toEqual([['id']])
  })

  it('A24 an event is found by its id only if the log contains it', () => {
    const state = fold(user('a'))
    const { event } = entry(state, 'a')
    expect(findEventIn(state.log, event?.id ?? '')).toBe(entry(state, 'a'))
    expect(findEventIn(state.log, 'absent')).toBeUndefined()
  })

  it('A25 each event has its own path from the root', () => {
    const state = fold(user('a'), user('b'), user('c'), user('d', 'd', { parent_id: 'a' }), user('e'))
    expect(pathToEntry(null)).toEqual([])
    expect(['a', 'c', 'e'].map((id) => path(state, id))).toEqual([['a'], ['a', 'b', 'c'], ['a', 'd', 'e']])
  })

  it('A26 two events that name each other as parent form a line, and the first is reported', () => {
    const state = fold(user('a', 'a', { parent_id: 'b' }), user('b', 'b', { parent_id: 'a' }))
    expect(path(state, 'a')).toEqual(['a'])
    expect(path(state, 'b')).toEqual(['a', 'b'])
    expect(warnings(state)).toEqual(['a unknown_parent'])
  })

  it('A27 an unknown parent, or the event itself as parent, is reported and replaced by HEAD', () => {
    const state = fold(user('a'), user('b', 'b', { parent_id: 'nope' }), user('c', 'c', { parent_id: 'c' }))
    expect(warnings(state)).toEqual(['b unknown_parent', 'c unknown_parent'])
    expect(path(state)).toEqual(['a', 'b', 'c'])
    expect(entry(state, 'b').event?.parent_id).toBe('nope')
  })

  it('A28 the root marker as parent makes the event a root', () => {
    const state = fold(user('a'), user('b', 'b', { parent_id: '__root__' }))
    expect(parent(state, 'b')).toBeNull()
    expect(entry(state, 'b').event?.parent_id).toBe('__root__')
    expect(warnings(state)).toEqual([])
    expect(ids(state)).toEqual(['b'])
  })

  it('A29 switching to an unknown event fails with unknown_event', () => {
    const state = fold(user('a'))
    expect(
      hasCode(
        thrownBy(() => switchTo(state, 'nope')),
        'unknown_event',
      ),
    ).toBe(true)
    expect(
      hasCode(
        thrownBy(() => stateAt(state, 'nope')),
        'unknown_event',
      ),
    ).toBe(true)
  })

  it('A30 events without parents form a line', () => {
    const state = fold(...users('a', 'b', 'c'))
    expect(path(state, 'c')).toEqual(['a', 'b', 'c'])
    expect(head(state)).toBe('c')
  })

  it('A31 the effective parent is the named event, or else the event before', () => {
    const state = fold(user('a'), user('b'), user('c', 'c', { parent_id: 'a' }))
    expect(['a', 'b', 'c'].map((id) => parent(state, id))).toEqual([null, 'a', 'a'])
  })
})
