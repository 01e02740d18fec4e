/** Writes a state as neutral messages: the view of the branch at HEAD (design section 5). */

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

/** A message, and whether it can be merged with adjacent plain user messages. */
interface RenderedMessage {
  readonly message: UserMessage | AssistantMessage
  readonly plain: boolean
}

/**
 * Renders the event of a message unit; null for an empty one, and for system prompts, of which only the
 * latest of the branch is sent. O(content).
 */
export function renderMessage(event: EventWith<'unit', 'message'>): RenderedMessage | null {
  switch (event.kind) {
    case 'CondensationSummaryEvent':
      return renderUser([{ type: 'text', text: event.summary }], null, true)
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
      // Only one system message exists, at the start. A later one is sent as the user's.
      return userMessage(event)
    case 'assistant':
      return assistantMessage(event)
    case 'tool':
      return null
    default:
      return unreachable(event.llm_message.role, 'role')
  }
}

/** Whether content has anything except white space and empty lists of images. O(content). */
export const hasContent = (content: readonly Content[]): boolean => content.some(isVisible)

/** Whether a part has text that is not blank, an image, or another kind. O(text). */
export const isVisible = (part: Content): boolean =>
  isTextPart(part) ? !isWhitespace(part.text) : !isImagePart(part) || part.image_urls.length > 0

const contentOf = ({ llm_message, extended_content }: MessageEvent): Content[] => [
  ...(llm_message.content ?? []),
  ...(extended_content ?? []),
]

function userMessage(event: MessageEvent): RenderedMessage | null {
  const { name = null, tool_calls = null, tool_call_id = null } = event.llm_message
  return renderUser(contentOf(event), name, name === null && tool_calls === null && tool_call_id === null)
}

/** Completion of a working call: a fixed frame, then the result. */
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

const renderUser = (
  content: readonly Content[],
  name: string | null,
  plain: boolean,
): RenderedMessage | null =>
  hasContent(content) ? { message: { role: 'user', content, name }, plain } : null

/** Leaves out the message's own `tool_calls`: calls are made by actions, and these have no results. */
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

/** Maximum number of calls that an error message names; its data names all. */
const MAX_NAMED_CALLS = 5

/**
 * Returns the messages for the model: the branch's latest system prompt, then the view's units in order. A
 * batch is one assistant message and one tool message for each call; adjacent plain user messages are merged.
 * An empty view returns no messages. Texts are complete unless `maxResultLength` limits them.
 *
 * Between condensations, an append changes earlier messages only by adding content to the last one (law V).
 * Exceptions: an open or pending batch, a replaced system prompt, and a reply whose record names its request.
 * That reply is written before the messages that arrived while the model was replying. O(view), O(content).
 *
 * @throws ColloquyError `pending_calls` when a call in the view is pending and `pending` is `refuse`;
 *   `data.calls` names them.
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
  // With `append` the first prompt of the view is first, and each later one keeps its position.
  const first = options.system === 'append' ? (units.find(isPrompt)?.item ?? systemPrompt) : systemPrompt
  const messages: NeutralMessage[] =
    first?.event.kind === 'SystemPromptEvent' ? systemMessage(first.event) : []
  // Content of the last message if it is a plain user message, so that the next one can be merged.
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
    const rendered = renderMessage(event)
    if (rendered === null) continue
    if (!rendered.plain) {
      messages.push(rendered.message)
      open = null
    } else if (open === null) {
      open = [...rendered.message.content]
      messages.push({ role: 'user', content: open, name: null })
    } else for (const part of rendered.message.content) open.push(part)
  }
  return messages
}

function systemMessage({ system_prompt, dynamic_context }: SystemPromptEvent): SystemMessage[] {
  const content: TextContent[] = [system_prompt, ...(dynamic_context ? [dynamic_context] : [])]
  return hasContent(content) ? [{ role: 'system', content }] : []
}

const isPrompt = (unit: Unit): unit is MessageUnit =>
  unit.type === 'message' && unit.item.event.kind === 'SystemPromptEvent'

function refusePending(units: readonly Unit[]): void {
  const calls = units.filter(isPendingBatch).flatMap(pendingCallsOf)
  if (calls.length === 0) return
  const named = calls
    .slice(0, MAX_NAMED_CALLS)
    .map((call) => `${quote(call.tool_name)} (${quote(call.tool_call_id)})`)
  const more = calls.length > MAX_NAMED_CALLS ? ` and ${calls.length - MAX_NAMED_CALLS} more` : ''
  throw new ColloquyError('pending_calls', `calls without a result: ${named.join(', ')}${more}`, { calls })
}

const isPendingBatch = (unit: Unit): unit is BatchUnit => unit.type === 'batch' && isPending(unit)

function pendingCallsOf(batch: BatchUnit) {
  const results = new Set([...batch.results].map(({ call }) => call.seq))
  return [...batch.calls]
    .filter((call) => !results.has(call.seq))
    .map(({ id, event }) => ({ event_id: id, tool_call_id: event.tool_call_id, tool_name: event.tool_name }))
}
