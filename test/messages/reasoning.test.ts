/** Reasoning is sent back only to the model that produced it, in the received field and form (design D37). */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/messages/anthropic/read.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { collectOpenAIChat, fromOpenAIChat } from '../../src/messages/openai-chat/read.ts'
import { validateOpenAiChat } from '../../src/messages/openai-chat/rules.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { fromOpenAIResponses } from '../../src/messages/openai-responses/read.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { requestRecord, type WriteOptions } from '../../src/messages/prefix.ts'
import type { Reply } from '../../src/messages/reply.ts'
import { replay } from '../../src/state/reduce.ts'
import { SERVERS } from '../../src/steps/servers.ts'
import { costOf } from '../growth.ts'

const messagesOf = ({ events }: Reply): NeutralMessage[] =>
  toMessages(replay(events.map((event, index) => ({ ...event, id: `e${index}` }))), {
    pending: { close: 'none' },
  })

const MODEL = 'deepseek-v4'

const sent = (block: object, model: string, signs = false): unknown => {
  const content = [block, { type: 'tool_use', id: 'a', name: 'ls', input: {} }]
  const reply = fromAnthropic({ model: MODEL, content } as never)
  return toAnthropic(messagesOf(reply), { model, signs }).messages[1]?.content[0]
}

describe('thinking in Anthropic Messages', () => {
  it.each([
    [{ type: 'thinking', thinking: 'I look.' }],
    [{ type: 'thinking', thinking: 'I look.', signature: '' }],
    [{ type: 'thinking', thinking: '', signature: '' }],
    [{ type: 'thinking', thinking: '' }],
  ])('%j is sent back only to its model, on a server that does not sign', (block) => {
    expect(sent(block, MODEL)).toEqual(block)
    expect(sent(block, `${MODEL}-20261101`)).toEqual(block)
    expect(sent(block, 'kimi-k3')).toMatchObject({ type: 'tool_use' })
    expect(sent(block, MODEL, true)).toMatchObject({ type: 'tool_use' })
  })

  it.each(['deepseek', 'kimi'] as const)(
    'starts every message with calls for %s, including replies of other models',
    (server) => {
      const call = { type: 'tool_use', id: 'a', name: 'ls', input: {} }
      const text = { type: 'text', text: 'x' }
      const thinking = { type: 'thinking', thinking: 'hm' }
      const sentOf = (content: object[], model: string, options: WriteOptions = SERVERS[server]) =>
        toAnthropic(messagesOf(fromAnthropic({ model, content } as never)), { model: MODEL, ...options })
          .messages[1]
      const filled = { type: 'thinking', thinking: ' ' }
      expect(sentOf([call], MODEL)?.content).toEqual([filled, call])
      expect(sentOf([text, call], 'gpt-6')?.content).toEqual([filled, text, call])
      expect(sentOf([thinking, call], 'gpt-6')?.content).toEqual([filled, call])
      expect(sentOf([thinking, call], MODEL)?.content).toEqual([thinking, call])
      const empty = { type: 'thinking', thinking: '' }
      expect(sentOf([empty, call], MODEL)?.content).toEqual([empty, call])
      expect(sentOf([call], MODEL)?.content[0]).not.toBe(sentOf([call], MODEL)?.content[0])
      expect(sentOf([text], MODEL)?.content).toEqual([text])
      expect(sentOf([call], MODEL, {})?.content).toEqual([call])
    },
  )

  it('is sent back to the model name of the original request', () => {
    const content = [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'x' },
    ]
    const request = { model: 'deepseek-chat', messages: [] }
    const messages = messagesOf(fromAnthropic({ model: MODEL, content } as never, { request }))
    expect(
      toAnthropic(messages, { model: 'deepseek-chat', ...SERVERS.deepseek }).messages[1]?.content,
    ).toEqual(content)
  })
})

const CALLS = [{ id: 'a', type: 'function', function: { name: 'ls', arguments: '{}' } }]

const chatMessage = (
  fields: object,
  options: WriteOptions = { model: MODEL },
  producer = MODEL,
): Readonly<Record<string, unknown>> => {
  const message = { role: 'assistant', tool_calls: CALLS, ...fields }
  const reply = fromOpenAIChat({
    model: producer,
    choices: [{ message, finish_reason: 'tool_calls' }],
  } as never)
  return toOpenAIChat(messagesOf(reply), options)[1] as never
}

describe('reasoning in Chat Completions', () => {
  const blocks = [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }]
  it.each([
    ['DeepSeek', { reasoning_content: 'I look.' }],
    ['vLLM', { reasoning: 'I look.' }],
    ['an empty field', { reasoning_content: '' }],
    ['an empty field of vLLM', { reasoning: '' }],
    ['both fields', { reasoning_content: 'a', reasoning: 'a' }],
    ['two texts', { reasoning_content: 'a', reasoning: 'b' }],
    ['GitHub Copilot', { reasoning_text: 'Hm.', reasoning_opaque: 'c2ln' }],
    ['LiteLLM', { reasoning_content: 'Hm.', thinking_blocks: blocks }],
    ['OpenRouter', { reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] }],
  ])('is sent back in the received form: %s', (_, fields) => {
    expect(chatMessage(fields)).toMatchObject(fields)
  })

  it('is not sent to another model', () => {
    const fields = { reasoning_content: 'a', reasoning: 'b', reasoning_text: 'c', reasoning_opaque: 'd' }
    const sent = chatMessage(fields, { model: 'gpt-6' })
    expect(sent).toEqual({ role: 'assistant', tool_calls: CALLS })
  })

  it('is sent without calls as `reasoning`, and as `reasoning_content` only to Kimi', () => {
    const text = { content: 'x', tool_calls: undefined }
    expect(chatMessage({ ...text, reasoning: 'a' })).toMatchObject({ reasoning: 'a' })
    expect(chatMessage({ ...text, reasoning_content: 'a' })).not.toHaveProperty('reasoning_content')
    const options = { model: MODEL, ...SERVERS.kimi }
    expect(chatMessage({ ...text, reasoning_content: 'a' }, options)).toMatchObject({
      reasoning_content: 'a',
    })
  })

  it.each(['deepseek', 'kimi'] as const)(
    'is present on every message with calls for %s, including replies of other models',
    (server) => {
      const options = { model: MODEL, ...SERVERS[server] }
      expect(chatMessage({}, options, 'gpt-6')).toMatchObject({ reasoning_content: ' ' })
      expect(chatMessage({}, options)).toMatchObject({ reasoning_content: ' ' })
      expect(chatMessage({ reasoning_content: '' }, options)).toMatchObject({ reasoning_content: ' ' })
      expect(chatMessage({ reasoning_content: 'a' }, options)).toMatchObject({ reasoning_content: 'a' })
      expect(chatMessage({ content: 'x', tool_calls: undefined }, options)).not.toHaveProperty(
        'reasoning_content',
      )
    },
  )

  it('is joined from the stream pieces of LiteLLM', () => {
    const stream = collectOpenAIChat()
    const delta = (fields: object, finish_reason: string | null = null): void =>
      void stream.push({ id: 'c', model: MODEL, choices: [{ index: 0, delta: fields, finish_reason }] })
    for (const thinking of ['H', 'm.'])
      delta({ thinking_blocks: [{ type: 'thinking', thinking, signature: '' }] })
    delta({ thinking_blocks: [{ type: 'thinking', thinking: '', signature: 'c2ln' }] })
    delta({ thinking_blocks: [{ type: 'redacted_thinking', data: 'x' }] })
    delta({ tool_calls: CALLS }, 'tool_calls')
    expect(toOpenAIChat(messagesOf(stream.end()), { model: MODEL })[1]).toMatchObject({
      thinking_blocks: [...blocks, { type: 'redacted_thinking', data: 'x' }],
    })
  })

  it('is sent back in each field that contained it, whatever the texts', () => {
    const text = fc.constantFrom('', 'a', 'b', ' ', undefined, null)
    fc.assert(
      fc.property(fc.record({ reasoning_content: text, reasoning: text }), (fields) => {
        const { reasoning_content, reasoning } = chatMessage(fields)
        expect(reasoning_content).toBe(fields.reasoning_content ?? undefined)
        expect(reasoning).toBe(fields.reasoning ?? undefined)
      }),
    )
  })
})

describe('fields of a server in Chat Completions', () => {
  const annotations = [{ type: 'url_citation', url_citation: { url: 'https://a.b' } }]
  const fields = { annotations, extra_content: { google: { thought: true } } }
  const signed = [
    { extra_content: { google: { thought_signature: 'c2ln' } } },
    { provider_specific_fields: { thought_signature: 'c2ln' } },
    { thought_signature: 'c2ln' },
    { thoughtSignature: 'c2ln' },
  ].map((field, index) => ({ ...CALLS[0], id: `a${index}`, ...field }))
  const unsigned = signed.map(({ id }) => ({ ...CALLS[0], id }))
  const message = { ...fields, tool_calls: signed }

  it('are sent back to their model, and not to a model of another server', () => {
    expect(chatMessage(message)).toMatchObject(message)
    expect(chatMessage(message, {})).toMatchObject(message)
    const sent = chatMessage({ ...message, content: 'x' }, { model: 'llama-4' })
    expect(sent).toEqual({ role: 'assistant', content: 'x', tool_calls: unsigned })
  })

  it('are signatures of calls for every Gemini model', () => {
    const sent = chatMessage(message, { model: 'google/gemini-3.5-flash' }, 'gemini-3-pro')
    expect(sent).toEqual({ role: 'assistant', tool_calls: signed })
  })

  it('are sent back to the model name of the original request', () => {
    const choices = [{ message, finish_reason: 'tool_calls' }]
    const request = { model: 'gemini-flash-latest' }
    const reply = fromOpenAIChat({ model: 'vendor-3', choices } as never, { request })
    expect(toOpenAIChat(messagesOf(reply), request)[1]).toMatchObject(message)
  })
})

describe('call ids with a signature', () => {
  const id = `call_1__thought__${'c2ln'.repeat(30)}`

  it('are whole for their model, and cut for another model', () => {
    const idFor = (model: string): unknown =>
      (chatMessage({ tool_calls: [{ ...CALLS[0], id }] }, { model }) as { tool_calls: { id: string }[] })
        .tool_calls[0]?.id
    expect(idFor(MODEL)).toBe(id)
    expect(idFor('gpt-6')).toBe(id.slice(0, 40))
  })

  it('are whole for the model name of the original request in OpenAI Responses', () => {
    const output = [{ type: 'function_call', call_id: id, name: 'ls', arguments: '{}' }]
    const request = { model: 'alias' }
    const messages = messagesOf(fromOpenAIResponses({ model: MODEL, output } as never, { request }))
    expect(toOpenAIResponses(messages, request).input[1]).toMatchObject({ call_id: id })
    expect(toOpenAIResponses(messages).input[1]).toMatchObject({ call_id: id.slice(0, 64) })
  })

  it('follow a repeated id into the reasoning that names the call', () => {
    const details = [
      { type: 'reasoning.encrypted', data: 'c2ln', id: 'ls_0' },
      { type: 'reasoning.text', text: 'Hm.', id: 'other' },
      { type: 'reasoning.text', text: 'Hm.' },
    ]
    const fields = { reasoning_details: details, tool_calls: [{ ...CALLS[0], id: 'ls_0' }] }
    const choices = [{ message: fields, finish_reason: 'tool_calls' }]
    const replies = ['r1', 'r2'].map((id) =>
      messagesOf(fromOpenAIChat({ id, model: MODEL, choices } as never)),
    )
    const [, first, , second] = toOpenAIChat(replies.flat(), { model: MODEL })
    expect(first).toMatchObject(fields)
    const [encrypted, ...texts] = details
    expect(second).toEqual({
      role: 'assistant',
      reasoning_details: [{ ...encrypted, id: 'ls_0_2' }, ...texts],
      tool_calls: [{ ...CALLS[0], id: 'ls_0_2' }],
    })
  })
})

const reasoningItem = (id = 'rs_1', more: object = {}) => ({
  type: 'reasoning',
  id,
  summary: [],
  content: [{ type: 'reasoning_text', text: 'I look.' }],
  ...more,
})
const callItem = (n = 1) => ({
  type: 'function_call',
  id: `fc_${n}`,
  call_id: `c${n}`,
  name: 'ls',
  arguments: '{}',
})

const prefixOf = (text: string) => {
  const output = [reasoningItem('rs_1', { content: [{ type: 'reasoning_text', text }] }), callItem()]
  const messages = messagesOf(fromOpenAIResponses({ model: MODEL, output } as never))
  return requestRecord(toOpenAIResponses(messages, { model: MODEL, ...SERVERS.vllm }))?.prefix
}

describe('plain reasoning in OpenAI Responses', () => {
  const sent = (output: object[], options: WriteOptions = { model: MODEL, ...SERVERS.vllm }): object[] => {
    const reply = fromOpenAIResponses({ model: MODEL, status: 'completed', output } as never)
    return toOpenAIResponses(messagesOf(reply), options).input.slice(1)
  }

  it.each<[string, object[]]>([
    ['before a call', [reasoningItem(), callItem()]],
    [
      'before a message',
      [
        reasoningItem(),
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
        },
      ],
    ],
    ['before each of two calls', [reasoningItem(), callItem(), reasoningItem('rs_2'), callItem(2)]],
    [
      'two before one call',
      [
        reasoningItem('rs_1', {
          content: [
            { type: 'reasoning_text', text: 'a' },
            { type: 'reasoning_text', text: 'b' },
          ],
        }),
        callItem(),
      ],
    ],
    [
      'with a summary',
      [reasoningItem('rs_1', { summary: [{ type: 'summary_text', text: 'So.' }] }), callItem()],
    ],
  ])('is sent back to its model in the received form: %s', (_, output) => {
    const items = sent(output).filter((item) => !('output' in item))
    expect(items.slice(0, output.length)).toEqual(output)
  })

  it('is sent in the received form without what the server added', () => {
    const output = [reasoningItem('rs_1', { status: 'completed', encrypted_content: null }), callItem()]
    expect(sent(output)[0]).toEqual(reasoningItem())
  })

  it.each<[string, object[], WriteOptions]>([
    ['to OpenAI', [reasoningItem(), callItem()], { model: MODEL }],
    ['to another model', [reasoningItem(), callItem()], { model: 'gpt-6', ...SERVERS.vllm }],
    ['without a legal id', [reasoningItem('an id'), callItem()], { model: MODEL, ...SERVERS.vllm }],
    [
      'when it is empty',
      [reasoningItem('rs_1', { content: [] }), callItem()],
      { model: MODEL, ...SERVERS.vllm },
    ],
    ['when nothing follows it', [reasoningItem()], { model: MODEL, ...SERVERS.vllm }],
  ])('is not sent %s', (_, output, options) => {
    expect(sent(output, options).filter((item) => 'type' in item && item.type === 'reasoning')).toEqual([])
  })

  it('is part of the prefix of later replies', () => {
    expect(prefixOf('a')).toBe(prefixOf('a'))
    expect(prefixOf('a')).not.toBe(prefixOf('b'))
  })
})

describe('dialects', () => {
  it('Mistral gets nine-character ids, equal in call and result, and empty text with calls', () => {
    const ids = ['call_1', 'abcdefghi', 'functions.ls:0', 'toolu_01', 'x'.repeat(80)]
    const calls = ids.map((id) => ({ ...CALLS[0], id }))
    const message = { role: 'assistant', tool_calls: calls }
    const reply = fromOpenAIChat({ choices: [{ message, finish_reason: 'tool_calls' }] } as never)
    const [, sent, ...results] = toOpenAIChat(messagesOf(reply), SERVERS.mistral) as never as [
      object,
      { content: string; tool_calls: { id: string }[] },
      ...{ tool_call_id: string }[],
    ]
    const written = sent.tool_calls.map(({ id }) => id)
    expect(sent.content).toBe('')
    expect(written[1]).toBe('abcdefghi')
    expect(new Set(written).size).toBe(ids.length)
    for (const id of written) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/)
    expect(results.slice(0, ids.length).map(({ tool_call_id }) => tool_call_id)).toEqual(written)
  })

  it.each<[string, object[], string[]]>([
    ['text', [{ type: 'text', text: 'ok' }], ['tool', 'assistant', 'user']],
    [
      'an image',
      [{ type: 'image', image_urls: ['data:image/png;base64,AAAA'] }],
      ['tool', 'assistant', 'user', 'user'],
    ],
  ])('Mistral gets a reply between a result with %s and a user message', (_, content, roles) => {
    const reply = fromOpenAIChat({
      choices: [
        { message: { role: 'assistant', tool_calls: CALLS.slice(0, 1) }, finish_reason: 'tool_calls' },
      ],
    } as never)
    const messages = messagesOf(reply).map((message) =>
      message.role === 'tool' ? { ...message, content } : message,
    )
    const later = [
      ...messages,
      { role: 'user', content: [{ type: 'text', text: 'Stop.' }], name: null },
    ] as never
    const sent = toOpenAIChat(later, SERVERS.mistral)
    expect(validateOpenAiChat(sent)).toEqual([])
    expect(sent.slice(2).map(({ role }) => role)).toEqual(roles)
    expect(toOpenAIChat(later).filter(({ role }) => role === 'assistant')).toHaveLength(1)
    const prompt = { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] } as const
    const prompted = toOpenAIChat([...messages, prompt] as never, SERVERS.mistral)
    expect(prompted.at(-1)?.content).toEqual([{ type: 'text', text: 'Be brief.' }])
    // Mistral accepts a system message after a user message, such as the one with the image.
    const expected = roles.length === 4 ? [...roles.slice(0, 3), 'system'] : roles
    expect(prompted.slice(2).map(({ role }) => role)).toEqual(expected)
    expect(toOpenAIChat([...messages, prompt] as never).at(-1)?.role).toBe('system')
  })

  it.each([JSON.stringify('{"a":1}'), '{"a":1}'])('arguments encoded once or twice are read: %s', (input) => {
    const call = { id: 'a', type: 'function', function: { name: 'ls', arguments: input } }
    const message = { role: 'assistant', tool_calls: [call] }
    const reply = fromOpenAIChat({ choices: [{ message, finish_reason: 'tool_calls' }] } as never)
    expect(reply.events[0]).toMatchObject({ action: { a: 1 } })
    expect(JSON.stringify(toOpenAIChat(messagesOf(reply))[1])).toContain(JSON.stringify('{"a":1}'))
  })
})

it('Mistral gets 20,000 unique ids for one repeated id at a bounded cost', () => {
  const makeId = SERVERS.mistral.callIds()
  const ids: string[] = []
  const cost = costOf(() => {
    while (ids.length < 20_000) ids.push(makeId('call'))
  })
  expect(cost).toBeLessThan(3000)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/)
})
