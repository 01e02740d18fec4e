/** Group O of the inventory: pending calls of a branch. */

import { describe, expect, it } from 'vitest'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { action, fail, observe, reject } from '../build.ts'
import { fold, pendingIds } from './inspect.ts'

describe('group O: pending calls', () => {
  const call = action('a', { call: 'c' })

  it('O1 a call without an answer is pending', () => {
    expect(pendingIds(fold(call))).toEqual(['a'])
  })

  it('O2 a result, a rejection or an error answers a call', () => {
    expect(pendingIds(fold(call, observe('o', call)))).toEqual([])
    expect(pendingIds(fold(call, reject('r', call)))).toEqual([])
    expect(pendingIds(fold(call, fail('e', call)))).toEqual([])
  })

  it('O3 three answers leave one of four calls pending', () => {
    const [a1, a2, a3, a4] = [action('a1'), action('a2'), action('a3'), action('a4')]
    const state = fold(a1, a2, a3, a4, observe('o1', a1), reject('r2', a2), fail('e3', a3))
    expect(pendingIds(state)).toEqual(['a4'])
  })

  it('O4 an error of another call answers nothing', () => {
    expect(pendingIds(fold(call, fail('e', action('ghost', { call: 'other' }))))).toEqual(['a'])
  })

  it('O5 a call that could not run is pending until an error answers it', () => {
    const invalid = action('a', { action: null })
    const state = fold(invalid)
    expect(pendingIds(state)).toEqual(['a'])
    expect(listPendingCallsIn(state.branch.pendingCalls).map((one) => one.entry.event.action)).toEqual([null])
    expect(pendingIds(fold(invalid, fail('e', invalid)))).toEqual([])
  })
})
