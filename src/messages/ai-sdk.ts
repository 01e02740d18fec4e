/** Writes the AI SDK's grammar: neutral messages go in, an array of ModelMessage comes out, plain JSON throughout. */

import type { JsonObject } from '../event/shapes.ts'
import { argumentObject } from './arguments.ts'
import type { ImageType } from './images.ts'
import type { AssistantMessage, NeutralMessage } from './message.ts'
import { moveImages } from './moved-images.ts'
import { GO_ON, NO_ANSWER } from './phrases.ts'
import { isText, joinTexts, type Piece } from './pieces.ts'
import { isBlank, wellFormed } from './text.ts'
import { returnable } from './thinking.ts'
import { type AssistantTurn, type Limits, type Result, turnsOf } from './turns.ts'

export interface AiSdkText {
  readonly type: 'text'
  readonly text: string
}

/** An image by its bytes in base64. */
export interface AiSdkImageData {
  readonly type: 'file'
  readonly mediaType: ImageType
  readonly data: { readonly type: 'data'; readonly data: string }
}

/** An image by its address; a string, as a URL object is no JSON. */
export interface AiSdkImageUrl {
  readonly type: 'file'
  readonly mediaType: 'image'
  readonly data: string
}

export interface AiSdkReasoning {
  readonly type: 'reasoning'
  readonly text: string
  /** For Anthropic: the signature, or the data of a redacted block. */
  readonly providerOptions?: {
    readonly anthropic: { readonly signature: string } | { readonly redactedData: string }
  }
}

export interface AiSdkToolCall {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JsonObject
}

export interface AiSdkToolResult {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output:
    | { readonly type: 'text' | 'error-text'; readonly value: string }
    | { readonly type: 'content'; readonly value: (AiSdkText | AiSdkImageData)[] }
}

export interface AiSdkSystemMessage {
  readonly role: 'system'
  readonly content: string
}

export interface AiSdkUserMessage {
  readonly role: 'user'
  readonly content: (AiSdkText | AiSdkImageData | AiSdkImageUrl)[]
}

export interface AiSdkAssistantMessage {
  readonly role: 'assistant'
  readonly content: (AiSdkText | AiSdkReasoning | AiSdkToolCall)[]
}

export interface AiSdkToolMessage {
  readonly role: 'tool'
  readonly content: AiSdkToolResult[]
}

/** A message that can be given to the `ai` package as a ModelMessage. */
export type AiSdkMessage = AiSdkSystemMessage | AiSdkUserMessage | AiSdkAssistantMessage | AiSdkToolMessage

/** The SDK hands ids and names on to any provider, so they keep to the strictest. */
const LIMITS: Limits = {
  callId: { illegal: /[^a-zA-Z0-9_-]/gu, maxLength: 40 },
  toolNameLength: 64,
  takesImage: () => true,
}

/**
 * The messages for the AI SDK; valid whatever the log holds (law M). The SDK takes a leading system message only with
 * `allowSystemInMessages`; without, give its content as `instructions` and the others as `messages`. Thinking is sent with what
 * Anthropic needs to check it; where a reply has none, its reasoning text is. Reasoning items of OpenAI's Responses grammar are
 * left out: by default the SDK would send their ids alone. O(content).
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toAiSdk([{ role: 'user', content: [{ text: 'hi' }], name: null }]) // [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
 */
export function toAiSdk(messages: readonly NeutralMessage[]): AiSdkMessage[] {
  const { system, turns } = turnsOf(messages, LIMITS)
  const out: AiSdkMessage[] = system.length === 0 ? [] : [{ role: 'system', content: joinTexts(system) }]
  for (const turn of turns) {
    if (turn.role === 'user') out.push({ role: 'user', content: turn.pieces.map(userPart) })
    else addTurn(out, turn)
  }
  return out
}

function addTurn(out: AiSdkMessage[], { message, texts, calls, results }: AssistantTurn): void {
  const reasoning = reasoningOf(message)
  const spoken = texts.map(({ text }): AiSdkText => ({ type: 'text', text }))
  const made = calls.map(({ id, name, source }): AiSdkToolCall => {
    return { type: 'tool-call', toolCallId: id, toolName: name, input: argumentObject(source.arguments) }
  })
  const silent = spoken.length === 0 && made.length === 0
  if (silent && reasoning.length === 0) return
  // The SDK's Anthropic provider joins replies in a row, and signed reasoning must lead what comes of it.
  const last = out.at(-1)
  if (reasoning.some(isSigned) && last?.role === 'assistant' && !leadsSigned(last)) {
    out.push({ role: 'user', content: [{ type: 'text', text: GO_ON }] })
  }
  const answer: AiSdkText[] = silent ? [{ type: 'text', text: NO_ANSWER }] : spoken
  out.push({ role: 'assistant', content: [...reasoning, ...answer, ...made] })
  if (results.length === 0) return

  const moved = moveImages(results, ({ image }, { isError }) => isError || image.from === 'web')
  out.push({ role: 'tool', content: moved.results.map(toolResult) })
  if (moved.pieces.length > 0) out.push({ role: 'user', content: moved.pieces.map(userPart) })
}

const isSigned = (part: AiSdkAssistantMessage['content'][number]): boolean =>
  part.type === 'reasoning' && part.providerOptions !== undefined

/** Whether a reply begins with signed reasoning once that provider has taken out the unsigned. */
const leadsSigned = ({ content }: AiSdkAssistantMessage): boolean =>
  content.find((part) => part.type !== 'reasoning' || isSigned(part))?.type === 'reasoning'

function reasoningOf({ thinking_blocks, reasoning_content }: AssistantMessage): AiSdkReasoning[] {
  const parts = thinking_blocks.flatMap(reasoningPart)
  if (parts.length > 0 || isBlank(reasoning_content ?? '')) return parts
  return [{ type: 'reasoning', text: wellFormed(reasoning_content ?? '') }]
}

/** Thinking that was never signed is told all the same; what was signed and cannot go back is not. */
function reasoningPart(block: AssistantMessage['thinking_blocks'][number]): AiSdkReasoning | [] {
  const sent = returnable(block)
  if (sent !== null) {
    return 'data' in sent
      ? { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: sent.data } } }
      : {
          type: 'reasoning',
          text: sent.thinking,
          providerOptions: { anthropic: { signature: sent.signature } },
        }
  }
  const unsigned = 'thinking' in block && !block.signature && !isBlank(block.thinking)
  return unsigned ? { type: 'reasoning', text: wellFormed(block.thinking) } : []
}

function toolResult({ call, pieces, isError }: Result): AiSdkToolResult {
  const ends = { type: 'tool-result', toolCallId: call.id, toolName: call.name } as const
  if (pieces.every(isText)) {
    return { ...ends, output: { type: isError ? 'error-text' : 'text', value: joinTexts(pieces) } }
  }
  return { ...ends, output: { type: 'content', value: pieces.map(resultPart) } }
}

const userPart = (piece: Piece): AiSdkUserMessage['content'][number] =>
  piece.type === 'image' && piece.image.from === 'web'
    ? { type: 'file', mediaType: 'image', data: piece.image.url }
    : resultPart(piece)

/** A web address has moved into a user message before: in a result it would have to be a URL object. */
function resultPart(piece: Piece): AiSdkText | AiSdkImageData {
  if (piece.type === 'text') return { type: 'text', text: piece.text }
  const { image } = piece
  if (image.from === 'web') return { type: 'text', text: image.url }
  return { type: 'file', mediaType: image.mediaType, data: { type: 'data', data: image.data } }
}
