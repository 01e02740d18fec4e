/** `toGoogle`: signatures, results, tool names and images in the form that Gemini accepts. */

import { describe, expect, it } from 'vitest'
import type { AssistantMessage, NeutralMessage, NeutralToolCall } from '../../src/messages/message.ts'
import type { GoogleContent } from '../../src/messages/google/rules.ts'
import { toGoogle } from '../../src/messages/google/write.ts'
import { NO_SIGNATURE } from '../../src/messages/reply-parts.ts'
import { validateGoogle } from '../../src/messages/google/rules.ts'

const user = (...content: object[]): NeutralMessage => ({
  role: 'user',
  content: content as never,
  name: null,
})
const assistant = (more: Partial<AssistantMessage>): AssistantMessage => ({
  role: 'assistant',
  content: [],
  tool_calls: [],
  reasoning_content: null,
  thinking_blocks: [],
  responses_reasoning_item: null,
  ...more,
})
const call = (id: string, name = 'ls'): NeutralToolCall => ({
  id,
  name,
  arguments: '{"a": 1}',
  origin: 'completion',
  responses_item_id: null,
  responses_reasoning_item: null,
})
const result = (id: string, content: object[], is_error = false): NeutralMessage => ({
  role: 'tool',
  content: content as never,
  tool_call_id: id,
  name: 'ls',
  is_error,
})
const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const image = (url: string) => ({ type: 'image', image_urls: [url] })

function written(...messages: NeutralMessage[]): GoogleContent[] {
  const request = toGoogle(messages)
  expect(validateGoogle(request)).toEqual([])
  return request.contents
}

describe('a reply of Gemini', () => {
  const signed = assistant({
    content: [{ text: 'I look.' }],
    thinking_blocks: [{ type: 'thinking', thinking: 'Hm.' }],
    tool_calls: [call('c1'), call('c2')],
    reply: {
      grammar: 'google',
      parts: [
        { thinking: 0 },
        { text: 0 },
        { call: 0, more: { thoughtSignature: 'c2ln', functionCall: { id: null } } },
        { call: 1, more: { functionCall: { id: null } } },
      ],
    },
  })

  it('is sent back part by part, without call ids that Gemini did not send', () => {
    const contents = written(
      user({ text: 'u' }),
      signed,
      result('c2', [{ text: 'two' }]),
      result('c1', [{ text: 'one' }]),
    )
    expect(contents[1]?.parts).toEqual([
      { text: 'Hm.', thought: true },
      { text: 'I look.' },
      { functionCall: { name: 'ls', args: { a: 1 } }, thoughtSignature: 'c2ln' },
      { functionCall: { name: 'ls', args: { a: 1 } } },
    ])
    expect(contents[2]?.parts).toEqual([
      { functionResponse: { name: 'ls', response: { output: 'one' } } },
      { functionResponse: { name: 'ls', response: { output: 'two' } } },
    ])
  })

  it('has the placeholder signature on its first call after its prefix changed', () => {
    const changed = { ...signed, reply: { ...signed.reply, prefix: 'of another past' } }
    const [, reply] = written(user({ text: 'u' }), changed)
    expect(reply?.parts.slice(2)).toEqual([
      { functionCall: { name: 'ls', args: { a: 1 } }, thoughtSignature: NO_SIGNATURE },
      { functionCall: { name: 'ls', args: { a: 1 } } },
    ])
  })

  it('has the placeholder signature on an image after its prefix changed', () => {
    const inlineData = { mimeType: 'image/png', data: PNG }
    const drawn = (prefix: object) =>
      assistant({
        reply: { grammar: 'google', ...prefix, parts: [{ other: { inlineData, thoughtSignature: 'c2ln' } }] },
      })
    const sent = (prefix: object) =>
      written(user({ text: 'u' }), drawn(prefix), user({ text: 'v' }))[1]?.parts
    expect(sent({})).toEqual([{ inlineData, thoughtSignature: 'c2ln' }])
    expect(sent({ prefix: 'of another past' })).toEqual([{ inlineData, thoughtSignature: NO_SIGNATURE }])
  })

  it('ends with a placeholder text when it contains only thoughts', () => {
    const thoughts = assistant({
      thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }],
      reply: { grammar: 'google' },
    })
    expect(written(user({ text: 'u' }), thoughts)[1]?.parts).toEqual([
      { text: 'Hm.', thought: true, thoughtSignature: 'c2ln' },
      { text: '[No answer was given.]' },
    ])
  })
})

describe('a reply of another model', () => {
  it('is sent without thinking, and its first call with the placeholder signature', () => {
    const other = assistant({
      thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'of another' }],
      tool_calls: [call('c1'), call('c2')],
    })
    expect(written(user({ text: 'u' }), other)[1]?.parts).toEqual([
      { functionCall: { id: 'c1', name: 'ls', args: { a: 1 } }, thoughtSignature: NO_SIGNATURE },
      { functionCall: { id: 'c2', name: 'ls', args: { a: 1 } } },
    ])
  })

  it('uses tool names that the provider accepts', () => {
    const names = ['a.b:c-d', '1st', '', 'é', 'n'.repeat(70)]
    const calls = names.map((name, index) => call(`c${index}`, name))
    const sent = written(user({ text: 'u' }), assistant({ tool_calls: calls }))[1]?.parts ?? []
    expect(sent.map((part) => ('functionCall' in part ? part.functionCall.name : ''))).toEqual([
      'a.b:c-d',
      '_1st',
      'tool',
      '_',
      'n'.repeat(64),
    ])
  })
})

describe('images', () => {
  it('are parts of their result if inline; an image by URL follows in a user message', () => {
    const content = [{ text: 'seen' }, image(`data:image/png;base64,${PNG}`), image('https://a.b/c.webp?d')]
    const contents = written(
      user({ text: 'u' }),
      assistant({ tool_calls: [call('c1')] }),
      result('c1', content, true),
      user({ text: 'and?' }),
    )
    expect(contents.slice(2)).toEqual([
      {
        role: 'user',
        parts: [
          {
            functionResponse: {
              id: 'c1',
              name: 'ls',
              response: {
                error: 'seen\n[Image 1 follows in the next user message.]',
              },
              parts: [{ inlineData: { mimeType: 'image/png', data: PNG } }],
            },
          },
        ],
      },
      {
        role: 'user',
        parts: [
          { text: '[Image 1 of the tool results above:]' },
          { fileData: { mimeType: 'image/webp', fileUri: 'https://a.b/c.webp?d' } },
          { text: 'and?' },
        ],
      },
    ])
  })

  it('become a placeholder text when the provider does not accept them', () => {
    const gif = image('data:image/gif;base64,R0lGODlhAQABAAAAACw=')
    const [content] = written(user(gif, image('http://a.b/c.png'), image('https://a.b/c.gif')))
    expect(new Set(content?.parts.map((part) => JSON.stringify(part)))).toEqual(
      new Set(['{"text":"[An image that cannot be shown here.]"}']),
    )
  })
})
