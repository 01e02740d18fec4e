import type { Step } from '../conversation/run/step.ts'
import { LIMITS } from '../messages/interactions/blocks.ts'
import { collectInteractions, fromInteractions } from '../messages/interactions/read.ts'
import { toInteractions } from '../messages/interactions/write.ts'
import { type ClientStepOptions, stepOf } from './step-of.ts'

/** A client of the `@google/genai` package, or an object of that shape. */
export interface InteractionsClient {
  readonly interactions: {
    create(params: never, options?: { readonly signal?: AbortSignal }): PromiseLike<unknown>
  }
}

/** Options of `interactionsStep`. Other fields are added to the request (`generation_config` …). */
export type InteractionsStepOptions = ClientStepOptions<InteractionsClient>

/**
 * Returns a step that calls Gemini Interactions, and executes the calls of its replies. The provider stores
 * nothing (`store: false`), because the log has the history.
 * @throws ColloquyError `invalid_argument` for duplicate tool names, or a schema that JSON Schema cannot express.
 * @example
 * const client = new GoogleGenAI({ apiKey: 'AIza…' })
 * const step = interactionsStep({ client, model: 'gemini-3.5-flash' })
 * typeof step // 'function'
 */
export const interactionsStep = ({ client, ...options }: InteractionsStepOptions): Step =>
  stepOf(options, {
    limits: LIMITS,
    describe: (tools) => tools.map((tool) => ({ type: 'function', ...tool })),
    write: (messages, writing, rest, stream) => ({
      store: false,
      ...rest,
      ...toInteractions(messages, writing),
      stream,
    }),
    send: (request, signal) => client.interactions.create(request, { signal }),
    read: fromInteractions,
    collect: collectInteractions,
  })
