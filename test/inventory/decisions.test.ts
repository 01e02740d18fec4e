/** Titles and loops in groups B and W of the inventory. Groups R and V are tested in test/context/. */

import { expect, it } from 'vitest'
import { titleInput } from '../../src/context/title.ts'
import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, fail, reject, user } from '../build.ts'
import { count, pattern } from '../context/stuck-logs.ts'

/** The same call, rejected for a different reason each time. */
const refused = (times: number): Event[] =>
  count(times).flatMap((index) => {
    const call = action(`a${index}`)
    return [call, reject(`r${index}`, call, { rejection_reason: `no, ${index}` })]
  })

/** Four calls that cannot run. */
const invalid = (
  args: (index: number) => string,
  tool: (index: number) => string = () => 'missing',
): Event[] =>
  count(4).flatMap((index) => {
    const call = action(`a${index}`, { action: null, tool: tool(index), args: args(index) })
    return [call, fail(`e${index}`, call, 'no such tool')]
  })

it('B22 the title input contains the active branch only', () => {
  const state = replay([user('u', 'Left'), user('v', 'Active', { parent_id: '__root__' })])
  expect(titleInput(state)).toBe('Active')
})

it('W42 four rejections of the same call are stuck, three are not', () => {
  expect(pattern([user('u'), ...refused(3)])).toBe(null)
  expect(pattern([user('u'), ...refused(4)])).toBe('action_observation')
})

it('W43 four failed calls are stuck only if their tools and arguments are equal', () => {
  expect(pattern(invalid((index) => `{"x":${index}}`))).toBe(null)
  expect(pattern(invalid((index) => (index % 2 === 0 ? '{"x":1,"y":2}' : '{ "y": 2, "x": 1 }')))).toBe(
    'action_error',
  )
  expect(pattern(invalid(() => 'no json'))).toBe('action_error')
  expect(
    pattern(
      invalid(
        () => '{}',
        (index) => `none${index}`,
      ),
    ),
  ).toBe(null)
  // A string that contains JSON, and the value itself.
  expect(pattern(invalid((index) => (index % 2 === 0 ? '"{}"' : '{}')))).toBe(null)
})
