/** What all steps have in common: they execute what may be executed, or ask the model and read its reply. */

import type { ActionEvent, ConversationErrorEvent, SystemPromptEvent } from '../event/types.ts'
import { isReplied } from '../conversation/turn.ts'
import type { Step, StepInput, Yielded } from '../conversation/run/step.ts'
import type { ReadOptions, Reply, ReplyCollector } from '../messages/reply.ts'
import type { NeutralMessage } from '../messages/message.ts'
import { OPENING } from '../messages/phrases.ts'
import { toMessages } from '../messages/neutral.ts'
import type { Limits } from '../messages/limits.ts'
import { modelName, type WriteOptions } from '../messages/prefix.ts'
import { reduce } from '../state/reduce.ts'
import type { State } from '../state/state.ts'
import { completionFrom, executeCalls } from './execute.ts'
import { toolName } from '../messages/text.ts'
import { tooLong } from './too-long.ts'
import {
  definitionOf,
  describeTool,
  askedWith,
  executableOf,
  isStepTool,
  type ProviderTool,
  type StepTool,
  type ToolDescription,
} from './tool.ts'

/** What every step takes, whichever provider is asked. */
export interface StepOptions {
  /** What can be executed, and what the provider executes itself. Default: none. */
  readonly tools?: readonly (StepTool | ProviderTool)[]
  /**
   * The system prompt of a conversation whose log has none; it is appended when the model is first asked. A prompt that
   * the log has is the one that is sent.
   */
  readonly system?: string
  /** Whether the reply is streamed to live readers. What is streamed is kept when a user stops it. Default: yes. */
  readonly stream?: boolean
  /** What is sent of a state. Default: `toMessages`; give one that masks old results, or appends system prompts. */
  readonly write?: (state: State) => readonly NeutralMessage[]
  /**
   * Whether replies behind a changed past, or of another model, lose what is signed in them. Default: yes, but for
   * Anthropic's `thinking: { type: 'enabled' }`, which only models take that bind nothing.
   */
  readonly prove?: boolean
}

/** How one provider is asked and read. */
export interface Provider {
  /** The model of the request: its name, or a model of the AI SDK. */
  readonly model: unknown
  /** What the provider accepts. */
  readonly limits: Limits
  /** The tool list of the request. */
  readonly tools: readonly object[]
  /** Tools as the provider's tool list has them, for calls of the history where a step has no tools. */
  readonly describe?: (tools: readonly ToolDescription[]) => readonly object[]
  /** The request, as one of the writers begins it. */
  readonly write: (messages: readonly NeutralMessage[], options: WriteOptions) => object
  /** A whole reply, or the events of one. */
  readonly send: (request: object, signal: AbortSignal) => PromiseLike<unknown>
  readonly read: (reply: object, options: ReadOptions) => Reply
  readonly collect: (options: ReadOptions) => ReplyCollector
}

/** The tools of a step, told apart. */
export interface SortedTools {
  /** As they are described to the model, in the order in which they were given. */
  readonly described: readonly ToolDescription[]
  /** Those of the provider, as they are given to it. */
  readonly given: readonly ProviderTool[]
  readonly known: ReadonlyMap<string, StepTool>
}

/** @throws ColloquyError `invalid_argument` for a tool that cannot be described. */
export function sortTools(tools: readonly (StepTool | ProviderTool)[] = []): SortedTools {
  const executable = tools.flatMap((tool) => (isStepTool(tool) ? [tool] : (executableOf(tool) ?? [])))
  const given = tools.filter((tool): tool is ProviderTool => !isStepTool(tool))
  return {
    described: tools.filter(isStepTool).map(describeTool),
    given: given.map(askedWith),
    known: new Map(executable.map((tool) => [tool.name, tool])),
  }
}

/** The tool list of a request; none where there are no tools. */
export const toolList = ({ tools }: WriteOptions): { readonly tools?: readonly object[] } =>
  tools === undefined ? {} : { tools }

/** The step of a provider. */
export function stepOf(
  provider: Provider,
  { known }: SortedTools,
  { system, write = toMessages, prove = true }: StepOptions,
): Step {
  const names = [...known.keys()].map((name) => ({ name }))
  const prompt: SystemPromptEvent | null =
    system === undefined
      ? null
      : {
          kind: 'SystemPromptEvent',
          source: 'agent',
          system_prompt: { type: 'text', text: system },
          tools: [...known.values()].map(definitionOf),
        }
  const step = async function* (input: StepInput): AsyncGenerator<Yielded, void, undefined> {
    const { approved, onPrefix } = input
    if (approved.length > 0) return yield* executeCalls(input, known, provider.limits.parts.kinds)
    let { state } = input
    const { branch } = state
    // A run with a condenser does not come here.
    if (branch.view.unhandledCondensationRequest && isReplied(branch)) return yield NO_CONDENSER
    if (prompt !== null && state.branch.systemPrompt === null) {
      yield prompt
      state = reduce(state, prompt)
    }
    const model = modelName(provider.model)
    const messages = write(state)
    const tools = provider.tools.length > 0 ? provider.tools : toolsOfHistory(messages, provider)
    const request = provider.write(messages.length === 0 ? EMPTY : messages, {
      onPrefix,
      prove,
      ...(model === null ? {} : { model }),
      ...(tools.length === 0 ? {} : { tools }),
    })
    yield* ask(provider, request, { request, tools: names }, input)
  }
  return Object.assign(step, {
    repeats: ({ tool_name }: ActionEvent): boolean => known.get(tool_name)?.repeatable === true,
    resume: ((call, task, { signal, report, runChild }) => {
      const tool = known.get(call.tool_name)
      return tool?.resume === undefined
        ? null
        : completionFrom(call, provider.limits.parts.kinds, async () =>
            tool.resume?.(task, {
              signal,
              call,
              report,
              runChild: (request) => runChild(call.id, request),
            }),
          )
    }) satisfies Step['resume'],
  })
}

/** Tools that the history has called: several servers refuse calls and results in a request without a tool list. */
function toolsOfHistory(
  messages: readonly NeutralMessage[],
  { describe, limits }: Pick<Provider, 'describe' | 'limits'>,
): readonly object[] {
  if (describe === undefined) return []
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.tool_calls : []))
  const names = new Set(calls.map(({ name }) => toolName(name, limits.toolNameLength)))
  return describe(
    Array.from(names, (name) => ({
      name,
      description: 'This tool is not available any more. Do not call it.',
      parameters: { type: 'object', properties: {} },
    })),
  )
}

/** What is sent where everything that users said is blank. */
const EMPTY: readonly NeutralMessage[] = [
  { role: 'user', content: [{ type: 'text', text: OPENING }], name: null },
]

const NO_CONDENSER: ConversationErrorEvent = {
  kind: 'ConversationErrorEvent',
  source: 'environment',
  code: 'CondensationRefused',
  detail: 'A condensation is requested, and the run has no condenser.',
}

/**
 * Sends a request and reads its reply, piece by piece where it is a stream. Where the connection fails, what arrived is
 * kept before the error is thrown.
 */
async function* ask(
  { send, read, collect }: Provider,
  request: object,
  options: ReadOptions,
  { signal, publish }: StepInput,
): AsyncGenerator<Yielded, void, undefined> {
  const collector = collect(options)
  try {
    const reply = await send(request, signal)
    if (!isStream(reply)) return yield read(reply as object, options)
    for await (const event of reply) {
      // A client that does not listen to the signal goes on; no reader waits for it.
      if (signal.aborted) break
      for (const delta of collector.push(event)) publish(delta)
      const error = tooLong(event)
      if (error !== null) throw error
    }
  } catch (error) {
    // What the user interrupted is kept as an interrupted reply.
    const { events } = signal.aborted ? NOTHING : collector.end()
    if (events.length > 0) yield events
    throw tooLong(error) ?? error
  }
  yield collector.end()
}

const NOTHING: Pick<Reply, 'events'> = { events: [] }

const isStream = (reply: unknown): reply is AsyncIterable<object> =>
  typeof reply === 'object' && reply !== null && Symbol.asyncIterator in reply
