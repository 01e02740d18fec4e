/** Writes Anthropic Messages: neutral messages go in, the `system` and `messages` of a request come out. */

import type { JsonObject } from '../event/shapes.ts'
import { argumentObject } from './arguments.ts'
import { type CacheControl, cacheMarks, type Mark } from './cache-marks.ts'
import type { ImageType } from './images.ts'
import type { AssistantMessage, NeutralMessage } from './message.ts'
import { moveImages } from './moved-images.ts'
import { GO_ON, NO_ANSWER } from './phrases.ts'
import { type ImagePiece, type Piece, type TextPiece, textPiece } from './pieces.ts'
import { cutEnd } from './text.ts'
import { returnable } from './thinking.ts'
import { type AssistantTurn, type Limits, type Result, turnsOf } from './turns.ts'

export interface AnthropicText extends CacheControl {
  readonly type: 'text'
  readonly text: string
}

export interface AnthropicImage extends CacheControl {
  readonly type: 'image'
  readonly source:
    | { readonly type: 'base64'; readonly media_type: ImageType; readonly data: string }
    | { readonly type: 'url'; readonly url: string }
}

export interface AnthropicThinking {
  readonly type: 'thinking'
  readonly thinking: string
  readonly signature: string
}

export interface AnthropicRedactedThinking {
  readonly type: 'redacted_thinking'
  readonly data: string
}

export interface AnthropicToolUse {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: JsonObject
}

export interface AnthropicToolResult extends CacheControl {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content?: (AnthropicText | AnthropicImage)[]
  readonly is_error?: true
}

export type AnthropicBlock =
  | AnthropicText
  | AnthropicImage
  | AnthropicThinking
  | AnthropicRedactedThinking
  | AnthropicToolUse
  | AnthropicToolResult

/** A message that can be given to the `@anthropic-ai/sdk` package as a MessageParam. */
export interface AnthropicMessage {
  readonly role: 'user' | 'assistant'
  readonly content: AnthropicBlock[]
}

/** The part of a Messages request that comes from the log. */
export interface AnthropicRequest {
  /** Left out when there is no system prompt: the provider refuses an empty one. */
  readonly system?: AnthropicText[]
  readonly messages: AnthropicMessage[]
}

const LIMITS: Limits = {
  callId: { illegal: /[^a-zA-Z0-9_-]/gu, maxLength: 64 },
  toolNameLength: 128,
  takesImage: (image) => image.from === 'data' || image.secure,
}

/**
 * The system prompt and the messages of a Messages request; valid whatever the log holds (law M). Signed and redacted thinking is
 * sent byte for byte, unsigned thinking is left out. Messages of one role in a row are one. Of the parts marked `cache_prompt` the
 * first four become breakpoints, as the provider takes no more. O(content).
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toAnthropic([{ role: 'user', content: [{ text: 'hi' }], name: null }]) // { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] }
 */
export function toAnthropic(messages: readonly NeutralMessage[]): AnthropicRequest {
  const { system, turns } = turnsOf(messages, LIMITS)
  const mark = cacheMarks()
  const head = system.length === 0 ? {} : { system: system.map((piece) => textBlock(piece, mark)) }
  const out: AnthropicMessage[] = []
  for (const turn of turns) {
    if (turn.role === 'user')
      add(
        out,
        'user',
        turn.pieces.map((piece) => block(piece, mark)),
      )
    else addTurn(out, turn, mark)
  }
  return { ...head, messages: out }
}

/** Adds blocks to the last message, or to a new one when that has the other role. */
function add(
  out: AnthropicMessage[],
  role: AnthropicMessage['role'],
  blocks: readonly AnthropicBlock[],
): void {
  const last = out.at(-1)
  if (last?.role === role) for (const block of blocks) last.content.push(block)
  else if (blocks.length > 0) out.push({ role, content: [...blocks] })
}

function addTurn(out: AnthropicMessage[], turn: AssistantTurn, mark: Mark): void {
  const thinking = thinkingOf(turn.message)
  const spoken = turn.texts.map((piece) => textBlock({ ...piece, text: cutEnd(piece.text) }, mark))
  const calls = turn.calls.map(({ id, name, source }): AnthropicToolUse => {
    return { type: 'tool_use', id, name, input: argumentObject(source.arguments) }
  })
  // Thinking must lead a message and must not end it; a message that is there already leads with what it has.
  const last = out.at(-1)
  if (thinking.length > 0 && last?.role === 'assistant' && !isThinking(last.content[0])) {
    add(out, 'user', [{ type: 'text', text: GO_ON }])
  }
  const silent = thinking.length > 0 && spoken.length === 0 && calls.length === 0
  const answer = silent ? [textBlock(textPiece(NO_ANSWER), mark)] : spoken
  add(out, 'assistant', [...thinking, ...answer, ...calls])

  const moved = moveImages(turn.results, (_, result) => result.isError)
  add(out, 'user', [
    ...moved.results.map((result) => resultBlock(result, mark)),
    ...moved.pieces.map((piece) => block(piece, mark)),
  ])
}

const isThinking = (block: AnthropicBlock | undefined): boolean =>
  block?.type === 'thinking' || block?.type === 'redacted_thinking'

function thinkingOf({
  thinking_blocks,
}: AssistantMessage): (AnthropicThinking | AnthropicRedactedThinking)[] {
  return thinking_blocks.flatMap((block) => {
    const sent = returnable(block)
    if (sent === null) return []
    return 'data' in sent ? { type: 'redacted_thinking', ...sent } : { type: 'thinking', ...sent }
  })
}

/** A result without content has no `content`; a mark inside of it marks the whole. */
function resultBlock({ call, pieces, isError }: Result, mark: Mark): AnthropicToolResult {
  const content = pieces.map((piece) => block({ ...piece, cache: false }, mark))
  return {
    type: 'tool_result',
    tool_use_id: call.id,
    ...(content.length === 0 ? {} : { content }),
    ...(isError ? { is_error: true } : {}),
    ...mark(pieces.some((piece) => piece.cache)),
  }
}

const block = (piece: Piece, mark: Mark): AnthropicText | AnthropicImage =>
  piece.type === 'text' ? textBlock(piece, mark) : imageBlock(piece, mark)

const textBlock = ({ text, cache }: TextPiece, mark: Mark): AnthropicText => ({
  type: 'text',
  text,
  ...mark(cache),
})

function imageBlock({ image, cache }: ImagePiece, mark: Mark): AnthropicImage {
  const source: AnthropicImage['source'] =
    image.from === 'web'
      ? { type: 'url', url: image.url }
      : { type: 'base64', media_type: image.mediaType, data: image.data }
  return { type: 'image', source, ...mark(cache) }
}
