/** Writes a state as neutral messages: what a model is sent of the view of the branch under HEAD (design section 5). */

import { isImagePart, isTextPart, type Content, type TextContent } from '../event/shapes.ts'
import { ColloquyError, unreachable } from '../event/errors.ts'
import { completionOf } from '../event/completion.ts'
import type { EventWith } from '../event/kinds.ts'
import { quote } from '../event/text.ts'
import { replyOf } from '../event/reply.ts'
import type { ActionEvent, MessageEvent, SystemPromptEvent } from '../event/types.ts'
import type { State } from '../state/state.ts'
import { type BatchUnit, isPending, type MessageUnit, type Unit } from '../view/unit.ts'
import {
  type AssistantMessage,
  type MessageOptions,
  type NeutralMessage,
  type SystemMessage,
  type UserMessage,
  withReply,
} from './message.ts'
import { completionFrame } from './phrases.ts'
import { hasOthers } from './reply-parts.ts'
import { batchMessages } from './results.ts'
import { isWhitespace } from './text.ts'

/** A message, and whether it may be one with the plain user messages beside it. */
interface RenderedMessage {
  readonly message: UserMessage | AssistantMessage
  readonly plain: boolean
}

/**
 * What the event of a message unit says; null for one that says nothing, and for system prompts, of which only the
 * branch's latest is sent. O(content).
 */
export function renderMessage(event: EventWith<'unit', 'message'>): RenderedMessage | null {
  switch (event.kind) {
    case 'CondensationSummaryEvent':
      return userSaid([{ type: 'text', text: event.summary }], null, true)
    case 'SystemPromptEvent':
      return null
    case 'MessageEvent':
      return messageOf(event)
    default:
      return unreachable(event, 'kind')
  }
}

function messageOf(event: MessageEvent): RenderedMessage | null {
  switch (event.llm_message.role) {
    case 'user':
    case 'system':
      // There is one system message and it stands first: what the log calls a system message in the middle, the user
      // says.
      return userMessage(event)
    case 'assistant':
      return assistantMessage(event)
    case 'tool':
      return null
    default:
      return unreachable(event.llm_message.role, 'role')
  }
}

/** Whether content holds anything but white space and lists of no images. O(content). */
export const hasContent = (content: readonly Content[]): boolean => content.some(saysSomething)

/** Whether a part says anything: text beyond white space, an image, or a part of another kind. O(text). */
export const saysSomething = (part: Content): boolean =>
  isTextPart(part) ? !isWhitespace(part.text) : !isImagePart(part) || part.image_urls.length > 0

const contentOf = ({ llm_message, extended_content }: MessageEvent): Content[] => [
  ...(llm_message.content ?? []),
  ...(extended_content ?? []),
]

function userMessage(event: MessageEvent): RenderedMessage | null {
  const { name = null, tool_calls = null, tool_call_id = null } = event.llm_message
  return userSaid(contentOf(event), name, name === null && tool_calls === null && tool_call_id === null)
}

/** What the user's side says when a call that has worked on is completed: a fixed frame, then the result. */
function completionMessage(event: MessageEvent, { tool_call_id, tool_name }: ActionEvent): UserMessage {
  const outcome = completionOf(event)?.outcome ?? 'done'
  const content = contentOf(event)
  const frame: Content = { type: 'text', text: completionFrame(tool_name, tool_call_id, outcome) }
  return {
    role: 'user',
    content: [frame, ...content],
    name: null,
    completes: { tool_call_id, name: tool_name, outcome, content },
  }
}

const userSaid = (content: readonly Content[], name: string | null, plain: boolean): RenderedMessage | null =>
  hasContent(content) ? { message: { role: 'user', content, name }, plain } : null

/**
 * The message's own `tool_calls` are left out: calls are made by actions, and these have no result that could stand
 * behind them.
 */
function assistantMessage(event: MessageEvent): RenderedMessage | null {
  const {
    reasoning_content = null,
    thinking_blocks = [],
    responses_reasoning_item = null,
  } = event.llm_message
  const content = contentOf(event)
  const reasons = reasoning_content !== null && !isWhitespace(reasoning_content)
  const silent =
    !hasContent(content) &&
    !reasons &&
    thinking_blocks.length === 0 &&
    responses_reasoning_item === null &&
    !hasOthers(replyOf(event)?.parts)
  if (silent) return null
  const message: AssistantMessage = {
    role: 'assistant',
    content,
    tool_calls: [],
    reasoning_content,
    thinking_blocks,
    responses_reasoning_item,
    ...withReply(event),
  }
  return { message, plain: false }
}

/** How many calls an error names in words; its data name them all. */
const NAMED = 5

/**
 * What the model is sent: the branch's latest system prompt, then the view's units in order. A batch is one assistant
 * message and one tool message per call; adjacent plain user messages are one. An empty view gives no messages. The
 * texts are the log's own, at their full length unless `maxResultLength` says otherwise.
 *
 * Between condensations, appending events changes the messages before only by adding content at the end of the last one
 * (law V), but for an open or pending batch, a replaced system prompt, and a reply that says what it was asked at: it
 * stands before the messages that came while the model was replying. O(view), O(content).
 *
 * @throws ColloquyError `pending_calls` when a call in the view is pending and `pending` is `refuse`; `data.calls`
 * names them.
 * @example
 * const state = replay([{ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * toMessages(state) // [{ role: 'user', content: [{ text: 'hi' }], name: null }]
 */
export function toMessages(state: State, options: MessageOptions = {}): NeutralMessage[] {
  const { view, systemPrompt } = state.branch
  const { pending = 'omit', maxResultLength = Infinity } = options
  const units = pending === 'omit' ? [...view.units].filter((unit) => !isPending(unit)) : [...view.units]
  if (pending === 'refuse') refusePending(units)
  if (units.length === 0) return []

  const batchOptions = { reason: typeof pending === 'object' ? pending.close : '', maxResultLength }
  // With `append` the first prompt of the view stays in front, and each later one stands where it came.
  const first = options.system === 'append' ? (units.find(isPrompt)?.item ?? systemPrompt) : systemPrompt
  const messages: NeutralMessage[] =
    first?.event.kind === 'SystemPromptEvent' ? systemMessage(first.event) : []
  // The content of the last message while it is a plain user message, which the next one joins.
  let open: Content[] | null = null
  for (const unit of units) {
    if (unit.type === 'batch') {
      for (const message of batchMessages(unit, batchOptions)) messages.push(message)
      open = null
      continue
    }
    const { event } = unit.item
    if (options.system === 'append' && event.kind === 'SystemPromptEvent') {
      if (unit.item.id !== first?.id) messages.push(...systemMessage(event))
      open = null
      continue
    }
    if (unit.completes !== undefined && event.kind === 'MessageEvent') {
      messages.push(completionMessage(event, unit.completes.event))
      open = null
      continue
    }
    const said = renderMessage(event)
    if (said === null) continue
    if (!said.plain) {
      messages.push(said.message)
      open = null
    } else if (open === null) {
      open = [...said.message.content]
      messages.push({ role: 'user', content: open, name: null })
    } else for (const part of said.message.content) open.push(part)
  }
  return messages
}

/** The prompt, then what this conversation adds to it. */
function systemMessage({ system_prompt, dynamic_context }: SystemPromptEvent): SystemMessage[] {
  const content: TextContent[] = [system_prompt, ...(dynamic_context ? [dynamic_context] : [])]
  return hasContent(content) ? [{ role: 'system', content }] : []
}

const isPrompt = (unit: Unit): unit is MessageUnit =>
  unit.type === 'message' && unit.item.event.kind === 'SystemPromptEvent'

/** @throws ColloquyError `pending_calls` when a unit is pending. */
function refusePending(units: readonly Unit[]): void {
  const calls = units.filter(isPendingBatch).flatMap(unanswered)
  if (calls.length === 0) return
  const named = calls.slice(0, NAMED).map((call) => `${quote(call.tool_name)} (${quote(call.tool_call_id)})`)
  const more = calls.length > NAMED ? ` and ${calls.length - NAMED} more` : ''
  throw new ColloquyError('pending_calls', `calls without a result: ${named.join(', ')}${more}`, { calls })
}

const isPendingBatch = (unit: Unit): unit is BatchUnit => unit.type === 'batch' && isPending(unit)

function unanswered(batch: BatchUnit) {
  const results = new Set([...batch.results].map(({ call }) => call.seq))
  return [...batch.calls]
    .filter((call) => !results.has(call.seq))
    .map(({ id, event }) => ({ event_id: id, tool_call_id: event.tool_call_id, tool_name: event.tool_name }))
}
