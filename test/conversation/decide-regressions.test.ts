/** Regression tests of decisions on single states. */

import { describe, expect, it } from 'vitest'
import {
  decideApprove,
  decideEdit,
  decideInterrupt,
  decideRecover,
  decideReject,
  decideRestart,
  decideResume,
  openCallsOf,
  userMessage,
} from '../../src/conversation/decide.ts'
import { hasCode } from '../../src/event/errors.ts'
import type { Event } from '../../src/event/types.ts'
import { encodeState, viewEvents } from '../../src/state/read.ts'
import { reduce } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
import { work } from '../../src/log/work.ts'
import { initialState } from '../../src/state/state.ts'
import { action, fail, moveHead, observe, pause, status, system, update, user } from '../build.ts'
import { applyEvents, folded, ids, kinds } from './states.ts'

describe('decisions on single states', () => {
  it('approving calls one by one visits each pending call a few times', () => {
    const calls = Array.from({ length: 500 }, (_, index) => action(`a${index}`, { response: 'r' }))
    let state = folded(...calls, status('s', 'waiting_for_confirmation'))
    const before = work.probes
    for (let index = 0; index < 500; index += 1)
      for (const event of decideApprove(state, [`a${index}`])) state = reduce(state, event)
    expect(state.header.status).toBe('idle')
    expect((work.probes - before) / 500).toBeLessThan(50)
  })

  it('approving all executable calls ends waiting, although another call cannot be executed', () => {
    const inert = action('inert', { action: null })
    const state = folded(action('a'), inert, status('s', 'waiting_for_confirmation'))
    expect(applyEvents(state, decideApprove(state, ['a'])).header.status).toBe('idle')
  })

  it('a held call or a new policy does not end a pause; the next reply does', () => {
    const reply = [action('a', { response: 'r1' }), action('b', { response: 'r2' })] as const
    const [first, second] = reply
    for (const between of [
      update('g', 'held_actions', ['a']),
      update('p', 'confirmation_policy', { kind: 'AlwaysConfirm' }),
    ]) {
      const paused = folded(pause('p0'), first, between)
      expect(paused.header).toMatchObject({ status: 'paused', inFlight: 'r1' })
      expect(reduce(paused, second).header.status).toBe('running')
    }
  })

  it('a change to waiting_for_confirmation revokes approvals, but keeps started calls', () => {
    for (const waiting of [
      status('w', 'waiting_for_confirmation'),
      update('w', 'full_state', { execution_status: 'waiting_for_confirmation' }),
    ]) {
      const state = folded(
        action('a'),
        action('b'),
        update('g', 'approved_actions', ['a']),
        update('h', 'started_actions', ['b']),
        waiting,
      )
      expect(state.header.callStatuses).toEqual([{ action_id: 'b', grant: 'started' }])
    }
    const silent = folded(
      action('a'),
      status('w', 'waiting_for_confirmation'),
      update('g', 'approved_actions', ['a']),
      update('f', 'full_state', {}),
    )
    expect(silent.header.callStatuses).toEqual([{ action_id: 'a', grant: 'approved' }])
  })

  it('recover ends all calls that share a tool_call_id, and reject only the requested one', () => {
    const twins = [action('a', { call: 'c' }), action('b', { call: 'c' }), action('d', { call: 'c' })]
    const state = folded(...twins, status('s', 'running'))
    expect(openCallsOf(applyEvents(state, decideRecover(state)))).toEqual([])
    expect(ids(openCallsOf(applyEvents(state, decideReject(state, ['b']))))).toEqual(['a', 'd'])
  })

  it('a second interrupt appends nothing, unless a call was appended in between', () => {
    const state = folded(action('a'), status('s', 'running'))
    const after = applyEvents(state, decideInterrupt(state, true))
    expect(decideInterrupt(after, true)).toEqual([])
    // A call appended after the interrupt still gets an error.
    const late = reduce(after, { ...action('b'), id: 'late' })
    expect(kinds(decideInterrupt(late, true))).toEqual(['AgentErrorEvent', 'InterruptEvent'])
  })

  it('restart keeps the latest system prompt without the messages before it, or moves HEAD to null', () => {
    expect(decideRestart(initialState())).toEqual([])
    const two = folded(system('s1'), system('s2'), user('v'))
    expect(applyEvents(two, decideRestart(two)).log.head?.id).toBe('s2')
    const between = folded(system('s1'), user('u'), system('s2'), user('v'))
    const again = applyEvents(between, decideRestart(between))
    expect(again.log.head).toMatchObject({ parent: null, event: { system_prompt: { text: 's2' } } })
    expect([...viewEvents(again)]).toHaveLength(1)
    const off = folded(system('s1'), moveHead('m', null), user('u'))
    expect(applyEvents(off, decideRestart(off)).log.head).toBeNull()
  })

  it('resume sets finished after the result of a finish call, and idle while a call is open', () => {
    const call = action('a', { response: 'r' })
    const finish = action('f', { response: 'r', tool: 'finish' })
    expect(decideResume(folded(pause('p'), finish, observe('o', finish)))).toMatchObject([
      { value: 'finished' },
    ])
    expect(decideResume(folded(pause('p'), call, finish, observe('o', finish)))).toMatchObject([
      { value: 'idle' },
    ])
    expect(decideResume(folded(pause('p'), call, fail('e', call)))).toMatchObject([{ value: 'idle' }])
  })

  it('resume sets idle after a message with an image whose text is not a string', () => {
    const content = [{ image_urls: [], text: 7 }]
    const odd: Event = {
      kind: 'MessageEvent',
      id: 'm',
      source: 'agent',
      llm_message: { role: 'assistant', content },
    }
    expect(decideResume(folded(pause('p'), odd))).toMatchObject([{ value: 'idle' }])
  })

  it('editing an evicted message fails with `evicted`', () => {
    const state = evict(folded(user('u'), moveHead('m', null), user('v')))
    let thrown: unknown
    try {
      decideEdit(state, 'u', userMessage('w'))
    } catch (error) {
      thrown = error
    }
    expect(hasCode(thrown, 'evicted')).toBe(true)
    expect(encodeState(state)).toContain('"u"')
  })
})
