/** What Gemini is sent: signatures on their own parts, results alone and in order, names and images that it takes. */

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
const says = (more: Partial<AssistantMessage>): AssistantMessage => ({
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
  const signed = says({
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

  it('goes back part by part, without the ids that it came without', () => {
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

  it('loses its signatures where the past has changed, and says so in the provider’s own word', () => {
    const changed = { ...signed, reply: { ...signed.reply, prefix: 'of another past' } }
    const [, reply] = written(user({ text: 'u' }), changed)
    expect(reply?.parts.slice(2)).toEqual([
      { functionCall: { name: 'ls', args: { a: 1 } }, thoughtSignature: NO_SIGNATURE },
      { functionCall: { name: 'ls', args: { a: 1 } } },
    ])
  })

  it('keeps the place of the signature of an image whose past has changed', () => {
    const inlineData = { mimeType: 'image/png', data: PNG }
    const drawn = (prefix: object) =>
      says({
        reply: { grammar: 'google', ...prefix, parts: [{ other: { inlineData, thoughtSignature: 'c2ln' } }] },
      })
    const sent = (prefix: object) =>
      written(user({ text: 'u' }), drawn(prefix), user({ text: 'v' }))[1]?.parts
    expect(sent({})).toEqual([{ inlineData, thoughtSignature: 'c2ln' }])
    expect(sent({ prefix: 'of another past' })).toEqual([{ inlineData, thoughtSignature: NO_SIGNATURE }])
  })

  it('of thoughts alone has words behind it', () => {
    const thoughts = says({
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
  it('goes without its thinking, its first call under no signature of its own', () => {
    const other = says({
      thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'of another' }],
      tool_calls: [call('c1'), call('c2')],
    })
    expect(written(user({ text: 'u' }), other)[1]?.parts).toEqual([
      { functionCall: { id: 'c1', name: 'ls', args: { a: 1 } }, thoughtSignature: NO_SIGNATURE },
      { functionCall: { id: 'c2', name: 'ls', args: { a: 1 } } },
    ])
  })

  it('calls by names that the provider takes', () => {
    const names = ['a.b:c-d', '1st', '', 'é', 'n'.repeat(70)]
    const calls = names.map((name, index) => call(`c${index}`, name))
    const sent = written(user({ text: 'u' }), says({ tool_calls: calls }))[1]?.parts ?? []
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
  it('of a result are parts of it, but for one at an address, which follows', () => {
    const content = [{ text: 'seen' }, image(`data:image/png;base64,${PNG}`), image('https://a.b/c.webp?d')]
    const contents = written(
      user({ text: 'u' }),
      says({ tool_calls: [call('c1')] }),
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

  it('that the provider cannot take are said in words', () => {
    const gif = image('data:image/gif;base64,R0lGODlhAQABAAAAACw=')
    const [content] = written(user(gif, image('http://a.b/c.png'), image('https://a.b/c.gif')))
    expect(new Set(content?.parts.map((part) => JSON.stringify(part)))).toEqual(
      new Set(['{"text":"[An image that cannot be shown here.]"}']),
    )
  })
})
