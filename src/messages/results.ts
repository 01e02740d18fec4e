import { isWorkingResult } from '../event/completion.ts'
import { ownField } from '../event/json.ts'
import { isTextPart } from '../event/shapes.ts'
import type { Content, ImageContent, Observation, TextContent } from '../event/shapes.ts'
import type { ActionEvent, ToolResultEvent } from '../event/types.ts'
import { hasText } from '../event/text.ts'
import type { BatchUnit } from '../view/units.ts'
import { memoize } from './digest.ts'
import { screenshotUrl } from './files.ts'
import { type AssistantMessage, type NeutralToolCall, type ToolMessage, withReply } from './message.ts'
import { ERROR_LINE } from './phrases.ts'
import { clip, isWhitespace, objectOf, stringOf } from './text.ts'

/** For observations that show the model more than their `content`, by kind: returns all that the model sees. */
const PROJECTIONS: Readonly<Record<string, (observation: Observation) => readonly Content[]>> = {
  TerminalObservation: terminal,
  BrowserObservation: browser,
  TaskObservation: task,
  SleeptimeComputeObservation: sleeptime,
}

/** Returns what the model sees of an observation. O(content). */
export function observationContent(observation: Observation): Content[] {
  const show = ownField(PROJECTIONS, observation.kind)
  const body = show === undefined ? contentIn(observation) : show(observation)
  return observation.is_error === true ? [{ type: 'text', text: ERROR_LINE }, ...body] : [...body]
}

const contentIn = ({ content }: Observation): readonly Content[] => content ?? []

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

function browser(observation: Observation): Content[] {
  const url = screenshotUrl(stringOf(observation['screenshot_data']))
  const screenshot: ImageContent[] = url === null ? [] : [{ type: 'image', image_urls: [url] }]
  return [...contentIn(observation), ...screenshot]
}

function task(observation: Observation): Content[] {
  const { task_id, subagent, status } = observation
  const info = `[Task ${stringOf(task_id)}, subagent ${stringOf(subagent)}, status ${stringOf(status)}]`
  return [{ type: 'text', text: info }, ...contentIn(observation)]
}

function sleeptime(observation: Observation): readonly Content[] {
  const content = contentIn(observation)
  const message = stringOf(observation['message'])
  const silent = content.every((part) => isTextPart(part) && isWhitespace(part.text))
  return silent && message !== '' ? [{ type: 'text', text: message }] : content
}

const line = (label: string, value: string): string => (value === '' ? '' : `[${label}${value}]`)

const exitCode = (value: unknown): string =>
  typeof value === 'number' && Number.isInteger(value) && value !== -1 ? String(value) : ''

export function* batchMessages(
  batch: BatchUnit,
  options: { readonly reason: string; readonly maxResultLength?: number },
): IterableIterator<AssistantMessage | ToolMessage> {
  yield reply([...batch.calls].map((entry) => entry.event))
  const results = new Set<number>()
  for (const { entry, call } of batch.results) {
    results.add(call.seq)
    yield resultMessage(entry.event, call.event, options.maxResultLength)
  }
  for (const call of batch.calls) {
    if (!results.has(call.seq)) yield messageFor(call.event, [textContentOf(options.reason)], true)
  }
}

function reply(actions: readonly ActionEvent[]): AssistantMessage {
  const [first] = actions
  const reasons = actions.map((action) => action.reasoning_content).filter(hasText)
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

/** Caches calls, so that digests of their arguments stay cached too. */
const toolCall = /* @__PURE__ */ memoize(
  ({ tool_call, tool_call_id, tool_name, responses_reasoning_item }: ActionEvent): NeutralToolCall =>
    Object.freeze({
      id: tool_call_id,
      name: isWhitespace(tool_call.name) ? tool_name : tool_call.name,
      arguments: tool_call.arguments,
      origin: tool_call.origin,
      responses_item_id: tool_call.responses_item_id ?? null,
      responses_reasoning_item: responses_reasoning_item ?? null,
    }),
)

const REJECTED = 'User rejected the action'

/**
 * Writes a result with the call's `tool_call_id`. The result's own `tool_call_id` can differ if the result was
 * matched by its `action_id`. Removes the middle of texts over `maxLength` UTF-16 units. O(content).
 */
export function resultMessage(result: ToolResultEvent, call: ActionEvent, maxLength = Infinity): ToolMessage {
  const message = messageFor(call, contentWithin(result, maxLength), isError(result))
  return isWorkingResult(result) ? { ...message, working: true } : message
}

const CLIPPED_RESULTS = new WeakMap<
  ToolResultEvent,
  { readonly maxLength: number; readonly content: readonly Content[] }
>()

function contentWithin(result: ToolResultEvent, maxLength: number): readonly Content[] {
  const cached = CLIPPED_RESULTS.get(result)
  if (cached !== undefined && cached.maxLength === maxLength) return cached.content
  const content = clipped(contentOf(result), maxLength)
  CLIPPED_RESULTS.set(result, { maxLength, content })
  return content
}

function messageFor(call: ActionEvent, content: readonly Content[], is_error: boolean): ToolMessage {
  return { role: 'tool', content, tool_call_id: call.tool_call_id, name: call.tool_name, is_error }
}

function contentOf(result: ToolResultEvent): readonly Content[] {
  if (result.kind === 'ObservationEvent')
    return [...observationContent(result.observation), ...(result.extended_content ?? [])]
  if (result.kind === 'AgentErrorEvent') return [textContentOf(result.error)]
  const reason = result.rejection_reason ?? REJECTED
  return [textContentOf(`Action rejected: ${isWhitespace(reason) ? REJECTED : reason}`)]
}

const isError = (result: ToolResultEvent): boolean =>
  result.kind !== 'ObservationEvent' || result.observation.is_error === true

export const resultStatus = (result: ToolResultEvent): 'rejected' | 'failed' | 'completed' =>
  result.kind === 'UserRejectObservation' ? 'rejected' : isError(result) ? 'failed' : 'completed'

const clipped = (content: readonly Content[], limit: number): readonly Content[] =>
  limit === Infinity
    ? content
    : content.map((part) => (isTextPart(part) ? { ...part, text: clip(part.text, limit) } : part))

const textContentOf = (content: string): TextContent => ({ type: 'text', text: content })
