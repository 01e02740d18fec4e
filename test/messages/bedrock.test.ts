/** Bedrock's Converse: reading and writing replies in cases that the general properties do not cover. */

import { describe, expect, it } from 'vitest'
import type { AssistantMessage, NeutralMessage } from '../../src/messages/message.ts'
import { collectBedrock, fromBedrock } from '../../src/messages/bedrock/read.ts'
import { validateBedrock } from '../../src/messages/bedrock/rules.ts'
import { toBedrock } from '../../src/messages/bedrock/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'

const read = (stopReason: string, ...content: object[]) =>
  fromBedrock({ output: { message: { role: 'assistant', content } }, stopReason })
const bytes = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10])
const PNG = 'data:image/png;base64,iVBORw0KGgo='
const user = (...content: object[]): NeutralMessage => ({
  role: 'user',
  content: content as never,
  name: null,
})

function written(...messages: NeutralMessage[]) {
  const request = toBedrock(messages)
  expect(validateBedrock(request)).toEqual([])
  return request.messages
}

it.each([
  ['end_turn', 'done'],
  ['stop_sequence', 'done'],
  ['max_tokens', 'truncated'],
  ['model_context_window_exceeded', 'truncated'],
  ['guardrail_intervened', 'filtered'],
  ['content_filtered', 'filtered'],
  ['malformed_model_output', 'failed'],
  ['malformed_tool_use', 'failed'],
])('a reply with the stop reason %s has the outcome %s', (reason, type) => {
  expect(read(reason, { text: 'Hi' }).outcome.type).toBe(type)
})

it('redacted reasoning and images are sent back byte for byte', () => {
  const content = [
    { reasoningContent: { redactedContent: bytes } },
    { image: { format: 'png', source: { bytes } } },
    { text: 'Hi' },
  ]
  const events = read('end_turn', ...content).events.map(
    (event) => JSON.parse(JSON.stringify(event)) as never,
  )
  const hello = {
    kind: 'MessageEvent',
    source: 'user',
    llm_message: { role: 'user', content: [{ text: 'Hello' }] },
  }
  const messages = toMessages(replay([hello as never, ...events]))
  expect(written(...messages)[1]).toEqual({ role: 'assistant', content })
})

it('numbers that the AWS client returns as `bigint` or `NumericValue` are numbers', () => {
  class NumericValue {
    readonly string = '3.14159265358979323846'
    readonly type = 'bigDecimal'
    toString = () => this.string
  }
  const input = { id: 12345678901234567890n, list: [new NumericValue()], own: { type: 'bigDecimal' } }
  const { events } = fromBedrock({
    output: { message: { content: [{ toolUse: { toolUseId: 't', name: 'pay', input } }] } },
    stopReason: 'tool_use',
    additionalModelResponseFields: { seed: 2n ** 60n },
  } as never)
  const action = { id: Number(input.id), list: [Math.PI], own: { type: 'bigDecimal' } }
  const metadata = { additionalModelResponseFields: { seed: 2 ** 60 } }
  expect(events).toMatchObject([{ action, tool_call: { reply: { metadata } } }])
})

it('a call with a number that would be infinite is not executed', () => {
  const toolUse = { toolUseId: 't', name: 'pay', input: { amount: 10n ** 400n } }
  const output = { message: { content: [{ toolUse }] } }
  const { events } = fromBedrock({ output, stopReason: 'tool_use' } as never)
  expect(events).toMatchObject([{ action: null }, { kind: 'AgentErrorEvent' }])
})

describe('a stream', () => {
  it.each(['throttlingException', 'modelStreamErrorException', 'internalServerException'])(
    'fails with the message of a %s',
    (name) => {
      const stream = collectBedrock()
      stream.push({ [name]: { message: 'Slow down.' } })
      expect(stream.end().outcome).toEqual({ type: 'failed', explanation: 'Slow down.' })
    },
  )

  it('does not execute a call with truncated arguments', () => {
    const stream = collectBedrock()
    const contentBlockIndex = 0
    stream.push({
      contentBlockStart: { contentBlockIndex, start: { toolUse: { toolUseId: 'a', name: 'ls' } } },
    })
    stream.push({ contentBlockDelta: { contentBlockIndex, delta: { toolUse: { input: '{"a":' } } } })
    stream.push({ messageStop: { stopReason: 'tool_use' } })
    expect(stream.end().events).toMatchObject([{ action: null }, { kind: 'AgentErrorEvent' }])
  })
})

const reply: AssistantMessage = {
  role: 'assistant',
  content: [],
  tool_calls: [
    {
      id: 'c.1',
      name: 'ls.now',
      arguments: '{}',
      origin: 'completion',
      responses_item_id: null,
      responses_reasoning_item: null,
    },
  ],
  reasoning_content: null,
  thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'of another' }],
  responses_reasoning_item: null,
}
const result = (...content: object[]): NeutralMessage => ({
  role: 'tool',
  content: content as never,
  tool_call_id: 'c.1',
  name: 'ls',
  is_error: true,
})

describe('`toBedrock`', () => {
  it('writes images into results, makes names legal, and omits reasoning of other providers', () => {
    expect(written(user({ text: 'Go.' }), reply, result({ type: 'image', image_urls: [PNG] }))).toEqual([
      { role: 'user', content: [{ text: 'Go.' }] },
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'c_1', name: 'ls_now', input: {} } }] },
      {
        role: 'user',
        content: [
          {
            toolResult: {
              toolUseId: 'c_1',
              content: [{ image: { format: 'png', source: { bytes } } }],
              status: 'error',
            },
          },
        ],
      },
    ])
  })

  it.each([
    ['openai.gpt-6-astra', false],
    ['us.meta.llama3-3-70b-instruct-v1:0', false],
    ['arn:aws:bedrock:us-east-1::foundation-model/mistral.pixtral-large-2502-v1:0', false],
    ['us.anthropic.claude-sonnet-5-5', true],
    ['amazon.nova-2-lite-v1:0', true],
    ['arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-opus-5-5', true],
    ['arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3', true],
    [undefined, true],
  ])('writes images and a status into results only for models that accept them: %s', (model, isRich) => {
    const image = { image: { format: 'png', source: { bytes } } }
    const messages = [
      user({ text: 'Go.' }),
      reply,
      result({ type: 'image', image_urls: [PNG] }),
      user({ text: 'So?' }),
    ]
    const request = toBedrock(messages, model === undefined ? {} : { model })
    expect(validateBedrock(request)).toEqual([])
    const moved = { text: '[Image 1 follows in the next user message.]' }
    expect(request.messages.at(-1)?.content).toEqual([
      {
        toolResult: {
          toolUseId: 'c_1',
          content: [isRich ? image : moved],
          ...(isRich && { status: 'error' }),
        },
      },
      ...(isRich ? [] : [{ text: '[Image 1 of the tool results above:]' }, image]),
      { text: 'So?' },
    ])
  })

  it('numbers the names of documents, and adds a text before them', () => {
    const file = {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' },
    }
    const [first] = written(user(file), user(file))
    expect(first?.content.map((block) => ('document' in block ? block.document.name : block))).toEqual([
      { text: '[A file:]' },
      'document 1',
      'document 2',
    ])
  })
})
