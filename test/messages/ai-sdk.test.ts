/** `toAiSdk` writes valid messages, which the AI SDK itself accepts. */

import { generateText } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import type { AiSdkMessage } from '../../src/messages/ai-sdk/blocks.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, agent, fail, image, observe, pair, system, text, user } from '../build.ts'
import { validateAiSdk } from '../validators/ai-sdk.ts'
import { PNG } from './part-table.ts'

const FILE = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } }

/** Returns the messages of a log, which must be valid. */
function write(...events: readonly Event[]): AiSdkMessage[] {
  const messages = toAiSdk(toMessages(replay(events)))
  expect(validateAiSdk(messages)).toEqual([])
  return messages
}

const reply = (content: string, fields: object) =>
  agent('m', content, { llm_message: { role: 'assistant', content: [text(content)], ...fields } })

const roles = (...events: Event[]) => write(user('u'), ...events).map(({ role }) => role)

const signed = (id: string) => ({
  ...reply('hi', { thinking_blocks: [{ thinking: 't', signature: 's' }] }),
  id,
})

describe('`toAiSdk`', () => {
  it('L16 writes a system prompt, a user message, a call and its result', () => {
    const [call, result] = pair('1', { call: 'c', tool: 'ls', args: '{"path":"."}', thought: 'look' })
    expect(write(system('s', 'S', { dynamic_context: text('D') }), user('u'), call, result)).toEqual([
      { role: 'system', content: 'S\nD' },
      { role: 'user', content: [text('u')] },
      {
        role: 'assistant',
        content: [text('look'), { type: 'tool-call', toolCallId: 'c', toolName: 'ls', input: { path: '.' } }],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c', toolName: 'ls', output: { type: 'text', value: 'o1' } },
        ],
      },
    ])
  })

  it('writes the results of a batch as one tool message, with the tool names of the calls', () => {
    const one = action('a1', { response: 'r', call: 'c 1', tool: 'a.b' })
    const two = action('a2', { response: 'r', call: 'c 1', tool_call_id: 'c 2', tool: 'ls' })
    const stray = observe('o2', two, 'o2', { tool_name: 'other' })
    expect(write(user('u'), one, two, stray, fail('e1', one, 'why'))[2]).toEqual({
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'c_2', toolName: 'ls', output: { type: 'text', value: 'o2' } },
        {
          type: 'tool-result',
          toolCallId: 'c_1',
          toolName: 'a_b',
          output: { type: 'error-text', value: 'why' },
        },
      ],
    })
  })

  it('puts inline images into results, and those by URL or of errors into a user message', () => {
    const call = action('a', { call: 'c' })
    const output = (content: Parameters<typeof user>[1], is_error = false) => {
      const observation = { kind: 'X', content: typeof content === 'string' ? [] : (content ?? []), is_error }
      return write(user('u'), call, observe('o', call, '', { observation })).slice(2)
    }
    const ends = { type: 'tool-result', toolCallId: 'c', toolName: 'ls' }
    expect(output([text('see'), image(PNG)])).toEqual([
      { role: 'tool', content: [{ ...ends, output: { type: 'content', value: [text('see'), FILE] } }] },
    ])
    expect(output([image('https://x.org/a.png')])).toEqual([
      {
        role: 'tool',
        content: [
          { ...ends, output: { type: 'text', value: '[Image 1 follows in the next user message.]' } },
        ],
      },
      {
        role: 'user',
        content: [
          text('[Image 1 of the tool results above:]'),
          { type: 'file', mediaType: 'image', data: 'https://x.org/a.png' },
        ],
      },
    ])
    expect(output([image(PNG)], true)).toMatchObject([
      { content: [{ output: { type: 'error-text' } }] },
      { content: [text('[Image 1 of the tool results above:]'), FILE] },
    ])
    expect(output('')).toMatchObject([{ content: [{ output: { type: 'text', value: '' } }] }])
  })

  it("writes a user's images as data or URL, and a placeholder for an invalid address", () => {
    expect(write(user('u', [image(PNG, 'https://x.org/a.png', 'a.png')]))).toEqual([
      {
        role: 'user',
        content: [
          FILE,
          { type: 'file', mediaType: 'image', data: 'https://x.org/a.png' },
          text('[An image that cannot be shown here.]'),
        ],
      },
    ])
  })

  it('inserts an opening user message when the history does not start with one', () => {
    const opening = { role: 'user', content: [text('[The conversation begins here.]')] }
    expect(write(system('s'))[1]).toEqual(opening)
    expect(write(agent('a'))[0]).toEqual(opening)
  })
})

describe('reasoning', () => {
  it('carries the signature or the redacted data for Anthropic', () => {
    const thinking_blocks = [
      { thinking: 't', signature: 's' },
      { data: 'd' },
      { thinking: 'unsigned' },
      { thinking: 'x', signature: '\ud800' },
    ]
    expect(write(user('u'), reply('hi', { thinking_blocks, reasoning_content: 't' }))[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 't', providerOptions: { anthropic: { signature: 's' } } },
        { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'd' } } },
        { type: 'reasoning', text: 'unsigned' },
        text('hi'),
      ],
    })
  })

  it('consists of `reasoning_content` when there are no thinking blocks', () => {
    expect(write(user('u'), reply('hi', { reasoning_content: 'hm\ud800' }))[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'hm\ufffd' }, text('hi')],
    })
  })

  it('is followed by a placeholder text when the reply has nothing else', () => {
    expect(write(user('u'), reply('', { reasoning_content: 'hm' }))[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'hm' }, text('[No answer was given.]')],
    })
  })

  it('a user message follows each consecutive or final reply, signed or unsigned', () => {
    const unsigned = reply('hi', { reasoning_content: 'hm' })
    expect(roles(agent('a'), unsigned)).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
    expect(roles(unsigned, signed('a'), signed('b'))).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ])
  })

  it('is left out when it is an item of OpenAI Responses', () => {
    expect(
      write(user('u'), reply('hi', { responses_reasoning_item: { id: 'rs_1', encrypted_content: 'e' } }))[1],
    ).toEqual({
      role: 'assistant',
      content: [text('hi')],
    })
    expect(write(user('u'), reply('', { responses_reasoning_item: { id: 'rs_1' } }))).toHaveLength(1)
  })
})

describe('`generateText`', () => {
  it('passes the messages to the model with the same roles', async () => {
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    }
    const model = new MockLanguageModelV4({
      supportedUrls: { 'image/*': [/^https:/] },
      doGenerate: async () => ({
        content: [{ type: 'text', text: 'done' }],
        finishReason: { unified: 'stop', raw: undefined },
        usage,
        warnings: [],
      }),
    })
    const call = action('a', { call: 'c', thinking: true })
    const failed = { kind: 'X', content: [image(PNG)], is_error: true }
    const messages = write(
      system('s'),
      user('u', [text('see'), image(PNG, 'https://x.org/a.png')]),
      call,
      observe('o', call, [text('out'), image(PNG, 'https://x.org/a.png')]),
      ...pair('1'),
      action('b', { call: 'd' }),
      observe('p', action('b', { call: 'd' }), '', { observation: failed }),
      user('v'),
    )
    const { text: answer } = await generateText({ model, messages, allowSystemInMessages: true })
    expect(answer).toBe('done')
    const [requests] = model.doGenerateCalls
    expect(requests?.prompt.map(({ role }) => role)).toEqual(messages.map(({ role }) => role))
  })
})
