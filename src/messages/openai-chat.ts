/** Writes OpenAI Chat Completions: neutral messages go in, the `messages` of a request come out. */

import { argumentText } from './arguments.ts'
import { urlOf } from './images.ts'
import type { NeutralMessage } from './message.ts'
import { moveImages } from './moved-images.ts'
import { isText, joinTexts, type Piece, type TextPiece } from './pieces.ts'
import { type AssistantTurn, type Limits, turnsOf } from './turns.ts'

export interface ChatText {
  readonly type: 'text'
  readonly text: string
}

export interface ChatImage {
  readonly type: 'image_url'
  readonly image_url: { readonly url: string }
}

export interface ChatToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface ChatSystemMessage {
  readonly role: 'system'
  readonly content: ChatText[]
}

export interface ChatUserMessage {
  readonly role: 'user'
  readonly content: (ChatText | ChatImage)[]
  readonly name?: string
}

export interface ChatAssistantMessage {
  readonly role: 'assistant'
  readonly content?: string
  readonly tool_calls?: ChatToolCall[]
}

export interface ChatToolMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: string
}

/** A message that can be given to the `openai` package as a ChatCompletionMessageParam. */
export type ChatMessage = ChatSystemMessage | ChatUserMessage | ChatAssistantMessage | ChatToolMessage

const LIMITS: Limits = {
  callId: { illegal: /[^!-~]/gu, maxLength: 40 },
  toolNameLength: 64,
  takesImage: () => true,
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * The messages of a Chat Completions request; valid whatever the log holds (law M). Thinking and reasoning have no place in this
 * grammar and are left out. Images of tool results follow in a user message behind the last result of their turn. O(content).
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toOpenAIChat([{ role: 'user', content: [{ text: 'hi' }], name: null }]) // [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
 */
export function toOpenAIChat(messages: readonly NeutralMessage[]): ChatMessage[] {
  const { system, turns } = turnsOf(messages, LIMITS)
  const out: ChatMessage[] = system.length === 0 ? [] : [{ role: 'system', content: system.map(textPart) }]
  for (const turn of turns) {
    if (turn.role === 'assistant') addTurn(out, turn)
    else {
      const name = turn.name !== null && NAME.test(turn.name) ? { name: turn.name } : {}
      out.push({ role: 'user', content: turn.pieces.map(part), ...name })
    }
  }
  return out
}

function addTurn(out: ChatMessage[], { texts, calls, results }: AssistantTurn): void {
  if (texts.length === 0 && calls.length === 0) return
  const content = texts.length === 0 ? {} : { content: joinTexts(texts) }
  const tool_calls = calls.map(({ id, name, source }): ChatToolCall => {
    return { id, type: 'function', function: { name, arguments: argumentText(source.arguments) } }
  })
  out.push({ role: 'assistant', ...content, ...(tool_calls.length === 0 ? {} : { tool_calls }) })
  const moved = moveImages(results, () => true)
  for (const { call, pieces } of moved.results) {
    out.push({ role: 'tool', tool_call_id: call.id, content: joinTexts(pieces.filter(isText)) })
  }
  if (moved.pieces.length > 0) out.push({ role: 'user', content: moved.pieces.map(part) })
}

const textPart = ({ text }: TextPiece): ChatText => ({ type: 'text', text })

const part = (piece: Piece): ChatText | ChatImage =>
  piece.type === 'text' ? textPart(piece) : { type: 'image_url', image_url: { url: urlOf(piece.image) } }
