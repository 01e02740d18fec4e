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
import { entry, fold, reopen, roles, say, notices, words } from './look.ts'

/** A user message with fields for assistants and tools only. */
const odd = (id: string, fields: Partial<Message>): MessageEvent =>
  user(id, id, { llm_message: { role: 'user', content: [text(id)], ...fields } })

/** The messages of a plain one between two odd ones: they are never merged. */
const around = (fields: Partial<Message>) => say(odd('u1', fields), user('u2'), odd('u3', fields))
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
  it('L1 an empty log', () => {
    expect(say()).toEqual([])
  })

  it('L2 one message', () => {
    expect(say(user('u', 'hello'))).toEqual([{ role: 'user', content: [text('hello')], name: null }])
  })

  it('L3 two user messages and a reply', () => {
    const messages = say(user('u1'), user('u2'), agent('a'))
    expect(roles(messages)).toEqual(['user', 'assistant'])
    expect(messages.map(words)).toEqual([['u1', 'u2'], ['a']])
  })

  it('L4 three user messages', () => {
    expect(say(user('u1'), user('u2'), user('u3')).map(words)).toEqual([['u1', 'u2', 'u3']])
    expect(say(user('u1'), user('u2', [text('1'), text('2')])).map(words)).toEqual([['u1', '1', '2']])
  })

  it('L5 a text and an image', () => {
    const messages = say(user('u1'), user('u2', [image('https://a.example/1.png')]))
    expect(messages).toHaveLength(1)
    expect(messages[0]?.content.map((part) => part.type)).toEqual(['text', 'image'])
  })

  it('L6 a summary and a user message', () => {
    const messages = say(user('m0'), condensation('C', ['m0'], 'the summary', 0), user('u'))
    expect(roles(messages)).toEqual(['user'])
    expect(words(messages[0])).toEqual(['the summary', 'u'])
    expect(say(summary('s', 'the summary'), user('u'))).toEqual(messages)
  })

  it('L7 a user message with a tool_call_id stands alone', () => {
    expect(around({ tool_call_id: 't' }).map(words)).toEqual(APART)
  })

  it('L8 a user message with tool_calls stands alone', () => {
    const tool_calls = [{ id: 't', name: 'ls', arguments: '{}', origin: 'completion' }] as const
    const messages = around({ tool_calls })
    expect(messages.map(words)).toEqual(APART)
    expect(JSON.stringify(messages)).not.toContain('"ls"')
    expect(around({ tool_calls: [] }).map(words)).toEqual(APART)
  })

  it('L9 a user message with a name stands alone', () => {
    const messages = around({ name: 'ann' })
    expect(messages.map(words)).toEqual(APART)
    expect(messages[0]).toMatchObject({ name: 'ann' })
  })

  it('L10 a reply, then the user', () => {
    expect(roles(say(user('u1'), agent('a'), user('u2')))).toEqual(['user', 'assistant', 'user'])
    expect(roles(say(agent('a'), user('u')))).toEqual(['assistant', 'user'])
  })

  it('L11 a call', () => {
    const [reply, ...others] = say(
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

  it('L12 three calls of one response', () => {
    const calls = ['1', '2', '3'].map((name, index) =>
      action(`a${name}`, {
        call: `c${name}`,
        response: 'r',
        ...(index === 0 ? { thought: 'all three' } : {}),
      }),
    )
    const messages = say(...calls, ...calls.map((call) => observe(`o-${call.id}`, call)))
    expect(roles(messages)).toEqual(['assistant', 'tool', 'tool', 'tool'])
    expect(words(messages[0])).toEqual(['all three'])
    expect(messages.map(callsOf)[0]).toEqual(['c1', 'c2', 'c3'])
  })

  it('L13 reasoning and thinking of the first call', () => {
    const first = action('a1', { response: 'r', thinking: true, reasoning_content: 'because' })
    const second = action('a2', { response: 'r' })
    const [reply] = say(first, second, observe('o1', first), observe('o2', second))
    expect(reply).toMatchObject({
      reasoning_content: 'because',
      thinking_blocks: [{ type: 'thinking', thinking: 'thinking of a1', signature: 'signed-a1' }],
    })

    // Later reasoning is appended; blank reasoning is dropped.
    const more = action('a3', { response: 'r', thinking: true, reasoning_content: 'so' })
    const blank = action('a4', { response: 'r', reasoning_content: ' ' })
    const [all] = say(first, more, blank, observe('o1', first), observe('o3', more), observe('o4', blank))
    expect(all).toMatchObject({
      reasoning_content: 'because\n\nso',
      thinking_blocks: [...(first.thinking_blocks ?? []), ...(more.thinking_blocks ?? [])],
    })
  })

  it('L14 the reasoning item of the first call', () => {
    const [item, other] = [reasoningItem('rs_1'), reasoningItem('rs_2')]
    const first = action('a1', { response: 'r', responses_reasoning_item: item })
    const second = action('a2', { response: 'r' })
    expect(itemsOf(say(first, second, observe('o1', first), observe('o2', second))[0])).toEqual([item, null])
    const third = action('a3', { response: 'r', responses_reasoning_item: other })
    expect(itemsOf(say(first, third, observe('o1', first), observe('o3', third))[0])).toEqual([item, other])
  })

  it('L15 two calls of two responses', () => {
    const [one, two] = [action('a1', { call: 'c1' }), action('a2', { call: 'c2' })]
    const messages = say(one, two, observe('o1', one), observe('o2', two))
    expect(roles(messages)).toEqual(['assistant', 'tool', 'assistant', 'tool'])
    expect(messages.map(callsOf)).toEqual([['c1'], ['c1'], ['c2'], ['c2']])
  })

  it('L16 a system prompt, a question, a call and its result', () => {
    const messages = say(system('s'), user('u'), ...pair('1', { call: 'c', tool: 'grep' }))
    expect(roles(messages)).toEqual(['system', 'user', 'assistant', 'tool'])
    expect(messages[3]).toEqual({
      role: 'tool',
      content: [text('o1')],
      tool_call_id: 'c',
      name: 'grep',
      is_error: false,
    })
  })

  it('L17 an error that answers nothing', () => {
    const call = action('a')
    expect(say(fail('e', call, 'no such tool'))).toEqual([])
    const [, result] = say(call, fail('e', call, 'no such tool'))
    expect(result).toMatchObject({ role: 'tool', content: [text('no such tool')], is_error: true })
  })

  it('L18 a batch, and a call that waits', () => {
    const state = fold(user('u'), ...batch('r', ['1', '2']), action('a3', { call: 'c3' }))
    const batched = [[], ['call-a1', 'call-a2'], ['call-a1'], ['call-a2']]
    expect(roles(notices(state))).toEqual(['user', 'assistant', 'tool', 'tool'])
    expect(notices(state).map(callsOf)).toEqual(batched)
    const closed = notices(state, { pending: { close: 'not run' } })
    expect(roles(closed)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'tool'])
    expect(closed.map(callsOf)).toEqual([...batched, ['c3'], ['c3']])
    expect(closed[5]).toMatchObject({ content: [text('not run')], is_error: true })
  })

  it('L19 a second call with words of its own', () => {
    const one = action('a1', { response: 'r', thought: 'first' })
    const two = action('a2', { response: 'r', thought: 'second' })
    const messages = say(one, two, observe('o1', one), observe('o2', two))
    expect(roles(messages)).toEqual(['assistant', 'tool', 'tool'])
    expect(words(messages[0])).toEqual(['first', 'second'])
  })

  it('L20 a call that could not be run', () => {
    const call = action('a', { call: 'c', action: null })
    expect(say(call)).toEqual([])
    expect(roles(notices(fold(call), { pending: { close: 'never run' } }))).toEqual(['assistant', 'tool'])
    const messages = say(call, fail('e', call))
    expect(roles(messages)).toEqual(['assistant', 'tool'])
    expect(messages.map(callsOf)).toEqual([['c'], ['c']])
  })

  it('L21 a system prompt with what this conversation adds', () => {
    expect(words(say(system('s', 'the prompt', { dynamic_context: text('today') }))[0])).toEqual([
      'the prompt',
      'today',
    ])
    expect(words(say(system('s', 'the prompt', { dynamic_context: null }))[0])).toEqual(['the prompt'])
    expect(say(system('s', 'the prompt'))).toEqual([{ role: 'system', content: [text('the prompt')] }])
  })

  it('L22 extended content of a message', () => {
    const state = fold(user('u', 'own', { extended_content: [text('extended')] }))
    expect(words(notices(state)[0])).toEqual(['own', 'extended'])
    expect(entry(state, 'u').event).toMatchObject({ llm_message: { content: [text('own')] } })
  })

  it('L23 extended content of a result', () => {
    const call = action('a')
    const state = reopen(fold(call, observe('o', call, 'result', { extended_content: [text('rule')] })))
    expect(words(notices(state)[1])).toEqual(['result', 'rule'])
  })
})
