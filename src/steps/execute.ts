/** Executes the calls that a run has permitted, all at the same time. */

import type { CallCompletion } from '../conversation/background.ts'
import type { StepInput } from '../conversation/run/step.ts'
import { WORKING } from '../event/completion.ts'
import { decodeEvent } from '../event/decode.ts'
import { quote } from '../event/text.ts'
import type { JsonObject, Observation } from '../event/shapes.ts'
import type { ActionEvent, AgentErrorEvent, ObservationEvent } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import { readArguments } from '../messages/text.ts'
import type { PartTable } from '../messages/limits.ts'
import {
  type BackgroundOptions,
  isStandardSchema,
  LaterResult,
  type SchemaIssue,
  type StepTool,
  type ToolContext,
  type ToolOutput,
} from './tool.ts'
import { errorText, failure, readAsText, readToolResult, textObservation } from './tool-result.ts'

type Call = EventEntry<ActionEvent>
type Result = AgentErrorEvent | ObservationEvent
type ToolInput = Pick<StepInput, 'approved' | 'signal' | 'background' | 'runChild'>

/**
 * Yields each call's result at once, so that a crash or interrupt loses no earlier one. Never throws: a
 * tool's error is its result. O(calls) plus the tools' own cost.
 */
export async function* executeCalls(
  input: ToolInput,
  tools: ReadonlyMap<string, StepTool>,
  blocks: PartTable['kinds'],
): AsyncGenerator<Result, void, undefined> {
  const waiting = new Map(
    input.approved.map(
      (call) => [call, resultOf(call, tools, blocks, input).then((result) => ({ call, result }))] as const,
    ),
  )
  while (waiting.size > 0) {
    // Each round waits for the first result.
    // oxlint-disable-next-line no-await-in-loop
    const { call, result } = await Promise.race(waiting.values())
    waiting.delete(call)
    yield result
  }
}

/** Never rejects. */
async function resultOf(
  call: Call,
  tools: ReadonlyMap<string, StepTool>,
  blocks: PartTable['kinds'],
  { signal, background: startWork, runChild }: ToolInput,
): Promise<Result> {
  const { id, event } = call
  const tool = tools.get(event.tool_name)
  if (tool === undefined) return notExecuted(event, `there is no tool ${quote(event.tool_name)}`)
  try {
    const checked = await check(tool, argumentsOf(event))
    if ('issues' in checked) return notExecuted(event, checked.issues)
    const context: ToolContext = {
      signal,
      call: { ...event, id },
      runChild: (request) => runChild(id, request),
    }
    const workOn = async (
      run: (context: ToolContext) => ToolOutput | PromiseLike<ToolOutput>,
    ): Promise<void> => {
      const work = await startWork(call)
      const { signal: cancelled, report } = work
      const started = async (): Promise<ToolOutput> => run({ ...context, signal: cancelled, report })
      work.completeWith(completionFrom(context.call, blocks, started))
    }
    if (tool.background === true) {
      await workOn((working) => tool.execute(checked.args, working))
      return workingResult(id, event, {})
    }
    const output = await tool.execute(checked.args, context)
    if (!(output instanceof LaterResult)) return outputResult(id, event, output, blocks)
    const { result } = output
    await workOn((working) => (typeof result === 'function' ? result(working) : result))
    return workingResult(id, event, output.options)
  } catch (error) {
    return storableResult(id, event, failure(errorText(error)))
  }
}

const FOLLOWS = 'The call is still running in the background; its result follows in a later message.'

function workingResult(
  id: string,
  event: ActionEvent,
  { content = FOLLOWS, task }: BackgroundOptions,
): Result {
  const parts = typeof content === 'string' ? textObservation(content).content : content
  const observation: Observation = {
    kind: WORKING,
    ...(parts !== undefined && { content: parts }),
    ...(task !== undefined && { task }),
  }
  return storableResult(id, event, observation)
}

/** Returns the completion of a working call. @throws for an output that is not JSON. */
export async function completionFrom(
  call: ActionEvent & { readonly id: string },
  blocks: PartTable['kinds'],
  work: () => Promise<ToolOutput>,
): Promise<CallCompletion> {
  const result = await work().then(
    (output) => outputResult(call.id, call, output, blocks),
    (error: unknown) => storableResult(call.id, call, failure(errorText(error))),
  )
  if (result.kind === 'AgentErrorEvent') return { content: result.error, outcome: 'failed' }
  const { content = [], is_error } = result.observation
  return { content, outcome: is_error === true ? 'failed' : 'done' }
}

/** Returns the result for a tool's output; output that only resembles content becomes JSON. Total. */
function outputResult(
  id: string,
  event: ActionEvent,
  output: ToolOutput,
  blocks: PartTable['kinds'],
): Result {
  const result = resultWith(id, event, readToolResult(output, blocks))
  return decodeEvent(result).ok ? result : storableResult(id, event, readAsText(output))
}

/**
 * Returns the arguments that hooks, policies and users saw. An argument named `kind` is only in the text of
 * the call.
 */
function argumentsOf({ action, tool_call }: ActionEvent): JsonObject {
  const { kind: _, ...args } = (action ?? { kind: '' }) as JsonObject
  const parsed = readArguments(tool_call.arguments) ?? {}
  // The log's objects are frozen, but a tool may change its arguments.
  return structuredClone(Object.hasOwn(parsed, 'kind') ? { ...args, kind: parsed['kind'] ?? null } : args)
}

async function check(
  { parameters }: StepTool,
  args: JsonObject,
): Promise<{ readonly args: JsonObject } | { readonly issues: string }> {
  if (!isStandardSchema(parameters)) return { args }
  const result = await parameters['~standard'].validate(args)
  if (result.issues === undefined) return { args: result.value as JsonObject }
  return { issues: `its arguments do not fit. ${result.issues.map(sentenceOf).join(' ')}` }
}

function sentenceOf({ message, path = [] }: SchemaIssue): string {
  const keys = path.map((key) => String(typeof key === 'object' ? key.key : key))
  return `${keys.length === 0 ? '' : `${keys.join('.')}: `}${message}${/[.!?]$/.test(message) ? '' : '.'}`
}

const endsOf = ({ tool_name, tool_call_id }: ActionEvent) =>
  ({ source: 'environment', tool_name, tool_call_id }) as const

const notExecuted = (event: ActionEvent, reason: string): AgentErrorEvent => ({
  kind: 'AgentErrorEvent',
  ...endsOf(event),
  error: `The call was not executed: ${reason}${reason.endsWith('.') ? '' : '.'}`,
})

/** Returns the result, or an error result if the log cannot store it, since the tool was executed. */
function storableResult(action_id: string, event: ActionEvent, observation: Observation): Result {
  const result = resultWith(action_id, event, observation)
  const decoded = decodeEvent(result)
  if (decoded.ok) return result
  const why = decoded.issues.map(({ msg }) => msg).join(' ')
  return {
    ...result,
    observation: failure(`The tool was executed, but its output cannot be stored. ${why}`),
  }
}

const resultWith = (action_id: string, event: ActionEvent, observation: Observation): ObservationEvent => ({
  kind: 'ObservationEvent',
  ...endsOf(event),
  action_id,
  observation,
})
