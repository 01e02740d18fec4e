/** Executes the calls that a run has let through: all at the same time, each to a result. */

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
/** What of a step's input tools need. */
type ToolInput = Pick<StepInput, 'approved' | 'signal' | 'background' | 'runChild'>

/**
 * The results of calls, each as soon as it is there, so that a crash or an interrupt costs no result that was there
 * before. Never throws: what a tool throws is its result. O(calls) beside what the tools do.
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
    // Each round waits for whichever is first.
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
    if (tool.background === true) {
      const work = await startWork(call)
      const { signal: cancelled, report } = work
      work.completeWith(
        completionFrom(context.call, blocks, async () =>
          tool.execute(checked.args, { ...context, signal: cancelled, report }),
        ),
      )
      return workingResult(id, event, {})
    }
    const output = await tool.execute(checked.args, context)
    if (!(output instanceof LaterResult)) return keptOutput(id, event, output, blocks)
    const work = await startWork(call)
    work.completeWith(completionFrom(context.call, blocks, async () => output.result))
    return workingResult(id, event, output.options)
  } catch (error) {
    return kept(id, event, failure(errorText(error)))
  }
}

/** What the model reads while a call works on. */
const FOLLOWS = 'The call works on in the background; its result follows in a later message.'

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
  return kept(id, event, observation)
}

/** The result of a call that has worked on. @throws for what is no JSON. */
export async function completionFrom(
  call: ActionEvent & { readonly id: string },
  blocks: PartTable['kinds'],
  work: () => Promise<ToolOutput>,
): Promise<CallCompletion> {
  const result = await work().then(
    (output) => keptOutput(call.id, call, output, blocks),
    (error: unknown) => kept(call.id, call, failure(errorText(error))),
  )
  if (result.kind === 'AgentErrorEvent') return { content: result.error, outcome: 'failed' }
  const { content = [], is_error } = result.observation
  return { content, outcome: is_error === true ? 'failed' : 'done' }
}

/** What a tool gave back; where it only looks like content, as JSON. Total. */
function keptOutput(id: string, event: ActionEvent, output: ToolOutput, blocks: PartTable['kinds']): Result {
  const result = resultWith(id, event, readToolResult(output, blocks))
  return decodeEvent(result).ok ? result : kept(id, event, readAsText(output))
}

/**
 * What hooks, policies and users were shown of a call is what is executed. An argument that is called `kind` is in the
 * text of the call alone.
 */
function argumentsOf({ action, tool_call }: ActionEvent): JsonObject {
  const { kind: _, ...args } = (action ?? { kind: '' }) as JsonObject
  const given = readArguments(tool_call.arguments) ?? {}
  // The log's own are frozen, and a tool may write into what it is given.
  return structuredClone(Object.hasOwn(given, 'kind') ? { ...args, kind: given['kind'] ?? null } : args)
}

/** The arguments as the schema gives them back, or what is wrong with them in words for the model. */
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

const notExecuted = (event: ActionEvent, why: string): AgentErrorEvent => ({
  kind: 'AgentErrorEvent',
  ...endsOf(event),
  error: `The call was not executed: ${why}${why.endsWith('.') ? '' : '.'}`,
})

/** The result as the log takes it; one that it cannot keep is told of in its place, since the tool was executed. */
function kept(action_id: string, event: ActionEvent, observation: Observation): Result {
  const result = resultWith(action_id, event, observation)
  const decoded = decodeEvent(result)
  if (decoded.ok) return result
  const why = decoded.issues.map(({ msg }) => msg).join(' ')
  return {
    ...result,
    observation: failure(`The tool was executed; what it gave back cannot be kept. ${why}`),
  }
}

const resultWith = (action_id: string, event: ActionEvent, observation: Observation): ObservationEvent => ({
  kind: 'ObservationEvent',
  ...endsOf(event),
  action_id,
  observation,
})
