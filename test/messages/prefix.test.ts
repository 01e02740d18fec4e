/** Prefix proofs: writers leave out signed parts whose prefix changed, and keep the order of parts. */

import { describe, expect, it } from 'vitest'
import type { GrammarName } from '../../src/event/reply.ts'
import type { ReplyRecord } from '../../src/event/reply.ts'
import { LIMITS as ANTHROPIC } from '../../src/messages/anthropic/blocks.ts'
import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import type { AssistantMessage, NeutralMessage } from '../../src/messages/message.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { type LeftOut, requestRecord, type WriteOptions } from '../../src/messages/prefix.ts'
import { ownDigest, partsOf } from '../../src/messages/reply-parts.ts'
import { LIMITS as RESPONSES } from '../../src/messages/openai-responses/blocks.ts'

const user = (text: string): NeutralMessage => ({ role: 'user', content: [{ text }], name: null })
const system = (text: string): NeutralMessage => ({ role: 'system', content: [{ text }] })
const signed = (thinking: string) => ({ thinking, signature: `signature of ${thinking}` })
const item = (n: number) => ({ id: `rs_${n}`, encrypted_content: `sealed ${n}` })
const call = (n: number) => ({
  id: `c${n}`,
  name: 'ls',
  arguments: '{}',
  origin: 'responses' as const,
  responses_item_id: `fc_${n}`,
  responses_reasoning_item: item(n),
})
const assistant = (text: string, more: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: 'assistant',
  content: text === '' ? [] : [{ text }],
  tool_calls: [],
  reasoning_content: null,
  thinking_blocks: [],
  responses_reasoning_item: null,
  ...more,
})

const WRITERS: Readonly<
  Record<string, (messages: readonly NeutralMessage[], options?: WriteOptions) => object>
> = {
  anthropic: toAnthropic,
  'ai-sdk': toAiSdk,
  'openai-responses': toOpenAIResponses,
  'openai-chat': toOpenAIChat,
}

/** A reply to a request in a grammar, with the record that a reader would add. */
function replied(
  grammar: GrammarName,
  before: readonly NeutralMessage[],
  reply: AssistantMessage,
  more: ReplyRecord = {},
  options: WriteOptions = {},
): AssistantMessage {
  const record = requestRecord(WRITERS[grammar]?.(before, options) ?? {})
  if (record === null) throw new Error('no record')
  const { leftOut: _, ...known } = record
  const recorded = { ...reply, reply: { ...known, ...more } }
  const limits = { ...(grammar === 'openai-responses' ? RESPONSES : ANTHROPIC), grammar }
  const digest = ownDigest(recorded, partsOf(recorded, limits), limits)
  return { ...recorded, reply: { ...recorded.reply, digest } }
}

const leftOut = (
  grammar: GrammarName,
  messages: readonly NeutralMessage[],
  options: WriteOptions = {},
): string[] => {
  const reports: LeftOut[] = []
  const request =
    WRITERS[grammar]?.(messages, { ...options, onPrefix: (report) => void reports.push(report) }) ?? {}
  expect(requestRecord(request)?.leftOut).toEqual(reports)
  return reports.map(({ message, reason }) => `${message} ${reason}`)
}

describe.each(['anthropic', 'ai-sdk', 'openai-responses'] as const)('%s', (grammar) => {
  const reasoningReply = (text: string, n: number) =>
    grammar === 'openai-responses'
      ? assistant(text, { responses_reasoning_item: item(n) })
      : assistant(text, { thinking_blocks: [signed(`thought ${n}`)] })
  const opening = [system('s'), user('one')]
  const first = replied(grammar, opening, reasoningReply('a', 1))
  const second = replied(grammar, [...opening, first, user('two')], reasoningReply('b', 2))
  const history = [...opening, first, user('two'), second, user('three')]

  it('keeps signed parts when their prefix is unchanged', () => {
    expect(leftOut(grammar, history)).toEqual([])
    expect(JSON.stringify(WRITERS[grammar]?.(history))).toMatch(/thought 2|sealed 2/)
  })

  it('keeps signed parts of a model whose name has two dates, if no model is named', () => {
    const model = 'eval-20250101-20250202'
    const reply = replied(grammar, opening, reasoningReply('a', 1), { model })
    for (const options of [{}, { model }])
      expect(leftOut(grammar, [...opening, reply, user('two')], options)).toEqual([])
    expect(leftOut(grammar, [...opening, reply, user('two')], { model: 'eval' })).toEqual(['2 model'])
  })

  it('leaves out signed parts after a changed prefix, and keeps those before it', () => {
    expect(leftOut(grammar, history.with(0, system('t')))).toEqual(['2 prefix', '4 prefix'])
    expect(leftOut(grammar, history.with(3, user('TWO')))).toEqual(['4 prefix'])
    expect(leftOut(grammar, [user('summary'), second, user('three')])).toEqual(['1 prefix'])
    const written = JSON.stringify(WRITERS[grammar]?.(history.with(3, user('TWO'))))
    expect(written).toMatch(/thought 1|sealed 1/)
    expect(written).not.toMatch(/thought 2|sealed 2|signature of thought 2|rs_2/)
  })

  it('keeps the signed parts of a reply to the changed history', () => {
    const changed = history.with(0, system('t'))
    const third = replied(grammar, changed, reasoningReply('c', 3))
    expect(leftOut(grammar, [...changed, third, user('four')])).toEqual(['2 prefix', '4 prefix'])
    expect(leftOut(grammar, [...history, third, user('four')])).toEqual(['6 prefix'])
  })

  it('compares tool lists when reply and request both have one', () => {
    const tools = [{ name: 'ls' }]
    const reply = replied(grammar, opening, reasoningReply('a', 1), {}, { tools })
    const list = [...opening, reply, user('two')]
    expect(leftOut(grammar, list, { tools })).toEqual([])
    expect(leftOut(grammar, list)).toEqual([])
    expect(leftOut(grammar, list, { tools: [{ name: 'cat' }] })).toEqual(['2 tools'])
    expect(leftOut(grammar, history, { tools })).toEqual([])
  })

  it("checks a reply's own signed parts, and its grammar", () => {
    const other = { ...first, ...reasoningReply('a', 7), reply: first.reply ?? {} }
    expect(leftOut(grammar, [...opening, other, user('two')])).toEqual(['2 reply'])
    const foreign = { ...first, reply: { ...first.reply, grammar: 'openai-chat' as const } }
    expect(leftOut(grammar, [...opening, foreign, user('two')])).toEqual(['2 grammar'])
  })

  it('keeps a reply without a record, unless an earlier one lost its signed parts', () => {
    const old = reasoningReply('b', 2)
    expect(leftOut(grammar, [user('x'), old, user('y')])).toEqual([])
    expect(leftOut(grammar, [user('x'), first, user('y'), old, user('z')])).toEqual(['1 prefix', '3 earlier'])
    const all = WRITERS[grammar]?.([user('x'), first, user('y'), old], { prove: false }) ?? {}
    expect(requestRecord(all)).toBeNull()
    expect(JSON.stringify(all)).toMatch(/(thought|sealed) 1.*(thought|sealed) 2/)
  })

  it('ignores cache marks and message boundaries', () => {
    const marked: NeutralMessage = {
      role: 'user',
      content: [{ text: 'one', cache_prompt: true }],
      name: null,
    }
    expect(leftOut(grammar, history.with(1, marked))).toEqual([])
    const split = [system('s'), user('a'), user('b')]
    const joined: NeutralMessage[] = [
      system('s'),
      { role: 'user', content: [{ text: 'a' }, { text: 'b' }], name: null },
    ]
    expect(leftOut(grammar, [...joined, replied(grammar, split, reasoningReply('c', 1)), user('d')])).toEqual(
      [],
    )
  })

  it('adds the same placeholder texts whether or not a part is left out', () => {
    const alone = { ...reasoningReply('', 1), content: [] }
    const reply = replied(grammar, opening, alone)
    const [stored, lost] = [opening, opening.with(0, system('t'))].map((before) => {
      const request = WRITERS[grammar]?.([...before, reply]) ?? {}
      return JSON.stringify(request).match(/\[Go on\.\]|\[No answer was given\.\]/g)
    })
    expect(stored).toEqual(lost)
  })
})

describe('the order of parts', () => {
  const thinking_blocks = [signed('t1'), signed('t2')]
  const content = [{ text: 'one ' }, { text: 'two ' }]
  const parts = [{ thinking: 0 }, { text: 0 }, { thinking: 1 }, { text: 1 }]
  const reply = { ...assistant(''), thinking_blocks, content }
  const kinds = (inputs: unknown, before: readonly NeutralMessage[] = [user('u')]): unknown => {
    const message = replied('anthropic', [user('u')], reply, { parts: inputs as readonly [] })
    return toAnthropic([...before, message]).messages[1]?.content.map((block) =>
      block.type === 'text' ? block.text : block.type,
    )
  }

  it('is the received order, with texts before a signed part unchanged', () => {
    expect(kinds(parts)).toEqual(['thinking', 'one ', 'thinking', 'two '])
  })

  it('is kept when the signed parts are left out', () => {
    expect(kinds(parts, [user('v')])).toEqual(['one ', 'two '])
  })

  it.each([
    [[]],
    [[{ thinking: 0 }]],
    [[...parts, { text: 2 }]],
    [parts.with(0, { text: 1 })],
    [parts.with(0, { thinking: 7 })],
    [parts.with(0, { thinking: -1 })],
    [parts.with(0, { thinking: 0.5 })],
    [[null, 'x', 1, []]],
    [parts.map((part) => ({ ...part, call: 0 }))],
    ['thinking'],
    [{ length: 4 }],
  ])('falls back to the default for invalid parts: %j', (input) => {
    expect(kinds(input)).toEqual(['thinking', 'thinking', 'one ', 'two '])
  })

  it('applies only to the grammar that recorded it', () => {
    const foreign = { ...reply, reply: { grammar: 'openai-responses', parts } } as const
    const [, answer] = toAiSdk([user('u'), foreign])
    expect(answer?.content).toEqual([
      { type: 'text', text: 'one ' },
      { type: 'text', text: 'two ' },
    ])
  })

  it('is the order of the items in OpenAI Responses', () => {
    const message = replied(
      'openai-responses',
      [user('u')],
      assistant('so', { tool_calls: [call(0), call(1)] }),
      {
        parts: [{ reasoning: 0 }, { call: 0 }, { reasoning: 1 }, { text: 0 }, { call: 1 }],
      },
    )
    const items = toOpenAIResponses([user('u'), message]).input.slice(1, 6)
    expect(items.map((each) => ('id' in each ? each.id : each.type))).toEqual([
      'rs_0',
      'fc_0',
      'rs_1',
      'message',
      'fc_1',
    ])
    const lost = toOpenAIResponses([user('v'), message]).input.slice(1, 4)
    expect(lost.map((each) => ('id' in each ? each.id : each.type))).toEqual([
      'function_call',
      'message',
      'function_call',
    ])
  })
})

const roles = (list: readonly NeutralMessage[]) => toAnthropic(list).messages.map(({ role }) => role)

const thinkingReply = (reply: object) =>
  assistant('more', { reply, thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }] })

const paused = (grammar: GrammarName) =>
  assistant('so far', { reply: { grammar, stop_reason: 'pause_turn' } })

describe('a paused reply', () => {
  it('ends the list, or is continued, in the grammar of its provider', () => {
    expect(toAnthropic([user('u'), paused('anthropic')]).messages.at(-1)?.role).toBe('assistant')
    expect(
      toAnthropic([user('u'), paused('anthropic'), assistant('more')]).messages[1]?.content,
    ).toHaveLength(2)
  })

  it('is not continued by a reply that starts with thinking and has no recorded prefix', () => {
    const list = [user('u'), paused('anthropic'), thinkingReply({})]
    expect(roles(list)).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
    // A reply with a recorded prefix continues it, without thinking if the prefix differs.
    const recorded = [...list.slice(0, 2), thinkingReply({ prefix: 'another' })]
    expect(toAnthropic(recorded).messages[1]?.content).toHaveLength(2)
  })

  it('is followed by a user message in another grammar', () => {
    expect(toAnthropic([user('u'), paused('openai-chat')]).messages.at(-1)?.role).toBe('user')
    expect(toOpenAIChat([user('u'), paused('openai-chat')]).at(-1)?.role).toBe('user')
  })
})

describe('a later system prompt', () => {
  const messages = [system('s'), user('a'), assistant('b'), system('t')]

  it('follows the user messages, before a reply or at the end', () => {
    expect(roles(messages)).toEqual(['user', 'assistant', 'user', 'system'])
    expect(roles([...messages, user('c')])).toEqual(['user', 'assistant', 'user', 'system'])
    expect(roles([...messages, user('c'), assistant('d')])).toEqual([
      'user',
      'assistant',
      'user',
      'system',
      'assistant',
      'user',
    ])
    expect(toAnthropic(messages).system).toEqual([{ type: 'text', text: 's' }])
  })

  it('is a developer message in Responses, and a system message in Chat', () => {
    expect(toOpenAIResponses([...messages, user('c')]).input.at(-1)).toMatchObject({ role: 'developer' })
    expect(toOpenAIChat([...messages, user('c')]).at(-1)).toEqual({
      role: 'system',
      content: [{ type: 'text', text: 't' }],
    })
  })

  it('replaces the first system prompt in the AI SDK', () => {
    expect(toAiSdk([...messages, user('c')]).filter(({ role }) => role === 'system')).toEqual([
      { role: 'system', content: 't' },
    ])
  })
})
