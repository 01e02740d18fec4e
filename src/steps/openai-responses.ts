import type { Step } from '../conversation/run/step.ts'
import { LIMITS } from '../messages/openai-responses/blocks.ts'
import { collectOpenAIResponses, fromOpenAIResponses } from '../messages/openai-responses/read.ts'
import { toOpenAIResponses } from '../messages/openai-responses/write.ts'
import { dialectOf, type ServerName } from './servers.ts'
import { type ClientStepOptions, stepOf } from './step-of.ts'

/** A client of the `openai` package, or an object of that shape. */
export interface OpenAIResponsesClient {
  readonly responses: {
    create(params: never, options?: { readonly signal?: AbortSignal }): PromiseLike<unknown>
  }
}

/** Options of `openaiResponsesStep`. Other fields are added to the request (`reasoning`, `text` …). */
export interface OpenAIResponsesStepOptions extends ClientStepOptions<OpenAIResponsesClient> {
  /** A compatible server whose requirements differ from OpenAI's. Default: OpenAI's own server. */
  readonly server?: ServerName
}

/**
 * Returns a step that calls OpenAI Responses, and executes the calls of its replies. The provider stores
 * nothing (`store: false`), because the log has the history. Replies contain encrypted reasoning (`include:
 * ['reasoning.encrypted_content']`). If a model rejects this option, pass `include: []`.
 * @throws ColloquyError `invalid_argument` for duplicate tool names, a schema that JSON Schema cannot express,
 *   or an unknown server.
 * @example
 * const client = new OpenAI({ apiKey: 'sk-…' })
 * const step = openaiResponsesStep({ client, model: 'gpt-6-sol' })
 * typeof step // 'function'
 */
export function openaiResponsesStep({ client, server, ...options }: OpenAIResponsesStepOptions): Step {
  const { signs = true } = dialectOf(server)
  return stepOf(options, {
    limits: LIMITS,
    // Strict schemas are another dialect, without optional arguments.
    describe: (tools, known) =>
      tools.map((described) => ({
        type: 'function',
        ...described,
        strict: false,
        ...(known.get(described.name)?.background === true && { async: true }),
      })),
    write: (messages, writing, rest, stream) => ({
      store: false,
      include: ['reasoning.encrypted_content'],
      ...rest,
      ...toOpenAIResponses(messages, { ...writing, signs }),
      stream,
    }),
    send: (request, signal) => client.responses.create(request, { signal }),
    read: fromOpenAIResponses,
    collect: collectOpenAIResponses,
  })
}
