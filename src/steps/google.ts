import type { Step } from '../conversation/run/step.ts'
import { LIMITS } from '../messages/google/blocks.ts'
import { collectGoogle, fromGoogle } from '../messages/google/read.ts'
import { toGoogle } from '../messages/google/write.ts'
import { type ClientStepOptions, stepOf } from './step-of.ts'
import type { ToolDescription } from './tool.ts'

/** A client of the `@google/genai` package, or an object of that shape. */
export interface GoogleClient {
  readonly models: {
    generateContent(params: never): PromiseLike<unknown>
    generateContentStream(params: never): PromiseLike<unknown>
  }
}

/** Options of `googleStep`. Other fields are added to the request. */
export interface GoogleStepOptions extends ClientStepOptions<GoogleClient> {
  /** Configuration of each request. */
  readonly config?: object
}

/**
 * Returns a step that calls Gemini, and executes the calls of its replies.
 * @throws ColloquyError `invalid_argument` for a tool whose schema cannot be converted to JSON Schema.
 * @example
 * const client = new GoogleGenAI({ apiKey: 'AIza…' })
 * const step = googleStep({ client, model: 'gemini-3.5-flash' })
 * typeof step // 'function'
 */
export function googleStep({ client: { models }, config = {}, ...options }: GoogleStepOptions): Step {
  return stepOf(options, {
    limits: LIMITS,
    describe: describeTools,
    describesHistory: !('tools' in config),
    write: (messages, writing, { tools, ...rest }) => {
      const { contents, ...front } = toGoogle(messages, writing)
      return { ...rest, contents, config: { ...config, ...front, ...(tools !== undefined && { tools }) } }
    },
    send: ({ config: requested, ...request }: { readonly config: object }, abortSignal, stream) => {
      const params = { ...request, config: { ...requested, abortSignal } } as never
      return stream ? models.generateContentStream(params) : models.generateContent(params)
    },
    read: fromGoogle,
    collect: collectGoogle,
  })
}

const describeTools = (tools: readonly ToolDescription[]): object[] => {
  const declared = tools.map(({ parameters, ...tool }) => ({ ...tool, parametersJsonSchema: parameters }))
  return declared.length === 0 ? [] : [{ functionDeclarations: declared }]
}
