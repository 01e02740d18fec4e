/**
 * What all writers share: the order of what is said, its digests, cache marks, and what moves out of results. A writer
 * makes a block of each thing, and puts the blocks of a role into its request.
 */

import type { JsonObject, RedactedThinkingBlock, ThinkingBlock } from '../event/shapes.ts'
import { type Digest, followedBy, otherDigest } from './digest.ts'
import type { NeutralMessage } from './message.ts'
import { type Moved, pieceDigest, textPiece } from './pieces.ts'
import type {
  Piece,
  TextPiece,
  FieldRef,
  OtherRef,
  AssistantTurn,
  Call,
  Limits,
  Result,
  Turn,
  Turns,
} from './limits.ts'
import {
  callDigest,
  type Proof,
  resultDigest,
  type Role,
  startProof,
  thinkingDigest,
  type WriteOptions,
  type Written,
} from './prefix.ts'
import { textsOfPart } from './reply-parts.ts'
import { turnsOf } from './turns.ts'

/** How a grammar writes a conversation. */
export interface Writer<Block extends object> {
  readonly limits: Limits
  /** The block of a text, an image or a part of another kind. */
  readonly piece: (piece: Piece) => Block
  /** The blocks of a reply; `keeps`: whether its signed parts may be sent. */
  readonly reply: (turn: AssistantTurn, keeps: boolean) => readonly Written<Block>[]
  /** The results of a reply, and what moves out of them. */
  readonly move: (turn: AssistantTurn) => Moved
  readonly result: (result: Result, turn: AssistantTurn) => Block
  /** Puts blocks into the request; `turn` is null for what was moved out of results. Never without blocks. */
  readonly add: (role: Role, blocks: Block[], turn: Turn | null) => void
}

/**
 * Writes a conversation, and proves of each reply that it stands behind what it saw. `turns`: the conversation, where it
 * was read already.
 * @throws ColloquyError `empty_view` when there are no messages.
 */
export function writeConversation<Block extends object>(
  messages: readonly NeutralMessage[],
  options: WriteOptions,
  writer: Writer<Block>,
  { system, turns }: Turns = turnsOf(messages, writer.limits),
): { readonly record: Proof['record']; readonly turns: readonly Turn[] } {
  const proof = startProof(writer.limits.grammar, options)
  const put = (role: Role, written: readonly Written<Block>[], turn: Turn | null): void => {
    for (const one of written) proof.add(role, one)
    const blocks = written.map(({ block }) => block)
    if (blocks.length > 0) writer.add(role, blocks, turn)
  }
  const say = (role: Role, pieces: readonly Piece[], turn: Turn | null): void =>
    put(
      role,
      pieces.map((piece) => ({ block: writer.piece(piece), digest: () => pieceDigest(piece) })),
      turn,
    )
  say('front', system, null)
  for (const turn of turns) {
    if (turn.role !== 'assistant') {
      say(turn.role, turn.role === 'user' ? turn.pieces : turn.texts, turn)
      continue
    }
    put('assistant', writer.reply(turn, proof.keeps(turn)), turn)
    const { results, pieces } = writer.move(turn)
    const written = results.map((result) => ({
      block: writer.result(result, turn),
      digest: () => resultDigest(result),
    }))
    put('result', written, turn)
    say('user', pieces, null)
  }
  return { record: proof.record, turns }
}

type Thinking = ThinkingBlock | RedactedThinkingBlock

/** How a grammar writes the parts of a reply; null for what is not sent. */
export interface ReplyWriter<Block> {
  readonly text: (piece: TextPiece, more: JsonObject | null) => Block | null
  readonly thinking?: (block: Thinking, more: JsonObject | null, ref: FieldRef) => Block | null
  readonly call: (call: Call, more: JsonObject | null, ref: FieldRef) => Block
  /** A part that was kept whole. */
  readonly other: (value: JsonObject, ref: OtherRef) => JsonObject | null
  /** What a part has beside the standard fields, as it goes back. */
  readonly more: (ref: FieldRef) => JsonObject | null
}

/**
 * The blocks of a reply in its order. Texts before its last signed part stay as they came, as that part is bound to
 * them; of the others the blank ones are left out. A placeholder stands for what the grammar does not have.
 */
export function replyBlocks<Block>(
  { refs, bound, message, calls }: Pick<AssistantTurn, 'refs' | 'bound' | 'message' | 'calls'>,
  keeps: boolean,
  writer: ReplyWriter<Block>,
): Written<Block>[] {
  const out: Written<Block>[] = []
  const add = (block: Block | null, digest: () => Digest, more: JsonObject | null = null): void => {
    if (block === null) return
    out.push({ block, digest: more === null ? digest : () => followedBy(digest(), otherDigest(more)) })
  }
  for (const [place, ref] of refs.entries()) {
    if (ref.kind === 'other') {
      const { placeholder, value } = ref
      if (placeholder === null) {
        const sent = writer.other(value, ref)
        add(sent as Block | null, () => otherDigest(sent ?? {}))
      } else {
        const piece = textPiece(placeholder)
        add(writer.text(piece, null), () => pieceDigest(piece))
      }
      continue
    }
    const { kind, at } = ref
    const more = writer.more(ref)
    const [part, call, block] = [message.content[at], calls[at], message.thinking_blocks[at]]
    if (kind === 'text' && part !== undefined)
      for (const piece of textsOfPart(part, keeps && place < bound))
        add(writer.text(piece, more), () => pieceDigest(piece), more)
    if (kind === 'call' && call !== undefined) add(writer.call(call, more, ref), () => callDigest(call), more)
    if (kind === 'thinking' && block !== undefined && writer.thinking !== undefined)
      add(writer.thinking(block, more, ref), () => thinkingDigest(block), more)
  }
  return out
}
