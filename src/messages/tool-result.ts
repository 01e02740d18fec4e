/** Writes the result of a call as a tool message. */

import { isWorkingResult } from '../event/completion.ts'
import { isTextPart, type Content, type TextContent } from '../event/shapes.ts'
import type { ActionEvent, ToolResultEvent } from '../event/types.ts'
import { unreachable } from '../event/errors.ts'
import type { ToolMessage } from './message.ts'
import { observationContent } from './observation.ts'
import { clip, isWhitespace } from './text.ts'

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
