/** Group O of the inventory: pending calls of a branch. */

import { describe, expect, it } from 'vitest'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { action, fail, observe, reject } from '../build.ts'
import { fold, open } from './look.ts'

describe('group O: open calls', () => {
  const call = action('a', { call: 'c' })

  it('O1 a call', () => {
    expect(open(fold(call))).toEqual(['a'])
  })

  it('O2 a call with an answer', () => {
    expect(open(fold(call, observe('o', call)))).toEqual([])
    expect(open(fold(call, reject('r', call)))).toEqual([])
    expect(open(fold(call, fail('e', call)))).toEqual([])
  })

  it('O3 four calls, three answers', () => {
    const [a1, a2, a3, a4] = [action('a1'), action('a2'), action('a3'), action('a4')]
    const state = fold(a1, a2, a3, a4, observe('o1', a1), reject('r2', a2), fail('e3', a3))
    expect(open(state)).toEqual(['a4'])
  })

  it('O4 an error of another call', () => {
    expect(open(fold(call, fail('e', action('ghost', { call: 'other' }))))).toEqual(['a'])
  })

  it('O5 a call that could not be run', () => {
    const dead = action('a', { action: null })
    const state = fold(dead)
    expect(open(state)).toEqual(['a'])
    expect(listPendingCallsIn(state.branch.pendingCalls).map((one) => one.entry.event.action)).toEqual([null])
    expect(open(fold(dead, fail('e', dead)))).toEqual([])
  })
})
