/** Cases W26 to W50 of the inventory: observed errors of the public system in branches, pauses, records and messages. */

import { describe, expect, it } from 'vitest'
import { decodeEvent, decodeLine } from '../../src/event/decode.ts'
import { encodeEvent } from '../../src/event/encode.ts'
import type { Event } from '../../src/event/types.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { switchTo } from '../../src/state/at.ts'
import {
  action,
  agent,
  hook,
  image,
  moveHead,
  observe,
  pair,
  pause,
  status,
  system,
  text,
  update,
  user,
} from '../build.ts'
import {
  fold,
  head,
  ids,
  logEvents,
  pendingIds,
  parent,
  path,
  reopen,
  roles,
  logMessages,
  statusAfter,
  stateMessages,
  contentOf,
} from './inspect.ts'

/** Call outputs in the Responses grammar. */
const outputs = (...events: readonly Event[]) =>
  toOpenAIResponses(logMessages(...events)).input.flatMap((item) =>
    item.type === 'function_call_output' ? [item.output] : [],
  )

const roundTrip = (event: Event): unknown => {
  const decoded = decodeLine(encodeEvent(event))
  return decoded.ok ? decoded.event : decoded.issues
}

describe('cases W26 to W34: branches and pauses', () => {
  it('W26 a fresh root has no system prompt', () => {
    const state = fold(system('s'), user('u'), moveHead('go', null), user('v'))
    expect(roles(stateMessages(state))).toEqual(['user'])
    expect(state.branch.systemPrompt).toBeNull()
    expect(roles(stateMessages(switchTo(state, 'u')))).toEqual(['system', 'user'])
  })

  it('W27 hooks do not hide the system prompt, and the latest one is sent', () => {
    const hooks = ['h1', 'h2', 'h3'].map((id) => hook(id, 'SessionStart'))
    const state = fold(...hooks, system('s1'), user('u'))
    expect(state.branch.systemPrompt?.id).toBe('s1')
    const messages = logMessages(
      ...hooks,
      system('s1'),
      user('u'),
      agent('a'),
      ...hooks.map((each) => ({ ...each, id: `${each.id}b` })),
      system('s2'),
      user('v'),
    )
    expect(roles(messages)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(contentOf(messages[0])).toEqual(['s2'])
    expect(logMessages(system('s1'), user('u'), system('s2'), user('v')).map(contentOf)).toEqual([
      ['s2'],
      ['u', 'v'],
    ])
  })

  it('W28 a hook before a call is on the path but not in the view', () => {
    const state = fold(user('u'), hook('h', 'PreToolUse'), ...pair('1'))
    expect(path(state)).toEqual(['u', 'h', 'a1', 'o1'])
    expect(ids(state)).toEqual(['u', 'a1', 'o1'])
  })

  it('W30 a reply after two messages finishes the conversation unless a status says running', () => {
    const log = [user('u'), status('r', 'running'), user('v'), agent('a')]
    expect(statusAfter(...log)).toBe('finished')
    expect(statusAfter(...log, status('r2', 'running'))).toBe('running')
  })

  it('W31 a reply that arrives during a pause is recorded, and the status stays paused', () => {
    const state = fold(user('u'), status('r', 'running'), pause('p'), agent('a'))
    expect(state.header.status).toBe('paused')
    expect(ids(state)).toEqual(['u', 'a'])
  })

  it('W32 a call that arrives during a pause is pending, and the status stays paused', () => {
    const state = fold(user('u'), status('r', 'running'), pause('p'), action('a'))
    expect(state.header.status).toBe('paused')
    expect(pendingIds(state)).toEqual(['a'])
  })

  it('W33 a confirmation status replaces paused, and a later pause does not change it', () => {
    const log = [user('u'), status('r', 'running'), pause('p'), action('a')]
    expect(statusAfter(...log)).toBe('paused')
    expect(statusAfter(...log, status('w', 'waiting_for_confirmation'))).toBe('waiting_for_confirmation')
    expect(statusAfter(...log, status('w', 'waiting_for_confirmation'), pause('p2'))).toBe(
      'waiting_for_confirmation',
    )
  })

  it('W34 an id can be any text', () => {
    const strange = ['01J9Z3KXQ8GZ4M0V7T5N2R6YBW', 'test-id', 'ein Gespräch/1', '消息']
    const state = reopen(fold(...strange.map((id) => user(id))))
    expect(logEvents(state).map((event) => event.id)).toEqual(strange)
    expect(ids(state)).toEqual(strange)
    expect(head(state)).toBe('消息')
  })
})

describe('cases W35 to W38: records', () => {
  it('W35 a critic result without a message survives encoding', () => {
    for (const critic_result of [{ score: 0.7, message: null }, { score: 0.7 }]) {
      const event = action('a', { critic_result })
      expect(roundTrip(event)).toEqual(event)
    }
  })

  it('W36 a terminal observation without a command survives encoding', () => {
    const call = action('a')
    const observation = { kind: 'TerminalObservation', content: [text('out')], command: null, exit_code: 0 }
    for (const each of [observation, { kind: 'TerminalObservation', content: [text('out')] }]) {
      const event = observe('o', call, '', { observation: each })
      expect(roundTrip(event)).toEqual(event)
    }
  })

  it('W37 a state update to null survives encoding', () => {
    expect(encodeEvent(update('s', 'title', null))).toContain('"value":null')
    expect(roundTrip(update('s', 'title', null))).toEqual(update('s', 'title', null))
    expect(roundTrip(update('s', 'title', {}))).not.toEqual(update('s', 'title', null))
  })

  it('W38 decoding neither changes nor freezes its input', () => {
    const input = {
      kind: 'MessageEvent',
      source: 'user',
      llm_message: { role: 'user', content: [{ text: 'hi' }] },
    }
    const before = JSON.stringify(input)
    expect(decodeEvent(input).ok).toBe(true)
    expect(JSON.stringify(input)).toBe(before)
    expect(Object.isFrozen(input)).toBe(false)
    expect(Object.isFrozen(input.llm_message.content)).toBe(false)
  })
})

describe('cases W39 to W50: messages', () => {
  const call = action('a')

  it('W39 a result without content becomes one empty output', () => {
    expect(outputs(user('u'), call, observe('o', call, []))).toEqual([''])
  })

  it('W40 a failed result becomes one output with an error note', () => {
    const failed = observe('o', call, '', {
      observation: { kind: 'AnyObservation', content: [text('boom')], is_error: true },
    })
    expect(outputs(user('u'), call, failed)).toEqual(['[An error occurred during execution.]\nboom'])
  })

  it('W41 an empty message gets no cache breakpoint and is left out', () => {
    const marked = user('u', [{ type: 'text', text: 'hi', cache_prompt: true }])
    const { messages } = toAnthropic(logMessages(marked, user('v', [])))
    expect(messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] },
    ])
  })

  it('W44 a message of the environment is not the last user message', () => {
    const nudge = user('n', 'please go on', { source: 'environment' })
    const state = fold(user('u'), agent('a'), nudge)
    expect(state.branch.lastUserMessage?.id).toBe('u')
    expect(state.header.status).toBe('finished')
    expect(statusAfter(user('u'), agent('a'), user('v'))).toBe('idle')
    expect(roles(stateMessages(state))).toEqual(['user', 'assistant', 'user'])
  })

  it('W48 moving HEAD to a state update selects the event before it', () => {
    const state = fold(
      user('m0'),
      user('m1'),
      status('s', 'idle'),
      user('m2'),
      moveHead('go', 's'),
      user('next'),
    )
    expect(parent(state, 'next')).toBe('m1')
    expect(ids(state)).toEqual(['m0', 'm1', 'next'])
    expect(switchTo(state, 's').log.head?.id).toBe('m1')
  })

  it('W49 calls and results inside messages are not sent', () => {
    const tool_calls = [{ id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }] as const
    const carried = agent('m', 'so', {
      llm_message: { role: 'assistant', content: [text('so')], tool_calls },
    })
    const result = user('t', '', {
      llm_message: { role: 'tool', content: [text('result')], tool_call_id: 'c', name: 'ls' },
    })
    const messages = logMessages(user('u'), carried, result, user('v'))
    expect(roles(messages)).toEqual(['user', 'assistant', 'user'])
    expect(messages[1]).toMatchObject({ content: [text('so')], tool_calls: [] })
    expect(toOpenAIChat(messages)[1]).toEqual({ role: 'assistant', content: 'so' })
  })

  it('W50 a message without text is left out, and its neighbors merge', () => {
    const messages = logMessages(user('u'), agent('a', ''))
    expect(toOpenAIChat(messages)).toEqual([{ role: 'user', content: [{ type: 'text', text: 'u' }] }])
    expect(toAnthropic(messages).messages).toHaveLength(1)

    // Empty messages are dropped and do not separate their neighbors.
    const silent = [
      agent('b', ' \n\u0085\u001c'),
      agent('c', []),
      user('i', [image()]),
      agent('d', '', { llm_message: { role: 'assistant' } }),
      agent('e', [], {
        llm_message: { role: 'assistant', content: [], reasoning_content: ' ', thinking_blocks: [] },
      }),
    ]
    expect(logMessages(user('u'), ...silent, user('w')).map(contentOf)).toEqual([['u', 'w']])
    const prompt = system('s', ' ', { dynamic_context: text('\n') })
    expect(roles(logMessages(prompt, user('u')))).toEqual(['user'])
  })
})
