/** Group J of the inventory: a thinking loop is forgotten as a whole or not at all, and never cut. */

import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { batch, condensation, pair, user } from '../build.ts'
import { cuts, fold, remaining } from './look.ts'

const thinking = (name: string): Event[] => pair(name, { thinking: true })

const loop = [...thinking('1'), ...pair('2')]

describe('group J: thinking loops', () => {
  it('J1 the first step forgotten', () => {
    expect(remaining(loop, 'a1', 'o1')).toEqual([])
  })

  it('J2 a loop that is gone already', () => {
    const gone = condensation('C1', ['a1', 'o1', 'a2', 'o2'])
    expect(remaining([user('m'), ...loop, gone])).toEqual(['m'])
  })

  it('J3 a loop that is whole', () => {
    expect(remaining(loop)).toEqual(['a1', 'o1', 'a2', 'o2'])
  })

  it('J4 messages around a loop stay', () => {
    expect(remaining([user('m'), ...loop, user('m2')], 'm', 'a1')).toEqual(['m2'])
    expect(remaining([user('m'), ...loop, user('m2')], 'a1')).toEqual(['m', 'm2'])
  })

  it('J5 the call that thinks forgotten', () => {
    expect(remaining([user('m'), ...loop], 'a1')).toEqual(['m'])
  })

  it('J6 its result forgotten', () => {
    expect(remaining([user('m'), ...loop], 'o1')).toEqual(['m'])
  })

  it('J7 the second of two loops', () => {
    const two = [...loop, user('m'), ...thinking('3'), ...pair('4')]
    expect(remaining(two, 'o4')).toEqual(['a1', 'o1', 'a2', 'o2', 'm'])
  })

  it('J8 a loop of one step, there and gone', () => {
    expect(remaining(thinking('1'))).toEqual(['a1', 'o1'])
    expect(remaining(thinking('1'), 'a1')).toEqual([])
  })

  it('J9 steps without thinking are no loop', () => {
    expect(remaining([...pair('1'), ...pair('2')], 'a1', 'o1')).toEqual(['a2', 'o2'])
  })

  it('J10 no cut inside a loop', () => {
    expect(cuts(fold(...loop))).toEqual([0, 4])
  })

  it('J11 a message ends a loop', () => {
    expect(cuts(fold(...thinking('1'), user('m'), ...thinking('2')))).toEqual([0, 2, 3, 5])
  })

  it('J12 a cut before a loop', () => {
    expect(cuts(fold(user('m'), ...thinking('1')))).toEqual([0, 1, 3])
  })

  it('J13 a single message, and nothing', () => {
    expect(cuts(fold(user('m')))).toEqual([0, 1])
    expect(cuts(fold())).toEqual([0])
  })

  it('J14 two calls of one response, the first with thinking', () => {
    expect(cuts(fold(...batch('r', ['1', '2'], true)))).toEqual([0, 4])
  })

  it('J15 without thinking every border is a cut', () => {
    expect(cuts(fold(...pair('1'), ...pair('2'), user('m')))).toEqual([0, 2, 4, 5])
  })
})
