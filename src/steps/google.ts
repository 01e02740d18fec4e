import type { Step } from '../conversation/run/step.ts'
import { LIMITS } from '../messages/google/blocks.ts'
import { collectGoogle, fromGoogle, type GoogleReply } from '../messages/google/read.ts'
import { toGoogle } from '../messages/google/write.ts'
import { sortTools, type StepOptions, stepOf, toolList } from './step-of.ts'
import type { ToolDescription } from './tool.ts'

/** A client of the `@google/genai` package, or an object of that shape. */
export interface GoogleClient {
  readonly models: {
    generateContent(params: never): PromiseLike<unknown>
    generateContentStream(params: never): PromiseLike<unknown>
  }
}

/** Other fields are added to the request unchanged. */
export interface GoogleStepOptions extends StepOptions {
  readonly client: GoogleClient
  readonly model: string
  readonly config?: object
  readonly [field: string]: unknown
}

/**
 * Returns a step that calls Gemini, and executes the calls of its replies.
 * @throws ColloquyError `invalid_argument` for a tool that cannot be described to a model.
 * @example
 * const client = new GoogleGenAI({ apiKey: 'AIza…' })
 * const step = googleStep({ client, model: 'gemini-3.5-flash' })
 * typeof step // 'function'
 */
export function googleStep(options: GoogleStepOptions): Step {
  const {
    client,
    tools: toolOptions,
    system: _,
    stream = true,
    write: __,
    prove: ___,
    config = {},
    ...rest
  } = options
  const { models } = client
  const sorted = sortTools(toolOptions)
  const tools = [...describe(sorted.described), ...sorted.providerTools]
  return stepOf(
    {
      model: options.model,
      limits: LIMITS,
      tools,
      ...('tools' in config ? {} : { describe }),
      write: (messages, writing) => {
        const { contents, ...front } = toGoogle(messages, writing)
        return { ...rest, contents, config: { ...config, ...front, ...toolList(writing) } }
      },
      send: (request, signal) => {
        const { config: requested } = request as { readonly config: object }
        const params = { ...request, config: { ...requested, abortSignal: signal } } as never
        return stream ? models.generateContentStream(params) : models.generateContent(params)
      },
      read: (reply, reading) => fromGoogle(reply as GoogleReply, reading),
      collect: collectGoogle,
    },
    sorted,
    options,
  )
}

const describe = (tools: readonly ToolDescription[]): object[] =>
  tools.length === 0
    ? []
    : [
        {
          functionDeclarations: tools.map(({ name, description, parameters }) => ({
            name,
            description,
            parametersJsonSchema: parameters,
          })),
        },
      ]
