/** Writes OpenAI Responses: neutral messages go in, the `instructions` and `input` of a request come out. */

import type { ReasoningItemModel } from '../event/shapes.ts'
import { argumentText } from './arguments.ts'
import { urlOf } from './images.ts'
import type { NeutralMessage } from './message.ts'
import { isText, joinTexts, type Piece } from './pieces.ts'
import { isWellFormed, wellFormed } from './text.ts'
import { type AssistantTurn, type Limits, type Result, turnsOf } from './turns.ts'

export interface ResponsesText {
  readonly type: 'input_text'
  readonly text: string
}

export interface ResponsesImage {
  readonly type: 'input_image'
  readonly image_url: string
  readonly detail: 'auto'
}

export interface ResponsesUserMessage {
  readonly type: 'message'
  readonly role: 'user'
  readonly content: (ResponsesText | ResponsesImage)[]
}

/** A reply in the short form, its text as a string: the long form needs an id that the log does not have. */
export interface ResponsesAssistantMessage {
  readonly type: 'message'
  readonly role: 'assistant'
  readonly content: string
}

export interface ResponsesReasoning {
  readonly type: 'reasoning'
  readonly id: string
  readonly summary: { readonly type: 'summary_text'; readonly text: string }[]
  readonly encrypted_content?: string
}

export interface ResponsesFunctionCall {
  readonly type: 'function_call'
  readonly id?: string
  readonly call_id: string
  readonly name: string
  readonly arguments: string
}

export interface ResponsesFunctionCallOutput {
  readonly type: 'function_call_output'
  readonly call_id: string
  readonly output: string | (ResponsesText | ResponsesImage)[]
}

/** An item that can be given to the `openai` package as a ResponseInputItem. */
export type ResponsesItem =
  | ResponsesUserMessage
  | ResponsesAssistantMessage
  | ResponsesReasoning
  | ResponsesFunctionCall
  | ResponsesFunctionCallOutput

/** The part of a Responses request that comes from the log. */
export interface ResponsesRequest {
  readonly instructions: string | null
  readonly input: ResponsesItem[]
}

const LIMITS: Limits = {
  callId: { illegal: /[^!-~]/gu, maxLength: 64 },
  toolNameLength: 64,
  takesImage: () => true,
}

const REASONING_ID = /^rs[a-zA-Z0-9_-]{0,62}$/
const CALL_ITEM_ID = /^fc[a-zA-Z0-9_-]{0,62}$/

/**
 * The instructions and the input of a Responses request; valid whatever the log holds (law M). A reasoning item is sent, encrypted
 * content and all, when it has an id that the provider takes, once, and directly before what it led to; its status and its plain
 * content are refused by the provider and left out, as are thinking blocks and reasoning text. O(content).
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toOpenAIResponses([{ role: 'user', content: [{ text: 'hi' }], name: null }]).input.length // 1
 */
export function toOpenAIResponses(messages: readonly NeutralMessage[]): ResponsesRequest {
  const { system, turns } = turnsOf(messages, LIMITS)
  const isNew = once()
  const input: ResponsesItem[] = []
  for (const turn of turns) {
    if (turn.role === 'user') input.push({ type: 'message', role: 'user', content: turn.pieces.map(part) })
    else addTurn(input, turn, isNew)
  }
  return { instructions: system.length === 0 ? null : joinTexts(system), input }
}

function addTurn(input: ResponsesItem[], turn: AssistantTurn, isNew: (id: string) => boolean): void {
  const { message, texts, calls, results } = turn
  /** Whether there was reasoning that cannot be sent: what it led to must then not name its item, or the provider misses it. */
  const losesReasoning = (item: ReasoningItemModel | null): boolean => {
    const sent = item === null ? [] : reasoningItem(item, isNew)
    input.push(...sent)
    return item !== null && sent.length === 0
  }
  if (texts.length === 0 && calls.length === 0) return
  // The model first reasons, then speaks, then calls: the text stands between the first call and the reasoning before it.
  const [first, ...others] = calls
  const lost = losesReasoning(first?.source.responses_reasoning_item ?? message.responses_reasoning_item)
  if (texts.length > 0) input.push({ type: 'message', role: 'assistant', content: joinTexts(texts) })
  if (first !== undefined) input.push(functionCall(first, lost ? never : isNew))
  for (const call of others) {
    const lost = losesReasoning(call.source.responses_reasoning_item)
    input.push(functionCall(call, lost ? never : isNew))
  }
  for (const result of results) input.push(output(result))
}

function reasoningItem(item: ReasoningItemModel, isNew: (id: string) => boolean): ResponsesReasoning[] {
  const { id, encrypted_content, summary } = item
  const legal = typeof id === 'string' && REASONING_ID.test(id) && isWellFormed(encrypted_content ?? '')
  if (!legal || !isNew(id)) return []
  return [
    {
      type: 'reasoning',
      id,
      summary: (summary ?? []).map((text) => ({ type: 'summary_text', text: wellFormed(text) })),
      ...(encrypted_content ? { encrypted_content } : {}),
    },
  ]
}

function functionCall(
  { id: call_id, name, source }: AssistantTurn['calls'][number],
  isNew: (id: string) => boolean,
): ResponsesFunctionCall {
  const { responses_item_id: id } = source
  const item = id !== null && CALL_ITEM_ID.test(id) && isNew(id) ? { id } : {}
  return { type: 'function_call', ...item, call_id, name, arguments: argumentText(source.arguments) }
}

function output({ call, pieces }: Result): ResponsesFunctionCallOutput {
  const plain = pieces.every(isText)
  return {
    type: 'function_call_output',
    call_id: call.id,
    output: plain ? joinTexts(pieces) : pieces.map(part),
  }
}

const part = (piece: Piece): ResponsesText | ResponsesImage =>
  piece.type === 'text'
    ? { type: 'input_text', text: piece.text }
    : { type: 'input_image', image_url: urlOf(piece.image), detail: 'auto' }

const never = (): boolean => false

/** Tells whether an id comes for the first time: no two items of a request may share one. */
function once(): (id: string) => boolean {
  const seen = new Set<string>()
  return (id) => seen.size < seen.add(id).size
}
