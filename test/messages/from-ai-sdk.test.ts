/** `fromAiSdk` and `collectAiSdk`: events and outcomes of the steps of `generateText` and `streamText`. */

import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { collectAiSdk, fromAiSdk } from '../../src/messages/ai-sdk/read.ts'
import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import type { Event } from '../../src/event/types.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import { validateAiSdk } from '../validators/ai-sdk.ts'

type Generated = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>
type Content = Generated['content']

const usage: Generated['usage'] = {
  inputTokens: { total: 9, noCache: 6, cacheRead: 3, cacheWrite: 0 },
  outputTokens: { total: 4, text: 3, reasoning: 1 },
}
const signed = (signature: string) => ({ anthropic: { signature } })

const CONTENT: Content = [
  { type: 'reasoning', text: 'Hm.', providerMetadata: signed('c2ln') },
  { type: 'reasoning', text: '', providerMetadata: { anthropic: { redactedData: 'c2VhbGVk' } } },
  {
    type: 'reasoning',
    text: 'Ok.',
    providerMetadata: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'x' } },
  },
  { type: 'text', text: 'I search. ', providerMetadata: { google: { thoughtSignature: 'c2ln' } } },
  {
    type: 'tool-call',
    toolCallId: 'srv_1',
    toolName: 'web_search',
    input: '{"q":"oak"}',
    providerExecuted: true,
    dynamic: true,
  },
  {
    type: 'tool-result',
    toolCallId: 'srv_1',
    toolName: 'web_search',
    result: [{ url: 'https://a.b' }],
    dynamic: true,
  },
  { type: 'source', sourceType: 'url', id: 's1', url: 'https://a.b/c' },
  { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aW1n' } },
  { type: 'custom', kind: 'maker.thing', providerMetadata: { maker: { id: 'x' } } },
  {
    type: 'tool-call',
    toolCallId: 'call_1',
    toolName: 'ls',
    input: '{"path":"."}',
    providerMetadata: { google: { thoughtSignature: 'Zm9v' } },
  },
]

const model = (content: Content) =>
  new MockLanguageModelV4({
    doGenerate: {
      content,
      finishReason: { unified: 'tool-calls', raw: 'tool_use' },
      usage,
      response: { id: 'r1', modelId: 'any' },
      warnings: [],
    },
  })

const inputSchema = jsonSchema<{ path?: string }>({ type: 'object' })
const USER_MESSAGE: Event = {
  kind: 'MessageEvent',
  id: 'u',
  source: 'user',
  llm_message: { role: 'user', content: [{ text: 'Hi.' }] },
}

/** Returns the messages of a reply. Calls without a result are closed. */
function sent(events: readonly Event[]) {
  const log = [USER_MESSAGE, ...events.map((event, index) => ({ ...event, id: `r${index}` }))]
  const messages = toAiSdk(toMessages(replay(log), { pending: { close: 'Not run.' } }))
  expect(validateAiSdk(messages)).toEqual([])
  return messages
}

/** Removes undefined fields. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('a step', () => {
  it('is written as the same message that the SDK itself sends', async () => {
    const result = await generateText({
      model: model(CONTENT),
      prompt: 'Hi.',
      tools: { ls: tool({ inputSchema }) },
    })
    const { events, outcome } = fromAiSdk(result)
    expect(outcome).toEqual({ type: 'tool_calls' })
    expect(sent(events)[1]).toEqual(plain(result.response.messages[0]))
    expect(events[0]).toMatchObject({
      tool_call: {
        reply: {
          grammar: 'ai-sdk',
          model: 'any',
          metadata: { sources: [{ id: 's1' }] },
        },
      },
    })
  })

  it('includes the results of calls that the SDK executed', async () => {
    const calls: Content = [
      { type: 'tool-call', toolCallId: 'a', toolName: 'ls', input: '{}' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'fails', input: '{}' },
    ]
    const tools = {
      ls: tool({ inputSchema, execute: () => ({ files: 1 }) }),
      fails: tool({
        inputSchema,
        execute: (): { files: number } => {
          throw new Error('No such file.')
        },
      }),
    }
    const { steps } = await generateText({
      model: model(calls),
      prompt: 'Hi.',
      tools,
      stopWhen: stepCountIs(1),
    })
    const [step] = steps
    const { events } = fromAiSdk(step ?? { content: [] })
    expect(events).toMatchObject([
      { kind: 'ActionEvent', action: { kind: 'LsAction' } },
      { kind: 'ActionEvent', action: { kind: 'FailsAction' } },
      { kind: 'ObservationEvent', observation: { content: [{ text: '{"files":1}' }], is_error: false } },
      { kind: 'ObservationEvent', observation: { content: [{ text: 'No such file.' }], is_error: true } },
    ])
    expect(sent(events)[2]?.content).toMatchObject([
      { toolCallId: 'a', output: { type: 'text', value: '{"files":1}' } },
      { toolCallId: 'b', output: { type: 'error-text' } },
    ])
  })

  it('does not execute calls that the SDK reports as invalid', async () => {
    const calls: Content = [
      { type: 'tool-call', toolCallId: 'a', toolName: 'unknown', input: '{}' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'ls', input: '{"path":' },
    ]
    const result = await generateText({
      model: model(calls),
      prompt: 'Hi.',
      tools: { ls: tool({ inputSchema }) },
    })
    const { events } = fromAiSdk(result)
    expect(events.map((event) => ('action' in event ? event.action : event.kind))).toEqual([
      null,
      null,
      'AgentErrorEvent',
      'AgentErrorEvent',
    ])
    expect(sent(events)).toHaveLength(3)
  })

  it('does not execute a denied call, and records the approval request and response', () => {
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'ls', input: {} }
    const content = [
      call,
      { type: 'tool-approval-request', approvalId: 'p', toolCall: call },
      {
        type: 'tool-approval-response',
        approvalId: 'p',
        toolCall: call,
        approved: false,
        reason: 'it is late',
      },
    ]
    const { events } = fromAiSdk({ content })
    expect(events).toMatchObject([
      {
        action: null,
        tool_call: { reply: { metadata: { approvals: [{ approvalId: 'p' }, { approved: false }] } } },
      },
      { error: 'The call was not executed: it is late.' },
    ])
  })
})

describe('the outcome of a step', () => {
  it.each([
    [{ finishReason: 'stop' }, { type: 'done' }],
    [
      { finishReason: 'length', rawFinishReason: 'max_tokens' },
      { type: 'truncated', reason: 'max_tokens' },
    ],
    [{ finishReason: 'content-filter' }, { type: 'filtered', reason: 'content-filter' }],
    [
      { finishReason: 'content-filter', rawFinishReason: 'refusal' },
      { type: 'refused', explanation: null },
    ],
    [{ finishReason: 'stop', rawFinishReason: 'pause_turn' }, { type: 'paused' }],
    [
      { finishReason: 'error', rawFinishReason: 'overloaded' },
      { type: 'failed', explanation: 'overloaded' },
    ],
  ])('follows from %j', (ending, outcome) => {
    expect(fromAiSdk({ content: [{ type: 'text', text: 'Hi' }], ...ending } as never).outcome).toEqual(
      outcome,
    )
  })
})

describe('a stream', () => {
  it('yields the same reply as its step', async () => {
    const mock = new MockLanguageModelV4({
      doStream: {
        stream: simulateReadableStream({
          chunks: [
            { type: 'stream-start', warnings: [] },
            { type: 'response-metadata', id: 'r1', modelId: 'any' },
            { type: 'reasoning-start', id: '0' },
            { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
            { type: 'reasoning-end', id: '0', providerMetadata: signed('c2ln') },
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: 'I ' },
            { type: 'text-delta', id: '1', delta: 'look.' },
            { type: 'text-end', id: '1' },
            { type: 'tool-call', toolCallId: 'a', toolName: 'ls', input: '{"path":"."}' },
            { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_use' }, usage },
          ],
        }),
      },
    })
    const result = streamText({ model: mock, prompt: 'Hi.', tools: { ls: tool({ inputSchema }) } })
    const stream = collectAiSdk()
    const texts: string[] = []
    for await (const part of result.fullStream) {
      for (const { content } of stream.push(part)) texts.push(content ?? '')
    }
    const [step] = await result.steps
    expect(texts.join('')).toBe('I look.')
    expect(stream.end()).toEqual(fromAiSdk(step ?? { content: [] }))
    expect(sent(stream.end().events)[1]).toEqual(plain((await result.response).messages[0]))
  })

  it('has the outcome `broken_off` after an abort, and `failed` after an error', () => {
    const aborted = collectAiSdk()
    for (const part of [
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', text: 'I' },
      { type: 'abort' },
    ])
      aborted.push(part)
    expect(aborted.end()).toMatchObject({
      events: [{ llm_message: { content: [{ text: 'I' }], reply: { outcome: 'broken_off' } } }],
      outcome: { type: 'broken_off', text: 'I' },
    })
    const failed = collectAiSdk()
    failed.push({ type: 'error', error: new Error('overloaded') })
    expect(failed.end()).toEqual({ events: [], outcome: { type: 'failed', explanation: 'overloaded' } })
    const refused = collectAiSdk()
    const requestBodyValues = { messages: ['secret'] }
    refused.push({ type: 'error', error: Object.assign(new TypeError(''), { requestBodyValues }) })
    expect(refused.end()).toEqual({ events: [], outcome: { type: 'failed', explanation: 'TypeError' } })
  })
})
