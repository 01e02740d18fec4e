/** Executes the calls that a run has let through: all at the same time, each to a result. */

import type { CallCompletion } from '../conversation/background.ts'
import type { StepInput } from '../conversation/run/step.ts'
import { WORKING } from '../event/completion.ts'
import { decodeEvent } from '../event/decode.ts'
import { quote } from '../event/text.ts'
import type { Content, JsonObject, Observation, OpenPart } from '../event/shapes.ts'
import type { ActionEvent, AgentErrorEvent, ObservationEvent } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import { readArguments } from '../messages/text.ts'
import { readPart } from '../messages/files.ts'
import type { PartTable } from '../messages/limits.ts'
import {
  type BackgroundOptions,
  isStandardSchema,
  LaterResult,
  type SchemaIssue,
  type StepTool,
  TOOL_OBSERVATION,
  type ToolContext,
  type ToolOutput,
} from './tool.ts'

type Call = EventEntry<ActionEvent>
type Result = AgentErrorEvent | ObservationEvent
/** What of a step's input tools need. */
type ToolInput = Pick<StepInput, 'approved' | 'signal' | 'background' | 'askChild'>

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
  { signal, background: startWork, askChild }: ToolInput,
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
      askChild: (request) => askChild(id, request),
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
    return kept(id, event, failure(wordsOf(error)))
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
    (error: unknown) => kept(call.id, call, failure(wordsOf(error))),
  )
  if (result.kind === 'AgentErrorEvent') return { content: result.error, outcome: 'failed' }
  const { content = [], is_error } = result.observation
  return { content, outcome: is_error === true ? 'failed' : 'done' }
}

/** What a tool gave back; where it only looks like content, as JSON. @throws for what is no JSON. */
function keptOutput(id: string, event: ActionEvent, output: ToolOutput, blocks: PartTable['kinds']): Result {
  const observation = observationOf(output, blocks)
  const result = resultWith(id, event, observation)
  if (decodeEvent(result).ok) return result
  return kept(id, event, isAllJson(output) ? textObservation(jsonOf(output)) : observation)
}

/** Whether JSON leaves nothing of a value out. O(size). */
function isAllJson(output: ToolOutput): boolean {
  let isAll = true
  JSON.stringify(output, (_, value: unknown) => {
    if (typeof value === 'function' || typeof value === 'symbol') isAll = false
    return value
  })
  return isAll
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

const failure = (text: string): Observation => ({ ...textObservation(text), is_error: true })

/** What a tool gave back as an observation. @throws for what is no JSON. */
function observationOf(output: ToolOutput, blocks: PartTable['kinds']): Observation {
  if (isObservation(output)) return output
  if (Array.isArray(output) && output.length > 0 && output.every((part) => isPart(part, blocks)))
    return { kind: TOOL_OBSERVATION, content: output as readonly Content[] }
  return textObservation(jsonOf(output))
}

const jsonOf = (output: ToolOutput): string =>
  typeof output === 'string' ? output : (JSON.stringify(output) ?? '')

const textObservation = (text: string): Observation => ({
  kind: TOOL_OBSERVATION,
  content: text === '' ? [] : [{ type: 'text', text: text.toWellFormed() }],
})

/** Whether an object is an observation, and not JSON that happens to have a kind. */
const isObservation = (output: unknown): output is Observation => {
  if (typeof output !== 'object' || output === null) return false
  const { kind, content } = output as { readonly kind?: unknown; readonly content?: unknown }
  return typeof kind === 'string' && Array.isArray(content)
}

/** Whether an element of a list is a part of content, and the list not just any JSON. */
function isPart(part: unknown, blocks: PartTable['kinds']): boolean {
  if (typeof part !== 'object' || part === null) return false
  const { type, text, image_urls: urls } = part as Readonly<Record<string, unknown>>
  if (type !== undefined && typeof type !== 'string') return false
  const has = (...fields: readonly string[]): boolean =>
    Object.keys(part).every((key) => key === 'type' || key === 'cache_prompt' || fields.includes(key))
  if ((type ?? 'text') === 'text' && typeof text === 'string') return has('text')
  if ((type ?? 'image') === 'image') return Array.isArray(urls)
  // Rows of a table may have a type too.
  if (type === undefined || type === 'text') return false
  // A provider takes some parts as they are, which no other may.
  const block = Object.hasOwn(blocks, type) ? blocks[type] : undefined
  return readPart(part as OpenPart) !== null || block?.fits(part) === true
}

/** Whatever a tool has thrown, in words. Never throws. */
function wordsOf(error: unknown): string {
  try {
    const words = error instanceof Error ? error.message || error.name : String(error)
    return words.toWellFormed() || 'The tool failed.'
  } catch {
    return 'The tool failed.'
  }
}
