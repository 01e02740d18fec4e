/** Reads neutral messages as turns: any list of them goes in; calls and results that pair up under legal ids come out. */

import { ColloquyError } from '../event/errors.ts'
import { callIds, type IdForm } from './call-ids.ts'
import type { Image } from './images.ts'
import type { AssistantMessage, NeutralMessage, NeutralToolCall, ToolMessage } from './message.ts'
import { ERROR_LINE, NO_RESULT, OPENING } from './phrases.ts'
import { type Piece, piecesOf, type TextPiece, textPiece, textsOf } from './pieces.ts'
import { toolName } from './tool-names.ts'

/** What differs between the grammars before a word of them is written. */
export interface Limits {
  readonly callId: IdForm
  readonly toolNameLength: number
  /** Which images the provider takes. */
  readonly takesImage: (image: Image) => boolean
}

/** What the user says; never empty. */
export interface UserTurn {
  readonly role: 'user'
  readonly pieces: readonly Piece[]
  readonly name: string | null
}

/** What the assistant says and calls, and the results of its calls. */
export interface AssistantTurn {
  readonly role: 'assistant'
  readonly message: AssistantMessage
  readonly texts: readonly TextPiece[]
  readonly calls: readonly Call[]
  /** One for each call, in the order they came. */
  readonly results: readonly Result[]
}

export interface Call {
  readonly id: string
  readonly name: string
  readonly source: NeutralToolCall
}

/** The result of a call; of an error, it says something. */
export interface Result {
  readonly call: Call
  readonly pieces: readonly Piece[]
  readonly isError: boolean
}

export type Turn = UserTurn | AssistantTurn

/** A conversation that begins with the user. */
export interface Turns {
  readonly system: readonly TextPiece[]
  readonly turns: readonly Turn[]
}

/**
 * The turns of a list of messages. Whatever the list holds, each call has one result under its own id: a result that belongs to
 * no call is left out, a call without one gets an error. A turn depends only on the messages up to the next turn. O(content).
 * @throws ColloquyError `empty_view` when there are no messages.
 */
export function turnsOf(messages: readonly NeutralMessage[], limits: Limits): Turns {
  if (messages.length === 0)
    throw new ColloquyError('empty_view', 'there is nothing to send: no message of the view says anything')
  const giveId = callIds(limits.callId)
  const system: TextPiece[] = []
  const turns: Turn[] = []
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at]
    if (message === undefined || message.role === 'tool') continue
    if (message.role === 'system') system.push(...textsOf(message.content))
    else if (message.role === 'user') {
      const pieces = piecesOf(message.content, limits.takesImage)
      if (pieces.length > 0) turns.push({ role: 'user', pieces, name: message.name })
    } else {
      const results: ToolMessage[] = []
      for (let next = messages[at + 1]; next?.role === 'tool'; next = messages[at + 1]) {
        results.push(next)
        at += 1
      }
      turns.push(assistantTurn(message, results, giveId, limits))
    }
  }
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', pieces: [textPiece(OPENING)], name: null })
  return { system, turns }
}

function assistantTurn(
  message: AssistantMessage,
  given: readonly ToolMessage[],
  giveId: (id: string) => string,
  limits: Limits,
): AssistantTurn {
  const calls = message.tool_calls.map((source): Call => ({
    id: giveId(source.id),
    name: toolName(source.name, limits.toolNameLength),
    source,
  }))
  const open = new Map<string, Call[]>()
  for (const call of calls.toReversed()) {
    const same = open.get(call.source.id)
    if (same === undefined) open.set(call.source.id, [call])
    else same.push(call)
  }
  const results: Result[] = []
  for (const { tool_call_id, content, is_error } of given) {
    const call = open.get(tool_call_id)?.pop()
    if (call === undefined) continue
    const pieces = piecesOf(content, limits.takesImage)
    const silent = is_error && pieces.length === 0
    results.push({ call, pieces: silent ? [textPiece(ERROR_LINE)] : pieces, isError: is_error })
  }
  const left = new Set([...open.values()].flat())
  for (const call of calls) {
    if (left.has(call)) results.push({ call, pieces: [textPiece(NO_RESULT)], isError: true })
  }
  return { role: 'assistant', message, texts: textsOf(message.content), calls, results }
}
