/** Writes neutral messages as Anthropic Messages, and proves of each reply that it stands behind what it saw. */

import { argumentObject } from '../arguments.ts'
import { cacheMarks, type CacheTime, type Mark } from '../cache-marks.ts'
import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { type Digest, followedBy } from '../digest.ts'
import { isSealed, sentMore } from '../kinds.ts'
import { otherDigest } from '../other-parts.ts'
import type { FieldRef } from '../reply-parts.ts'
import type { NeutralMessage } from '../message.ts'
import { moveParts } from '../moved-parts.ts'
import { callsLast } from '../parts-in-order.ts'
import { thinkingDigest } from '../own-digest.ts'
import { NO_ANSWER } from '../phrases.ts'
import { type ImagePiece, type Piece, pieceDigest, type TextPiece, textPiece } from '../pieces.ts'
import { placeholderOf } from '../placeholder.ts'
import { startProof, type WriteOptions } from '../prefix.ts'
import { trimTrailing } from '../text.ts'
import { returnable } from '../thinking.ts'
import { endsInThinking, textsOfPart } from '../thinking-parts.ts'
import { type AssistantTurn, type Call, isPaused, type Result, turnsOf } from '../turns.ts'
import { callDigest, resultDigest, type Written } from '../written.ts'
import { type Cite, citing } from './citations.ts'
import { LIMITS } from './limits.ts'
import type { AnthropicPart } from './part-shapes.ts'
import type {
  AnthropicBlock,
  AnthropicImage,
  AnthropicMessage,
  AnthropicRedactedThinking,
  AnthropicRequest,
  AnthropicText,
  AnthropicThinking,
  AnthropicToolResult,
  AnthropicToolUse,
} from './types.ts'

/**
 * The system prompt and the messages of a Messages request; valid whatever the log holds (law M). A reply goes back as
 * it came, its thinking byte for byte, as long as it stands behind what it saw; otherwise without its signed parts.
 * Unsigned thinking is left out. Messages of one role in a row are one. Of the parts marked `cache_prompt` the first
 * four become breakpoints, as the provider takes no more. O(content).
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toAnthropic([{ role: 'user', content: [{ text: 'hi' }], name: null }]) // { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] }
 */
export function toAnthropic(
  messages: readonly NeutralMessage[],
  options: WriteOptions = {},
): AnthropicRequest {
  const { system, turns } = turnsOf(messages, LIMITS)
  const mark = cacheMarks(options.tools, options.cached)
  const cite = citing()
  const tools: readonly { readonly name?: unknown }[] = options.tools ?? [{}]
  // All are taken to be there where the list is not known, or has a set that names none.
  const isThere = (name: unknown): boolean => tools.some((tool) => (tool.name ?? name) === name)
  const callers = new Set<unknown>()
  const proof = startProof(LIMITS.grammar, options)
  const out: { readonly role: AnthropicMessage['role']; readonly content: AnthropicBlock[] }[] = []
  /** A system message stands before a reply or at the end, and is one: it waits where nothing of a reply is written. */
  let waiting: AnthropicBlock[] = []
  const settle = (): void => {
    if (waiting.length > 0) out.push({ role: 'system', content: waiting })
    waiting = []
  }
  const add = (role: AnthropicMessage['role'], blocks: readonly Written<AnthropicBlock>[]): void => {
    if (blocks.length === 0) return
    for (const written of blocks) proof.add(role, written)
    const written = blocks.map(({ block }) => block)
    if (role === 'system') {
      waiting.push(...written)
      return
    }
    if (role === 'assistant') settle()
    const last = out.at(-1)
    if (last?.role === role) last.content.push(...written)
    else out.push({ role, content: written })
  }

  const head = system.map((piece) => textBlock(piece, mark))
  for (const written of head) proof.add('front', written)
  for (const turn of turns) {
    if (turn.role === 'user')
      add(
        'user',
        turn.pieces.map((piece) => pieceBlock(piece, mark, cite)),
      )
    else if (turn.role === 'system')
      add(
        'system',
        turn.texts.map((piece) => textBlock(piece, mark)),
      )
    else {
      add('assistant', replyBlocks(turn, proof.keeps(turn), mark, callers))
      const moved = moveParts(turn, () => false, 'words')
      add(
        'user',
        moved.results.map((result) => resultBlock(result, mark, cite, isThere)),
      )
      add(
        'user',
        moved.pieces.map((piece) => pieceBlock(piece, mark, cite)),
      )
    }
  }
  settle()
  const last = turns.findLast((turn) => turn.role === 'assistant')
  // In which the calls wait that the last reply has made.
  const container = last?.waits === true && last.message.reply?.container
  const request: AnthropicRequest = {
    ...(head.length === 0 ? {} : { system: head.map(({ block }) => block) }),
    // Only texts were added to system messages.
    messages: out as AnthropicMessage[],
    ...(typeof container === 'string' && { container }),
  }
  proof.record(request, out)
  return request
}

/**
 * The blocks of a reply. Texts before its last signed part all stay, as that part is bound to them; of the others the
 * blank ones are left out. Thinking must not end a message, so a fixed sentence follows it there.
 */
function replyBlocks(
  turn: AssistantTurn,
  keeps: boolean,
  mark: Mark,
  callers: Set<unknown>,
): Written<AnthropicBlock>[] {
  const { bound, message, calls } = turn
  const refs = keeps ? turn.refs : callsLast(turn.refs)
  const blocks = refs.flatMap((ref, place): Written<AnthropicBlock>[] => {
    const { kind, at } = ref
    switch (kind) {
      case 'thinking':
        return keeps ? thinkingBlock(message, at) : []
      case 'text': {
        const part = message.content[at]
        if (part === undefined) return []
        const exact = keeps && place < bound
        return textsOfPart(part, exact).map((piece) => withMore(textBlock(piece, mark), ref))
      }
      case 'call': {
        const call = calls[at]
        return call === undefined ? [] : [withMore(callBlock(call), ref, callers)]
      }
      case 'other': {
        if (ref.placeholder !== null) return [textBlock(textPiece(ref.placeholder), mark)]
        return keeps || !isSealed(LIMITS, ref.value) ? [otherBlock(ref.value, callers)] : []
      }
      default:
        return []
    }
  })
  if (endsInThinking(message, refs)) return [...blocks, textBlock(textPiece(NO_ANSWER), mark)]
  return isPaused(turn, LIMITS) ? trimmedAtEnd(blocks) : blocks
}

/**
 * The blocks of a paused reply, which can be the end of a request, where the provider refuses white space. It goes
 * wherever the reply stands later, so that what stands before the next one stays the same.
 */
function trimmedAtEnd(blocks: readonly Written<AnthropicBlock>[]): Written<AnthropicBlock>[] {
  const last = blocks.at(-1)
  if (last?.block.type !== 'text') return [...blocks]
  const text = trimTrailing(last.block.text)
  return text === '' ? [...blocks] : [...blocks.slice(0, -1), { ...last, block: { ...last.block, text } }]
}

/** A block with what the standard fields have no place for. */
function withMore<Block extends AnthropicBlock>(
  written: Written<Block>,
  { kind, more }: FieldRef,
  callers: ReadonlySet<unknown> = NONE,
): Written<Block> {
  const sent = sentMore(more === null ? null : known(more, callers), LIMITS.more[kind])
  if (sent === null) return written
  return {
    block: { ...written.block, ...sent },
    digest: () => followedBy(written.digest(), otherDigest(sent)),
  }
}

/** A block of another kind, as the provider made it. */
function otherBlock(value: JsonObject, callers: Set<unknown>): Written<AnthropicBlock> {
  const sent = known(value, callers)
  if (value['type'] === 'server_tool_use') callers.add(value['id'])
  return { block: sent as unknown as AnthropicBlock, digest: () => otherDigest(sent) }
}

const NONE: ReadonlySet<unknown> = new Set()

/** What a server's tool has called names that tool, but where a history has lost it. */
function known(value: JsonObject, callers: ReadonlySet<unknown>): JsonObject {
  const { caller, ...rest } = value
  return isObject(caller) && caller['tool_id'] !== undefined && !callers.has(caller['tool_id']) ? rest : value
}

function thinkingBlock(
  { thinking_blocks }: AssistantTurn['message'],
  at: number,
): Written<AnthropicThinking | AnthropicRedactedThinking>[] {
  const given = thinking_blocks[at]
  const sent = given === undefined ? null : returnable(given)
  if (given === undefined || sent === null) return []
  const digest = (): Digest => thinkingDigest(given)
  return 'data' in sent
    ? [{ block: { type: 'redacted_thinking', ...sent }, digest }]
    : [{ block: { type: 'thinking', ...sent }, digest }]
}

function callBlock(call: Call): Written<AnthropicToolUse> {
  const { id, name, source } = call
  const input = argumentObject(source.arguments)
  return { block: { type: 'tool_use', id, name, input }, digest: () => callDigest(call) }
}

type ResultContent = NonNullable<AnthropicToolResult['content']>

/** A result without content has no `content`; a mark inside of it marks the whole. */
function resultBlock(
  result: Result,
  mark: Mark,
  cite: Cite,
  isThere: (tool: unknown) => boolean,
): Written<AnthropicToolResult> {
  const { call, pieces, isError } = result
  // What results do not hold was moved before.
  const content = pieces.map(
    (piece) => pieceBlock({ ...referred(piece, isThere), cache: false }, mark, cite).block,
  ) as ResultContent
  const block: AnthropicToolResult = {
    type: 'tool_result',
    tool_use_id: call.id,
    ...(content.length === 0 ? {} : { content }),
    ...(isError ? { is_error: true } : {}),
    ...mark(
      pieces.some((piece) => piece.cache),
      pieces.map(timeOf).find((time) => time !== null),
    ),
  }
  return { block, digest: () => resultDigest(result) }
}

/** A reference to a tool that is not there is refused: its name stands in its place. */
const referred = (piece: Piece, isThere: (tool: unknown) => boolean): Piece =>
  piece.type !== 'block' || piece.block['type'] !== 'tool_reference' || isThere(piece.block['tool_name'])
    ? piece
    : textPiece(placeholderOf(piece.source))

function pieceBlock(
  piece: Piece,
  mark: Mark,
  cite: Cite,
): Written<AnthropicText | AnthropicImage | AnthropicPart> {
  if (piece.type === 'text') return textBlock(piece, mark)
  if (piece.type === 'image') return imageBlock(piece, mark)
  // The table of parts has proved its shape.
  const block = { ...cite(piece.block as object as AnthropicPart), ...mark(piece.cache, timeOf(piece)) }
  return { block, digest: () => pieceDigest(piece) }
}

/** How long a part asks to be cached, where it says that in this grammar's words. */
function timeOf({ source }: Piece): CacheTime | null {
  const given = source === null ? null : (source as JsonObject)['cache_control']
  const ttl = isObject(given) ? given['ttl'] : null
  return ttl === '1h' || ttl === '5m' ? ttl : null
}

const textBlock = (piece: TextPiece, mark: Mark): Written<AnthropicText> => ({
  block: { type: 'text', text: piece.text, ...mark(piece.cache) },
  digest: () => pieceDigest(piece),
})

function imageBlock(piece: ImagePiece, mark: Mark): Written<AnthropicImage> {
  const { image, cache } = piece
  const source: AnthropicImage['source'] =
    image.from === 'web'
      ? { type: 'url', url: image.url }
      : { type: 'base64', media_type: image.mediaType, data: image.data }
  return { block: { type: 'image', source, ...mark(cache) }, digest: () => pieceDigest(piece) }
}
