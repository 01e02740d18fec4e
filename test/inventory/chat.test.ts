/** Group M of the inventory: Chat Completions, Anthropic's cache breakpoints and thinking, and loading of older records. */

import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import { withDefaults } from '../../src/event/nested-shapes.ts'
import { encodeEvent } from '../../src/event/encode.ts'
import { loadValue } from '../../src/event/load.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import type { Content, Message } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { action, agent, image, observe, pair, system, text, user } from '../build.ts'
import { fold, logMessages, stateMessages, contentOf } from './inspect.ts'

const EPHEMERAL = { type: 'ephemeral' }
const URL_1 = 'https://a.example/1.png'
const URL_2 = 'https://a.example/2.png'

const marked = (content: string): Content => ({ type: 'text', text: content, cache_prompt: true })
const markedImages: Content = { type: 'image', image_urls: [URL_1, URL_2], cache_prompt: true }

const chat = (...events: readonly Event[]) => toOpenAIChat(logMessages(...events))
const claude = (...events: readonly Event[]) => toAnthropic(logMessages(...events))

/** A user message of an older producer, loaded. */
function loaded(fields: Record<string, unknown>): Event {
  const { fact } = loadValue({ kind: 'MessageEvent', id: 'm', source: 'user', ...fields })
  if (isQuarantined(fact)) throw new Error(fact.issues.map((one) => one.msg).join())
  return fact
}

const loadedMessage = (llm_message: unknown): Message => {
  const event = loaded({ llm_message })
  if (event.kind !== 'MessageEvent') throw new Error(event.kind)
  return event.llm_message
}

describe('group M: chat', () => {
  it('M1 only the Anthropic grammar sets cache_control on a marked text', () => {
    const log = [user('u', [marked('hi')])]
    expect(claude(...log).messages[0]?.content).toEqual([
      { type: 'text', text: 'hi', cache_control: EPHEMERAL },
    ])
    expect(chat(...log)).toEqual([{ role: 'user', content: [{ type: 'text', text: 'hi' }] }])
  })

  it('M2 a marked part sets cache_control on its last image, in the Anthropic grammar only', () => {
    const blocks = claude(user('u', [markedImages])).messages[0]?.content
    expect(blocks?.map((block) => ('cache_control' in block ? block.cache_control : null))).toEqual([
      null,
      EPHEMERAL,
    ])
    expect(JSON.stringify(chat(user('u', [markedImages])))).not.toContain('cache')
  })

  it.each([
    ['text', marked('result')],
    ['image', markedImages],
  ] as const)(
    'M3 a marked %s sets cache_control once on its tool_result, and nowhere in Chat Completions',
    (_, part) => {
      const call = action('a', { call: 'c' })
      const log = [user('u'), call, observe('o', call, [part, text('last')])]
      const [result] = claude(...log).messages[2]?.content ?? []
      expect(result).toMatchObject({ type: 'tool_result', tool_use_id: 'c', cache_control: EPHEMERAL })
      expect(result).toMatchObject({ content: expect.arrayContaining([text('last')]) })
      expect(JSON.stringify(result).match(/cache_control/g)).toHaveLength(1)
      expect(chat(...log)[2]).toMatchObject({ role: 'tool', tool_call_id: 'c' })
      expect(JSON.stringify(chat(...log))).not.toContain('cache')
    },
  )

  it('M4 a call with a thought becomes an assistant message with a string and a function', () => {
    const log = [user('u'), ...pair('1', { call: 'c', tool: 'grep', args: '{"p":1}', thought: 'look' })]
    expect(chat(...log).slice(1)).toEqual([
      {
        role: 'assistant',
        content: 'look',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'grep', arguments: '{"p":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'o1' },
    ])
  })

  it.each([{}, { thought: ' \n ' }])('M5 a call without text has no content: %j', (options) => {
    const reply = chat(user('u'), ...pair('1', options))[1]
    expect(reply).toMatchObject({ role: 'assistant', tool_calls: [{ type: 'function' }] })
    expect(reply).not.toHaveProperty('content')
  })

  it('M6 a reply without text or calls is left out, and its neighbors merge', () => {
    expect(chat(user('u'), agent('a', []), user('v'))).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'u' },
          { type: 'text', text: 'v' },
        ],
      },
    ])
  })

  it('M7 decoding rejects the role function', () => {
    const decoded = decodeEvent({
      kind: 'MessageEvent',
      source: 'agent',
      llm_message: { role: 'function', content: [] },
    })
    expect(decoded.ok ? [] : decoded.issues.map((one) => one.loc)).toEqual([['llm_message', 'role']])
  })

  it('M8 content null loads as no content', () => {
    expect(loadedMessage({ role: 'assistant', content: null }).content ?? []).toEqual([])
  })

  it('M9 maxResultLength clips results to 50,000 characters and no other text', () => {
    const [under, exact, over] = [49_999, 50_000, 50_001].map((length) => 'x'.repeat(length)) as [
      string,
      string,
      string,
    ]
    const call = action('a')
    const lengths = (result: string, maxResultLength?: number) =>
      stateMessages(
        fold(user('u', over), call, observe('o', call, result)),
        maxResultLength === undefined ? {} : { maxResultLength },
      )
        .filter((message) => message.role !== 'assistant')
        .map((message) => contentOf(message)[0]?.length)
    expect(lengths(over)).toEqual([50_001, 50_001])
    expect(lengths(under, 50_000)).toEqual([50_001, 49_999])
    expect(lengths(exact, 50_000)).toEqual([50_001, 50_000])
    expect(lengths(over, 50_000)).toEqual([50_001, 50_000])
    const clipped = stateMessages(fold(call, observe('o', call, over)), { maxResultLength: 50_000 })[1]
    expect(contentOf(clipped)[0]).toContain('<response clipped>')
    const long = action('b', { thought: over })
    const [reply, several] = stateMessages(fold(long, observe('p', long, [text(over), text(exact)])), {
      maxResultLength: 50_000,
    })
    expect(contentOf(reply)).toEqual([over])
    expect(contentOf(several).map(({ length }) => length)).toEqual([50_000, 50_000])
    expect(contentOf(several)[1]).toBe(exact)
  })

  it('M10 the AI SDK grammar sends reasoning text, Chat Completions does not', () => {
    const message = { role: 'assistant', content: [text('so')], reasoning_content: 'because' } as const
    const messages = logMessages(user('u'), agent('a', 'so', { llm_message: message }))
    expect(JSON.stringify(toOpenAIChat(messages))).not.toContain('because')
    expect(toAiSdk(messages)[1]?.content).toEqual([
      { type: 'reasoning', text: 'because' },
      { type: 'text', text: 'so' },
    ])
  })

  it('M11 content is a list for system and user, a string for assistant and tool', () => {
    const messages = chat(system('s'), user('u'), ...pair('1', { thought: 'look' }), agent('a'))
    expect(
      messages.map(({ role, content }) => [role, Array.isArray(content) ? 'list' : typeof content]),
    ).toEqual([
      ['system', 'list'],
      ['user', 'list'],
      ['assistant', 'string'],
      ['tool', 'string'],
      ['assistant', 'string'],
      ['user', 'list'],
    ])
  })

  it('M12 texts of a reply or result are joined by line breaks, those of a user stay parts', () => {
    const call = action('a')
    expect(chat(user('u', [text('one'), text(''), text('two')]))[0]?.content).toEqual([
      text('one'),
      text('two'),
    ])
    expect(chat(user('u'), agent('a', [text('one'), text('two')]))[1]?.content).toBe('one\ntwo')
    expect(chat(user('u'), call, observe('o', call, [text('one'), text('two')]))[2]?.content).toBe('one\ntwo')
    expect(chat(user('u'), call, observe('o', call, []))[2]?.content).toBe('')
  })

  it('M13 signed thinking blocks come first in Anthropic content, and Chat Completions has none', () => {
    const blocks = [
      { type: 'redacted_thinking', data: 'sealed' },
      { type: 'thinking', thinking: 'hm', signature: 'signed' },
      { type: 'thinking', thinking: 'unsigned', signature: null },
    ] as const
    const call = action('a', { thought: 'so', thinking_blocks: blocks })
    const thinkingUser = user('u', 'u', {
      llm_message: { role: 'user', content: [text('u')], thinking_blocks: blocks },
    })
    const log = [thinkingUser, call, observe('o', call)]
    expect(claude(...log).messages[0]?.content).toEqual([{ type: 'text', text: 'u' }])
    expect(claude(...log).messages[1]?.content.slice(0, 3)).toEqual([
      blocks[0],
      blocks[1],
      { type: 'text', text: 'so' },
    ])
    expect(JSON.stringify(chat(...log))).not.toMatch(/sealed|hm|unsigned|thinking/)
    expect(claude(user('u'), ...pair('1', { thought: 'so' })).messages[1]?.content[0]).toEqual({
      type: 'text',
      text: 'so',
    })
  })

  it('M14 content is stored as a list, and a minimal message has the documented defaults', () => {
    expect(JSON.parse(encodeEvent(fold(user('u', 'hi')).log.entries.get(0)?.event as Event))).toMatchObject({
      llm_message: { content: [{ text: 'hi' }] },
    })
    const minimal = decodeEvent({ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user' } })
    const event = minimal.ok ? minimal.event : null
    expect(event).toEqual({ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user' } })
    expect(event && withDefaults(event)).toEqual({
      kind: 'MessageEvent',
      source: 'user',
      llm_message: { role: 'user', content: [], thinking_blocks: [] },
      activated_skills: [],
      extended_content: [],
    })
  })

  it('M15 obsolete settings of texts and messages load and are not sent', () => {
    for (const enable_truncation of [true, false]) {
      expect(
        loadedMessage({ role: 'user', content: [{ type: 'text', text: 'hi', enable_truncation }] }).content,
      ).toEqual([text('hi')])
    }
    const flags = {
      cache_enabled: true,
      vision_enabled: true,
      function_calling_enabled: false,
      force_string_serializer: false,
      send_reasoning_content: false,
    }
    const old = loaded({ llm_message: { role: 'user', content: [text('old')], ...flags } })
    expect(old).toMatchObject({ llm_message: flags })
    expect(logMessages(old, user('new'))).toEqual([
      { role: 'user', content: [text('old'), text('new')], name: null },
    ])
  })

  it('M16 content null loads as no content, and a string as one text', () => {
    expect(loadedMessage({ role: 'user', content: null }).content ?? []).toEqual([])
    expect(loadedMessage({ role: 'user', content: 'hi' }).content).toEqual([text('hi')])
  })

  it('M17 cache breakpoints appear only where the log marks them', () => {
    const dynamic_context = text('today')
    const plain = claude(system('s', 'prompt', { dynamic_context }), user('u'))
    expect(JSON.stringify(plain)).not.toContain('cache_control')
    const system_prompt = { type: 'text', text: 'prompt', cache_prompt: true } as const
    const prompt = claude(
      system('s', '', { system_prompt, dynamic_context }),
      user('u', [marked('hi')]),
      agent('a'),
    )
    expect(prompt.system?.map((block) => 'cache_control' in block)).toEqual([true, false])
    expect(prompt.messages[0]?.content).toEqual([{ type: 'text', text: 'hi', cache_control: EPHEMERAL }])
    expect(JSON.stringify(chat(system('s', '', { system_prompt }), user('u', [image(URL_1)])))).not.toContain(
      'cache',
    )
  })
})
