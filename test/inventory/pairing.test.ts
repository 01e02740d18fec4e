/** Groups H and I of the inventory: pairing of results with calls, and results outside the view. */

import { describe, expect, it } from 'vitest'
import { action, fail, observe, pair, reject, user, users } from '../build.ts'
import { cuts, dropped, fold, ids, open } from './look.ts'

describe('group H: one answer to a call', () => {
  const call = action('a', { call: 'c' })

  it('H1 an error, then a result', () => {
    const state = fold(call, fail('e', call), observe('o', call))
    expect(ids(state)).toEqual(['a', 'e'])
    expect(dropped(state)).toEqual(['o duplicate_result'])
  })

  it('H2 a result alone', () => {
    const state = fold(call, observe('o', call))
    expect(ids(state)).toEqual(['a', 'o'])
    expect(dropped(state)).toEqual([])
  })

  it('H3 a second answer changes no cut', () => {
    const well = fold(user('u'), call, observe('o', call), user('v'))
    expect(cuts(well)).toEqual([0, 1, 3, 4])
    expect(cuts(fold(user('u'), call, observe('o', call), observe('o2', call), user('v')))).toEqual(
      cuts(well),
    )
  })

  it('H4 two results', () => {
    const state = fold(call, observe('o1', call), observe('o2', call))
    expect(ids(state)).toEqual(['a', 'o1'])
    expect(dropped(state)).toEqual(['o2 duplicate_result'])
    expect(cuts(state)).toEqual([0, 2])
  })
})

describe('group I: calls and answers', () => {
  const ghost = action('ghost', { call: 'nowhere' })

  it('I1 an empty log', () => {
    expect(ids(fold())).toEqual([])
    expect(dropped(fold())).toEqual([])
  })

  it('I2 messages only', () => {
    const state = fold(...users('m0', 'm1'))
    expect(ids(state)).toEqual(['m0', 'm1'])
    expect(dropped(state)).toEqual([])
  })

  it('I3 two pairs and a message', () => {
    const state = fold(...pair('1'), user('m'), ...pair('2'))
    expect(ids(state)).toEqual(['a1', 'o1', 'm', 'a2', 'o2'])
    expect(dropped(state)).toEqual([])
  })

  it('I4 a call without an answer', () => {
    const call = action('extra')
    const state = fold(...pair('1'), call, user('m'))
    expect(ids(state)).toEqual(['a1', 'o1', 'm'])
    expect(open(state)).toEqual(['extra'])
    expect(ids(fold(...pair('1'), call, user('m'), observe('late', call)))).toEqual([
      'a1',
      'o1',
      'extra',
      'late',
      'm',
    ])
  })

  it('I5 an answer without a call', () => {
    const state = fold(...pair('1'), observe('extra', ghost))
    expect(ids(state)).toEqual(['a1', 'o1'])
    expect(dropped(state)).toEqual(['extra orphan_result'])
  })

  it('I6 one of each among two pairs', () => {
    const state = fold(...pair('1'), action('a3'), ...pair('2'), observe('o4', ghost))
    expect(ids(state)).toEqual(['a1', 'o1', 'a2', 'o2'])
    expect(open(state)).toEqual(['a3'])
    expect(dropped(state)).toEqual(['o4 orphan_result'])
  })

  it('I7 a rejection answers', () => {
    const call = action('a')
    const state = fold(call, reject('r', call))
    expect(ids(state)).toEqual(['a', 'r'])
    expect(open(state)).toEqual([])
  })

  it('I8 an error answers', () => {
    const call = action('a')
    const state = fold(call, fail('e', call))
    expect(ids(state)).toEqual(['a', 'e'])
    expect(open(state)).toEqual([])
  })

  it('I9 a result, a rejection and an error', () => {
    const [one, two, three] = [action('a1'), action('a2'), action('a3')]
    const state = fold(one, observe('o1', one), two, reject('r2', two), three, fail('e3', three))
    expect(ids(state)).toEqual(['a1', 'o1', 'a2', 'r2', 'a3', 'e3'])
    expect(open(state)).toEqual([])
  })

  it('I10 an error answers a call that could not be run', () => {
    const call = action('a', { action: null })
    const state = fold(call, fail('e', call))
    expect(ids(state)).toEqual(['a', 'e'])
    expect(open(state)).toEqual([])
  })

  it('I11 cuts of a single message', () => {
    expect(cuts(fold(user('m')))).toEqual([0, 1])
  })

  it('I12 no cut between a call and its result', () => {
    expect(cuts(fold(...pair('1')))).toEqual([0, 2])
  })

  it('I13 a cut between two pairs', () => {
    expect(cuts(fold(...pair('1'), ...pair('2')))).toEqual([0, 2, 4])
  })

  it('I14 cuts of nothing', () => {
    expect(cuts(fold())).toEqual([0])
  })
})
