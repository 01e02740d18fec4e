/** Group B of the inventory: branches, HEAD, and what is visible from it. */

import { describe, expect, it } from 'vitest'
import { decodeLine } from '../../src/event/decode.ts'
import { encodeEvent } from '../../src/event/encode.ts'
import { hasCode } from '../../src/event/errors.ts'
import type { Event } from '../../src/event/types.ts'
import { listLeavesIn, switchTo } from '../../src/state/at.ts'
import type { State } from '../../src/state/state.ts'
import { action, condensation, moveHead, pause, status, trouble, user, users } from '../build.ts'
import {
  entry,
  fold,
  head,
  ids,
  logEvents,
  pendingIds,
  parent,
  path,
  pathEvents,
  reopen,
  warnings,
  extend,
} from './inspect.ts'

/** A root with two branches: `a1 a2`, abandoned, and `b1` at HEAD. */
const branched = (): State => fold(...users('root', 'a1', 'a2'), moveHead('go', 'root'), user('b1'))

describe('group B: the tree', () => {
  it('B1 each event has the event before it as parent', () => {
    const state = fold(...users('e0', 'e1', 'e2'))
    expect(['e0', 'e1', 'e2'].map((id) => parent(state, id))).toEqual([null, 'e0', 'e1'])
    expect(head(state)).toBe('e2')
  })

  it('B2 HEAD and view are the same after writing and reading', () => {
    const state = reopen(fold(...users('e0', 'e1', 'e2')))
    expect(head(state)).toBe('e2')
    expect(ids(state)).toEqual(['e0', 'e1', 'e2'])
  })

  it('B3 moving HEAD back starts a second branch', () => {
    const moved = fold(...users('root', 'a1', 'a2'), moveHead('go', 'root'))
    expect(ids(moved)).toEqual(['root'])
    const state = extend(moved, user('b1'))
    expect(parent(state, 'b1')).toBe('root')
    expect(ids(state)).toEqual(['root', 'b1'])
    expect(path(state, 'a2')).toEqual(['root', 'a1', 'a2'])
  })

  it('B4 moving HEAD to an unknown event fails, and replay ignores it with a warning', () => {
    const state = fold(user('m'))
    let thrown: unknown
    try {
      switchTo(state, 'nope')
    } catch (error) {
      thrown = error
    }
    expect(hasCode(thrown, 'unknown_event')).toBe(true)
    expect(String(thrown)).toContain('nope')
    const replayed = extend(state, moveHead('go', 'nope'))
    expect(head(replayed)).toBe('m')
    expect(warnings(replayed)).toEqual(['go head_ignored'])
  })

  it('B5 moving HEAD off the tree empties the view', () => {
    const state = fold(...users('m0', 'm1'), moveHead('go', null))
    expect(head(state)).toBeNull()
    expect(ids(state)).toEqual([])
  })

  it.each([undefined, '__root__'])(
    'B6 the next event after an empty HEAD is a root with parent_id %s',
    (parent_id) => {
      const fresh = user('fresh', 'fresh', parent_id === undefined ? {} : { parent_id })
      const state = fold(...users('m0', 'm1'), moveHead('go', null), fresh)
      expect(parent(state, 'fresh')).toBeNull()
      expect(ids(state)).toEqual(['fresh'])
    },
  )

  it('B7 HEAD can leave a tree of one event', () => {
    const emptied = fold(user('m0'), moveHead('go', null))
    expect(head(emptied)).toBeNull()
    expect(ids(emptied)).toEqual([])
    const state = extend(emptied, user('m1'))
    expect(parent(state, 'm1')).toBeNull()
    expect(listLeavesIn(state.log).map((leaf) => leaf.id)).toEqual(['m0', 'm1'])
  })

  it('B8 an empty HEAD survives writing and reading', () => {
    const state = reopen(fold(user('m0'), moveHead('go', null)))
    expect(head(state)).toBeNull()
    expect(ids(state)).toEqual([])
    expect(state.log.entries.length).toBe(2)
  })

  it('B9 a copy of the whole log keeps the empty HEAD', () => {
    const copy = fold(...logEvents(fold(user('m0'), moveHead('go', null))))
    expect(head(copy)).toBeNull()
    expect(ids(copy)).toEqual([])
  })

  it('B10 a copy of the path to an event ends there and can continue', () => {
    const source = fold(...users('e0', 'e1', 'e2'))
    const copy = fold(...pathEvents(source, 'e1'))
    expect(logEvents(copy).map((event) => event.id)).toEqual(['e0', 'e1'])
    expect(head(copy)).toBe('e1')
    expect(ids(copy)).toEqual(['e0', 'e1'])
    expect(parent(extend(copy, user('next')), 'next')).toBe('e1')
    expect(source.log.entries.length).toBe(3)
  })

  it('B11 a copy of the path to a condensation has its view', () => {
    const copy = fold(...pathEvents(fold(...users('m0', 'm1', 'm2'), condensation('C', ['m0'])), 'C'))
    expect(copy.log.entries.length).toBe(4)
    expect(ids(copy)).toEqual(['m1', 'm2'])
  })

  it('B12 a copy of the whole log keeps HEAD and the abandoned branch', () => {
    const copy = fold(...logEvents(fold(...users('e0', 'e1', 'e2'), moveHead('go', 'e0'))))
    expect(head(copy)).toBe('e0')
    expect(ids(copy)).toEqual(['e0'])
    expect(path(copy, 'e2')).toEqual(['e0', 'e1', 'e2'])
  })

  it('B13 the view equals a new fold after every move of HEAD', () => {
    const log = [
      ...users('m0', 'm1', 'm2'),
      moveHead('go1', 'm0'),
      user('sibling'),
      moveHead('go2', 'm2'),
      user('m3'),
      moveHead('go3', 'sibling'),
    ]
    const expected = ['m0', 'm0 m1', 'm0 m1 m2', 'm0', 'm0 sibling', 'm0 m1 m2', 'm0 m1 m2 m3', 'm0 sibling']
    let live = fold()
    for (const [index, event] of log.entries()) {
      live = extend(live, event)
      expect(ids(live).join(' ')).toBe(expected[index])
      expect(ids(fold(...log.slice(0, index + 1)))).toEqual(ids(live))
      expect(ids(fold(...pathEvents(live, head(live) ?? '')))).toEqual(ids(live))
    }
  })

  it('B14 a log without parents is a line with HEAD at its last event', () => {
    const state = reopen(fold(...users('l1', 'l2', 'l3')))
    expect(head(state)).toBe('l3')
    expect(ids(state)).toEqual(['l1', 'l2', 'l3'])
    const next = extend(state, user('next'))
    expect(parent(next, 'next')).toBe('l3')
    expect(path(next)).toEqual(['l1', 'l2', 'l3', 'next'])
  })

  it('B15 the next event follows a final error but not a final state update', () => {
    const legacy = users('l1', 'l2', 'l3')
    const withError = fold(...legacy, trouble('error', 'Trouble', { parent_id: 'l3' }))
    const withUpdate = fold(...legacy, { ...status('update', 'idle'), parent_id: 'l3' })
    for (const state of [withError, withUpdate]) expect(ids(state)).toEqual(['l1', 'l2', 'l3'])
    expect(path(extend(withUpdate, user('next')))).toEqual(['l1', 'l2', 'l3', 'next'])
    expect(path(extend(withError, user('next')))).toEqual(['l1', 'l2', 'l3', 'error', 'next'])
  })

  it('B16 the next event reaches every earlier message, whatever ends the log', () => {
    const legacy = users('l1', 'l2', 'l3')
    const ends: Event[][] = [[status('s1', 'idle'), trouble('error'), status('s2', 'idle')], [pause('pause')]]
    for (const end of ends) {
      const state = extend(fold(...legacy, ...end), user('next'))
      expect(path(state).filter((id) => id?.startsWith('l'))).toEqual(['l1', 'l2', 'l3'])
      expect(parent(state, 'next')).toBe(end.length === 3 ? 'error' : 'pause')
    }
  })

  it('B17 encoding writes parent_id only if the event has one', () => {
    const child = user('child', 'child', { parent_id: 'm' })
    expect(encodeEvent(user('m'))).not.toContain('parent_id')
    expect(encodeEvent(child)).toContain('"parent_id":"m"')
    for (const event of [user('m'), child])
      expect(decodeLine(encodeEvent(event))).toEqual({ ok: true, event, warnings: [] })
  })

  it('B18 a copy of the path to an abandoned leaf contains that branch', () => {
    const copy = fold(...pathEvents(branched(), 'a2'))
    expect(logEvents(copy).map((event) => event.id)).toEqual(['root', 'a1', 'a2'])
    expect(ids(copy)).toEqual(['root', 'a1', 'a2'])
  })

  it('B19 an event without a parent follows HEAD, not the end of the log', () => {
    const state = fold(...users('e0', 'e1', 'e2'), moveHead('go', 'e0'), user('next'))
    expect(parent(state, 'next')).toBe('e0')
  })

  it('B20 the active branch ends at HEAD', () => {
    const state = branched()
    expect(path(state)).toEqual(['root', 'b1'])
    expect(path(state).slice(-1)).toEqual(['b1'])
  })

  it('B21 a call on an abandoned branch is pending on that branch only', () => {
    const state = fold(user('root'), action('a1'), moveHead('go', 'root'), user('b1'))
    expect(entry(state, 'a1').event?.kind).toBe('ActionEvent')
    expect(pendingIds(state)).toEqual([])
    expect(pendingIds(switchTo(state, 'a1'))).toEqual(['a1'])
  })

  it('B23 a session without parents continues after its last event except state updates', () => {
    const session = [...users('m0', 'm1'), action('a1'), status('s', 'idle')]
    const state = extend(reopen(fold(...session)), user('new'))
    expect(path(state)).toEqual(['m0', 'm1', 'a1', 'new'])
    expect(parent(state, 'new')).toBe('a1')
  })

  it('B24 a session with parents continues after its last event', () => {
    const stamped = users('m0', 'm1', 'm2').map((event, index): Event =>
      index === 0 ? event : { ...event, parent_id: `m${index - 1}` },
    )
    const state = extend(reopen(fold(...stamped)), user('new'))
    expect(path(state)).toEqual(['m0', 'm1', 'm2', 'new'])
    expect(ids(state)).toEqual(['m0', 'm1', 'm2', 'new'])
  })
})
