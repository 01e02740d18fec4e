/** Group K of the inventory: where a view can be cut. */

import { describe, expect, it } from 'vitest'
import { action, batch, observe, pair, user, users } from '../build.ts'
import { cutPoints, fold, ids } from './inspect.ts'

const thinking = (name: string) => pair(name, { thinking: true })

describe('group K: cut points', () => {
  it('K1 messages have a cut point on every side', () => {
    expect(cutPoints(fold())).toEqual([0])
    expect(cutPoints(fold(user('m')))).toEqual([0, 1])
    expect(cutPoints(fold(...users('m0', 'm1', 'm2')))).toEqual([0, 1, 2, 3])
  })

  it('K2 a call and its result have no cut point between them, alone or between messages', () => {
    expect(cutPoints(fold(...pair('1')))).toEqual([0, 2])
    expect(cutPoints(fold(user('m0'), ...pair('1'), user('m1')))).toEqual([0, 1, 3, 4])
  })

  it('K3 a batch has no cut point inside, with thinking or without', () => {
    expect(cutPoints(fold(...batch('r', ['1', '2', '3'], true)))).toEqual([0, 6])
    expect(cutPoints(fold(...batch('r', ['1', '2', '3'])))).toEqual([0, 6])
  })

  it('K4 two batches have a cut point between them', () => {
    expect(cutPoints(fold(...batch('r1', ['1', '2']), ...batch('r2', ['3', '4'])))).toEqual([0, 4, 8])
  })

  it('K5 a batch and a pair between messages have cut points only at their borders', () => {
    const state = fold(user('m0'), ...batch('r1', ['1', '2']), user('m1'), ...pair('3'), user('m2'))
    expect(cutPoints(state)).toEqual([0, 1, 5, 6, 8, 9])
  })

  it('K6 a result that arrives after a message moves into its batch', () => {
    const [one, two] = [action('a1', { response: 'r' }), action('a2', { response: 'r' })]
    const late = [observe('o1', one), user('m1'), observe('o2', two), user('m2')]
    const state = fold(user('m0'), one, two, ...late, ...pair('3'))
    expect(ids(state)).toEqual(['m0', 'a1', 'a2', 'o1', 'o2', 'm1', 'm2', 'a3', 'o3'])
    expect(cutPoints(state)).toEqual([0, 1, 5, 6, 7, 9])
  })

  it('K7 a message between calls and results moves behind the batch', () => {
    const [one, two] = [action('a1', { response: 'r' }), action('a2', { response: 'r' })]
    const state = fold(one, two, user('m'), observe('o1', one), observe('o2', two))
    expect(ids(state)).toEqual(['a1', 'a2', 'o1', 'o2', 'm'])
    expect(cutPoints(state)).toEqual([0, 4, 5])
  })

  it('K8 messages, pairs and batches in turn have cut points only at their borders', () => {
    const turns = fold(user('m0'), ...pair('1'), user('m1'), ...pair('2'), user('m2'))
    expect(cutPoints(turns)).toEqual([0, 1, 3, 4, 6, 7])
    expect(cutPoints(fold(...users('m0', 'm1'), ...pair('1'), user('m2')))).toEqual([0, 1, 2, 4, 5])
    expect(cutPoints(fold(user('m0'), ...batch('r', ['1', '2']), user('m1')))).toEqual([0, 1, 5, 6])
  })

  it('K9 thinking loops of one step and of three have no cut point inside', () => {
    expect(cutPoints(fold(user('m'), ...thinking('1')))).toEqual([0, 1, 3])
    const three = fold(user('m0'), ...thinking('1'), ...pair('2'), ...pair('3'), user('m1'))
    expect(cutPoints(three)).toEqual([0, 1, 7, 8])
  })

  it('K10 two thinking loops have cut points only at their borders', () => {
    const log = [user('m0'), ...thinking('1'), ...pair('2'), user('m1'), ...thinking('3')]
    expect(cutPoints(fold(...log))).toEqual([0, 1, 5, 6, 8])
    expect(cutPoints(fold(...log, user('m2')))).toEqual([0, 1, 5, 6, 8, 9])
  })

  it('K11 a thinking loop that begins with two calls has no cut point inside', () => {
    const state = fold(user('m0'), ...batch('r', ['1', '2'], true), ...pair('3'), user('m1'))
    expect(cutPoints(state)).toEqual([0, 1, 7, 8])
  })
})
