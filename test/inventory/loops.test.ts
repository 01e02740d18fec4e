/** Group J of the inventory: a thinking loop is forgotten as a whole or not at all, and never cut. */

import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { batch, condensation, pair, user } from '../build.ts'
import { cutPoints, fold, remaining } from './inspect.ts'

const thinking = (name: string): Event[] => pair(name, { thinking: true })

const loop = [...thinking('1'), ...pair('2')]

describe('group J: thinking loops', () => {
  it('J1 forgetting the first step removes the whole loop', () => {
    expect(remaining(loop, 'a1', 'o1')).toEqual([])
  })

  it('J2 a forgotten loop takes no message with it', () => {
    const gone = condensation('C1', ['a1', 'o1', 'a2', 'o2'])
    expect(remaining([user('m'), ...loop, gone])).toEqual(['m'])
  })

  it('J3 a loop stays whole when a condensation lists no ids', () => {
    expect(remaining(loop)).toEqual(['a1', 'o1', 'a2', 'o2'])
  })

  it('J4 messages around a forgotten loop stay', () => {
    expect(remaining([user('m'), ...loop, user('m2')], 'm', 'a1')).toEqual(['m2'])
    expect(remaining([user('m'), ...loop, user('m2')], 'a1')).toEqual(['m', 'm2'])
  })

  it('J5 forgetting the thinking call removes the whole loop', () => {
    expect(remaining([user('m'), ...loop], 'a1')).toEqual(['m'])
  })

  it('J6 forgetting the result of the thinking call removes the whole loop', () => {
    expect(remaining([user('m'), ...loop], 'o1')).toEqual(['m'])
  })

  it('J7 forgetting a result of the second loop leaves the first loop', () => {
    const two = [...loop, user('m'), ...thinking('3'), ...pair('4')]
    expect(remaining(two, 'o4')).toEqual(['a1', 'o1', 'a2', 'o2', 'm'])
  })

  it('J8 a loop of one step stays until its call is forgotten', () => {
    expect(remaining(thinking('1'))).toEqual(['a1', 'o1'])
    expect(remaining(thinking('1'), 'a1')).toEqual([])
  })

  it('J9 steps without thinking form no loop', () => {
    expect(remaining([...pair('1'), ...pair('2')], 'a1', 'o1')).toEqual(['a2', 'o2'])
  })

  it('J10 a loop has no cut point inside', () => {
    expect(cutPoints(fold(...loop))).toEqual([0, 4])
  })

  it('J11 a message ends a loop', () => {
    expect(cutPoints(fold(...thinking('1'), user('m'), ...thinking('2')))).toEqual([0, 2, 3, 5])
  })

  it('J12 a loop has a cut point before it', () => {
    expect(cutPoints(fold(user('m'), ...thinking('1')))).toEqual([0, 1, 3])
  })

  it('J13 a single message has two cut points, an empty view one', () => {
    expect(cutPoints(fold(user('m')))).toEqual([0, 1])
    expect(cutPoints(fold())).toEqual([0])
  })

  it('J14 two calls of one response with thinking have no cut point inside', () => {
    expect(cutPoints(fold(...batch('r', ['1', '2'], true)))).toEqual([0, 4])
  })

  it('J15 steps without thinking have a cut point at every border', () => {
    expect(cutPoints(fold(...pair('1'), ...pair('2'), user('m')))).toEqual([0, 2, 4, 5])
  })
})
