/** Anthropic Messages: how `toAnthropic` avoids requests that the provider rejects. */

import { describe, expect, it } from 'vitest'
import type { RedactedThinkingBlock, ThinkingBlock } from '../../src/event/shapes.ts'
import type { Event, MessageEvent } from '../../src/event/types.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, agent, fail, image, observe, pair, reject, system, text, user } from '../build.ts'
import { validateAnthropic } from '../../src/messages/anthropic/rules.ts'
import { messages, write } from './anthropic-requests.ts'
import { PNG } from './part-table.ts'

const SOURCE = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }

const thinkingReply = (
  id: string,
  content: string,
  ...thinking_blocks: (ThinkingBlock | RedactedThinkingBlock)[]
): MessageEvent => ({
  kind: 'MessageEvent',
  id,
  source: 'agent',
  llm_message: { role: 'assistant', content: [text(content)], thinking_blocks },
})

const signed = (name: string): ThinkingBlock => ({ type: 'thinking', thinking: name, signature: `s-${name}` })

const error = (content: string) => [
  { type: 'tool_result', tool_use_id: 'c', content: [text(content)], is_error: true },
]

describe('`toAnthropic`', () => {
  it('L16 writes a system prompt, a user message, a call and its result', () => {
    const [call, result] = pair('1', { call: 'c', tool: 'ls', args: '{"path":"."}', thought: 'look' })
    expect(write(system('s', 'S', { dynamic_context: text('D') }), user('u'), call, result)).toEqual({
      system: [text('S'), text('D')],
      messages: [
        { role: 'user', content: [text('u')] },
        {
          role: 'assistant',
          content: [text('look'), { type: 'tool_use', id: 'c', name: 'ls', input: { path: '.' } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: [text('o1')] }] },
      ],
    })
  })

  it('omits the system field without a prompt, and blank texts in it', () => {
    expect(write(user('u'))).not.toHaveProperty('system')
    expect(write(system('s', ' ', { dynamic_context: text('D') }), user('u')).system).toEqual([text('D')])
  })

  it('merges messages of one role, and separates two replies by a user message', () => {
    const [call, result] = pair('1', { call: 'c' })
    const named = user('w', 'w', { llm_message: { role: 'user', content: [text('w')], name: 'eve' } })
    expect(
      messages(user('u'), named, agent('a'), agent('b'), call, result, user('v')).map(({ role }) => role),
    ).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'user'])
  })

  it('W50 leaves out blank texts, and keeps the white space of other texts', () => {
    expect(
      messages(
        user('u', [text(' '), text(' u ')]),
        agent('a', [text('one \n'), text('\u0085'), text(' two\u001c')]),
      ),
    ).toEqual([
      { role: 'user', content: [text(' u ')] },
      { role: 'assistant', content: [text('one \n'), text(' two\u001c')] },
      { role: 'user', content: [text('[Go on.]')] },
    ])
  })

  it('inserts an opening user message when the history does not start with one', () => {
    const opening = text('[The conversation begins here.]')
    expect(messages(system('s'))).toEqual([{ role: 'user', content: [opening] }])
    expect(messages(agent('a'))[0]).toEqual({ role: 'user', content: [opening] })
    expect(messages(thinkingReply('a', '', { thinking: 'unsigned' }), user('u'))).toEqual([
      { role: 'user', content: [opening, text('u')] },
    ])
  })
})

describe('thinking', () => {
  it('is sent back unchanged at the start of the message when signed or redacted', () => {
    const blocks = [signed('\n t \t'), { type: 'redacted_thinking' as const, data: 'EmwK+/=' }, signed('')]
    const call = action('a', { thinking_blocks: blocks, thought: 'go' })
    expect(messages(user('u'), call, observe('o', call))[1]?.content.slice(0, 3)).toEqual(blocks)
  })

  it('is left out when it is unsigned, empty or not well-formed Unicode', () => {
    const blocks = [
      { thinking: 'a' },
      { thinking: 'b', signature: null },
      { thinking: 'c', signature: '' },
      { thinking: '\ud800', signature: 's' },
      { thinking: 'd', signature: '\udc00' },
      { data: '' },
      { data: '\ud800' },
    ]
    expect(messages(user('u'), thinkingReply('a', 'hello', ...blocks))[1]?.content).toEqual([text('hello')])
    expect(messages(user('u'), thinkingReply('a', '', ...blocks))).toHaveLength(1)
  })

  it('precedes all texts and calls of its batch', () => {
    const one = action('a1', { response: 'r', thinking: true, thought: 'one' })
    const two = action('a2', { response: 'r', thinking: true, thought: 'two' })
    const [, reply] = messages(user('u'), one, two, observe('o1', one), observe('o2', two))
    expect(reply?.content.map(({ type }) => type)).toEqual([
      'thinking',
      'thinking',
      'text',
      'text',
      'tool_use',
      'tool_use',
    ])
  })

  it('is followed by a placeholder text when the reply has nothing else', () => {
    expect(messages(user('u'), thinkingReply('a', ' ', signed('t')))[1]?.content).toEqual([
      signed('t'),
      text('[No answer was given.]'),
    ])
  })

  it('a user message follows each of several consecutive replies, with or without thinking', () => {
    expect(
      messages(
        user('u'),
        agent('a'),
        thinkingReply('b', 'b', signed('t')),
        thinkingReply('c', 'c', signed('t')),
      ),
    ).toEqual([
      { role: 'user', content: [text('u')] },
      { role: 'assistant', content: [text('a')] },
      { role: 'user', content: [text('[Go on.]')] },
      { role: 'assistant', content: [signed('t'), text('b')] },
      { role: 'user', content: [text('[Go on.]')] },
      { role: 'assistant', content: [signed('t'), text('c')] },
      { role: 'user', content: [text('[Go on.]')] },
    ])
  })
})

describe('tool results', () => {
  const call = action('a', { call: 'c' })
  const result = (...events: readonly Event[]) => messages(user('u'), call, ...events)[2]?.content

  it('have no content when empty or blank', () => {
    expect(result(observe('o', call, []))).toEqual([{ type: 'tool_result', tool_use_id: 'c' }])
    expect(result(observe('o', call, ' '))).toEqual([{ type: 'tool_result', tool_use_id: 'c' }])
  })

  it('have `is_error` for failures and rejections, and a default text for a blank error', () => {
    expect(result(fail('e', call, 'no such tool'))).toEqual(error('no such tool'))
    expect(result(fail('e', call, ' '))).toEqual(error('[An error occurred during execution.]'))
    expect(result(reject('r', call, { rejection_reason: 'no' }))).toEqual(error('Action rejected: no'))
  })

  it('contain images, except errors, whose images follow after the result', () => {
    const content = [text('see'), image(PNG, 'https://x.org/a.png')]
    const images = [
      { type: 'image', source: SOURCE },
      { type: 'image', source: { type: 'url', url: 'https://x.org/a.png' } },
    ]
    expect(result(observe('o', call, content))).toEqual([
      { type: 'tool_result', tool_use_id: 'c', content: [text('see'), ...images] },
    ])
    expect(
      result(observe('o', call, '', { observation: { kind: 'X', content, is_error: true } }), user('v')),
    ).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'c',
        is_error: true,
        content: [
          text('[An error occurred during execution.]'),
          text('see'),
          text('[Image 1 follows in the next user message.]'),
          text('[Image 2 follows in the next user message.]'),
        ],
      },
      text('[Image 1 of the tool results above:]'),
      images[0],
      text('[Image 2 of the tool results above:]'),
      images[1],
      text('v'),
    ])
  })

  it('move the document of an error after the result', () => {
    const file = { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }
    const reference = { type: 'tool_reference', tool_name: 'ls' }
    const [call, result] = pair('1', { call: 'c', tool: 'ls', args: '{}' })
    const observation = { kind: 'X', is_error: true, content: [file, reference] }
    const [, , answer] = messages(user('u'), call, { ...result, observation } as Event)
    expect(answer?.content).toMatchObject([
      { type: 'tool_result', content: [{}, text('[File 1 follows in the next user message.]'), {}] },
      text('[File 1 of the tool results above:]'),
      file,
    ])
  })

  it('replace the reference to a tool that is not in the request by a text', () => {
    const [call, result] = pair('1', { call: 'c', tool: 'find', args: '{}' })
    const [ls, cat] = ['ls', 'cat'].map((tool_name) => ({ type: 'tool_reference', tool_name }))
    const observation = { kind: 'X', content: [ls, cat] }
    const list = toMessages(replay([user('u'), call, { ...result, observation } as Event]))
    const sent = (tools?: readonly object[]) =>
      toAnthropic(list, tools === undefined ? {} : { tools }).messages[2]?.content
    const both = [{ content: [ls, cat] }]
    expect(sent()).toMatchObject(both)
    expect(sent([{ name: 'ls' }, { type: 'mcp_toolset', mcp_server_name: 'm' }])).toMatchObject(both)
    const gone = text('[A part that cannot be shown here: tool_reference "cat".]')
    expect(sent([{ name: 'ls' }])).toMatchObject([{ content: [ls, gone] }])
  })

  it('user and assistant messages get a placeholder for an unsupported image', () => {
    expect(messages(user('u', [image('http://x.org/a.png', 'a.png')]), agent('a', [image(PNG)]))).toEqual([
      {
        role: 'user',
        content: [
          text('[An image that cannot be shown here.]'),
          text('[An image that cannot be shown here.]'),
        ],
      },
      { role: 'assistant', content: [text('[An image that cannot be shown here.]')] },
      { role: 'user', content: [text('[Go on.]')] },
    ])
  })
})

describe('calls', () => {
  it('have legal ids and names, and an object as input', () => {
    const events = ['functions.ls:0', 'functions.ls:0', 'c'].flatMap((call, n) =>
      pair(`${n}`, { call, tool: 'a.b', args: n === 2 ? '[' : '{"x":1}' }),
    )
    const blocks = messages(user('u'), ...events).flatMap(({ content }) => content)
    expect(blocks.filter(({ type }) => type === 'tool_use')).toEqual([
      { type: 'tool_use', id: 'functions_ls_0', name: 'a_b', input: { x: 1 } },
      { type: 'tool_use', id: 'functions_ls_0_2', name: 'a_b', input: { x: 1 } },
      { type: 'tool_use', id: 'c', name: 'a_b', input: { _raw: '[' } },
    ])
    expect(blocks.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []))).toEqual([
      'functions_ls_0',
      'functions_ls_0_2',
      'c',
    ])
  })
})

const compacted = (more: object) => {
  const parts = [{ other: { type: 'compaction', content: 'So far.', ...more } }]
  const reply = { grammar: 'anthropic', parts }
  const event = { ...agent('r'), llm_message: { role: 'assistant', content: [], reply } } as MessageEvent
  return messages(user('u'), event, user('v'))[1]?.content
}

it('M3 a compaction with a signature is sent as text, one with encrypted content as a block', () => {
  // A compaction that the client requested would have to be the first block of the request.
  expect(compacted({ signature: 'c2ln' })).toEqual([text('[compaction: So far.]')])
  expect(compacted({ encrypted_content: 'eA==' })).toMatchObject([{ type: 'compaction' }])
})

const appended = (...events: readonly Event[]) => {
  const request = toAnthropic(toMessages(replay(events), { system: 'append' }))
  expect(validateAnthropic(request, { systemMessages: true })).toEqual([])
  return request.messages.map(({ role, content }) => [role, ...content.map((block) => block.type)])
}

describe('later system prompts', () => {
  it('M3 share one message when nothing separates them', () => {
    expect(appended(system('s', 'a'), user('u'), system('t', 'b'), system('v', 'c'))).toEqual([
      ['user', 'text'],
      ['system', 'text', 'text'],
    ])
  })

  it('M3 precede the next reply that is sent when the reply after them is left out', () => {
    const parts = [{ other: { type: 'compaction', content: 'S', encrypted_content: 'eA==' } }]
    const reply = { grammar: 'anthropic', prefix: 'other', parts }
    const sealed = { ...agent('r'), llm_message: { role: 'assistant', content: [], reply } } as MessageEvent
    expect(
      appended(system('s', 'a'), user('u'), system('t', 'b'), sealed, user('v'), agent('w'), user('x')),
    ).toEqual([
      ['user', 'text', 'text'],
      ['system', 'text'],
      ['assistant', 'text'],
      ['user', 'text'],
    ])
  })
})
