/**
 * The writer of all grammars: order, digests, cache marks, and content that moves out of results. A grammar's
 * writer makes the blocks, and adds the blocks of a role to its request.
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

export interface Writer<Block extends object> {
  readonly limits: Limits
  /** Makes the block of a text, an image or a part of another kind. */
  readonly piece: (piece: Piece) => Block
  /** Makes the blocks of a reply; `keepsSigned`: whether its signed parts may be sent. */
  readonly reply: (turn: AssistantTurn, keepsSigned: boolean) => readonly Written<Block>[]
  /** Returns the results of a reply, and the content that moves out of them. */
  readonly move: (turn: AssistantTurn) => Moved
  readonly result: (result: Result, turn: AssistantTurn) => Block
  /** Adds blocks, at least one, to the request; `turn` is null for content moved out of results. */
  readonly add: (role: Role, blocks: Block[], turn: Turn | null) => void
}

/**
 * Writes a conversation, and proves for each reply that its prefix is unchanged. `turns`: the conversation,
 * if it was read already.
 * @throws ColloquyError `empty_view` when there are no messages.
 */
export function writeConversation<Block extends object>(
  messages: readonly NeutralMessage[],
  options: WriteOptions,
  writer: Writer<Block>,
  { system, turns }: Turns = turnsOf(messages, writer.limits),
): { readonly record: Proof['record']; readonly turns: readonly Turn[] } {
  const proof = startProof(writer.limits.grammar, options)
  const writeBlocks = (role: Role, written: readonly Written<Block>[], turn: Turn | null): void => {
    for (const one of written) proof.add(role, one)
    const blocks = written.map(({ block }) => block)
    if (blocks.length > 0) writer.add(role, blocks, turn)
  }
  const writePieces = (role: Role, pieces: readonly Piece[], turn: Turn | null): void =>
    writeBlocks(
      role,
      pieces.map((piece) => ({ block: writer.piece(piece), digest: () => pieceDigest(piece) })),
      turn,
    )
  writePieces('front', system, null)
  for (const turn of turns) {
    if (turn.role !== 'assistant') {
      writePieces(turn.role, turn.role === 'user' ? turn.pieces : turn.texts, turn)
      continue
    }
    writeBlocks('assistant', writer.reply(turn, proof.keepsSigned(turn)), turn)
    const { results, pieces } = writer.move(turn)
    const written = results.map((result) => ({
      block: writer.result(result, turn),
      digest: () => resultDigest(result),
    }))
    writeBlocks('result', written, turn)
    writePieces('user', pieces, null)
  }
  return { record: proof.record, turns }
}

type Thinking = ThinkingBlock | RedactedThinkingBlock

/** How a grammar writes the parts of a reply; null for a part that is not sent. */
export interface ReplyWriter<Block> {
  readonly text: (piece: TextPiece, more: JsonObject | null) => Block | null
  readonly thinking?: (block: Thinking, more: JsonObject | null, ref: FieldRef) => Block | null
  readonly call: (call: Call, more: JsonObject | null, ref: FieldRef) => Block
  /** Writes a part that was stored whole. */
  readonly other: (value: JsonObject, ref: OtherRef) => JsonObject | null
  /** Returns the additional fields of a part that are sent back. */
  readonly more: (ref: FieldRef) => JsonObject | null
}

/**
 * Returns the blocks of a reply in order. Texts before its last signed part are unchanged, since that part is
 * bound to them; blank texts after it are left out. A placeholder replaces a part that the grammar lacks.
 */
export function replyBlocks<Block>(
  { refs, bound, message, calls }: Pick<AssistantTurn, 'refs' | 'bound' | 'message' | 'calls'>,
  keepsSigned: boolean,
  writer: ReplyWriter<Block>,
): Written<Block>[] {
  const out: Written<Block>[] = []
  const add = (block: Block | null, digest: () => Digest, more: JsonObject | null = null): void => {
    if (block === null) return
    out.push({ block, digest: more === null ? digest : () => followedBy(digest(), otherDigest(more)) })
  }
  for (const [position, ref] of refs.entries()) {
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
    const { kind, index } = ref
    const more = writer.more(ref)
    const [part, call, block] = [message.content[index], calls[index], message.thinking_blocks[index]]
    if (kind === 'text' && part !== undefined)
      for (const piece of textsOfPart(part, keepsSigned && position < bound))
        add(writer.text(piece, more), () => pieceDigest(piece), more)
    if (kind === 'call' && call !== undefined) add(writer.call(call, more, ref), () => callDigest(call), more)
    if (kind === 'thinking' && block !== undefined && writer.thinking !== undefined)
      add(writer.thinking(block, more, ref), () => thinkingDigest(block), more)
  }
  return out
}
