/** Bedrock's Converse: reading and writing replies in cases that the general properties do not cover. */

import { describe, expect, it } from 'vitest'
import type { AssistantMessage, NeutralMessage } from '../../src/messages/message.ts'
import { collectBedrock, fromBedrock } from '../../src/messages/bedrock/read.ts'
import { validateBedrock } from '../../src/messages/bedrock/rules.ts'
import { toBedrock } from '../../src/messages/bedrock/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { decodeBase64 } from '../../src/messages/text-files.ts'
import { readToolResult } from '../../src/messages/tool-result.ts'
import { replay } from '../../src/state/reduce.ts'
import { GRAMMARS } from './grammars.ts'

const read = (stopReason: string, ...content: object[]) =>
  fromBedrock({ output: { message: { role: 'assistant', content } }, stopReason })
const bytes = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10])
const PNG = 'data:image/png;base64,iVBORw0KGgo='
const OFFICE = 'application/vnd.openxmlformats-officedocument.'
const FORMATS = [
  ['pdf', 'application/pdf'],
  ['csv', 'text/csv; charset=utf-8'],
  ['doc', 'application/msword'],
  ['docx', `${OFFICE}wordprocessingml.document`],
  ['xls', 'application/vnd.ms-excel'],
  ['xlsx', `${OFFICE}spreadsheetml.sheet`],
  ['html', 'text/html'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
] as const
const document = (format: string, source: object) => ({
  document: { format, name: 'document 1', source },
})
/** The bytes of a PDF, or bytes that are not text. */
const dataOf = (format: string): string => (format === 'pdf' ? 'JVBERi0x' : 'UEsDBAAB')

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

  it.each(FORMATS)('sends a file as a document: %s', (format, mediaType) => {
    const data = dataOf(format)
    const block = document(format, { bytes: decodeBase64(data) })
    const source = { type: 'base64', media_type: mediaType, data }
    for (const part of [
      { type: 'file', mediaType, data },
      { type: 'file', mediaType: 'application/octet-stream', filename: `a.${format.toUpperCase()}`, data },
      { type: 'input_file', filename: `a.${format}`, file_data: `data:${mediaType};base64,${data}` },
      { type: 'document', source, title: 'Plan' },
    ]) {
      const [message] = written(user({ text: 'Read.' }, part))
      expect(message?.content).toEqual([{ text: 'Read.' }, block])
      const results = written(user({ text: 'Go.' }), reply, result(part)).at(-1)
      expect(results?.content).toContainEqual(block)
    }
  })

  it.each(FORMATS)(
    'sends a file in S3 by its location, and other grammars send its name: %s',
    (format, mediaType) => {
      const url = `s3://bucket/folder/a.${format}`
      for (const part of [
        { type: 'file', mediaType, data: url },
        { type: 'file', mediaType: '', data: { type: 'url', url } },
        { type: 'file-url', mediaType, url },
        { type: 'input_file', file_url: url },
        { type: 'document', source: { type: 'url', url } },
      ]) {
        const message = user({ text: 'Read.' }, part)
        const [sent] = written(message)
        expect(sent?.content).toEqual([{ text: 'Read.' }, document(format, { s3Location: { uri: url } })])
        for (const [name, { write, validate }] of Object.entries(GRAMMARS)) {
          const request = write([message])
          expect(validate(request), name).toEqual([])
          if (!name.startsWith('Amazon') && name !== 'AI SDK')
            expect(JSON.stringify(request)).not.toContain('s3:')
        }
      }
    },
  )

  it.each([
    ['a PDF that is none', { type: 'file', mediaType: 'application/pdf', data: 'UEsDBAAB' }],
    ['a presentation', { type: 'file', mediaType: `${OFFICE}presentationml.presentation`, data: 'UEsDBAAB' }],
    ['a file without a type', { type: 'file', mediaType: '', data: 'UEsDBAAB' }],
    [
      'a document at another address',
      { type: 'file-url', mediaType: 'application/msword', url: 'https://a.b/c.doc' },
    ],
    ['a document of OpenAI', { type: 'input_file', file_id: 'file-1', filename: 'a.docx' }],
  ])('sends a placeholder for %s', (_, part) => {
    const [message] = written(user({ text: 'Read.' }, part))
    expect(message?.content).toEqual([
      { text: 'Read.' },
      { text: expect.stringContaining('cannot be shown') },
    ])
  })

  it.each([
    [{ bytes: decodeBase64('UEsDBAAB') }, 'docx'],
    [{ s3Location: { uri: 's3://bucket/a' } }, 'md'],
  ])('sends the document of a tool: %j', (source, format) => {
    const observation = readToolResult({ content: [{ document: { format, name: 'Plan', source } }] }, {})
    const results = written(user({ text: 'Go.' }), reply, result(...(observation.content ?? []))).at(-1)
    expect(results?.content).toContainEqual(document(format, source))
  })
})
