/** Chat Completions: the requests written for unusual logs. */

import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import type { ChatMessage } from '../../src/messages/openai-chat/rules.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, agent, fail, image, observe, pair, system, text, user } from '../build.ts'
import { validateOpenAiChat } from '../../src/messages/openai-chat/rules.ts'
import { PNG } from './part-table.ts'

/** Returns the messages of a log, which must be valid. */
function write(...events: readonly Event[]): ChatMessage[] {
  const messages = toOpenAIChat(toMessages(replay(events)))
  expect(validateOpenAiChat(messages)).toEqual([])
  return messages
}

const named = (id: string, name: string) =>
  user(id, id, { llm_message: { role: 'user', content: [text(id)], name } })

const toolCall = (id: string) => ({
  id,
  name: 'ls',
  arguments: '{}',
  origin: 'completion' as const,
  responses_item_id: null,
  responses_reasoning_item: null,
})
const tool = (id: string, value: string) =>
  ({ role: 'tool', content: [text(value)], tool_call_id: id, name: 'ls', is_error: false }) as const

/** The message after a reply that is last or followed by another reply. */
const goOn = { role: 'user', content: [text('[Go on.]')] }

describe('a history that does not start with the user', () => {
  const opening = { role: 'user', content: [text('[The conversation begins here.]')] }

  it('gets an opening user message', () => {
    expect(write(agent('a'))).toEqual([opening, { role: 'assistant', content: 'a' }, goOn])
    expect(write(system('s'), ...pair('1')).map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
    ])
    expect(write(system('s'))).toEqual([{ role: 'system', content: [text('s')] }, opening])
  })

  it('gets it also when the grammar cannot express its first message', () => {
    const thought = agent('a', '', {
      llm_message: { role: 'assistant', thinking_blocks: [{ thinking: 't', signature: 's' }] },
    })
    expect(write(thought, user('u'))).toEqual([opening, { role: 'user', content: [text('u')] }])
  })
})

describe('results', () => {
  it('are one message each, also when empty or failed', () => {
    const [one, two, three] = ['1', '2', '3'].map((n) =>
      action(`a${n}`, { response: 'r', call: `c${n}` }),
    ) as [ReturnType<typeof action>, ReturnType<typeof action>, ReturnType<typeof action>]
    const failed = observe('o2', two, 'why', {
      observation: { kind: 'X', content: [text('why')], is_error: true },
    })
    expect(
      write(user('u'), one, two, three, observe('o1', one, []), failed, fail('e', three, '')).slice(2),
    ).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: '' },
      { role: 'tool', tool_call_id: 'c2', content: '[An error occurred during execution.]\nwhy' },
      { role: 'tool', tool_call_id: 'c3', content: '[An error occurred during execution.]' },
    ])
  })

  it('move their images to a user message after the last result', () => {
    const one = action('a1', { response: 'r', call: 'c1' })
    const two = action('a2', { response: 'r', call: 'c2' })
    const shown = observe('o1', one, [text('see'), image(PNG, 'https://x.org/b.png')])
    expect(write(user('u'), one, two, shown, observe('o2', two, [image(PNG)]), user('v')).slice(2)).toEqual([
      {
        role: 'tool',
        tool_call_id: 'c1',
        content:
          'see\n[Image 1 follows in the next user message.]\n[Image 2 follows in the next user message.]',
      },
      { role: 'tool', tool_call_id: 'c2', content: '[Image 3 follows in the next user message.]' },
      {
        role: 'user',
        content: [
          text('[Image 1 of the tool results above:]'),
          { type: 'image_url', image_url: { url: PNG } },
          text('[Image 2 of the tool results above:]'),
          { type: 'image_url', image_url: { url: 'https://x.org/b.png' } },
          text('[Image 3 of the tool results above:]'),
          { type: 'image_url', image_url: { url: PNG } },
        ],
      },
      { role: 'user', content: [text('v')] },
    ])
  })

  it('an unsupported image in a result or user message becomes a placeholder', () => {
    const call = action('a', { call: 'c' })
    const log = [
      user('u', [image('x.png')]),
      call,
      observe('o', call, [image('data:image/svg+xml;base64,AAAA')]),
    ]
    expect(write(...log)).toMatchObject([
      { content: [text('[An image that cannot be shown here.]')] },
      {},
      { content: '[An image that cannot be shown here.]' },
    ])
  })
})

describe('plainText', () => {
  it('joins texts into one string, and keeps the list of a message with an image', () => {
    const shown = user('v', [text('c'), image('https://example.com/a.png')])
    const list = toMessages(replay([system('s'), user('u', [text('a'), text('b')]), agent('x'), shown]))
    const plain = toOpenAIChat(list, { plainText: true })
    expect(plain.map(({ content }) => content)).toEqual([
      's',
      'a\nb',
      'x',
      [text('c'), { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }],
    ])
    expect(validateOpenAiChat(plain)).toEqual([])
  })
})

describe('values that the provider rejects', () => {
  it('repeated and illegal ids are rewritten equally in call and result', () => {
    const ids = ['functions.ls:0', 'functions.ls:0', 'x'.repeat(51), 'é', '']
    const events = ids.flatMap((call, n) => pair(`${n}`, { call }))
    const messages = write(user('u'), ...events)
    const sent = messages.flatMap((each) =>
      each.role === 'assistant' ? (each.tool_calls ?? []).map(({ id }) => id) : [],
    )
    expect(sent).toEqual(['functions.ls:0', 'functions.ls:0_2', 'x'.repeat(40), '_', 'call'])
    expect(messages.flatMap((each) => (each.role === 'tool' ? [each.tool_call_id] : []))).toEqual(sent)
  })

  it('illegal characters in tool names are replaced', () => {
    const [call, result] = pair('1', { tool: 'mcp.server/do it' })
    expect(write(user('u'), call, result)[1]).toMatchObject({
      tool_calls: [{ function: { name: 'mcp_server_do_it' } }],
    })
  })

  it.each(['[]', '{"a":', 'ls'])('arguments %j are wrapped in an object', (args) => {
    const [call, result] = pair('1', { args })
    const [, reply] = write(user('u'), call, result)
    expect(reply).toMatchObject({ tool_calls: [{ function: { arguments: JSON.stringify({ _raw: args }) } }] })
  })

  it.each(['', ' \n', 'null'])('blank arguments %j become an empty object', (args) => {
    const [call, result] = pair('1', { args })
    expect(write(user('u'), call, result)[1]).toMatchObject({
      tool_calls: [{ function: { arguments: '{}' } }],
    })
  })

  it("a user's name is sent only if it is legal", () => {
    expect(write(named('u', 'eve'), named('v', 'no good'))).toEqual([
      { role: 'user', name: 'eve', content: [text('u')] },
      { role: 'user', content: [text('v')] },
    ])
  })

  it('lone surrogates are replaced', () => {
    expect(write(user('u', 'a\ud800'))).toEqual([{ role: 'user', content: [text('a\ufffd')] }])
  })
})

describe('a list that no state produces', () => {
  it('gets one result per call, without stray results', () => {
    const reply = {
      role: 'assistant',
      content: [],
      tool_calls: [toolCall('c'), toolCall('c'), toolCall('d')],
      reasoning_content: null,
      thinking_blocks: [],
      responses_reasoning_item: null,
    } as const
    const messages = toOpenAIChat([
      tool('x', 'stray'),
      reply,
      tool('c', 'first'),
      tool('y', 'stray'),
      tool('c', 'second'),
    ])
    expect(validateOpenAiChat(messages)).toEqual([])
    expect(messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c', content: 'first' },
      { role: 'tool', tool_call_id: 'c_2', content: 'second' },
      { role: 'tool', tool_call_id: 'd', content: '[No result was recorded.]' },
    ])
  })
})
