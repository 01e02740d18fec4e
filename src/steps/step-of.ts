/** The common part of all steps. A step executes approved calls, or else calls the model. */

import type { CallCompletion } from '../conversation/background.ts'
import type { Step, StepInput, Yielded } from '../conversation/run/step.ts'
import { WORKING } from '../event/completion.ts'
import { checkText, invalidArgument } from '../event/check-value.ts'
import { decodeEvent } from '../event/decode.ts'
import { ColloquyError, hasCode } from '../event/errors.ts'
import type { Observation } from '../event/shapes.ts'
import { quote } from '../event/text.ts'
import type { ActionEvent, AgentErrorEvent, ObservationEvent, SystemPromptEvent } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import type { Limits, PartTable } from '../messages/limits.ts'
import type { NeutralMessage } from '../messages/message.ts'
import { toMessages } from '../messages/neutral.ts'
import { OPENING } from '../messages/phrases.ts'
import { modelName, type WriteOptions } from '../messages/prefix.ts'
import type { ReadOptions, Reply, ReplyCollector } from '../messages/reply.ts'
import { requestCache } from '../messages/request-cache.ts'
import { toolName } from '../messages/text.ts'
import { errorText, failure, readAsText, readToolResult, textObservation } from '../messages/tool-result.ts'
import { reduce } from '../state/reduce.ts'
import type { State } from '../state/state.ts'
import {
  type BackgroundOptions,
  checkArguments,
  checkTools,
  definitionOf,
  describeTool,
  executableOf,
  isStepTool,
  lacksExecute,
  finalOutput,
  LaterResult,
  providerDescription,
  type ProviderTool,
  type StepTool,
  type ToolContext,
  type ToolDescription,
  type ToolOutput,
} from './tool.ts'

type CallEntry = EventEntry<ActionEvent>
type Call = ToolContext['call']
type CallResult = AgentErrorEvent | ObservationEvent
type Work = (context: ToolContext) => ToolOutput | PromiseLike<ToolOutput>
type ToolInput = Pick<StepInput, 'approved' | 'signal' | 'background' | 'runChild'>

/** Executes calls. Yields each result at once, so that no crash or interrupt loses it. Never throws. */
export async function* executeCalls(
  input: ToolInput,
  tools: ReadonlyMap<string, StepTool>,
  blocks: PartTable['kinds'],
): AsyncGenerator<CallResult, void, undefined> {
  // Each call fills the next slot when it ends. A race between all calls for each result would cost O(calls²).
  const slots = input.approved.map(() => Promise.withResolvers<CallResult>())
  const free = slots.values()
  for (const call of input.approved)
    void executeCall(call, tools, blocks, input).then((result) => free.next().value?.resolve(result))
  // oxlint-disable-next-line no-await-in-loop
  for (const { promise } of slots) yield await promise
}

/** Executes a call. The promise never rejects: an error becomes an error result. */
async function executeCall(
  entry: CallEntry,
  tools: ReadonlyMap<string, StepTool>,
  blocks: PartTable['kinds'],
  { signal, background: startWork, runChild }: ToolInput,
): Promise<CallResult> {
  const call: Call = { ...entry.event, id: entry.id }
  const tool = tools.get(call.tool_name)
  if (tool === undefined) return notExecuted(call, `there is no tool ${quote(call.tool_name)}`)
  try {
    const checked = await checkArguments(tool, call)
    if ('issues' in checked) return notExecuted(call, checked.issues)
    const context: ToolContext = { signal, call, runChild: (request) => runChild(call.id, request) }
    const workOn = async (work: Work): Promise<void> => {
      const { signal: cancelled, report, completeWith } = await startWork(entry)
      completeWith(completionFrom(blocks, { ...context, signal: cancelled, report }, work))
    }
    if (tool.background === true) {
      await workOn((working) => tool.execute(checked.args, working))
      return workingResult(call, {})
    }
    const returned = await tool.execute(checked.args, context)
    const output = typeof returned === 'object' ? await finalOutput(returned) : returned
    if (!(output instanceof LaterResult)) return outputResult(call, output, blocks)
    const { result } = output
    await workOn((working) => (typeof result === 'function' ? result(working) : result))
    return workingResult(call, output.options)
  } catch (error) {
    return storableResult(call, failure(errorText(error)))
  }
}

const FOLLOWS = 'The call is still running in the background; its result follows in a later message.'

function workingResult(call: Call, { content = FOLLOWS, task }: BackgroundOptions): CallResult {
  const parts = typeof content === 'string' ? textObservation(content).content : content
  return storableResult(call, {
    kind: WORKING,
    ...(parts !== undefined && { content: parts }),
    ...(task !== undefined && { task }),
  })
}

/** Waits for the work of a background call, and returns its outcome. The promise never rejects. */
async function completionFrom(
  blocks: PartTable['kinds'],
  context: ToolContext,
  work: Work,
): Promise<CallCompletion> {
  const { call } = context
  const result = await (async () => laterOutput(await work(context), context))().then(
    (output) => outputResult(call, output, blocks),
    (error: unknown) => storableResult(call, failure(errorText(error))),
  )
  if (result.kind === 'AgentErrorEvent') return { content: result.error, outcome: 'failed' }
  const { content = [], is_error } = result.observation
  return { content, outcome: is_error === true ? 'failed' : 'done' }
}

/** Returns the output of background work. If the work starts further work with `background`, awaits that, too. */
async function laterOutput(output: ToolOutput, context: ToolContext): Promise<ToolOutput> {
  const last = await finalOutput(output)
  if (!(last instanceof LaterResult)) return last
  const { result, options } = last
  if (options.task !== undefined) void context.report?.({ task: options.task }).catch(() => undefined)
  return laterOutput(await (typeof result === 'function' ? result(context) : result), context)
}

/** Returns a tool's output as a result. Output that no event can contain becomes JSON text. Never throws. */
function outputResult(call: Call, output: ToolOutput, blocks: PartTable['kinds']): CallResult {
  const result = resultWith(call, readToolResult(output, blocks))
  return decodeEvent(result).ok ? result : storableResult(call, readAsText(output))
}

const notExecuted = ({ tool_name, tool_call_id }: ActionEvent, reason: string): AgentErrorEvent => ({
  kind: 'AgentErrorEvent',
  source: 'environment',
  tool_name,
  tool_call_id,
  error: `The call was not executed: ${reason}${reason.endsWith('.') ? '' : '.'}`,
})

/** Returns the result. If the log cannot store it, returns an error result: each call needs a result. */
function storableResult(call: Call, observation: Observation): CallResult {
  const result = resultWith(call, observation)
  const decoded = decodeEvent(result)
  if (decoded.ok) return result
  const why = decoded.issues.map(({ msg }) => msg).join(' ')
  return { ...result, observation: failure(`The tool was executed, but its output cannot be stored. ${why}`) }
}

const resultWith = ({ id, tool_name, tool_call_id }: Call, observation: Observation): ObservationEvent => ({
  kind: 'ObservationEvent',
  source: 'environment',
  tool_name,
  tool_call_id,
  action_id: id,
  observation,
})

/** Options that all steps have. */
export interface StepOptions {
  /** Tools that the model can call. Default: none. */
  readonly tools?: readonly (StepTool | ProviderTool)[]
  /** System prompt, appended before a request to the model if the current branch has none. Default: none. */
  readonly system?: string
  /**
   * Whether live readers get the reply as a stream. Only a streamed reply keeps its text when it is
   * interrupted. Default: true.
   */
  readonly stream?: boolean
  /** Returns the messages of a state, for example with old results masked. Default: `toMessages`. */
  readonly write?: (state: State) => readonly NeutralMessage[]
  /**
   * Whether to leave out the signed parts of a reply if earlier messages, the tools or the model have
   * changed. Default: true, except if Anthropic's option `thinking` is `{ type: 'enabled' }`, because
   * signatures then do not depend on earlier messages.
   */
  readonly prove?: boolean
}

/** Options of a step that calls a provider's client. Other fields are added to the request. */
export interface ClientStepOptions<Client> extends StepOptions {
  readonly client: Client
  readonly model: string
  readonly [field: string]: unknown
}

interface Provider {
  readonly limits: Limits
  readonly describe: (tools: readonly ToolDescription[], known: SortedTools['known']) => readonly object[]
  /** Whether a step without tools describes the tools that earlier replies called. Default: true. */
  readonly describesHistory?: boolean
  /** Writes a request. `rest` has the tools, if there are any, and the options that `StepOptions` lacks. */
  readonly write: (
    messages: readonly NeutralMessage[],
    options: WriteOptions,
    rest: Readonly<Record<string, unknown>>,
    stream: boolean,
  ) => object
  readonly send: (request: never, signal: AbortSignal, stream: boolean) => PromiseLike<unknown>
  readonly read: (reply: never, options: ReadOptions) => Reply
  readonly collect: (options: ReadOptions) => ReplyCollector
}

export interface SortedTools {
  readonly described: readonly ToolDescription[]
  readonly providerTools: readonly ProviderTool[]
  readonly known: ReadonlyMap<string, StepTool>
}

/** Checks and sorts tools. @throws `invalid_argument` for a duplicate or invalid name or an invalid schema. */
export function sortTools(listed?: readonly (StepTool | ProviderTool)[]): SortedTools {
  const tools = checkTools('tools', listed)
  const idle = tools.find((tool) => tool.parameters !== undefined && !('type' in tool) && !isStepTool(tool))
  if (idle !== undefined) throw lacksExecute(idle['name'])
  const executable = tools.flatMap((tool) => (isStepTool(tool) ? [tool] : (executableOf(tool) ?? [])))
  const known = new Map<string, StepTool>()
  for (const tool of executable) {
    const { name } = tool
    if (typeof name !== 'string' || name === '')
      invalidArgument('tools', 'must contain only tools with a non-empty name')
    if (known.has(name)) invalidArgument('tools', `must not contain two tools with the name ${quote(name)}`)
    known.set(name, tool)
  }
  const providerTools = tools.filter((tool): tool is ProviderTool => !isStepTool(tool))
  return {
    described: tools.filter(isStepTool).map(describeTool),
    providerTools: providerTools.map(providerDescription),
    known,
  }
}

type Options = StepOptions & { readonly model: unknown; readonly [field: string]: unknown }

export function stepOf(options: Options, provider: Provider, sorted = sortTools(options.tools)): Step {
  const { tools: _, system, stream = true, write, prove = true, ...rest } = options
  const { described, providerTools, known } = sorted
  const describe = (tools: readonly ToolDescription[]) => provider.describe(tools, known)
  const ownTools = [...describe(described), ...providerTools]
  const cache = requestCache()
  const names = [...known.keys()].map((name) => ({ name }))
  const prompt: SystemPromptEvent | null =
    checkText('system', system, invalidArgument) === null
      ? null
      : {
          kind: 'SystemPromptEvent',
          source: 'agent',
          system_prompt: { type: 'text', text: system ?? '' },
          tools: [...known.values()].map(definitionOf),
        }
  const step = async function* (input: StepInput): AsyncGenerator<Yielded, void, undefined> {
    const { approved, onPrefix } = input
    if (approved.length > 0) return yield* executeCalls(input, known, provider.limits.parts.kinds)
    let { state } = input
    if (prompt !== null && state.branch.systemPrompt === null) {
      yield prompt
      state = await input.withBodies(reduce(state, prompt))
    }
    const model = modelName(options.model)
    const messages = write === undefined ? toMessages(state, { cache }) : write(state)
    const isOfHistory = ownTools.length === 0 && provider.describesHistory !== false
    const tools = isOfHistory ? describe(toolsOfHistory(messages, provider.limits)) : ownTools
    const listed = tools.length === 0 ? {} : { tools }
    // An empty list of tools is compared, too: a reply that was requested with tools is bound to them.
    const writing = { cache, onPrefix, prove, ...(model === null ? {} : { model }), tools }
    const sent = messages.length === 0 ? EMPTY : messages
    const request = provider.write(sent, writing, { ...rest, ...listed }, stream)
    yield* callModel(provider, request, { request, tools: names }, input, stream)
  }
  return Object.assign(step, {
    repeats: ({ tool_name }: ActionEvent): boolean => known.get(tool_name)?.repeatable === true,
    resume: ((call, task, { signal, report, runChild }) => {
      const tool = known.get(call.tool_name)
      return tool?.resume === undefined
        ? null
        : completionFrom(
            provider.limits.parts.kinds,
            { signal, call, report, runChild: (request) => runChild(call.id, request) },
            (context) => tool.resume?.(task, context),
          )
    }) satisfies Step['resume'],
  })
}

/** Describes tools that earlier replies called: some servers reject calls in a request without tools. */
function toolsOfHistory(messages: readonly NeutralMessage[], limits: Limits): readonly ToolDescription[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.tool_calls : []))
  const names = new Set(calls.map(({ name }) => toolName(name, limits.toolNameLength)))
  return Array.from(names, (name) => ({
    name,
    description: 'This tool is not available any more. Do not call it.',
    parameters: { type: 'object', properties: {} },
  }))
}

const EMPTY: readonly NeutralMessage[] = [
  { role: 'user', content: [{ type: 'text', text: OPENING }], name: null },
]

/** Calls the model. If this fails, yields the content that has already arrived, then throws the error. */
async function* callModel(
  { send, read, collect }: Provider,
  request: object,
  options: ReadOptions,
  { signal, publish }: StepInput,
  stream: boolean,
): AsyncGenerator<Yielded, void, undefined> {
  const collector = collect(options)
  try {
    const reply = await send(request as never, signal, stream)
    if (!isStream(reply)) return yield read(reply as never, options)
    for await (const event of reply) {
      // Some clients ignore the signal. The rest of their stream is not needed.
      if (signal.aborted) break
      for (const delta of collector.push(event)) publish(delta, collector.end)
      const error = tooLong(event)
      if (error !== null) throw error
    }
  } catch (error) {
    // After an interrupt, the run itself appends the published text as an interrupted reply.
    const { events } = signal.aborted ? { events: [] } : collector.end()
    if (events.length > 0) yield events
    throw tooLong(error) ?? error
  }
  yield collector.end()
}

const isStream = (reply: unknown): reply is AsyncIterable<object> =>
  typeof reply === 'object' && reply !== null && Symbol.asyncIterator in reply

/** HTTP statuses of an overlong request. A 429 reports a rate limit, even if it mentions tokens. */
const STATUSES: readonly unknown[] = [400, 413, 422]

const CONTEXT_CODES: ReadonlySet<unknown> = new Set([
  // OpenAI, and many servers that speak its grammar.
  'context_length_exceeded',
  // Anthropic, for a body above its limit in bytes.
  'request_too_large',
  // llama.cpp.
  'exceed_context_size_error',
  // GitHub Models.
  'tokens_limit_reached',
])

const SENTENCES: readonly RegExp[] = [
  // Anthropic, for the prompt and for the prompt plus `max_tokens`; Ollama; old versions of vLLM.
  /prompt (?:\([^)]{0,99}\) )?(?:is )?too long/i,
  /input length and `max_tokens` exceed context limit/i,
  // OpenAI, vLLM, OpenRouter, DeepSeek, Mistral.
  /maximum context length/i,
  /exceeds? (?:the |this )?(?:model's )?context (?:window|length|size)/i,
  // Google, Vertex AI.
  /exceeds the maximum number of tokens allowed/i,
  /input token count is \d+ but model only supports up to/i,
  // Bedrock.
  /input is too long for requested model/i,
  /number of input tokens exceeds maximum length/i,
  /too many total text bytes/i,
  // xAI.
  /maximum prompt length is \d+/i,
  // Groq.
  /reduce the length of the messages/i,
  // Moonshot.
  /exceeded model token limit/i,
  // MiniMax.
  /context window exceeds limit/i,
  // GitHub Copilot.
  /prompt token count of \d+ exceeds/i,
  // LM Studio, SGLang, vLLM.
  /(?:greater|longer) than the (?:maximum )?(?:model's )?(?:context|model) length/i,
  // llama.cpp.
  /exceeds the available context size/i,
  // Text Generation Inference.
  /`inputs` tokens \+ `max_new_tokens` must be/i,
  // Alibaba.
  /range of input length should be/i,
  // Z.ai.
  /prompt exceeds max length/i,
  // LM Studio, and vLLM since 2026.
  /context length (?:of|is) only \d+/i,
  // Poolside; Cohere; DS4; and gateways that pass on only the code.
  /maximum allowed input length of [\d,]+ tokens|tokens in the prompt cannot exceed|configured context size is \d/i,
  /context_length_exceeded/i,
]

const NESTED_FIELDS = ['error', 'response', 'data', 'cause', 'lastError'] as const

const DEPTH = 5

/** Returns a `context_too_long` error if an error or stream event reports an overlong request, else null. */
export function tooLong(error: unknown): ColloquyError | null {
  if (hasCode(error, 'context_too_long')) return error
  if (typeof error !== 'object' || error === null) return null
  const { type }: { readonly type?: unknown } = error
  const isFailure =
    error instanceof Error || 'error' in error || type === 'error' || type === 'response.failed'
  if (!isFailure || !isTooLong(error, DEPTH)) return null
  return new ColloquyError(
    'context_too_long',
    'The request is too long for the model. Pass a condenser to the run.',
    {},
    { cause: error },
  )
}

function isTooLong(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return SENTENCES.some((sentence) => sentence.test(value))
  if (depth === 0 || typeof value !== 'object' || value === null) return false
  const fields = value as Readonly<Record<string, unknown>>
  const status = fields['status'] ?? fields['statusCode']
  if (typeof status === 'number' && !STATUSES.includes(status)) return false
  if (CONTEXT_CODES.has(fields['code']) || CONTEXT_CODES.has(fields['type'])) return true
  if (isTooLong(fields['message'] ?? null, depth - 1)) return true
  return NESTED_FIELDS.some((key) => isTooLong(fields[key] ?? null, depth - 1))
}
