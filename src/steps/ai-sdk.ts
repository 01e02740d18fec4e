import type { Step } from '../conversation/run/step.ts'
import { invalid } from '../event/check-value.ts'
import { ColloquyError } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue, OpenPart } from '../event/shapes.ts'
import { LIMITS } from '../messages/ai-sdk/blocks.ts'
import { collectAiSdk, fromAiSdk } from '../messages/ai-sdk/read.ts'
import { toAiSdk } from '../messages/ai-sdk/write.ts'
import { placeholderOf } from '../messages/pieces.ts'
import { objectOf } from '../messages/text.ts'
import { sortTools, stepOf, type StepOptions } from './step-of.ts'
import { readModelOutput } from '../messages/tool-result.ts'
import type { StepTool, ToolContext, ToolDescription, ToolOutput } from './tool.ts'
import { checkTools, lacksExecute, lastOf } from './tool.ts'

/** Options of `aiSdkStep`. Other fields, such as `maxOutputTokens`, are passed to `streamText`. */
export interface AiSdkStepOptions extends Omit<StepOptions, 'tools' | 'stream'> {
  /** `streamText` of the `ai` package. */
  readonly streamText: (options: never) => object
  /** A model object of the SDK, or the name of a model. */
  readonly model: unknown
  /** Tools of the SDK by name, or a list of Colloquy's tools. Default: none. */
  readonly tools?: AiSdkTools | readonly StepTool[]
  readonly [field: string]: unknown
}

/**
 * Returns a step that calls a model through the AI SDK. The step, not the SDK, executes the model's tool
 * calls. The run's policy decides which calls need confirmation.
 * @throws ColloquyError `invalid_argument` for duplicate tool names, a schema that JSON Schema cannot
 *   express, a tool with `needsApproval`, or a tool that neither has `execute` nor is executed by the
 *   provider.
 * @example
 * const step = aiSdkStep({ streamText, model: 'anthropic/claude-sonnet-5-5' })
 * typeof step // 'function'
 */
export function aiSdkStep({ streamText, tools: listed, ...options }: AiSdkStepOptions): Step {
  const tools = listed ?? []
  const { sorted, described: requested } = isList(tools)
    ? { sorted: sortTools(tools), described: {} }
    : ofSdk(tools)
  const version: Version = { current: 7 }
  return stepOf(
    options as typeof options & StepOptions,
    {
      limits: LIMITS,
      describe: (listed) => listed,
      // The SDK's own tools are sent in place of the tools of the history.
      describesHistory: Object.keys(requested).length === 0,
      write: (messages, writing, { tools: listed, ...rest }) => ({
        // Errors are in the stream; the SDK would also print them.
        onError: () => undefined,
        ...rest,
        ...toolFields(requested, listed as readonly ToolDescription[]),
        messages: toAiSdk(messages, writing),
        allowSystemInMessages: true,
      }),
      send: async (request: { readonly messages: readonly object[] }, signal) =>
        openStream(version, request, (sent) => {
          const result = streamText({ ...sent, abortSignal: signal } as never)
          return (result as { readonly fullStream: AsyncIterable<object> }).fullStream
        }),
      read: fromAiSdk,
      collect: collectAiSdk,
    },
    sorted,
  )
}

function toolFields(described: object, listed: readonly ToolDescription[] = []): object {
  if (Object.keys(described).length > 0) return { tools: described }
  const tools = listed.map((tool) => [tool.name, sdkToolOf(tool)] as const)
  return tools.length === 0 ? {} : { tools: Object.fromEntries(tools) }
}

const isList = (tools: AiSdkTools | readonly StepTool[]): tools is readonly StepTool[] => Array.isArray(tools)

function ofSdk(tools: AiSdkTools) {
  checkTools('tools', Object.values(tools))
  const executable = Object.entries(tools).flatMap(([name, tool]) =>
    typeof tool.execute === 'function' ? [stepToolOf(name, tool)] : [],
  )
  return {
    sorted: sortTools(executable),
    described: Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [name, sdkDescriptionOf(name, tool)]),
    ),
  }
}

/** Assumed major version of the installed SDK: 7, or 6 after the SDK has refused the messages of a request. */
interface Version {
  current: 6 | 7
}

type Stream = AsyncIterable<object>

/**
 * Opens a stream. If the SDK refuses the messages, sends them and all later messages in version 6's format.
 * @throws ColloquyError `invalid_argument` if the SDK refuses both forms.
 */
async function openStream<R extends { readonly messages: readonly object[] }>(
  version: Version,
  request: R,
  open: (request: R) => Stream,
): Promise<Stream> {
  if (version.current === 7) {
    const { stream, refusal } = await openReply(open(request))
    if (refusal === null) return stream
  }
  const { stream, refusal } = await openReply(
    open({ ...request, messages: request.messages.map(messageIn6) }),
  )
  if (refusal !== null)
    throw new ColloquyError(
      'invalid_argument',
      'The installed version of the package `ai` rejects the messages. Use version 6 or 7.',
      {},
      { cause: refusal },
    )
  version.current = 6
  return stream
}

/** Reads an opened stream until it shows whether the SDK refuses the messages. */
async function openReply(
  opened: Stream | Promise<Stream>,
): Promise<{ readonly stream: Stream; readonly refusal: object | null }> {
  const source = await opened
  // A test double of the SDK may return a whole reply.
  if (typeof source[Symbol.asyncIterator] !== 'function') return { stream: source, refusal: null }
  const iterator = source[Symbol.asyncIterator]()
  const first: IteratorResult<object>[] = []
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop
    const result = await iterator.next()
    first.push(result)
    if (result.done === true || (result.value as JsonObject)['type'] !== 'start') break
  }
  const last = first.at(-1)
  const refusal = last === undefined || last.done === true ? null : refusalIn(last.value)
  if (refusal !== null) await iterator.return?.()
  const stream = {
    [Symbol.asyncIterator]: () => ({
      next: async () => first.shift() ?? iterator.next(),
      return: async () => (await iterator.return?.()) ?? { done: true as const, value: undefined },
    }),
  }
  return { stream, refusal }
}

function refusalIn(part: object): object | null {
  const { type, error } = part as { readonly type?: unknown; readonly error?: unknown }
  if (type !== 'error' || typeof error !== 'object' || error === null) return null
  return (error as { readonly name?: unknown }).name === 'AI_InvalidPromptError' ? error : null
}

function messageIn6(message: object): object {
  const { role, content } = message as JsonObject
  if (!Array.isArray(content)) return message
  const parts = content.filter(isObject)
  switch (role) {
    case 'user':
      return { role, content: parts.map(userPartIn6) }
    case 'assistant':
      return { role, content: parts.filter(({ type }) => type !== 'custom' && type !== 'reasoning-file') }
    case 'tool':
      return { role, content: parts.map(resultIn6) }
    default:
      return message
  }
}

function resultIn6(part: JsonObject): JsonObject {
  const { type, value } = objectOf(part['output']) as JsonObject
  if (type !== 'content' || !Array.isArray(value)) return part
  return { ...part, output: { type, value: value.filter(isObject).map(resultPartIn6) } }
}

function userPartIn6(part: JsonObject): JsonObject {
  const { type, mediaType, providerOptions } = part
  if (type !== 'file') return part
  const options = providerOptions === undefined ? {} : { providerOptions }
  const data = dataIn6(part)
  if (data === null) return asText(part)
  // Version 6 accepts the address of an image only in this form.
  return mediaType === 'image' ? { type: 'image', image: data, ...options } : { ...part, data }
}

function resultPartIn6(part: JsonObject): JsonObject {
  const { type, mediaType } = part
  if (type !== 'file') return part
  const data = dataIn6(part)
  if (data === null) return asText(part)
  const isImage = typeof mediaType === 'string' && mediaType.startsWith('image/')
  return { ...part, type: isImage ? 'image-data' : 'file-data', data }
}

/** Returns a file's data as base64 or a URL; null for text, and for a file that the provider stores. */
function dataIn6({ data }: JsonObject): string | null {
  if (typeof data === 'string') return data
  const { type, data: inner } = objectOf(data)
  return type === 'data' && typeof inner === 'string' ? inner : null
}

function asText(part: JsonObject): JsonObject {
  const { type, text } = objectOf(part['data'])
  const name: JsonValue | undefined = part['filename']
  if (type !== 'text' || typeof text !== 'string')
    return { type: 'text', text: placeholderOf(part as OpenPart) }
  return { type: 'text', text: typeof name === 'string' ? `${name}\n${text}` : text }
}

/** Fields that are read from a tool of the `ai` package. */
export interface AiSdkTool {
  readonly description?: unknown
  readonly execute?: unknown
  readonly toModelOutput?: unknown
  readonly needsApproval?: unknown
  /**
   * `provider` for a provider's tool, or `provider-defined` in older versions of the SDK. Only tools with the
   * type `provider` have `isProviderExecuted`.
   */
  readonly type?: unknown
  readonly isProviderExecuted?: unknown
}

/** Tools by name, as `streamText` accepts them. */
export type AiSdkTools = Readonly<Record<string, AiSdkTool>>

/** Converts a tool of the SDK. Calls are not checked again, because the SDK has already checked their arguments. */
function stepToolOf(name: string, tool: AiSdkTool): StepTool {
  const execute = tool.execute as (args: JsonObject, options: object) => unknown
  const toModelOutput = tool.toModelOutput as ((shown: object) => unknown) | undefined
  return {
    name,
    description: typeof tool.description === 'string' ? tool.description : '',
    parameters: {},
    async execute(args, { signal, call }: ToolContext): Promise<ToolOutput> {
      const { tool_call_id: toolCallId } = call
      const options = { toolCallId, messages: [], abortSignal: signal }
      const output = await lastOf(execute.call(tool, args, options))
      if (toModelOutput === undefined) return output
      return readModelOutput(
        await toModelOutput.call(tool, { toolCallId, input: args, output }),
        LIMITS.parts.kinds,
      )
    },
  }
}

/**
 * Returns the tool without `execute` and `needsApproval`.
 * @throws ColloquyError `invalid_argument` if nothing would execute the tool, or if the tool has
 *   `needsApproval`: steps execute the calls, so the SDK would request no approval.
 */
function sdkDescriptionOf(name: string, tool: AiSdkTool): object {
  if (tool.needsApproval !== undefined && tool.needsApproval !== false)
    throw invalid(
      `The tool ${name} has \`needsApproval\`, which steps do not support. Pass a policy to the run instead: \`run(step, { policy })\`.`,
      { name },
    )
  const isOfProvider = typeof tool.type === 'string' && tool.type.startsWith('provider')
  // No call of such a tool could be executed, so the model would call it again and again.
  if (typeof tool.execute !== 'function' && !(isOfProvider && tool.isProviderExecuted !== false))
    throw lacksExecute(name)
  const { execute: _, needsApproval: __, ...described } = tool
  return described
}

const sdkToolOf = ({ description, parameters }: ToolDescription): object => ({
  description,
  // The result of `jsonSchema` of the `ai` package.
  inputSchema: { [Symbol.for('vercel.ai.schema')]: true, jsonSchema: parameters, validate: undefined },
})
