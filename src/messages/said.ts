/** Writes what stands in the view as a message of its own: an event goes in, a user or assistant message comes out, or null. */

import type { Content } from '../event/shapes.ts'
import type { Event, MessageEvent } from '../event/types.ts'
import { type AssistantMessage, isImage, type UserMessage } from './message.ts'
import { isBlank } from './text.ts'

/** A message, and whether it may be one with the plain user messages beside it. */
export interface Said {
  readonly message: UserMessage | AssistantMessage
  readonly plain: boolean
}

/**
 * What the event of a message unit says; null for one that says nothing, and for system prompts, of which only the branch's
 * latest is sent. O(content).
 */
export function saidBy(event: Event): Said | null {
  if (event.kind === 'CondensationSummaryEvent') {
    return userSaid([{ type: 'text', text: event.summary }], null, true)
  }
  if (event.kind !== 'MessageEvent') return null
  switch (event.llm_message.role) {
    case 'user':
    case 'system':
      // There is one system message and it stands first: what the log calls a system message in the middle, the user says.
      return userMessage(event)
    case 'assistant':
      return assistantMessage(event)
    case 'tool':
      return null
    default:
      return unreachable(event.llm_message.role)
  }
}

/** Whether content holds an image, or text beyond white space. O(content). */
export const saysSomething = (content: readonly Content[]): boolean =>
  content.some((part) => (isImage(part) ? part.image_urls.length > 0 : !isBlank(part.text)))

const contentOf = ({ llm_message, extended_content }: MessageEvent): Content[] => [
  ...(llm_message.content ?? []),
  ...(extended_content ?? []),
]

function userMessage(event: MessageEvent): Said | null {
  const { name = null, tool_calls = null, tool_call_id = null } = event.llm_message
  return userSaid(contentOf(event), name, name === null && tool_calls === null && tool_call_id === null)
}

const userSaid = (content: readonly Content[], name: string | null, plain: boolean): Said | null =>
  saysSomething(content) ? { message: { role: 'user', content, name }, plain } : null

/** The message's own `tool_calls` are left out: calls are made by actions, and these have no answer that could stand behind them. */
function assistantMessage(event: MessageEvent): Said | null {
  const {
    reasoning_content = null,
    thinking_blocks = [],
    responses_reasoning_item = null,
  } = event.llm_message
  const content = contentOf(event)
  const reasons = reasoning_content !== null && !isBlank(reasoning_content)
  const silent =
    !saysSomething(content) && !reasons && thinking_blocks.length === 0 && responses_reasoning_item === null
  if (silent) return null
  const message: AssistantMessage = {
    role: 'assistant',
    content,
    tool_calls: [],
    reasoning_content,
    thinking_blocks,
    responses_reasoning_item,
  }
  return { message, plain: false }
}

function unreachable(role: never): never {
  throw new TypeError(`unknown role ${String(role)}`)
}
