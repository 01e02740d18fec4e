/** What is still to be done: group O. */

import { describe, expect, it } from 'vitest'
import { listRunnableCalls } from '../../src/context/unmatched.ts'
import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
import { action, condensation, fail, observe, reject, user } from '../build.ts'

const ids = (...events: Event[]) => listRunnableCalls(replay(events)).map(({ id }) => id)
const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => action(id)) as [
  ReturnType<typeof action>,
  ReturnType<typeof action>,
  ReturnType<typeof action>,
  ReturnType<typeof action>,
]

describe('group O: unmatched actions', () => {
  it('O1 a call', () => expect(ids(a)).toEqual(['a']))

  it('O2 any answer matches it', () => {
    for (const answer of [observe('x', a), reject('x', a), fail('x', a)]) expect(ids(a, answer)).toEqual([])
  })

  it('O3 what is left of four', () => {
    expect(ids(a, b, c, d, observe('x', a), reject('y', b), fail('z', c))).toEqual(['d'])
  })

  it('O4 an error for another call', () => expect(ids(a, fail('x', b))).toEqual(['a']))

  it('O5 a call that can never run', () => expect(ids(action('n', { action: null }), a)).toEqual(['a']))
})

it('what was forgotten, or let go, is still to be done', () => {
  const state = replay([user('u'), a, b, condensation('x', ['a'])])
  expect(listRunnableCalls(evict(state)).map(({ event }) => event)).toEqual([a, b])
})
