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
  cuts,
  dropped,
  fold,
  head,
  ids,
  open,
  read,
  reopen,
  reports,
  roles,
  say,
  further,
  notices,
  wanted,
  words,
} from './look.ts'

const sameWhenReopened = (state: State): boolean => encodeState(reopen(state)) === encodeState(state)

describe('cases W1 to W9: what stands in the view', () => {
  const [u, v] = [user('u'), user('v')]
  const [a1, a2] = [action('a1', { call: 'c' }), action('a2', { call: 'c' })]
  const reused = [u, a1, observe('o1', a1), a2, observe('o2', a2), agent('end')]

  it('W1 a call id used again', () => {
    const state = fold(...reused)
    expect(ids(state)).toEqual(['u', 'a1', 'o1', 'a2', 'o2', 'end'])
    expect(dropped(state)).toEqual([])
    expect(roles(notices(state))).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'])
    const results = toOpenAIChat(notices(state)).flatMap((message) =>
      message.role === 'tool' ? [message] : [],
    )
    expect(results.map((message) => message.content)).toEqual(['o1', 'o2'])
    expect(new Set(results.map((message) => message.tool_call_id)).size).toBe(2)
    const crossed = fold(u, a1, a2, observe('o1', a1), observe('o2', a2))
    expect(ids(crossed)).toEqual(['u', 'a1', 'o1', 'a2', 'o2'])
  })

  it('W2 the same, event by event', () => {
    const state = further(fold(), ...reused)
    expect(cuts(state)).toEqual([0, 1, 3, 5, 6])
    expect(sameWhenReopened(state)).toBe(true)
  })

  it('W3 a result before its call', () => {
    const state = fold(u, observe('o', a1), a1)
    expect(ids(state)).toEqual(['u'])
    expect(dropped(state)).toEqual(['o orphan_result'])
    expect(roles(notices(state))).toEqual(['user'])
    expect(open(state)).toEqual(['a1'])
    expect(cuts(state)).toEqual([0, 1])
  })

  it('W4 a message between a call and its result', () => {
    const state = fold(u, a1, v, observe('o', a1))
    expect(ids(state)).toEqual(['u', 'a1', 'o', 'v'])
    expect(roles(notices(state))).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  it('W5 a result without a call', () => {
    const state = further(fold(u), observe('o', action('ghost')))
    expect(ids(state)).toEqual(['u'])
    expect(cuts(state)).toEqual([0, 1])
  })

  it('W6 a second result', () => {
    const state = further(fold(a1), observe('o1', a1), observe('o2', a1))
    expect(ids(state)).toEqual(['a1', 'o1'])
    expect(dropped(state)).toEqual(['o2 duplicate_result'])
    expect(roles(notices(state))).toEqual(['assistant', 'tool'])
    expect(cuts(state)).toEqual([0, 2])
  })

  it('W7 a condensation between calls under one response id', () => {
    const log = [u, ...pair('1', { response: 'r' }), ...pair('2', { response: 'r' }), user('m')]
    const state = further(fold(...log), condensation('C', ['a1', 'o1'], 'S', 1))
    expect(ids(state)).toEqual(['u', 'C-summary', 'a2', 'o2', 'm'])
    expect(sameWhenReopened(state)).toBe(true)
  })

  it('W8 one response id for a whole conversation', () => {
    const names = ['1', '2', '3', '4', '5', '6']
    const log = [u, ...names.flatMap((name) => pair(name, { response: 'const' }))]
    const state = further(fold(...log), condensation('C', ['a1', 'o1'], 'S', 1))
    expect(ids(state)).toEqual([
      'u',
      'C-summary',
      ...names.slice(1).flatMap((name) => [`a${name}`, `o${name}`]),
    ])
    expect(state.branch.view.length).toBe(12)
    expect(sameWhenReopened(state)).toBe(true)
  })

  it('W9 a thought repeated in every call of a batch', () => {
    const same = { response: 'same', thought: 'x' }
    const [one, two] = [action('a1', same), action('a2', same)]
    const messages = say(one, two, observe('o1', one), observe('o2', two))
    expect(roles(messages)).toEqual(['assistant', 'tool', 'tool'])
    expect(words(messages[0])).toEqual(['x', 'x'])
  })
})

describe('cases W10 to W17: calls that wait', () => {
  it('W10 a call that could not be run, between two that could', () => {
    const one = action('a1', { call: 'c1', response: 'r' })
    const two = action('a2', { call: 'c2', response: 'r', action: null })
    const three = action('a3', { call: 'c3', response: 'r' })
    const messages = say(one, two, fail('e2', two), three, observe('o1', one), observe('o3', three))
    expect(roles(messages)).toEqual(['assistant', 'tool', 'tool', 'tool'])
    const [reply, ...results] = messages
    expect(reply?.role === 'assistant' && reply.tool_calls.map((call) => call.id)).toEqual(['c1', 'c2', 'c3'])
    expect(results).toMatchObject([
      { tool_call_id: 'c2', is_error: true },
      { tool_call_id: 'c1', is_error: false },
      { tool_call_id: 'c3', is_error: false },
    ])
    const first = say(two, fail('e2', two), three, observe('o3', three))
    expect(roles(first)).toEqual(['assistant', 'tool', 'tool'])
  })

  it('W12 written, read, then approved', () => {
    const call = action('a')
    const requests = reopen(fold(system('s'), user('u'), call, status('w', 'waiting_for_confirmation')))
    expect(open(requests)).toEqual(['a'])
    const state = further(requests, status('r', 'running'), observe('o', call))
    expect(roles(notices(state))).toEqual(['system', 'user', 'assistant', 'tool'])
  })

  it('W13 a message while a call waits for confirmation', () => {
    const call = action('a')
    const requests = fold(user('u'), call, status('w', 'waiting_for_confirmation'), user('v'))
    expect(requests.header.status).toBe('waiting_for_confirmation')
    expect(open(requests)).toEqual(['a'])
    expect(notices(requests).map(words)).toEqual([['u', 'v']])
    expect(ids(further(requests, observe('o', call)))).toEqual(['u', 'a', 'o', 'v'])
    expect(ids(further(requests, reject('r', call)))).toEqual(['u', 'a', 'r', 'v'])
  })

  it('W15 a condensation while a call waits for confirmation', () => {
    const requests = fold(user('u'), action('a'), status('w', 'waiting_for_confirmation'), request('Q'))
    const state = further(requests, condensation('C', ['u'], 'S', 0))
    expect(wanted(requests)).toBe(true)
    expect(wanted(state)).toBe(false)
    expect(state.header.status).toBe('waiting_for_confirmation')
    expect(open(state)).toEqual(['a'])
    expect(ids(state)).toEqual(['C-summary'])
  })

  it('W16 killed inside the first of two calls', () => {
    const [one, two] = [action('a1', { response: 'r' }), action('a2', { response: 'r' })]
    const result = reopen(fold(user('u'), one, two))
    expect(head(result)).toBe('a2')
    expect(open(result)).toEqual(['a1', 'a2'])
    const state = further(result, fail('e1', one), fail('e2', two), agent('m'))
    expect(open(state)).toEqual([])
    expect(ids(state)).toEqual(['u', 'a1', 'a2', 'e1', 'e2', 'm'])
  })

  it('W17 an error that hangs on the first of two calls', () => {
    const [one, two] = [action('a1', { response: 'r' }), action('a2', { response: 'r' })]
    const state = fold(user('u'), one, two, { ...fail('e1', one), parent_id: 'a1' })
    expect(head(state)).toBe('e1')
    expect(open(switchTo(state, 'a2'))).toEqual(['a1', 'a2'])
    const whole = further(fold(user('u'), one, two), fail('e1', one), fail('e2', two))
    expect(open(whole)).toEqual([])
    expect(dropped(whole)).toEqual([])
  })
})

describe('cases W18 to W25: condensations and logs out of order', () => {
  it('W18 an offset beyond the view', () => {
    expect(ids(fold(user('u'), condensation('C', [], 'S', 99)))).toEqual(['u', 'C-summary'])
  })

  it.each(['', ' \n\t'])('W19 a summary without words: %j', (blank) => {
    expect(ids(fold(user('u'), condensation('C', [], blank, 0)))).toEqual(['u'])
  })

  it('W20 ids of events that come later', () => {
    expect(ids(fold(user('u'), condensation('C', ['u', 'later']), user('later')))).toEqual(['later'])
  })

  it('W21 a summary read twice', () => {
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

  it('W22 a pause inside a thinking loop', () => {
    const log = [user('u'), ...pair('1', { thinking: true }), pause('p'), ...pair('2'), user('v')]
    expect(cuts(fold(...log))).toEqual([0, 1, 5, 6])
    const state = fold(...log, condensation('C', ['a1', 'o1'], 'S', 1))
    expect(ids(state)).toEqual(['u', 'C-summary', 'v'])
    expect(sameWhenReopened(state)).toBe(true)
  })

  it('W23 four hundred loops, each sharing a response id with the next', () => {
    const names = Array.from({ length: 400 }, (_, index) => index)
    const log = names.flatMap((index) => [
      ...pair(`${index}`, { response: `r${index}`, thinking: true }),
      ...pair(`${index}b`, { response: `r${index + 1}` }),
    ])
    const state = fold(...log, condensation('C', ['a0']))
    expect(ids(state)).toHaveLength(399 * 4)
    expect(ids(state)[0]).toBe('a1')
    expect(cuts(state)).toHaveLength(400)
  })

  it('W25b a request in a view that was given an orphan', () => {
    const state = fold(user('u'), observe('o', action('ghost')), request('Q'))
    expect(wanted(state)).toBe(true)
    expect(ids(state)).toEqual(['u'])
    expect(cuts(state)).toEqual([0, 1])
    expect(ids(further(state, condensation('C', ['u'], 'S', 0)))).toEqual(['C-summary'])
  })

  it('W25c one id at the first two positions', () => {
    const state = fold(user('x', 'first'), user('x', 'second'))
    expect(reports(state)).toEqual(['x duplicate_id'])
    expect(state.log.entries.length).toBe(2)
    expect([...viewEventsIn(state.branch.view)].map((item) => item.event)).toEqual([user('x', 'first')])
  })

  it('W25d an empty record in the middle', () => {
    const state = replay([read(user('a')), loadLine('').fact, read(user('b'))])
    expect(state.log.entries.length).toBe(3)
    expect([...state.log.entries].map((each) => each.id)).toEqual(['a', null, 'b'])
    expect(reports(state)).toEqual(['null quarantined'])
    expect(ids(state)).toEqual(['a', 'b'])
  })
})
