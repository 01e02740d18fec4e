import type { Step } from '../conversation/run/step.ts'
import { LIMITS } from '../messages/openai-chat/blocks.ts'
import { collectOpenAIChat, fromOpenAIChat } from '../messages/openai-chat/read.ts'
import { toOpenAIChat } from '../messages/openai-chat/write.ts'
import { dialectOf, type ServerName } from './servers.ts'
import { type ClientStepOptions, stepOf } from './step-of.ts'

/** A client of the `openai` package, or an object of that shape. */
export interface OpenAIChatClient {
  readonly chat: {
    readonly completions: {
      create(params: never, options?: { readonly signal?: AbortSignal }): PromiseLike<unknown>
    }
  }
}

/** Options of `openaiChatStep`. Other fields are added to the request (`reasoning_effort` …). */
export interface OpenAIChatStepOptions extends ClientStepOptions<OpenAIChatClient> {
  /**
   * Whether text-only content is sent as one string, for servers that reject lists of parts. Default: false.
   */
  readonly plainText?: boolean
  readonly server?: ServerName
}

/**
 * Returns a step that calls OpenAI Chat Completions, and executes the calls of its replies. Requests for a
 * stream include `stream_options`, so that replies report their token usage.
 * @throws ColloquyError `invalid_argument` for duplicate tool names, a schema that JSON Schema cannot express,
 *   or an unknown server.
 * @example
 * const client = new OpenAI({ apiKey: 'sk-…' })
 * const step = openaiChatStep({ client, model: 'gpt-6-sol' })
 * typeof step // 'function'
 */
export function openaiChatStep({
  client,
  plainText = false,
  server,
  ...options
}: OpenAIChatStepOptions): Step {
  const dialect = dialectOf(server)
  return stepOf(options, {
    limits: LIMITS,
    describe: (tools) => tools.map((described) => ({ type: 'function', function: described })),
    write: (messages, writing, rest, stream) => ({
      ...(stream ? { stream_options: { include_usage: true } } : {}),
      ...rest,
      messages: toOpenAIChat(messages, { ...writing, ...dialect, plainText }),
      stream,
    }),
    send: (request, signal) => client.chat.completions.create(request, { signal }),
    read: fromOpenAIChat,
    collect: collectOpenAIChat,
  })
}
