/** The neutral messages of states: groups L and W of the inventory, and what the design adds. */

import { describe, expect, it } from 'vitest'
import type { Message } from '../../src/event/shapes.ts'
import type { Event, MessageEvent } from '../../src/event/types.ts'
import type { MessageOptions, NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import {
  action,
  agent,
  condensation,
  fail,
  image,
  observe,
  pair,
  pause,
  summary,
  system,
  text,
  user,
} from '../build.ts'

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

const item = (id: string) => ({ id, summary: ['s'], encrypted_content: 'e', status: 'completed' })

describe('group L: events to messages', () => {
  it('L1 nothing', () => {
    expect(write([])).toEqual([])
  })

  it('L2 one user message', () => {
    expect(brief([user('u', 'hello')])).toEqual(['user: hello'])
  })

  it('L3 two user messages and the agent', () => {
    expect(brief([user('u'), user('v'), agent('a')])).toEqual(['user: u|v', 'assistant: a'])
  })

  it('L4 three user messages', () => {
    expect(brief([user('u'), user('v'), user('w')])).toEqual(['user: u|v|w'])
    expect(brief([user('u'), user('v', [text('1'), text('2')])])).toEqual(['user: u|1|2'])
  })

  it('L5 a text and an image', () => {
    expect(brief([user('u'), user('v', [image('https://x.org/a.png')])])).toEqual(['user: u|<image>'])
  })

  it('L6 a summary and a user message', () => {
    expect(brief([summary('s'), user('u')])).toEqual(['user: s|u'])
  })

  it.each([
    ['L7 a tool call id', { tool_call_id: 'c' }],
    ['L8 tool calls', { tool_calls: [] }],
    ['L9 a name', { name: 'eve' }],
  ])('%s keeps a user message apart, before and behind', (_, fields) => {
    const special = message('m', { role: 'user', content: [text('m')], ...fields })
    const again = { ...special, id: 'n' }
    expect(brief([special, user('u'), again])).toEqual(['user: m', 'user: u', 'user: m'])
  })

  it('L10 the assistant, then the user', () => {
    expect(brief([agent('a'), user('u')])).toEqual(['assistant: a', 'user: u'])
  })

  it('L11 one action', () => {
    const call = action('a', { thought: 'look', call: 'c1', tool: 'ls' })
    expect(write([call, observe('o', call)])[0]).toEqual({
      role: 'assistant',
      content: [text('look')],
      tool_calls: [
        {
          id: 'c1',
          name: 'ls',
          arguments: '{}',
          origin: 'completion',
          responses_item_id: null,
          responses_reasoning_item: null,
        },
      ],
      reasoning_content: null,
      thinking_blocks: [],
      responses_reasoning_item: null,
    })
  })

  it('L12 three actions of one response', () => {
    const calls = ['1', '2', '3'].map((n) =>
      action(`a${n}`, { response: 'r', call: `c${n}`, ...(n === '1' ? { thought: 'all three' } : {}) }),
    )
    const answers = calls.map((call, at) => observe(`o${at}`, call))
    expect(brief([...calls, ...answers])[0]).toBe('assistant: all three ->c1 ->c2 ->c3')
  })

  it('L13 reasoning and thinking of the first, and of the others', () => {
    const one = action('a1', { response: 'r', reasoning_content: 'hm', thinking: true })
    const two = action('a2', { response: 'r', reasoning_content: 'so', thinking: true })
    const three = action('a3', { response: 'r', reasoning_content: ' ' })
    const [reply] = write([one, two, three, observe('o1', one), observe('o2', two), observe('o3', three)])
    expect(reply).toMatchObject({ reasoning_content: 'hm\n\nso' })
    expect(reply).toMatchObject({
      thinking_blocks: [...(one.thinking_blocks ?? []), ...(two.thinking_blocks ?? [])],
    })
  })

  it('L14 the reasoning item of each call, none lost', () => {
    const one = action('a1', { response: 'r', responses_reasoning_item: item('rs_1') })
    const two = action('a2', { response: 'r', responses_reasoning_item: item('rs_2') })
    const [reply] = write([one, two, observe('o1', one), observe('o2', two)])
    const items =
      reply?.role === 'assistant' ? reply.tool_calls.map((call) => call.responses_reasoning_item) : []
    expect(items).toEqual([item('rs_1'), item('rs_2')])
  })

  it('L15 two actions of two responses, answered late: two replies, each with its result (upstream: two replies side by side)', () => {
    const [one, two] = [action('a1', { call: 'c1' }), action('a2', { call: 'c2' })]
    expect(brief([one, two, observe('o1', one), observe('o2', two)])).toEqual([
      'assistant:  ->c1',
      'tool c1: o1',
      'assistant:  ->c2',
      'tool c2: o2',
    ])
  })

  it('L16 system, user, call, result', () => {
    const [call, result] = pair('1', { tool: 'ls', call: 'c1' })
    const messages = write([system('s'), user('u'), call, result])
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool'])
    expect(messages[3]).toEqual({
      role: 'tool',
      content: [text('o1')],
      tool_call_id: 'c1',
      name: 'ls',
      is_error: false,
    })
  })

  it('L17 an error alone is no message: it answers nothing (upstream: a tool message)', () => {
    expect(brief([fail('e', action('a'))])).toEqual([])
  })

  it('L18 a batch of two, then another call that waits', () => {
    const one = action('a1', { response: 'r', call: 'c1' })
    const two = action('a2', { response: 'r', call: 'c2' })
    const three = action('a3', { call: 'c3' })
    const log = [user('u'), one, two, observe('o1', one), observe('o2', two), three]
    expect(brief(log)).toEqual(['user: u', 'assistant:  ->c1 ->c2', 'tool c1: o1', 'tool c2: o2'])
    expect(brief(log, { pending: { close: 'stopped' } })).toEqual([
      ...brief(log),
      'assistant:  ->c3',
      'tool c3!: stopped',
    ])
  })

  it('L19 a second action with a thought of its own (upstream: an assertion fails)', () => {
    const one = action('a1', { response: 'r', call: 'c1', thought: 'first' })
    const two = action('a2', { response: 'r', call: 'c2', thought: 'second' })
    expect(brief([one, two, observe('o1', one), observe('o2', two)])[0]).toBe(
      'assistant: first|second ->c1 ->c2',
    )
  })

  it('L20 a call that could not be executed', () => {
    const call = action('a', { action: null, call: 'c1' })
    expect(brief([call, fail('e', call, 'no such tool')])).toEqual([
      'assistant:  ->c1',
      'tool c1!: no such tool',
    ])
  })

  it('L21 the system prompt with and without dynamic context', () => {
    expect(write([system('s')])).toEqual([{ role: 'system', content: [text('s')] }])
    expect(brief([system('s', 's', { dynamic_context: text('d') })])).toEqual(['system: s|d'])
    expect(brief([system('s', 's', { dynamic_context: null })])).toEqual(['system: s'])
  })

  it('L22 extended content of a message', () => {
    const event = user('u', 'u', { extended_content: [text('x')] })
    expect(brief([event])).toEqual(['user: u|x'])
    expect(event.llm_message.content).toEqual([text('u')])
  })

  it('L23 extended content of a result', () => {
    const call = action('a', { call: 'c' })
    expect(brief([call, observe('o', call, 'o', { extended_content: [text('x')] })])[1]).toBe('tool c: o|x')
  })
})

describe('group W: what upstream gets wrong', () => {
  it('W1 a call id that is used again keeps both pairs', () => {
    const one = action('a1', { call: 'c' })
    const two = action('a2', { call: 'c' })
    const log = [user('u'), one, observe('o1', one), two, observe('o2', two), agent('a')]
    expect(brief(log)).toEqual([
      'user: u',
      'assistant:  ->c',
      'tool c: o1',
      'assistant:  ->c',
      'tool c: o2',
      'assistant: a',
    ])
  })

  it('W3 a result before its call is no message', () => {
    const call = action('a', { call: 'c' })
    const { action_id: _, ...early } = observe('o', call)
    expect(brief([user('u'), { ...early, action_id: 'unknown' }, call])).toEqual(['user: u'])
  })

  it('W4 W13 a user message while a call waits stands behind the result', () => {
    const call = action('a', { call: 'c' })
    expect(brief([user('u'), call, user('v'), observe('o', call)])).toEqual([
      'user: u',
      'assistant:  ->c',
      'tool c: o',
      'user: v',
    ])
    expect(brief([user('u'), call, user('v')])).toEqual(['user: u|v'])
  })

  it('W6 a second answer to a call is no message', () => {
    const [call, result] = pair('1', { call: 'c' })
    expect(brief([call, result, { ...result, id: 'again' }])).toHaveLength(2)
  })

  it('W10 a response whose middle call names an unknown tool stays one message', () => {
    const calls = ['1', '2', '3'].map((n) => action(`a${n}`, { response: 'r', call: `c${n}` }))
    const [one, two, three] = calls as [(typeof calls)[0], (typeof calls)[0], (typeof calls)[0]]
    expect(brief([one, two, fail('e', two), three, observe('o1', one), observe('o3', three)])).toEqual([
      'assistant:  ->c1 ->c2 ->c3',
      'tool c2!: e',
      'tool c1: o1',
      'tool c3: o3',
    ])
  })

  it('W12 a call that waited for confirmation keeps its assistant message', () => {
    const call = action('a', { call: 'c' })
    const waiting = replay([system('s'), user('u'), call])
    const messages = toMessages(reduce(waiting, observe('o', call)))
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool'])
  })

  it('W19 W18 a blank summary is no message, one with an offset beyond the end stands last', () => {
    expect(brief([user('u'), condensation('C', [], '', 0)])).toEqual(['user: u'])
    expect(brief([user('u'), agent('a'), condensation('C', [], 'S', 99)])).toEqual([
      'user: u',
      'assistant: a',
      'user: S',
    ])
  })

  it('W24 a forgotten system prompt still stands first', () => {
    expect(brief([system('s'), user('u'), condensation('C', ['s'])])).toEqual(['system: s', 'user: u'])
  })

  it('W25 an empty view gives nothing, even when a prompt was forgotten', () => {
    expect(brief([system('s'), condensation('C', ['s'])])).toEqual([])
    expect(brief([pause('p')])).toEqual([])
  })

  it('W27 of two system prompts the latest is the one system message', () => {
    expect(brief([system('s'), user('u'), system('t'), user('v')])).toEqual(['system: t', 'user: u|v'])
  })

  it('W49 tool calls inside a message are never sent as calls, nor messages of role tool as results', () => {
    const tool_calls = [{ id: 'c', name: 'ls', arguments: '{}', origin: 'completion' as const }]
    const log = [
      user('u'),
      message('m', { role: 'assistant', content: [text('calling')], tool_calls }),
      message('t', { role: 'tool', content: [text('result')], tool_call_id: 'c', name: 'ls' }),
      user('v'),
    ]
    expect(brief(log)).toEqual(['user: u', 'assistant: calling', 'user: v'])
  })

  it('W50 a message that says nothing is no message, and does not part its neighbours', () => {
    const silent = [
      agent('a', ''),
      agent('b', ' \n\u0085\u001c'),
      agent('c', []),
      user('v', [{ type: 'image', image_urls: [] }]),
      message('d', { role: 'assistant' }),
      message('e', { role: 'assistant', content: [], reasoning_content: ' ', thinking_blocks: [] }),
    ]
    expect(brief([user('u'), ...silent, user('w')])).toEqual(['user: u|w'])
    expect(brief([system('s', ' ', { dynamic_context: text('\n') }), user('u')])).toEqual(['user: u'])
  })
})
