/** The cases of groups B and W that speak of decisions over the view: titles and loops. Groups R and V are tested in test/context/. */

import { expect, it } from 'vitest'
import { stuckDetector } from '../../src/context/stuck/detector.ts'
import { titleInput } from '../../src/context/title.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, fail, reject, user } from '../build.ts'

const verdict = (...log: readonly Event[]) => stuckDetector().verdict(replay([user('u'), ...log]))

const four = (each: (at: number) => readonly [ActionEvent, Event]): Event[] =>
  [0, 1, 2, 3].flatMap((at) => each(at))

const invalid = (args: (at: number) => string) =>
  four((at) => {
    const call = action(`a${at}`, { action: null, tool: 'missing', args: args(at) })
    return [call, fail(`e${at}`, call, 'no such tool')]
  })

it('B22 the title is made from the active branch only', () => {
  const state = replay([user('u', 'Left'), user('v', 'Active', { parent_id: '__root__' })])
  expect(titleInput(state)).toBe('Active')
})

it('W42 four identical rejections are stuck', () => {
  const rejected = four((at) => {
    const call = action(`a${at}`)
    return [call, reject(`r${at}`, call)]
  })
  expect(verdict(...rejected)?.pattern).toBe('action_observation')
})

it('W43 four different calls to a missing tool are not stuck', () => {
  expect(verdict(...invalid((at) => `{"at":${at}}`))).toBe(null)
  expect(verdict(...invalid(() => '{}'))?.pattern).toBe('action_error')
})
