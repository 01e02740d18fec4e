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
import { entry, fold, head, ids, parent, path, read, reports } from './look.ts'

function thrownBy(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return undefined
}

describe('group A: the log', () => {
  it('A1 an empty log', () => {
    const { entries } = initialState().log
    expect(entries.length).toBe(0)
    expect([...entries]).toEqual([])
    expect([entries.get(0), entries.get(-1), entries.last()]).toEqual([undefined, undefined, undefined])
  })

  it('A2 the same id twice', () => {
    const state = fold(user('m', 'first'), user('m', 'second'), user('n'))
    expect(reports(state)).toEqual(['m duplicate_id'])
    expect(listWarningsIn(state.log)[0]?.message).toBe('id "m" already exists at position 0')
    expect(ids(state)).toEqual(['m', 'n'])
    expect(entry(state, 'm').seq).toBe(0)
    expect(state.log.entries.length).toBe(3)
    expect(state.log.entries.get(1)).toMatchObject({ inTree: false, parent: null })
    expect(parent(state, 'n')).toBe('m')
  })

  it('A3 an id that only another version of the log holds', () => {
    const root = fold(user('m'))
    const one = reduce(root, read(user('x', 'here')))
    const other = reduce(reduce(root, read(user('y'))), read(user('x', 'there')))
    expect(reports(one)).toEqual([])
    expect(reports(other)).toEqual([])
    expect([entry(one, 'x').seq, entry(other, 'x').seq]).toEqual([1, 2])
    expect(findEventIn(one.log, 'y')).toBeUndefined()
  })

  it('A4 positions counted from the end', () => {
    const { entries } = fold(...users('a', 'b', 'c')).log
    expect(entries.last()?.id).toBe('c')
    expect([1, 2, 3, 4].map((back) => entries.get(entries.length - back)?.id)).toEqual([
      'c',
      'b',
      'a',
      undefined,
    ])
  })

  it('A5 the position of an id', () => {
    const state = fold(...users('a', 'b', 'c'))
    expect(['a', 'b', 'c'].map((id) => findEventIn(state.log, id)?.seq)).toEqual([0, 1, 2])
    expect(findEventIn(state.log, 'nope')).toBeUndefined()
    const error = thrownBy(() => stateAt(state, 'nope'))
    expect(hasCode(error, 'unknown_event')).toBe(true)
    expect(String(error)).toContain('nope')
  })

  it('A6 the id at a position', () => {
    const { entries } = fold(...users('a', 'b', 'c')).log
    expect([-1, 0, 1, 2, 3].map((seq) => entries.get(seq)?.id)).toEqual([undefined, 'a', 'b', 'c', undefined])
  })

  it('A8 a line that is no event, among events', () => {
    const state = replay([read(user('a')), loadLine('{"kind": "MessageEv').fact, read(user('b'))])
    expect(state.log.entries.length).toBe(3)
    expect(state.log.entries.get(1)?.quarantined?.raw).toBe('{"kind": "MessageEv')
    expect(reports(state)).toEqual(['null quarantined'])
    expect(ids(state)).toEqual(['a', 'b'])
    expect(path(state)).toEqual(['a', 'b'])
  })

  it('A19 one entry is one object, in every version', () => {
    const before = fold(...users('a', 'b'))
    const after = reduce(before, read(user('c')))
    const first = before.log.entries.get(0)
    expect(first?.id).toBe('a')
    expect(before.log.entries.get(0)).toBe(first)
    expect(after.log.entries.get(0)).toBe(first)
    expect(findEventIn(after.log, 'a')).toBe(first)
  })

  it('A20 reading in order and by position gives the same objects', () => {
    const { entries } = fold(...users('a', 'b', 'c')).log
    const once = [...entries]
    const again = [...entries]
    expect(once).toHaveLength(3)
    for (const [seq, one] of once.entries()) {
      expect(entries.get(seq)).toBe(one)
      expect(again[seq]).toBe(one)
    }
  })

  it('A22 a hundred thousand events and two', () => {
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

  it('A23 the root marker is no id', () => {
    const decoded = decodeEvent({ ...user('x'), id: '__root__' })
    expect(decoded.ok).toBe(false)
    expect(decoded.ok ? [] : decoded.issues.map((one) => one.loc)).toEqual([['id']])
  })

  it('A24 whether an event is in the log', () => {
    const state = fold(user('a'))
    const { event } = entry(state, 'a')
    expect(findEventIn(state.log, event?.id ?? '')).toBe(entry(state, 'a'))
    expect(findEventIn(state.log, 'absent')).toBeUndefined()
  })

  it('A25 the path in a tree', () => {
    const state = fold(user('a'), user('b'), user('c'), user('d', 'd', { parent_id: 'a' }), user('e'))
    expect(pathToEntry(null)).toEqual([])
    expect(['a', 'c', 'e'].map((id) => path(state, id))).toEqual([['a'], ['a', 'b', 'c'], ['a', 'd', 'e']])
  })

  it('A26 two events that name each other as parent', () => {
    const state = fold(user('a', 'a', { parent_id: 'b' }), user('b', 'b', { parent_id: 'a' }))
    expect(path(state, 'a')).toEqual(['a'])
    expect(path(state, 'b')).toEqual(['a', 'b'])
    expect(reports(state)).toEqual(['a unknown_parent'])
  })

  it('A27 an unknown parent, and an event that is its own', () => {
    const state = fold(user('a'), user('b', 'b', { parent_id: 'nope' }), user('c', 'c', { parent_id: 'c' }))
    expect(reports(state)).toEqual(['b unknown_parent', 'c unknown_parent'])
    expect(path(state)).toEqual(['a', 'b', 'c'])
    expect(entry(state, 'b').event?.parent_id).toBe('nope')
  })

  it('A28 an explicit root', () => {
    const state = fold(user('a'), user('b', 'b', { parent_id: '__root__' }))
    expect(parent(state, 'b')).toBeNull()
    expect(entry(state, 'b').event?.parent_id).toBe('__root__')
    expect(reports(state)).toEqual([])
    expect(ids(state)).toEqual(['b'])
  })

  it('A29 the path to an unknown event', () => {
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

  it('A30 events without parents stand in a line', () => {
    const state = fold(...users('a', 'b', 'c'))
    expect(path(state, 'c')).toEqual(['a', 'b', 'c'])
    expect(head(state)).toBe('c')
  })

  it('A31 the effective parent', () => {
    const state = fold(user('a'), user('b'), user('c', 'c', { parent_id: 'a' }))
    expect(['a', 'b', 'c'].map((id) => parent(state, id))).toEqual([null, 'a', 'a'])
  })
})
