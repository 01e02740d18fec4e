/** Cases W1 to W25 of the inventory: observed errors of the public system in views, batches and pairs. */

import { describe, expect, it } from 'vitest'
import { loadLine } from '../../src/event/load.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { switchTo } from '../../src/state/at.ts'
import { encodeState } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import {
  action,
  agent,
  condensation,
  fail,
  observe,
  pair,
  pause,
  reject,
  request,
  status,
  system,
  user,
} from '../build.ts'
import {
  cutPoints,
  droppedResults,
  fold,
  head,
  ids,
  pendingIds,
  decode,
  reopen,
  warnings,
  roles,
  logMessages,
  extend,
  stateMessages,
  isCondensationRequested,
  contentOf,
} from './inspect.ts'

const sameWhenReopened = (state: State): boolean => encodeState(reopen(state)) === encodeState(state)

describe('cases W1 to W9: the view', () => {
  const [u, v] = [user('u'), user('v')]
  const [a1, a2] = [action('a1', { call: 'c' }), action('a2', { call: 'c' })]
  const reused = [u, a1, observe('o1', a1), a2, observe('o2', a2), agent('end')]

  it('W1 two calls with one tool_call_id keep their results and are sent with distinct ids', () => {
    const state = fold(...reused)
    expect(ids(state)).toEqual(['u', 'a1', 'o1', 'a2', 'o2', 'end'])
    expect(droppedResults(state)).toEqual([])
    expect(roles(stateMessages(state))).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
    const results = toOpenAIChat(stateMessages(state)).flatMap((message) =>
      message.role === 'tool' ? [message] : [],
    )
    expect(results.map((message) => message.content)).toEqual(['o1', 'o2'])
    expect(new Set(results.map((message) => message.tool_call_id)).size).toBe(2)
    const crossed = fold(u, a1, a2, observe('o1', a1), observe('o2', a2))
    expect(ids(crossed)).toEqual(['u', 'a1', 'o1', 'a2', 'o2'])
  })

  it('W2 a reused tool_call_id loses no cut point, and the reopened state is equal', () => {
    const state = extend(fold(), ...reused)
    expect(cutPoints(state)).toEqual([0, 1, 3, 5, 6])
    expect(sameWhenReopened(state)).toBe(true)
  })

  it('W3 a result before its call is dropped, and the call is pending', () => {
    const state = fold(u, observe('o', a1), a1)
    expect(ids(state)).toEqual(['u'])
    expect(droppedResults(state)).toEqual(['o orphan_result'])
    expect(roles(stateMessages(state))).toEqual(['user'])
    expect(pendingIds(state)).toEqual(['a1'])
    expect(cutPoints(state)).toEqual([0, 1])
  })

  it('W4 a message between a call and its result moves behind the result', () => {
    const state = fold(u, a1, v, observe('o', a1))
    expect(ids(state)).toEqual(['u', 'a1', 'o', 'v'])
    expect(roles(stateMessages(state))).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  it('W5 a result without a call is left out, and the cut points remain', () => {
    const state = extend(fold(u), observe('o', action('ghost')))
    expect(ids(state)).toEqual(['u'])
    expect(cutPoints(state)).toEqual([0, 1])
  })

  it('W6 a second result is dropped as a duplicate, and the cut points remain', () => {
    const state = extend(fold(a1), observe('o1', a1), observe('o2', a1))
    expect(ids(state)).toEqual(['a1', 'o1'])
    expect(droppedResults(state)).toEqual(['o2 duplicate_result'])
    expect(roles(stateMessages(state))).toEqual(['assistant', 'tool'])
    expect(cutPoints(state)).toEqual([0, 2])
  })

  it('W7 forgetting one answered call leaves a later one with the same response id', () => {
    const log = [u, ...pair('1', { response: 'r' }), ...pair('2', { response: 'r' }), user('m')]
    const state = extend(fold(...log), condensation('C', ['a1', 'o1'], 'S', 1))
    expect(ids(state)).toEqual(['u', 'C-summary', 'a2', 'o2', 'm'])
    expect(sameWhenReopened(state)).toBe(true)
  })

  it('W8 answered calls with one response id form separate batches', () => {
    const names = ['1', '2', '3', '4', '5', '6']
    const log = [u, ...names.flatMap((name) => pair(name, { response: 'const' }))]
    const state = extend(fold(...log), condensation('C', ['a1', 'o1'], 'S', 1))
    expect(ids(state)).toEqual([
      'u',
      'C-summary',
      ...names.slice(1).flatMap((name) => [`a${name}`, `o${name}`]),
    ])
    expect(state.branch.view.length).toBe(12)
    expect(sameWhenReopened(state)).toBe(true)
  })

  it('W9 a thought repeated in each call of a batch is sent once per call', () => {
    const same = { response: 'same', thought: 'x' }
    const [one, two] = [action('a1', same), action('a2', same)]
    const messages = logMessages(one, two, observe('o1', one), observe('o2', two))
    expect(roles(messages)).toEqual(['assistant', 'tool', 'tool'])
    expect(contentOf(messages[0])).toEqual(['x', 'x'])
  })
})

describe('cases W10 to W17: pending calls', () => {
  it('W10 a call that could not run stays in its batch', () => {
    const one = action('a1', { call: 'c1', response: 'r' })
    const two = action('a2', { call: 'c2', response: 'r', action: null })
    const three = action('a3', { call: 'c3', response: 'r' })
    const messages = logMessages(one, two, fail('e2', two), three, observe('o1', one), observe('o3', three))
    expect(roles(messages)).toEqual(['assistant', 'tool', 'tool', 'tool'])
    const [reply, ...results] = messages
    expect(reply?.role === 'assistant' && reply.tool_calls.map((call) => call.id)).toEqual(['c1', 'c2', 'c3'])
    expect(results).toMatchObject([
      { tool_call_id: 'c2', is_error: true },
      { tool_call_id: 'c1', is_error: false },
      { tool_call_id: 'c3', is_error: false },
    ])
    const first = logMessages(two, fail('e2', two), three, observe('o3', three))
    expect(roles(first)).toEqual(['assistant', 'tool', 'tool'])
  })

  it('W12 a call that waits for confirmation survives reopening and can be answered', () => {
    const call = action('a')
    const waiting = reopen(fold(system('s'), user('u'), call, status('w', 'waiting_for_confirmation')))
    expect(pendingIds(waiting)).toEqual(['a'])
    const state = extend(waiting, status('r', 'running'), observe('o', call))
    expect(roles(stateMessages(state))).toEqual(['system', 'user', 'assistant', 'tool'])
  })

  it('W13 a message during a confirmation approves nothing and moves behind the result', () => {
    const call = action('a')
    const waiting = fold(user('u'), call, status('w', 'waiting_for_confirmation'), user('v'))
    expect(waiting.header.status).toBe('waiting_for_confirmation')
    expect(pendingIds(waiting)).toEqual(['a'])
    expect(stateMessages(waiting).map(contentOf)).toEqual([['u', 'v']])
    expect(ids(extend(waiting, observe('o', call)))).toEqual(['u', 'a', 'o', 'v'])
    expect(ids(extend(waiting, reject('r', call)))).toEqual(['u', 'a', 'r', 'v'])
  })

  it('W15 a condensation during a confirmation leaves the call pending', () => {
    const waiting = fold(user('u'), action('a'), status('w', 'waiting_for_confirmation'), request('Q'))
    const state = extend(waiting, condensation('C', ['u'], 'S', 0))
    expect(isCondensationRequested(waiting)).toBe(true)
    expect(isCondensationRequested(state)).toBe(false)
    expect(state.header.status).toBe('waiting_for_confirmation')
    expect(pendingIds(state)).toEqual(['a'])
    expect(ids(state)).toEqual(['C-summary'])
  })

  it('W16 after a crash both calls of a reply are pending until errors answer them', () => {
    const [one, two] = [action('a1', { response: 'r' }), action('a2', { response: 'r' })]
    const result = reopen(fold(user('u'), one, two))
    expect(head(result)).toBe('a2')
    expect(pendingIds(result)).toEqual(['a1', 'a2'])
    const state = extend(result, fail('e1', one), fail('e2', two), agent('m'))
    expect(pendingIds(state)).toEqual([])
    expect(ids(state)).toEqual(['u', 'a1', 'a2', 'e1', 'e2', 'm'])
  })

  it('W17 an error on a sibling branch answers no call, and errors in a line answer both', () => {
    const [one, two] = [action('a1', { response: 'r' }), action('a2', { response: 'r' })]
    const state = fold(user('u'), one, two, { ...fail('e1', one), parent_id: 'a1' })
    expect(head(state)).toBe('e1')
    expect(pendingIds(switchTo(state, 'a2'))).toEqual(['a1', 'a2'])
    const whole = extend(fold(user('u'), one, two), fail('e1', one), fail('e2', two))
    expect(pendingIds(whole)).toEqual([])
    expect(droppedResults(whole)).toEqual([])
  })
})

describe('cases W18 to W25: condensations and malformed logs', () => {
  it('W18 an offset beyond the view places the summary at its end', () => {
    expect(ids(fold(user('u'), condensation('C', [], 'S', 99)))).toEqual(['u', 'C-summary'])
  })

  it.each(['', ' \n\t'])('W19 a blank summary is left out: %j', (blank) => {
    expect(ids(fold(user('u'), condensation('C', [], blank, 0)))).toEqual(['u'])
  })

  it('W20 a condensation does not forget events appended later', () => {
    expect(ids(fold(user('u'), condensation('C', ['u', 'later']), user('later')))).toEqual(['later'])
  })

  it('W21 a summary has the time and source of its condensation, after reopening too', () => {
    const timestamp = '2026-01-01T00:00:00Z'
    const state = fold(user('u'), { ...condensation('C', ['u'], 'S', 0), timestamp, source: 'agent' })
    const expected = {
      kind: 'CondensationSummaryEvent',
      id: 'C-summary',
      timestamp,
      source: 'agent',
      summary: 'S',
    }
    expect([...viewEventsIn(state.branch.view)].map((item) => item.event)).toEqual([expected])
    expect([...viewEventsIn(reopen(state).branch.view)].map((item) => item.event)).toEqual([expected])
  })

  it('W22 a pause does not end a thinking loop', () => {
    const log = [user('u'), ...pair('1', { thinking: true }), pause('p'), ...pair('2'), user('v')]
    expect(cutPoints(fold(...log))).toEqual([0, 1, 5, 6])
    const state = fold(...log, condensation('C', ['a1', 'o1'], 'S', 1))
    expect(ids(state)).toEqual(['u', 'C-summary', 'v'])
    expect(sameWhenReopened(state)).toBe(true)
  })

  it('W23 forgetting one of 400 loops with linked response ids removes only that loop', () => {
    const names = Array.from({ length: 400 }, (_, index) => index)
    const log = names.flatMap((index) => [
      ...pair(`${index}`, { response: `r${index}`, thinking: true }),
      ...pair(`${index}b`, { response: `r${index + 1}` }),
    ])
    const state = fold(...log, condensation('C', ['a0']))
    expect(ids(state)).toHaveLength(399 * 4)
    expect(ids(state)[0]).toBe('a1')
    expect(cutPoints(state)).toHaveLength(400)
  })

  it('W25b an orphan result does not affect a condensation request', () => {
    const state = fold(user('u'), observe('o', action('ghost')), request('Q'))
    expect(isCondensationRequested(state)).toBe(true)
    expect(ids(state)).toEqual(['u'])
    expect(cutPoints(state)).toEqual([0, 1])
    expect(ids(extend(state, condensation('C', ['u'], 'S', 0)))).toEqual(['C-summary'])
  })

  it('W25c a second event with the id of the first is reported and is not in the view', () => {
    const state = fold(user('x', 'first'), user('x', 'second'))
    expect(warnings(state)).toEqual(['x duplicate_id'])
    expect(state.log.entries.length).toBe(2)
    expect([...viewEventsIn(state.branch.view)].map((item) => item.event)).toEqual([user('x', 'first')])
  })

  it('W25d an empty record is quarantined at its position', () => {
    const state = replay([decode(user('a')), loadLine('').fact, decode(user('b'))])
    expect(state.log.entries.length).toBe(3)
    expect([...state.log.entries].map((each) => each.id)).toEqual(['a', null, 'b'])
    expect(warnings(state)).toEqual(['null quarantined'])
    expect(ids(state)).toEqual(['a', 'b'])
  })
})
