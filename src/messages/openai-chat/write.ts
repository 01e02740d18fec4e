/** Writes neutral messages as OpenAI Chat Completions, and proves of each reply that it stands behind what it saw. */

import type { JsonObject } from '../../event/shapes.ts'
import { argumentText } from '../arguments.ts'
import { type Digest, followedBy } from '../digest.ts'
import { urlOf } from '../images.ts'
import { isSealed, sentMore } from '../kinds.ts'
import { keptBeside } from '../kept-beside.ts'
import type { AssistantMessage, NeutralMessage } from '../message.ts'
import { moveParts } from '../moved-parts.ts'
import { isText, joinTexts, type Piece, pieceDigest, type TextPiece, textPiece } from '../pieces.ts'
import { otherDigest } from '../other-parts.ts'
import { type Proof, startProof, type WriteOptions } from '../prefix.ts'
import { wellFormed } from '../text.ts'
import { textsOfPart } from '../thinking-parts.ts'
import { type AssistantTurn, type Call, turnsOf } from '../turns.ts'
import { callDigest, resultDigest, type Role } from '../written.ts'
import { LIMITS } from './limits.ts'
import type { ChatPart } from './part-shapes.ts'
import type {
  ChatImage,
  ChatMessage,
  ChatSystemMessage,
  ChatText,
  ChatToolCall,
  ChatUserMessage,
} from './types.ts'

const NAME = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * The messages of a Chat Completions request; valid whatever the log holds (law M). Thinking and reasoning have no
 * place in this grammar and are left out, but for what a server gave in a field of its own and wants back:
 * `reasoning_details`, and `reasoning_content` with calls. Images of tool results follow in a user message behind the
 * last result of their turn. O(content).
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toOpenAIChat([{ role: 'user', content: [{ text: 'hi' }], name: null }]) // [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
 */
export function toOpenAIChat(messages: readonly NeutralMessage[], options: WriteOptions = {}): ChatMessage[] {
  const { system, turns } = turnsOf(messages, LIMITS)
  const proof = startProof(LIMITS.grammar, options)
  const out: ChatMessage[] = []
  const say = (as: Role, pieces: readonly Piece[], name: string | null = null): void => {
    for (const block of pieces) proof.add(as, { block, digest: () => pieceDigest(block) })
    const role = as === 'user' ? as : 'system'
    // System prompts have no name, and nothing but texts.
    out.push({
      role,
      content: options.plainText === true && pieces.every(isText) ? joinTexts(pieces) : pieces.map(part),
      ...(NAME.test(name ?? '') && { name }),
    } as ChatSystemMessage | ChatUserMessage)
  }
  if (system.length > 0) say('front', system)
  for (const turn of turns) {
    if (turn.role === 'system') say('system', turn.texts)
    else if (turn.role === 'user') say('user', turn.pieces, turn.name)
    else {
      out.push(reply(turn, proof.keeps(turn), proof))
      const moved = moveParts(turn, () => true, 'any')
      for (const block of moved.results) {
        const content = joinTexts(block.pieces.filter(isText))
        out.push({ role: 'tool', tool_call_id: block.call.id, content })
        proof.add('user', { block, digest: () => resultDigest(block) })
      }
      if (moved.pieces.length > 0) say('user', moved.pieces)
    }
  }
  proof.record(out, out)
  return out
}

/** A reply as one message: its words, its refusal, its calls, and the fields that its server added. */
function reply(turn: AssistantTurn, keeps: boolean, proof: Proof): ChatMessage {
  const { refs, bound, message, calls } = turn
  const said: TextPiece[] = []
  const refused: TextPiece[] = []
  const tool_calls: ChatToolCall[] = []
  const fields = {}
  const prove = (block: object, digest: () => Digest): void => proof.add('assistant', { block, digest })
  const say = (pieces: readonly TextPiece[], more: JsonObject | null = null): void => {
    for (const piece of pieces) prove(piece, () => withMore(pieceDigest(piece), more))
    ;(more?.['type'] === 'refusal' ? refused : said).push(...pieces)
  }
  for (const [place, ref] of refs.entries()) {
    if (ref.kind === 'other') {
      const { placeholder, value } = ref
      if (placeholder !== null) say([textPiece(placeholder)])
      else if (keeps || !isSealed(LIMITS, value)) {
        const sent = value['reasoning_content'] === undefined ? value : reasoningOf(message)
        Object.assign(fields, sent)
        prove(sent, () => otherDigest(sent))
      }
      continue
    }
    const more = sentMore(ref.more, LIMITS.more[ref.kind])
    const [part, call] = [message.content[ref.at], calls[ref.at]]
    if (ref.kind === 'text' && part !== undefined)
      say(
        textsOfPart(part, keeps && place < bound).filter(({ text }) => text !== ''),
        more,
      )
    else if (ref.kind === 'call' && call !== undefined) {
      tool_calls.push(toolCall(call, more))
      prove(call, () => withMore(callDigest(call), more))
    }
  }
  return {
    ...fields,
    role: 'assistant',
    ...(said.length > 0 && { content: joinTexts(said) }),
    ...(refused.length > 0 && { refusal: joinTexts(refused) }),
    ...(tool_calls.length > 0 && { tool_calls }),
  }
}

const withMore = (digest: Digest, more: JsonObject | null): Digest =>
  more === null ? digest : followedBy(digest, otherDigest(more))

/** What a reply with calls thought, as one field; none of a reply without, which no server takes back. */
const reasoningOf = /* @__PURE__ */ keptBeside(
  ({ tool_calls, reasoning_content }: AssistantMessage): JsonObject =>
    tool_calls.length === 0 ? {} : { reasoning_content: wellFormed(reasoning_content ?? '') },
)

function toolCall({ id, name, source }: Call, more: JsonObject | null): ChatToolCall {
  const { type, ...fields } = more ?? {}
  return type === 'custom'
    ? { ...fields, id, type, custom: { name, input: wellFormed(source.arguments) } }
    : { ...fields, id, type: 'function', function: { name, arguments: argumentText(source.arguments) } }
}

function part(piece: Piece): ChatText | ChatImage | ChatPart {
  if (piece.type === 'text') return { type: 'text', text: piece.text }
  // The table of parts has proved its shape.
  if (piece.type === 'block') return { ...piece.block } as object as ChatPart
  return { type: 'image_url', image_url: { url: urlOf(piece.image) } }
}
