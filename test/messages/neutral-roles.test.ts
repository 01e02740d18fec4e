/** Neutral messages: roles and senders, and pending calls. */

import { describe, expect, it } from 'vitest'
import { hasCode } from '../../src/event/errors.ts'
import type { Message } from '../../src/event/shapes.ts'
import type { Event, MessageEvent } from '../../src/event/types.ts'
import type { MessageOptions, NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, condensation, observe, reject, system, text, user } from '../build.ts'

const write = (events: readonly Event[], options?: MessageOptions): NeutralMessage[] =>
  toMessages(replay(events), options)

/** Role and texts of each message, in short. */
const brief = (events: readonly Event[], options?: MessageOptions): string[] =>
  write(events, options).map(line)

function line(message: NeutralMessage): string {
  const content = message.content.map((part) => ('image_urls' in part ? '<image>' : part.text)).join('|')
  const calls = message.role === 'assistant' ? message.tool_calls.map(({ id }) => ` ->${id}`).join('') : ''
  const answer = message.role === 'tool' ? ` ${message.tool_call_id}${message.is_error ? '!' : ''}` : ''
  return `${message.role}${answer}: ${content}${calls}`
}

const message = (id: string, llm_message: Message, more: Partial<MessageEvent> = {}): MessageEvent => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message,
  ...more,
})

describe('messages of other roles and senders', () => {
  it('a logged system message becomes a user message', () => {
    expect(
      brief([system('s'), message('m', { role: 'system', content: [text('note')] }), user('u')]),
    ).toEqual(['system: s', 'user: note|u'])
  })

  it('a reply with only reasoning or thinking is a message', () => {
    const thinking_blocks = [{ type: 'thinking' as const, thinking: 't', signature: 's' }]
    const events = [
      message('a', { role: 'assistant', reasoning_content: 'hm' }),
      message('b', { role: 'assistant', thinking_blocks }),
      message('c', { role: 'assistant', responses_reasoning_item: { id: 'rs_1' } }),
    ]
    expect(write(events).map(({ role }) => role)).toEqual(['assistant', 'assistant', 'assistant'])
    expect(write(events)).toMatchObject([
      { reasoning_content: 'hm' },
      { thinking_blocks },
      { responses_reasoning_item: { id: 'rs_1' } },
    ])
  })

  it('a result has the id and name of its call, not of the observation', () => {
    const call = action('a', { call: 'c1', tool: 'ls' })
    const stray = observe('o', call, 'o', { tool_call_id: 'other', tool_name: 'rm' })
    expect(write([call, stray])[1]).toMatchObject({ tool_call_id: 'c1', name: 'ls' })
  })

  it('a rejection contains its reason, or the default reason', () => {
    const call = action('a', { call: 'c' })
    expect(brief([call, reject('r', call, { rejection_reason: 'too risky' })])[1]).toBe(
      'tool c!: Action rejected: too risky',
    )
    for (const more of [{}, { rejection_reason: ' ' }]) {
      expect(brief([call, reject('r', call, more)])[1]).toBe(
        'tool c!: Action rejected: User rejected the action',
      )
    }
  })

  it('a call without a name gets the tool name of its event', () => {
    const call = action('a', {
      tool: 'ls',
      tool_call: { id: 'x', name: ' ', arguments: '{}', origin: 'completion' },
      tool_call_id: 'c',
    })
    const [reply] = write([call, observe('o', call)])
    expect(reply).toMatchObject({ tool_calls: [{ id: 'c', name: 'ls' }] })
  })
})

describe('pending calls', () => {
  const one = action('a1', { response: 'r', call: 'c1', tool: 'ls' })
  const two = action('a2', { response: 'r', call: 'c2', tool: 'rm' })
  const log = [user('u'), one, two, observe('o1', one), user('v')]

  it('are left out with their whole batch by default', () => {
    expect(brief(log)).toEqual(['user: u|v'])
    expect(brief(log, { pending: 'omit' })).toEqual(['user: u|v'])
  })

  it('are closed with the reason, directly after their batch', () => {
    expect(brief(log, { pending: { close: 'interrupted' } })).toEqual([
      'user: u',
      'assistant:  ->c1 ->c2',
      'tool c1: o1',
      'tool c2!: interrupted',
      'user: v',
    ])
  })

  it('cause a `pending_calls` error that lists them for `refuse`', () => {
    const calls = [{ event_id: 'a2', tool_call_id: 'c2', tool_name: 'rm' }]
    try {
      write(log, { pending: 'refuse' })
      expect.unreachable()
    } catch (error) {
      expect(hasCode(error, 'pending_calls') && error.data).toEqual({ calls })
      expect(String(error)).toContain('"rm" ("c2")')
    }
    expect(brief(log.slice(0, 1), { pending: 'refuse' })).toEqual(['user: u'])
  })

  it('are only counted in the error message after the first five', () => {
    const calls = Array.from({ length: 8 }, (_, n) => action(`a${n}`, { response: 'r' }))
    expect(() => write(calls, { pending: 'refuse' })).toThrow(/ and 3 more\. Run or recover/)
  })

  it('produce no messages when alone, unless they are closed', () => {
    expect(brief([system('s'), condensation('C', ['s']), one])).toEqual([])
    expect(brief([one], { pending: { close: 'no' } })).toEqual(['assistant:  ->c1', 'tool c1!: no'])
  })

  it('are neither refused nor closed once they are forgotten', () => {
    const condensed = [...log, condensation('C', ['a1'])]
    expect(brief(condensed, { pending: 'refuse' })).toEqual(['user: u|v'])
    expect(brief(condensed, { pending: { close: 'no' } })).toEqual(['user: u|v'])
  })
})
