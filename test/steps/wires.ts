/**
 * The wire of each provider: what a model says goes in; out comes a client that says it, whole or streamed, and keeps
 * what it was asked.
 */

import { APICallError, streamText } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import type { Step } from '../../src/conversation/run/step.ts'
import {
  aiSdkStep,
  anthropicStep,
  googleStep,
  openaiChatStep,
  openaiResponsesStep,
  type StepOptions,
} from '../../src/steps/index.ts'

/** A call of a tool, its arguments as the text that the model wrote. */
export interface SaidCall {
  readonly id: string
  readonly name: string
  readonly args: string
}

/** What a model says when it is asked. */
export interface Said {
  /** What it thought first, under the provider's token; of Anthropic Messages and OpenAI Responses only. */
  readonly thought?: { readonly text: string; readonly token: string }
  readonly text?: string
  readonly calls?: readonly SaidCall[]
}

type Raw = Readonly<Record<string, unknown>>

export interface StepWire {
  readonly name: string
  /** A reply as the provider gives it. */
  readonly whole: (said: Said, no: number) => Raw
  /** The events of its stream. */
  readonly stream: (said: Said, no: number) => readonly Raw[]
  /** The step over a function that is given each request, and gives a reply or its stream. */
  readonly step: (
    create: (request: Raw, signal: AbortSignal) => Promise<unknown>,
    options: StepOptions,
  ) => Step
  /** The error with which the provider's client says that a request is too long. */
  readonly tooLong: object
}

const failed = (message: string, fields: object): Error => Object.assign(new Error(message), fields)

/** A text in two pieces. */
const halves = (text: string): readonly string[] => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '')
}

/** A block of a stream of Anthropic Messages: as it begins, and what is added to it. */
interface StreamedBlock {
  readonly start: object
  readonly deltas: readonly object[]
}

const thinkingBlock = ({
  text,
  token,
}: {
  readonly text: string
  readonly token: string
}): StreamedBlock => ({
  start: { type: 'thinking', thinking: '', signature: '' },
  deltas: [
    { type: 'thinking_delta', thinking: text },
    { type: 'signature_delta', signature: token },
  ],
})

const textBlock = (words: string): StreamedBlock => ({
  start: { type: 'text', text: '' },
  deltas: halves(words).map((text) => ({ type: 'text_delta', text })),
})

const callBlock = ({ id, name, args }: SaidCall): StreamedBlock => ({
  start: { type: 'tool_use', id, name, input: {} },
  deltas: halves(args).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
})

const anthropic: StepWire = {
  name: 'Anthropic Messages',
  whole: ({ thought, text, calls = [] }, no) => ({
    id: `msg_${no}`,
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [
      ...(thought === undefined
        ? []
        : [{ type: 'thinking', thinking: thought.text, signature: thought.token }]),
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: JSON.parse(args) })),
    ],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    usage: { input_tokens: 10, output_tokens: 5 },
  }),
  stream: ({ thought, text, calls = [] }, no) => [
    {
      type: 'message_start',
      message: {
        id: `msg_${no}`,
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 10, output_tokens: 1 },
      },
    },
    ...[
      ...(thought === undefined ? [] : [thinkingBlock(thought)]),
      ...(text === undefined ? [] : [textBlock(text)]),
      ...calls.map(callBlock),
    ].flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: 5 },
    },
    { type: 'message_stop' },
  ],
  step: (create, options) =>
    anthropicStep({
      ...options,
      client: { messages: { create: (params, { signal } = {}) => create(params, signal as AbortSignal) } },
      model: 'm',
      max_tokens: 100,
    }),
  tooLong: failed('400 invalid_request_error', {
    status: 400,
    error: {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
    },
  }),
}

const chat: StepWire = {
  name: 'OpenAI Chat Completions',
  whole: ({ text, calls = [] }, no) => ({
    id: `chat_${no}`,
    object: 'chat.completion',
    model: 'm',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text ?? null,
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map(({ id, name, args }) => ({
                  id,
                  type: 'function',
                  function: { name, arguments: args },
                })),
              }),
        },
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }),
  stream: ({ text, calls = [] }, no) => {
    const chunk = (delta: object, finish_reason: string | null = null): Raw => ({
      id: `chat_${no}`,
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta, finish_reason }],
    })
    return [
      chunk({ role: 'assistant', content: '' }),
      ...halves(text ?? '').map((content) => chunk({ content })),
      ...calls.flatMap(({ id, name, args }, index) => [
        chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
        ...halves(args).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
      ]),
      chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
      {
        id: `chat_${no}`,
        object: 'chat.completion.chunk',
        model: 'm',
        choices: [],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      },
    ]
  },
  step: (create, options) =>
    openaiChatStep({
      ...options,
      client: {
        chat: { completions: { create: (params, { signal } = {}) => create(params, signal as AbortSignal) } },
      },
      model: 'm',
    }),
  tooLong: failed('400 Too long', { status: 400, code: 'context_length_exceeded' }),
}

/** A reasoning item, without what the provider has signed. */
export const reasoningItem = (text: string, no: number) => ({
  type: 'reasoning',
  id: `rs_${no}`,
  summary: [{ type: 'summary_text', text }],
})

const outputOf = ({ thought, text, calls = [] }: Said, no: number): readonly Raw[] => [
  ...(thought === undefined
    ? []
    : [{ ...reasoningItem(thought.text, no), encrypted_content: thought.token }]),
  ...(text === undefined
    ? []
    : [
        {
          type: 'message',
          id: `msg_${no}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ]),
  ...calls.map(({ id, name, args }, at) => ({
    type: 'function_call',
    id: `fc_${no}_${at}`,
    call_id: id,
    name,
    arguments: args,
    status: 'completed',
  })),
]

const responses: StepWire = {
  name: 'OpenAI Responses',
  whole: (said, no) => ({
    id: `resp_${no}`,
    object: 'response',
    model: 'm',
    status: 'completed',
    output: outputOf(said, no),
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  }),
  stream: (said, no) => [
    { type: 'response.created', response: { id: `resp_${no}`, status: 'in_progress', output: [] } },
    ...halves(said.text ?? '').map((delta) => ({
      type: 'response.output_text.delta',
      output_index: 0,
      delta,
    })),
    ...outputOf(said, no).map((item, output_index) => ({
      type: 'response.output_item.done',
      output_index,
      item,
    })),
    { type: 'response.completed', response: responses.whole(said, no) },
  ],
  step: (create, options) =>
    openaiResponsesStep({
      ...options,
      client: {
        responses: { create: (params, { signal } = {}) => create(params, signal as AbortSignal) },
      },
      model: 'm',
    }),
  tooLong: failed('400 Too long', { status: 400, error: { code: 'context_length_exceeded' } }),
}

const google: StepWire = {
  name: 'Gemini',
  whole: ({ text, calls = [] }, no) => ({
    responseId: `g_${no}`,
    modelVersion: 'm',
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            ...(text === undefined ? [] : [{ text }]),
            ...calls.map(({ id, name, args }) => ({ functionCall: { id, name, args: JSON.parse(args) } })),
          ],
        },
        finishReason: 'STOP',
      },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  }),
  stream: ({ text, calls = [] }, no) => {
    const chunk = (parts: readonly object[], more: object = {}): Raw => ({
      responseId: `g_${no}`,
      modelVersion: 'm',
      candidates: [{ content: { role: 'model', parts }, ...more }],
    })
    return [
      ...halves(text ?? '').map((piece) => chunk([{ text: piece }])),
      ...calls.map(({ id, name, args }) => chunk([{ functionCall: { id, name, args: JSON.parse(args) } }])),
      {
        ...chunk([], { finishReason: 'STOP' }),
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
      },
    ]
  },
  step: (create, options) => {
    const ask = (params: { readonly config: { readonly abortSignal: AbortSignal } }): Promise<unknown> =>
      create(params as never, params.config.abortSignal)
    return googleStep({
      ...options,
      client: { models: { generateContent: ask, generateContentStream: ask } },
      model: 'm',
    })
  },
  tooLong: failed('got status: 400', {
    status: 400,
    message:
      '{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}',
  }),
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
}

/** The SDK itself, over a model of which each call is asked of the script. */
const aiSdk: StepWire = {
  name: 'AI SDK',
  whole: () => ({}),
  stream: ({ text, calls = [] }, no) => [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: `ai_${no}`, modelId: 'm' },
    ...(text === undefined
      ? []
      : [
          { type: 'text-start', id: '0' },
          ...halves(text).map((delta) => ({ type: 'text-delta', id: '0', delta })),
          { type: 'text-end', id: '0' },
        ]),
    ...calls.map(({ id, name, args }) => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      input: args,
    })),
    {
      type: 'finish',
      finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
      usage,
    },
  ],
  step: (create, options) => {
    const model = new MockLanguageModelV4({
      doStream: async ({ prompt, tools, abortSignal }) => {
        const events = await create({ prompt, tools }, abortSignal as AbortSignal)
        return { stream: ReadableStream.from(events as AsyncIterable<never>) }
      },
    })
    return aiSdkStep({
      ...(options as Omit<StepOptions, 'tools' | 'stream'>),
      streamText,
      model,
      maxRetries: 0,
    })
  },
  tooLong: Object.assign(
    new APICallError({
      message: 'prompt is too long: 210000 tokens > 200000 maximum',
      url: '',
      requestBodyValues: {},
      statusCode: 400,
    }),
  ),
}

export const STEP_WIRES = { anthropic, chat, responses, google, aiSdk } as const

/** A step whose model says one thing after the other, and what it was asked. */
export function scripted(
  wire: StepWire,
  script: readonly (Said | object | ((signal: AbortSignal) => Promise<unknown>))[],
  options: StepOptions = {},
): { readonly step: Step; readonly asked: readonly Raw[] } {
  const left = [...script]
  const asked: Raw[] = []
  const create = async (request: Raw, signal: AbortSignal): Promise<unknown> => {
    asked.push(request)
    const next = left.shift() ?? { text: 'Done.' }
    if (next instanceof Error) throw next
    if (typeof next === 'function') return next(signal)
    return options.stream === false
      ? wire.whole(next, asked.length)
      : streamed(wire.stream(next, asked.length))
  }
  return { step: wire.step(create, options), asked }
}

/** The events, one by one. */
export async function* streamed(events: readonly Raw[]): AsyncGenerator<Raw> {
  for (const event of events) yield event
}
