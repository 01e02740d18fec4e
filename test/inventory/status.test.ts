/** Group P of the inventory: the conversation status after a log. */

import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import { withDefaults } from '../../src/event/nested-shapes.ts'
import type { Message } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { STATUSES } from '../../src/state/status.ts'
import {
  action,
  agent,
  interrupt,
  observe,
  pair,
  pause,
  reject,
  status,
  text,
  trouble,
  user,
} from '../build.ts'
import { fold, pendingIds, statusAfter } from './inspect.ts'

const finish = (name: string): Event[] => pair(name, { tool: 'finish' })

const running = status('run', 'running')
const waiting = status('wait', 'waiting_for_confirmation')

/** An agent's message with arbitrary fields. */
const reply = (id: string, fields: Partial<Message>): Event =>
  agent(id, id, { llm_message: { role: 'assistant', content: [], ...fields } })

describe('group P: status', () => {
  it('P1 a conversation is idle, then running, then finished', () => {
    const call = action('a')
    expect(statusAfter()).toBe('idle')
    expect(statusAfter(user('u'))).toBe('idle')
    expect(statusAfter(user('u'), call)).toBe('running')
    expect(statusAfter(user('u'), call, observe('o', call))).toBe('running')
    expect(statusAfter(user('u'), call, observe('o', call), agent('m'))).toBe('finished')
  })

  it('P2 a pause before the run holds until the run starts', () => {
    expect(withDefaults(pause('p')).source).toBe('user')
    expect(statusAfter(pause('p'))).toBe('paused')
    expect(statusAfter(pause('p'), user('u'))).toBe('paused')
    expect(statusAfter(pause('p'), user('u'), running, agent('m'))).toBe('finished')
  })

  it('P4 a pause during a call holds when its result arrives', () => {
    const call = action('a')
    expect(statusAfter(user('u'), call, pause('p'))).toBe('paused')
    expect(statusAfter(user('u'), call, pause('p'), observe('o', call))).toBe('paused')
  })

  it('P5 a call waits for confirmation, and its result finishes the conversation', () => {
    const call = action('a', { tool: 'finish' })
    const before = fold(user('u'), call, waiting)
    expect(before.header.status).toBe('waiting_for_confirmation')
    expect(pendingIds(before)).toEqual(['a'])
    const done = fold(user('u'), call, waiting, running, observe('o', call))
    expect(done.header.status).toBe('finished')
    expect(pendingIds(done)).toEqual([])
  })

  it('P6 a confirmation status replaces an earlier pause', () => {
    expect(statusAfter(pause('p'), user('u'), running, action('a'), waiting)).toBe('waiting_for_confirmation')
  })

  it('P7 rejecting every call makes the conversation idle, or running if a hook rejects', () => {
    const [one, two] = [action('a1', { response: 'r' }), action('a2', { response: 'r' })]
    const before = [user('u'), one, two, waiting]
    expect(statusAfter(...before, reject('r1', one))).toBe('waiting_for_confirmation')
    const refused = fold(...before, reject('r1', one), reject('r2', two))
    expect(refused.header.status).toBe('idle')
    expect(pendingIds(refused)).toEqual([])
    expect(statusAfter(...before, reject('r1', one), reject('r2', two, { rejection_source: 'hook' }))).toBe(
      'running',
    )
  })

  it('P8 a pause applies to idle and running, not to waiting_for_confirmation', () => {
    expect(statusAfter(user('u'), action('a'), waiting, pause('p'))).toBe('waiting_for_confirmation')
    expect(statusAfter(user('u'), pause('p'))).toBe('paused')
    expect(statusAfter(user('u'), action('a'), pause('p'))).toBe('paused')
  })

  it('P9 a reply with text finishes the conversation without confirmation', () => {
    expect(statusAfter(user('u'), running, agent('m'))).toBe('finished')
  })

  it('P10 a finish call finishes the conversation, another call does not', () => {
    const state = fold(user('u'), ...finish('1'))
    expect(state.header.status).toBe('finished')
    expect(pendingIds(state)).toEqual([])
    expect(statusAfter(user('u'), ...pair('1', { tool: 'think' }))).toBe('running')
    expect(statusAfter(user('u'), ...pair('1', { tool: 'think' }), ...finish('2'))).toBe('finished')
  })

  it('P12 a message makes a finished conversation idle', () => {
    expect(statusAfter(user('u'), agent('m'), user('v'))).toBe('idle')
    expect(statusAfter(user('u'), agent('m'), user('v'), agent('n'))).toBe('finished')
  })

  it('P13 a message or an action ends the status stuck', () => {
    const stuck = status('stuck', 'stuck')
    expect(statusAfter(user('u'), stuck)).toBe('stuck')
    expect(statusAfter(user('u'), stuck, user('v'))).toBe('idle')
    expect(statusAfter(user('u'), stuck, action('a'))).toBe('running')
    expect(statusAfter(user('u'), stuck, ...finish('1'))).toBe('finished')
  })

  it('P14 a run at its iteration limit is in error, with code and detail', () => {
    const error = trouble('e', 'MaxIterationsReached', { detail: 'stopped after 2 iterations' })
    const { header } = fold(user('u'), ...pair('1'), ...pair('2'), error)
    expect(header.status).toBe('error')
    expect(header.error).toEqual({
      code: 'MaxIterationsReached',
      detail: 'stopped after 2 iterations',
      event_id: 'e',
    })
  })

  it('P18 an interrupt pauses a running conversation', () => {
    expect(statusAfter(user('u'), running, interrupt('i'))).toBe('paused')
  })

  it('P19 an interrupt does not change a finished conversation', () => {
    expect(statusAfter(user('u'), agent('m'), interrupt('i'))).toBe('finished')
  })

  it('P22 a finish call finishes the conversation despite a message during the call', () => {
    const call = action('a', { tool: 'finish' })
    const log = [user('u'), call, user('v'), observe('o', call)]
    expect(statusAfter(...log)).toBe('finished')
    expect(statusAfter(...log, running)).toBe('running')
  })

  it('P23 a reply without text keeps the conversation running', () => {
    const before = [user('u'), running]
    expect(statusAfter(...before, reply('m', {}))).toBe('running')
    expect(statusAfter(...before, reply('m', { reasoning_content: 'because' }))).toBe('running')
    expect(statusAfter(...before, reply('m', { content: [text('so')] }))).toBe('finished')
  })

  it('P24 only a reply with text and without calls finishes the conversation', () => {
    const before = [user('u'), running]
    const tool_calls = [{ id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }] as const
    expect(statusAfter(...before, reply('m', { content: [text('so')], tool_calls }))).toBe('running')
    expect(statusAfter(...before, reply('m', { content: [text('so')], reasoning_content: 'because' }))).toBe(
      'finished',
    )
    expect(statusAfter(...before, reply('m', { content: [text('so')], tool_calls: [] }))).toBe('finished')
    expect(statusAfter(...before, reply('m', { content: [text(' \n ')] }))).toBe('running')
  })

  it('P27 a status update accepts exactly the eight statuses', () => {
    const eight = [
      'idle',
      'running',
      'paused',
      'waiting_for_confirmation',
      'finished',
      'error',
      'stuck',
      'deleting',
    ] as const
    expect(STATUSES).toEqual(eight)
    for (const value of eight) expect(statusAfter(status('s', value))).toBe(value)
    const uppercase = decodeEvent({
      kind: 'ConversationStateUpdateEvent',
      key: 'execution_status',
      value: 'RUNNING',
    })
    expect(uppercase.ok && statusAfter(uppercase.event)).toBe('idle')
  })
})
