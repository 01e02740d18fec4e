/** Writes the result of a call as a tool message. */

import { isWorkingResult } from '../event/completion.ts'
import {
  isTextPart,
  type Content,
  type ImageContent,
  type Observation,
  type TextContent,
} from '../event/shapes.ts'
import type { ActionEvent, ToolResultEvent } from '../event/types.ts'
import { unreachable } from '../event/errors.ts'
import type { BatchUnit } from '../view/unit.ts'
import { keptBeside } from './digest.ts'
import { screenshotUrl } from './files.ts'
import { type AssistantMessage, type NeutralToolCall, type ToolMessage, withReply } from './message.ts'
import { ERROR_LINE } from './phrases.ts'
import { clip, isWhitespace, objectOf, stringOf } from './text.ts'

/** The kinds that are shown by more than their content. A Map, as a tool may give its observations any kind at all. */
const PROJECTIONS: ReadonlyMap<string, (observation: Observation) => readonly Content[]> = new Map([
  ['TerminalObservation', terminal],
  ['BrowserObservation', browser],
  ['TaskObservation', task],
  ['SleeptimeComputeObservation', sleeptime],
])

/**
 * The content that a tool result shows of an observation. An error is shown by one leading line. The same observation
 * gives the same content at any time on any machine; a kind that is not known is shown by its content. O(content).
 *
 * @example
 * observationContent({ kind: 'X', content: [{ text: 'no' }], is_error: true }).length // 2
 */
export function observationContent(observation: Observation): Content[] {
  const show = PROJECTIONS.get(observation.kind)
  const body = show === undefined ? contentIn(observation) : show(observation)
  return observation.is_error === true ? [{ type: 'text', text: ERROR_LINE }, ...body] : [...body]
}

const contentIn = ({ content }: Observation): readonly Content[] => content ?? []

/** One text: what the terminal showed, and below it where it stands and how the command ended. */
function terminal(observation: Observation): Content[] {
  const metadata = objectOf(observation['metadata'])
  const parts = contentIn(observation)
  const texts = parts.filter(isTextPart)
  const shown =
    stringOf(metadata['prefix']) + texts.map((part) => part.text).join('\n') + stringOf(metadata['suffix'])
  const lines = [
    shown,
    line('Current working directory: ', stringOf(metadata['working_dir'])),
    line('Python interpreter: ', stringOf(metadata['py_interpreter_path'])),
    line('Command finished with exit code ', exitCode(metadata['exit_code'])),
  ].filter((each) => each !== '')
  const others = parts.filter((part) => !isTextPart(part))
  if (lines.length === 0) return others
  const cached = texts.some((part) => part.cache_prompt === true)
  return [{ type: 'text', text: lines.join('\n'), ...(cached ? { cache_prompt: true } : {}) }, ...others]
}

/** The text, then the screenshot as a data URL. */
function browser(observation: Observation): Content[] {
  const url = screenshotUrl(stringOf(observation['screenshot_data']))
  const screenshot: ImageContent[] = url === null ? [] : [{ type: 'image', image_urls: [url] }]
  return [...contentIn(observation), ...screenshot]
}

/** Which agent did the task and how it ended, then what it said. */
function task(observation: Observation): Content[] {
  const { task_id, subagent, status } = observation
  const info = `[Task ${stringOf(task_id)}, subagent ${stringOf(subagent)}, status ${stringOf(status)}]`
  return [{ type: 'text', text: info }, ...contentIn(observation)]
}

/** The message stands for content that says nothing. */
function sleeptime(observation: Observation): readonly Content[] {
  const content = contentIn(observation)
  const message = stringOf(observation['message'])
  const silent = content.every((part) => isTextPart(part) && isWhitespace(part.text))
  return silent && message !== '' ? [{ type: 'text', text: message }] : content
}

const line = (label: string, value: string): string => (value === '' ? '' : `[${label}${value}]`)

/** A terminal that does not know the exit code says -1. */
const exitCode = (value: unknown): string =>
  typeof value === 'number' && Number.isInteger(value) && value !== -1 ? String(value) : ''

/** How a batch is written. */
interface BatchOptions {
  /** The reason given to calls without a result. */
  readonly reason: string
  readonly maxResultLength?: number
}

/**
 * The messages of a batch: the reply, the results in their order, then what closes the calls that have none.
 * O(content).
 */
export function* batchMessages(
  batch: BatchUnit,
  options: BatchOptions,
): IterableIterator<AssistantMessage | ToolMessage> {
  yield reply([...batch.calls].map((entry) => entry.event))
  const results = new Set<number>()
  for (const { entry, call } of batch.results) {
    results.add(call.seq)
    yield resultMessage(entry.event, call.event, options.maxResultLength)
  }
  for (const call of batch.calls) {
    if (!results.has(call.seq)) yield closedMessage(call.event, options.reason)
  }
}

/** One message with what all actions of a reply say and call. */
function reply(actions: readonly ActionEvent[]): AssistantMessage {
  const [first] = actions
  const reasons = actions.flatMap(({ reasoning_content }) =>
    typeof reasoning_content === 'string' && !isWhitespace(reasoning_content) ? [reasoning_content] : [],
  )
  return {
    role: 'assistant',
    content: actions.flatMap((action) => action.thought),
    tool_calls: actions.map(toolCall),
    reasoning_content: reasons.length === 0 ? null : reasons.join('\n\n'),
    thinking_blocks: actions.flatMap((action) => action.thinking_blocks ?? []),
    responses_reasoning_item: null,
    ...(first === undefined ? {} : withReply(first)),
  }
}

/** The calls of actions seen before, so that what is known of their arguments stays beside them. */
const toolCall = /* @__PURE__ */ keptBeside((action: ActionEvent) => Object.freeze(readCall(action)))

/** The call as the model wrote it, under the id and in want of a name the name that the log knows it by. */
function readCall({
  tool_call,
  tool_call_id,
  tool_name,
  responses_reasoning_item,
}: ActionEvent): NeutralToolCall {
  return {
    id: tool_call_id,
    name: isWhitespace(tool_call.name) ? tool_name : tool_call.name,
    arguments: tool_call.arguments,
    origin: tool_call.origin,
    responses_item_id: tool_call.responses_item_id ?? null,
    responses_reasoning_item: responses_reasoning_item ?? null,
  }
}

/** The reason that a rejection has when it names none (interface 2.2). */
const REJECTED = 'User rejected the action'

/**
 * The tool message of a result, under the id of the call that it ends: a result that found its call by the action's id
 * may carry another. Texts longer than `maxLength` lose their middle. O(content).
 */
export function resultMessage(result: ToolResultEvent, call: ActionEvent, maxLength = Infinity): ToolMessage {
  const message = messageFor(call, contentWithin(result, maxLength), isError(result))
  return isWorkingResult(result) ? { ...message, working: true } : message
}

interface Shown {
  readonly maxLength: number
  readonly content: readonly Content[]
}

/** What results seen before show, so that what is known of their parts stays beside them. */
const SHOWN = new WeakMap<ToolResultEvent, Shown>()

function contentWithin(result: ToolResultEvent, maxLength: number): readonly Content[] {
  const known = SHOWN.get(result)
  if (known !== undefined && known.maxLength === maxLength) return known.content
  const content = clipped(contentOf(result), maxLength)
  SHOWN.set(result, { maxLength, content })
  return content
}

/** The tool message of a call without a result, and the reason why it has none. */
export function closedMessage(call: ActionEvent, reason: string): ToolMessage {
  return messageFor(call, [text(reason)], true)
}

function messageFor(call: ActionEvent, content: readonly Content[], is_error: boolean): ToolMessage {
  return { role: 'tool', content, tool_call_id: call.tool_call_id, name: call.tool_name, is_error }
}

function contentOf(result: ToolResultEvent): readonly Content[] {
  switch (result.kind) {
    case 'ObservationEvent':
      return [...observationContent(result.observation), ...(result.extended_content ?? [])]
    case 'UserRejectObservation': {
      const reason = result.rejection_reason ?? REJECTED
      return [text(`Action rejected: ${isWhitespace(reason) ? REJECTED : reason}`)]
    }
    case 'AgentErrorEvent':
      return [text(result.error)]
    default:
      return unreachable(result, 'kind')
  }
}

const isError = (result: ToolResultEvent): boolean =>
  result.kind !== 'ObservationEvent' || result.observation.is_error === true

const clipped = (content: readonly Content[], limit: number): readonly Content[] =>
  limit === Infinity
    ? content
    : content.map((part) => (isTextPart(part) ? { ...part, text: clip(part.text, limit) } : part))

const text = (given: string): TextContent => ({ type: 'text', text: given })
