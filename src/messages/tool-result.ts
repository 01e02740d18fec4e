/** Writes the result of a call: an answer and the call it answers go in, the tool message comes out. */

import type { Content, TextContent } from '../event/shapes.ts'
import type { ActionEvent, AnswerEvent } from '../event/types.ts'
import { isImage, type ToolMessage } from './message.ts'
import { observationContent } from './observation.ts'
import { clip, isBlank } from './text.ts'

/** The reason that a rejection has when it names none (interface 2.2). */
const REJECTED = 'User rejected the action'

/**
 * The tool message of an answer, under the id of the call it answers: an answer found its call by the action's id may carry
 * another. Texts longer than `maxLength` lose their middle. O(content).
 */
export function resultMessage(answer: AnswerEvent, call: ActionEvent, maxLength = Infinity): ToolMessage {
  return messageFor(call, clipped(contentOf(answer), maxLength), isError(answer))
}

/** The tool message of a call that nothing answered, and the reason why not. */
export function closedMessage(call: ActionEvent, reason: string): ToolMessage {
  return messageFor(call, [text(reason)], true)
}

function messageFor(call: ActionEvent, content: readonly Content[], is_error: boolean): ToolMessage {
  return { role: 'tool', content, tool_call_id: call.tool_call_id, name: call.tool_name, is_error }
}

function contentOf(answer: AnswerEvent): readonly Content[] {
  switch (answer.kind) {
    case 'ObservationEvent':
      return [...observationContent(answer.observation), ...(answer.extended_content ?? [])]
    case 'UserRejectObservation': {
      const reason = answer.rejection_reason ?? REJECTED
      return [text(`Action rejected: ${isBlank(reason) ? REJECTED : reason}`)]
    }
    case 'AgentErrorEvent':
      return [text(answer.error)]
    default:
      return unreachable(answer)
  }
}

const isError = (answer: AnswerEvent): boolean =>
  answer.kind !== 'ObservationEvent' || answer.observation.is_error === true

const clipped = (content: readonly Content[], limit: number): readonly Content[] =>
  limit === Infinity
    ? content
    : content.map((part) => (isImage(part) ? part : { ...part, text: clip(part.text, limit) }))

const text = (given: string): TextContent => ({ type: 'text', text: given })

function unreachable(answer: never): never {
  throw new TypeError(`no answer: ${String((answer as AnswerEvent).kind)}`)
}
