/** Groups H and I of the inventory: pairing of results with calls, and results outside the view. */

import { describe, expect, it } from 'vitest'
import { action, fail, observe, pair, reject, user, users } from '../build.ts'
import { cutPoints, droppedResults, fold, ids, pendingIds } from './inspect.ts'

describe('group H: duplicate answers', () => {
  const call = action('a', { call: 'c' })

  it('H1 a result after an error is dropped as a duplicate', () => {
    const state = fold(call, fail('e', call), observe('o', call))
    expect(ids(state)).toEqual(['a', 'e'])
    expect(droppedResults(state)).toEqual(['o duplicate_result'])
  })

  it('H2 a single result stays in the view', () => {
    const state = fold(call, observe('o', call))
    expect(ids(state)).toEqual(['a', 'o'])
    expect(droppedResults(state)).toEqual([])
  })

  it('H3 a second answer changes no cut point', () => {
    const single = fold(user('u'), call, observe('o', call), user('v'))
    expect(cutPoints(single)).toEqual([0, 1, 3, 4])
    expect(cutPoints(fold(user('u'), call, observe('o', call), observe('o2', call), user('v')))).toEqual(
      cutPoints(single),
    )
  })

  it('H4 the second of two results is dropped as a duplicate', () => {
    const state = fold(call, observe('o1', call), observe('o2', call))
    expect(ids(state)).toEqual(['a', 'o1'])
    expect(droppedResults(state)).toEqual(['o2 duplicate_result'])
    expect(cutPoints(state)).toEqual([0, 2])
  })
})

describe('group I: calls and answers', () => {
  const ghost = action('ghost', { call: 'nowhere' })

  it('I1 an empty log has an empty view and no dropped results', () => {
    expect(ids(fold())).toEqual([])
    expect(droppedResults(fold())).toEqual([])
  })

  it('I2 messages need no pairing', () => {
    const state = fold(...users('m0', 'm1'))
    expect(ids(state)).toEqual(['m0', 'm1'])
    expect(droppedResults(state)).toEqual([])
  })

  it('I3 two pairs and a message stay in the view', () => {
    const state = fold(...pair('1'), user('m'), ...pair('2'))
    expect(ids(state)).toEqual(['a1', 'o1', 'm', 'a2', 'o2'])
    expect(droppedResults(state)).toEqual([])
  })

  it('I4 a call is outside the view until its result arrives', () => {
    const call = action('extra')
    const state = fold(...pair('1'), call, user('m'))
    expect(ids(state)).toEqual(['a1', 'o1', 'm'])
    expect(pendingIds(state)).toEqual(['extra'])
    expect(ids(fold(...pair('1'), call, user('m'), observe('late', call)))).toEqual([
      'a1',
      'o1',
      'extra',
      'late',
      'm',
    ])
  })

  it('I5 a result without a call is dropped as an orphan', () => {
    const state = fold(...pair('1'), observe('extra', ghost))
    expect(ids(state)).toEqual(['a1', 'o1'])
    expect(droppedResults(state)).toEqual(['extra orphan_result'])
  })

  it('I6 a pending call and an orphan result are outside the view', () => {
    const state = fold(...pair('1'), action('a3'), ...pair('2'), observe('o4', ghost))
    expect(ids(state)).toEqual(['a1', 'o1', 'a2', 'o2'])
    expect(pendingIds(state)).toEqual(['a3'])
    expect(droppedResults(state)).toEqual(['o4 orphan_result'])
  })

  it('I7 a rejection answers a call', () => {
    const call = action('a')
    const state = fold(call, reject('r', call))
    expect(ids(state)).toEqual(['a', 'r'])
    expect(pendingIds(state)).toEqual([])
  })

  it('I8 an error answers a call', () => {
    const call = action('a')
    const state = fold(call, fail('e', call))
    expect(ids(state)).toEqual(['a', 'e'])
    expect(pendingIds(state)).toEqual([])
  })

  it('I9 a result, a rejection and an error answer three calls', () => {
    const [one, two, three] = [action('a1'), action('a2'), action('a3')]
    const state = fold(one, observe('o1', one), two, reject('r2', two), three, fail('e3', three))
    expect(ids(state)).toEqual(['a1', 'o1', 'a2', 'r2', 'a3', 'e3'])
    expect(pendingIds(state)).toEqual([])
  })

  it('I10 an error answers a call that could not run', () => {
    const call = action('a', { action: null })
    const state = fold(call, fail('e', call))
    expect(ids(state)).toEqual(['a', 'e'])
    expect(pendingIds(state)).toEqual([])
  })

  it('I11 a single message has a cut point on both sides', () => {
    expect(cutPoints(fold(user('m')))).toEqual([0, 1])
  })

  it('I12 a call and its result have no cut point between them', () => {
    expect(cutPoints(fold(...pair('1')))).toEqual([0, 2])
  })

  it('I13 two pairs have a cut point between them', () => {
    expect(cutPoints(fold(...pair('1'), ...pair('2')))).toEqual([0, 2, 4])
  })

  it('I14 an empty view has one cut point', () => {
    expect(cutPoints(fold())).toEqual([0])
  })
})
