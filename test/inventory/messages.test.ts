import { describe, expect, it } from 'vitest'
import type { Message } from '../../src/event/shapes.ts'
import type { MessageEvent } from '../../src/event/types.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import {
  action,
  agent,
  batch,
  condensation,
  fail,
  image,
  observe,
  pair,
  summary,
  system,
  text,
  user,
} from '../build.ts'
import { entry, fold, reopen, roles, logMessages, stateMessages, contentOf } from './inspect.ts'

/** A user message with fields for assistants and tools only. */
const odd = (id: string, fields: Partial<Message>): MessageEvent =>
  user(id, id, { llm_message: { role: 'user', content: [text(id)], ...fields } })

/** The messages of a plain one between two odd ones: they are never merged. */
const around = (fields: Partial<Message>) => logMessages(odd('u1', fields), user('u2'), odd('u3', fields))
const APART = [['u1'], ['u2'], ['u3']]

const reasoningItem = (id: string) => ({
  id,
  summary: ['s'],
  content: null,
  encrypted_content: 'sealed',
  status: 'completed',
})

const itemsOf = (reply: NeutralMessage | undefined) =>
  reply?.role === 'assistant' ? reply.tool_calls.map((call) => call.responses_reasoning_item) : []

/** The calls of a message, or the call it answers. */
const callsOf = (message: NeutralMessage): string[] =>
  message.role === 'assistant'
    ? message.tool_calls.map(({ id }) => id)
    : message.role === 'tool'
      ? [message.tool_call_id]
      : []

describe('group L: neutral messages', () => {
  it('L1 an empty log has no messages', () => {
    expect(logMessages()).toEqual([])
  })

  it('L2 a user message becomes one message', () => {
    expect(logMessages(user('u', 'hello'))).toEqual([{ role: 'user', content: [text('hello')], name: null }])
  })

  it('L3 two user messages merge, and a reply stays separate', () => {
    const messages = logMessages(user('u1'), user('u2'), agent('a'))
    expect(roles(messages)).toEqual(['user', 'assistant'])
    expect(messages.map(contentOf)).toEqual([['u1', 'u2'], ['a']])
  })

  it('L4 three user messages merge into one', () => {
    expect(logMessages(user('u1'), user('u2'), user('u3')).map(contentOf)).toEqual([['u1', 'u2', 'u3']])
    expect(logMessages(user('u1'), user('u2', [text('1'), text('2')])).map(contentOf)).toEqual([
      ['u1', '1', '2'],
    ])
  })

  it('L5 a text and an image merge into one message', () => {
    const messages = logMessages(user('u1'), user('u2', [image('https://a.example/1.png')]))
    expect(messages).toHaveLength(1)
    expect(messages[0]?.content.map((part) => part.type)).toEqual(['text', 'image'])
  })

  it('L6 a summary merges with the user message after it', () => {
    const messages = logMessages(user('m0'), condensation('C', ['m0'], 'the summary', 0), user('u'))
    expect(roles(messages)).toEqual(['user'])
    expect(contentOf(messages[0])).toEqual(['the summary', 'u'])
    expect(logMessages(summary('s', 'the summary'), user('u'))).toEqual(messages)
  })

  it('L7 a user message with a tool_call_id never merges', () => {
    expect(around({ tool_call_id: 't' }).map(contentOf)).toEqual(APART)
  })

  it('L8 a user message with tool_calls never merges, and its calls are not sent', () => {
    const tool_calls = [{ id: 't', name: 'ls', arguments: '{}', origin: 'completion' }] as const
    const messages = around({ tool_calls })
    expect(messages.map(contentOf)).toEqual(APART)
    expect(JSON.stringify(messages)).not.toContain('"ls"')
    expect(around({ tool_calls: [] }).map(contentOf)).toEqual(APART)
  })

  it('L9 a user message with a name never merges', () => {
    const messages = around({ name: 'ann' })
    expect(messages.map(contentOf)).toEqual(APART)
    expect(messages[0]).toMatchObject({ name: 'ann' })
  })

  it('L10 a reply and a user message never merge', () => {
    expect(roles(logMessages(user('u1'), agent('a'), user('u2')))).toEqual(['user', 'assistant', 'user'])
    expect(roles(logMessages(agent('a'), user('u')))).toEqual(['assistant', 'user'])
  })

  it('L11 a call becomes an assistant message with its thought and its call', () => {
    const [reply, ...others] = logMessages(
      ...pair('1', { call: 'c', tool: 'grep', args: '{"p":1}', thought: 'look' }),
    )
    const call = { id: 'c', name: 'grep', arguments: '{"p":1}', origin: 'completion' }
    expect(reply).toEqual({
      role: 'assistant',
      content: [text('look')],
      tool_calls: [{ ...call, responses_item_id: null, responses_reasoning_item: null }],
      reasoning_content: null,
      thinking_blocks: [],
      responses_reasoning_item: null,
    })
    expect(roles(others)).toEqual(['tool'])
  })

  it('L12 three calls of one response become one assistant message', () => {
    const calls = ['1', '2', '3'].map((name, index) =>
      action(`a${name}`, {
        call: `c${name}`,
        response: 'r',
        ...(index === 0 ? { thought: 'all three' } : {}),
      }),
    )
    const messages = logMessages(...calls, ...calls.map((call) => observe(`o-${call.id}`, call)))
    expect(roles(messages)).toEqual(['assistant', 'tool', 'tool', 'tool'])
    expect(contentOf(messages[0])).toEqual(['all three'])
    expect(messages.map(callsOf)[0]).toEqual(['c1', 'c2', 'c3'])
  })

  it('L13 a reply joins the reasoning and thinking of its calls', () => {
    const first = action('a1', { response: 'r', thinking: true, reasoning_content: 'because' })
    const second = action('a2', { response: 'r' })
    const [reply] = logMessages(first, second, observe('o1', first), observe('o2', second))
    expect(reply).toMatchObject({
      reasoning_content: 'because',
      thinking_blocks: [{ type: 'thinking', thinking: 'thinking of a1', signature: 'signed-a1' }],
    })

    // Later reasoning is appended; blank reasoning is dropped.
    const more = action('a3', { response: 'r', thinking: true, reasoning_content: 'so' })
    const blank = action('a4', { response: 'r', reasoning_content: ' ' })
    const [all] = logMessages(
      first,
      more,
      blank,
      observe('o1', first),
      observe('o3', more),
      observe('o4', blank),
    )
    expect(all).toMatchObject({
      reasoning_content: 'because\n\nso',
      thinking_blocks: [...(first.thinking_blocks ?? []), ...(more.thinking_blocks ?? [])],
    })
  })

  it('L14 each call of a reply keeps its own reasoning item', () => {
    const [item, other] = [reasoningItem('rs_1'), reasoningItem('rs_2')]
    const first = action('a1', { response: 'r', responses_reasoning_item: item })
    const second = action('a2', { response: 'r' })
    expect(itemsOf(logMessages(first, second, observe('o1', first), observe('o2', second))[0])).toEqual([
      item,
      null,
    ])
    const third = action('a3', { response: 'r', responses_reasoning_item: other })
    expect(itemsOf(logMessages(first, third, observe('o1', first), observe('o3', third))[0])).toEqual([
      item,
      other,
    ])
  })

  it('L15 two calls of two responses become two assistant messages', () => {
    const [one, two] = [action('a1', { call: 'c1' }), action('a2', { call: 'c2' })]
    const messages = logMessages(one, two, observe('o1', one), observe('o2', two))
    expect(roles(messages)).toEqual(['assistant', 'tool', 'assistant', 'tool'])
    expect(messages.map(callsOf)).toEqual([['c1'], ['c1'], ['c2'], ['c2']])
  })

  it('L16 a tool message names its call and its tool', () => {
    const messages = logMessages(system('s'), user('u'), ...pair('1', { call: 'c', tool: 'grep' }))
    expect(roles(messages)).toEqual(['system', 'user', 'assistant', 'tool'])
    expect(messages[3]).toEqual({
      role: 'tool',
      content: [text('o1')],
      tool_call_id: 'c',
      name: 'grep',
      is_error: false,
    })
  })

  it('L17 an error is sent only together with its call', () => {
    const call = action('a')
    expect(logMessages(fail('e', call, 'no such tool'))).toEqual([])
    const [, result] = logMessages(call, fail('e', call, 'no such tool'))
    expect(result).toMatchObject({ role: 'tool', content: [text('no such tool')], is_error: true })
  })

  it('L18 a pending call is left out, or closed with an error on request', () => {
    const state = fold(user('u'), ...batch('r', ['1', '2']), action('a3', { call: 'c3' }))
    const batched = [[], ['call-a1', 'call-a2'], ['call-a1'], ['call-a2']]
    expect(roles(stateMessages(state))).toEqual(['user', 'assistant', 'tool', 'tool'])
    expect(stateMessages(state).map(callsOf)).toEqual(batched)
    const closed = stateMessages(state, { pending: { close: 'not run' } })
    expect(roles(closed)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'tool'])
    expect(closed.map(callsOf)).toEqual([...batched, ['c3'], ['c3']])
    expect(closed[5]).toMatchObject({ content: [text('not run')], is_error: true })
  })

  it('L19 a reply has the texts of all its calls in order', () => {
    const one = action('a1', { response: 'r', thought: 'first' })
    const two = action('a2', { response: 'r', thought: 'second' })
    const messages = logMessages(one, two, observe('o1', one), observe('o2', two))
    expect(roles(messages)).toEqual(['assistant', 'tool', 'tool'])
    expect(contentOf(messages[0])).toEqual(['first', 'second'])
  })

  it('L20 a call that could not run is sent once it has an error or is closed', () => {
    const call = action('a', { call: 'c', action: null })
    expect(logMessages(call)).toEqual([])
    expect(roles(stateMessages(fold(call), { pending: { close: 'never run' } }))).toEqual([
      'assistant',
      'tool',
    ])
    const messages = logMessages(call, fail('e', call))
    expect(roles(messages)).toEqual(['assistant', 'tool'])
    expect(messages.map(callsOf)).toEqual([['c'], ['c']])
  })

  it('L21 dynamic context becomes the second part of the system prompt', () => {
    expect(contentOf(logMessages(system('s', 'the prompt', { dynamic_context: text('today') }))[0])).toEqual([
      'the prompt',
      'today',
    ])
    expect(contentOf(logMessages(system('s', 'the prompt', { dynamic_context: null }))[0])).toEqual([
      'the prompt',
    ])
    expect(logMessages(system('s', 'the prompt'))).toEqual([
      { role: 'system', content: [text('the prompt')] },
    ])
  })

  it('L22 extended content follows the message, and the event stays unchanged', () => {
    const state = fold(user('u', 'own', { extended_content: [text('extended')] }))
    expect(contentOf(stateMessages(state)[0])).toEqual(['own', 'extended'])
    expect(entry(state, 'u').event).toMatchObject({ llm_message: { content: [text('own')] } })
  })

  it('L23 extended content follows the result, after writing and reading too', () => {
    const call = action('a')
    const state = reopen(fold(call, observe('o', call, 'result', { extended_content: [text('rule')] })))
    expect(contentOf(stateMessages(state)[1])).toEqual(['result', 'rule'])
  })
})
