/** Writes neutral messages as OpenAI Responses, and proves of each reply that it stands behind what it saw. */

import { urlOf } from '../images.ts'
import type { NeutralMessage } from '../message.ts'
import { isText, joinTexts, type Piece, pieceDigest, type TextPiece } from '../pieces.ts'
import { startProof, type WriteOptions } from '../prefix.ts'
import { type Result, turnsOf } from '../turns.ts'
import { resultDigest, type Role } from '../written.ts'
import { LIMITS } from './limits.ts'
import type { ResponsesPart } from './part-schema.ts'
import { replyItems } from './write-reply.ts'
import type {
  ResponsesFunctionCallOutput,
  ResponsesImage,
  ResponsesItem,
  ResponsesRequest,
  ResponsesText,
} from './types.ts'

/**
 * The instructions and the input of a Responses request; valid whatever the log holds (law M). A reasoning item is sent
 * with its encrypted content, when it has an id that the provider takes, once, before what it led to, and as long as
 * its reply stands behind what it saw; its status and its plain content are refused by the provider and left out, as
 * are thinking blocks and reasoning text. O(content).
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toOpenAIResponses([{ role: 'user', content: [{ text: 'hi' }], name: null }]).input.length // 1
 */
export function toOpenAIResponses(
  messages: readonly NeutralMessage[],
  options: WriteOptions = {},
): ResponsesRequest {
  const { system, turns } = turnsOf(messages, LIMITS)
  const isNew = once()
  const proof = startProof(LIMITS.grammar, options)
  const input: ResponsesItem[] = []
  const prove = (role: Role, pieces: readonly Piece[]): void => {
    for (const block of pieces) proof.add(role, { block, digest: () => pieceDigest(block) })
  }
  prove('front', system)
  for (const turn of turns) {
    if (turn.role === 'user') {
      prove('user', turn.pieces)
      input.push({ type: 'message', role: 'user', content: turn.pieces.map(part) })
    } else if (turn.role === 'system') {
      prove('system', turn.texts)
      input.push({ type: 'message', role: 'developer', content: turn.texts.map(textPart) })
    } else {
      const { items, outputs } = replyItems(turn, proof.keeps(turn), isNew)
      for (const written of items) {
        input.push(written.block)
        proof.add('assistant', written)
      }
      for (const block of turn.results) {
        const own = outputs.get(block.call)
        input.push(own === undefined ? output(block) : (own as unknown as ResponsesItem))
        proof.add('user', { block, digest: () => resultDigest(block) })
      }
    }
  }
  const request = { instructions: system.length === 0 ? null : joinTexts(system), input }
  proof.record(request, input)
  return request
}

function output({ call, pieces }: Result): ResponsesFunctionCallOutput {
  const plain = pieces.every(isText)
  return {
    type: 'function_call_output',
    call_id: call.id,
    output: plain ? joinTexts(pieces) : pieces.map(part),
  }
}

function part(piece: Piece): ResponsesText | ResponsesImage | ResponsesPart {
  if (piece.type === 'text') return textPart(piece)
  // The table of parts has proved its shape.
  if (piece.type === 'block') return { ...piece.block } as object as ResponsesPart
  return { type: 'input_image', image_url: urlOf(piece.image), detail: 'auto' }
}

const textPart = ({ text }: TextPiece): ResponsesText => ({ type: 'input_text', text })

/** Whether an id comes for the first time: no two items of a request may share one. */
function once(): (id: string) => boolean {
  const seen = new Set<string>()
  return (id) => seen.size < seen.add(id).size
}
