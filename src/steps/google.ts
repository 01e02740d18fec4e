import type { Step } from '../conversation/run/step.ts'
import { LIMITS } from '../messages/google/blocks.ts'
import { collectGoogle, fromGoogle } from '../messages/google/read.ts'
import { toGoogle } from '../messages/google/write.ts'
import { type ClientStepOptions, stepOf } from './step-of.ts'
import { checkTools, isStepTool, type ProviderTool, type StepTool, type ToolDescription } from './tool.ts'

/** A client of the `@google/genai` package, or an object of that shape. */
export interface GoogleClient {
  readonly vertexai?: boolean
  readonly models: {
    generateContent(params: never): PromiseLike<unknown>
    generateContentStream(params: never): PromiseLike<unknown>
  }
}

/** Options of `googleStep`. Other fields are added to the request. */
export interface GoogleStepOptions extends ClientStepOptions<GoogleClient> {
  /** Configuration of each request. Its `tools` are added to the step's tools. */
  readonly config?: object
}

/**
 * Returns a step that calls Gemini, and executes the calls of its replies. If a request has both functions
 * and Gemini's own tools, the step sets `includeServerSideToolInvocations`, which Gemini requires. For Vertex
 * AI, which rejects this setting, the step omits it.
 * @throws ColloquyError `invalid_argument` for duplicate tool names, or a schema that JSON Schema cannot express.
 * @example
 * const client = new GoogleGenAI({ apiKey: 'AIza…' })
 * const step = googleStep({ client, model: 'gemini-3.5-flash' })
 * typeof step // 'function'
 */
export function googleStep({ client, config = {}, ...options }: GoogleStepOptions): Step {
  const { models, vertexai: isVertex = false } = client
  const { tools: configured, ...fixed }: Pick<GoogleStepOptions, 'tools'> & { toolConfig?: object } = config
  const more = checkTools('config.tools', configured)
  // The SDK's tools of MCP clients are live objects, which cannot be part of a digest.
  const [live, plain] = [more.filter(isCallable), more.filter((tool) => !isCallable(tool))]
  const tools = [...checkTools('tools', options.tools), ...plain]
  const isMixed = tools.some(isFunction) && tools.some(isServerTool)
  const toolConfig = { includeServerSideToolInvocations: true, ...fixed.toolConfig }
  const fields = isMixed && !isVertex ? { ...fixed, toolConfig } : fixed
  return stepOf(
    { ...options, tools },
    {
      limits: LIMITS,
      describe: describeTools,
      describesHistory: !('tools' in config),
      write: (messages, writing, { tools: listed = [], ...rest }) => {
        const { contents, ...front } = toGoogle(messages, writing)
        const sent = [...(listed as readonly object[]), ...live]
        return { ...rest, contents, config: { ...fields, ...front, ...(sent.length > 0 && { tools: sent }) } }
      },
      send: ({ config: requested, ...request }: { readonly config: object }, abortSignal, stream) => {
        const params = { ...request, config: { ...requested, abortSignal } } as never
        return stream ? models.generateContentStream(params) : models.generateContent(params)
      },
      read: fromGoogle,
      collect: collectGoogle,
    },
  )
}

const isCallable = (tool: StepTool | ProviderTool): boolean => 'callTool' in tool

const isFunction = (tool: StepTool | ProviderTool): boolean =>
  isStepTool(tool) || 'functionDeclarations' in tool

const SERVER_TOOLS = ['codeExecution', 'fileSearch', 'googleMaps', 'googleSearch', 'urlContext']

const isServerTool = (tool: StepTool | ProviderTool): boolean => SERVER_TOOLS.some((name) => name in tool)

const describeTools = (tools: readonly ToolDescription[]): object[] => {
  const declared = tools.map(({ parameters, ...tool }) => ({ ...tool, parametersJsonSchema: parameters }))
  return declared.length === 0 ? [] : [{ functionDeclarations: declared }]
}
