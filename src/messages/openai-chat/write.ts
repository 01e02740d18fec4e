/**
 * Writes neutral messages as OpenAI Chat Completions; nothing in this grammar is signed, so its digests only tell what
 * a reply saw.
 */

import { argumentText } from '../arguments.ts'
import { urlOf } from '../images.ts'
import type { NeutralMessage } from '../message.ts'
import { moveImages } from '../moved-images.ts'
import { isText, joinTexts, type Piece, pieceDigest, type TextPiece } from '../pieces.ts'
import { type Proof, startProof, type WriteOptions } from '../prefix.ts'
import { type AssistantTurn, turnsOf } from '../turns.ts'
import { callDigest, resultDigest, type Role } from '../written.ts'
import { LIMITS } from './limits.ts'
import type { ChatImage, ChatMessage, ChatText, ChatToolCall } from './types.ts'

const NAME = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * The messages of a Chat Completions request; valid whatever the log holds (law M). Thinking and reasoning have no
 * place in this grammar and are left out. Images of tool results follow in a user message behind the last result of
 * their turn. O(content).
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toOpenAIChat([{ role: 'user', content: [{ text: 'hi' }], name: null }]) // [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
 */
export function toOpenAIChat(messages: readonly NeutralMessage[], options: WriteOptions = {}): ChatMessage[] {
  const { system, turns } = turnsOf(messages, LIMITS)
  const proof = startProof(LIMITS.grammar, options)
  const out: ChatMessage[] = []
  const say = (
    role: 'system' | 'user',
    pieces: readonly Piece[],
    as: Role,
    name: string | null = null,
  ): void => {
    for (const block of pieces) proof.add(as, { block, digest: () => pieceDigest(block) })
    if (role === 'system') out.push({ role, content: pieces.filter(isText).map(textPart) })
    else out.push({ role, content: pieces.map(part), ...(name !== null && NAME.test(name) ? { name } : {}) })
  }
  if (system.length > 0) say('system', system, 'front')
  for (const turn of turns) {
    if (turn.role === 'system') say('system', turn.texts, 'system')
    else if (turn.role === 'user') say('user', turn.pieces, 'user', turn.name)
    else {
      proof.keeps(turn)
      out.push(reply(turn, proof))
      const moved = moveImages(turn.results, () => true)
      for (const block of moved.results) {
        const content = joinTexts(block.pieces.filter(isText))
        out.push({ role: 'tool', tool_call_id: block.call.id, content })
        proof.add('user', { block, digest: () => resultDigest(block) })
      }
      if (moved.pieces.length > 0) say('user', moved.pieces, 'user')
    }
  }
  proof.record(out, out)
  return out
}

function reply({ texts, calls }: AssistantTurn, proof: Proof): ChatMessage {
  const tool_calls = calls.map(({ id, name, source }): ChatToolCall => {
    return { id, type: 'function', function: { name, arguments: argumentText(source.arguments) } }
  })
  for (const block of texts) proof.add('assistant', { block, digest: () => pieceDigest(block) })
  for (const block of calls) proof.add('assistant', { block, digest: () => callDigest(block) })
  return {
    role: 'assistant',
    ...(texts.length === 0 ? {} : { content: joinTexts(texts) }),
    ...(tool_calls.length === 0 ? {} : { tool_calls }),
  }
}

const textPart = ({ text }: TextPiece): ChatText => ({ type: 'text', text })

const part = (piece: Piece): ChatText | ChatImage =>
  piece.type === 'text' ? textPart(piece) : { type: 'image_url', image_url: { url: urlOf(piece.image) } }
