/** Open calls that can still be executed. */

import { describe, expect, it } from 'vitest'
import { listRunnableCalls } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
import { action, condensation, user } from '../build.ts'

const [a, b] = [action('a'), action('b')]

describe('listRunnableCalls', () => {
  it('excludes a call without an action', () => {
    const state = replay([action('n', { action: null }), a])
    expect(listRunnableCalls(state).map(({ id }) => id)).toEqual(['a'])
  })

  it('includes forgotten and evicted calls', () => {
    const state = replay([user('u'), a, b, condensation('x', ['a'])])
    expect(listRunnableCalls(evict(state)).map(({ event }) => event)).toEqual([a, b])
  })
})
