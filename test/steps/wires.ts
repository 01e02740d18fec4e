/**
 * For each provider, a client that plays a model's replies, complete or streamed, and records the requests
 * of the step.
 */

import { APICallError, streamText } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import type { Step } from '../../src/conversation/run/step.ts'
import {
  aiSdkStep,
  anthropicStep,
  bedrockStep,
  googleStep,
  interactionsStep,
  openaiChatStep,
  openaiResponsesStep,
  type StepOptions,
} from '../../src/steps/index.ts'
import { ANTHROPIC } from '../../src/messages/anthropic/grammar.ts'
import { BEDROCK } from '../../src/messages/bedrock/grammar.ts'
import { GOOGLE } from '../../src/messages/google/grammar.ts'
import { INTERACTIONS } from '../../src/messages/interactions/grammar.ts'
import type { Grammar } from '../../src/messages/grammar.ts'
import { halves, type ProviderGrammar } from '../../src/messages/fake.ts'
import { OPENAI_CHAT } from '../../src/messages/openai-chat/grammar.ts'
import { OPENAI_RESPONSES } from '../../src/messages/openai-responses/grammar.ts'

/** A tool call, with its arguments as the model's text. */
export interface ScriptedCall {
  readonly id: string
  readonly name: string
  readonly args: string
}

export interface ScriptedReply {
  readonly text?: string
  readonly calls?: readonly ScriptedCall[]
}

type Raw = Readonly<Record<string, unknown>>

export interface StepWire {
  readonly name: string
  readonly whole: (reply: ScriptedReply, number: number) => Raw
  /** Events of a streamed reply. */
  readonly stream: (reply: ScriptedReply, number: number) => readonly Raw[]
  /** Returns a step whose client is `create`, which returns a reply or a stream. */
  readonly step: (
    create: (request: Raw, signal: AbortSignal) => Promise<unknown>,
    options: StepOptions,
  ) => Step
  /** The client's error for a request that is too long. */
  readonly tooLong: object
}

const failed = (message: string, fields: object): Error => Object.assign(new Error(message), fields)

/** Renders replies in the provider's grammar. */
const output = ({ provider }: Grammar): Pick<StepWire, 'whole' | 'stream'> => {
  const grammar = provider as ProviderGrammar
  const contents = ({ text, calls = [] }: ScriptedReply, number: number) => [
    ...(text === undefined ? [] : grammar.contents(text, `${number}`)),
    ...calls.flatMap(({ id, name, args }, index) =>
      grammar.contents({ call: name, id, args }, `${number}_${index}`),
    ),
  ]
  return {
    whole: (reply, number) => grammar.whole(contents(reply, number), { requestNumber: number, end: null }),
    stream: (reply, number) => grammar.stream(contents(reply, number), { requestNumber: number, end: null }),
  }
}

const anthropic: StepWire = {
  name: 'Anthropic Messages',
  ...output(ANTHROPIC),
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
  ...output(OPENAI_CHAT),
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

const responses: StepWire = {
  name: 'OpenAI Responses',
  ...output(OPENAI_RESPONSES),
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
  ...output(GOOGLE),
  step: (create, options) => {
    const send = (params: { readonly config: { readonly abortSignal: AbortSignal } }): Promise<unknown> =>
      create(params as never, params.config.abortSignal)
    return googleStep({
      ...options,
      client: { models: { generateContent: send, generateContentStream: send } },
      model: 'm',
    })
  },
  tooLong: failed('got status: 400', {
    status: 400,
    message:
      '{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}',
  }),
}

const interactions: StepWire = {
  name: 'Gemini Interactions',
  ...output(INTERACTIONS),
  step: (create, options) =>
    interactionsStep({
      ...options,
      client: {
        interactions: { create: (params, { signal } = {}) => create(params, signal as AbortSignal) },
      },
      model: 'm',
    }),
  tooLong: google.tooLong,
}

const bedrock: StepWire = {
  name: 'Amazon Bedrock Converse',
  ...output(BEDROCK),
  step: (create, options) =>
    bedrockStep({
      ...options,
      client: {
        converse: (params, { abortSignal } = {}) => create(params, abortSignal as AbortSignal),
        converseStream: async (params, { abortSignal } = {}) => ({
          stream: await create(params, abortSignal as AbortSignal),
        }),
      },
      model: 'm',
    }),
  tooLong: failed('Input is too long for requested model.', {
    name: 'ValidationException',
    $metadata: { httpStatusCode: 400 },
  }),
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
}

/** The SDK itself, with a model that plays the script. */
const aiSdk: StepWire = {
  name: 'AI SDK',
  whole: () => ({}),
  stream: ({ text, calls = [] }, number) => [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: `ai_${number}`, modelId: 'm' },
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
        return { stream: streamOf(events as AsyncIterable<never>) }
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

export const STEP_WIRES = { anthropic, chat, responses, google, interactions, bedrock, aiSdk } as const

/** Returns a step whose model plays replies in order, and the requests of the step. */
export function scripted(
  wire: StepWire,
  script: readonly (ScriptedReply | object | ((signal: AbortSignal) => Promise<unknown>))[],
  options: StepOptions = {},
): { readonly step: Step; readonly requests: readonly Raw[] } {
  const remaining = [...script]
  const requests: Raw[] = []
  const create = async (request: Raw, signal: AbortSignal): Promise<unknown> => {
    requests.push(request)
    const next = remaining.shift() ?? { text: 'Done.' }
    if (next instanceof Error) throw next
    if (typeof next === 'function') return next(signal)
    return options.stream === false
      ? wire.whole(next, requests.length)
      : streamed(wire.stream(next, requests.length))
  }
  return { step: wire.step(create, options), requests }
}

export async function* streamed(events: readonly Raw[]): AsyncGenerator<Raw> {
  for (const event of events) yield event
}

/** Returns a stream that is read on demand. Not every browser can create one from an iterable. */
export function streamOf<T>(values: AsyncIterable<T>): ReadableStream<T> {
  const reader = values[Symbol.asyncIterator]()
  return new ReadableStream(
    {
      async pull(controller) {
        const next = await reader.next()
        if (next.done === true) controller.close()
        else controller.enqueue(next.value)
      },
      cancel: async () => void (await reader.return?.()),
    },
    { highWaterMark: 0 },
  )
}
