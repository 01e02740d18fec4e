/**
 * Renders the messages of the view. What returns null here is in the view and never sent: think of it when you add a
 * kind.
 */

import { isImagePart, isTextPart, type Content } from '../event/shapes.ts'
import type { EventWith } from '../event/kinds.ts'
import { replyOf } from '../event/reply.ts'
import { completionOf } from '../event/completion.ts'
import type { ActionEvent, Event, MessageEvent } from '../event/types.ts'
import { unreachable } from '../event/errors.ts'
import type { AssistantMessage, UserMessage } from './message.ts'
import { completionFrame } from './phrases.ts'
import { hasOthers } from './reply-parts.ts'
import { isWhitespace } from './text.ts'

/** A message, and whether it may be one with the plain user messages beside it. */
export interface RenderedMessage {
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
export function completionMessage(
  event: MessageEvent,
  { tool_call_id, tool_name }: ActionEvent,
): UserMessage {
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

/** The record of the reply that an event came in, as a field of its message. */
export function withReply(event: Event): Pick<AssistantMessage, 'reply'> {
  const reply = replyOf(event)
  return reply === null ? {} : { reply }
}
