/** Writes neutral messages as OpenAI Responses, and proves of each reply that it stands behind what it saw. */

import { isTextPart } from '../../event/content.ts'
import type { Content, ReasoningItemModel } from '../../event/shapes.ts'
import { argumentText } from '../arguments.ts'
import { digestOf, digestOfAll } from '../digest.ts'
import { urlOf } from '../images.ts'
import type { NeutralMessage } from '../message.ts'
import { reasoningDigest } from '../own-digest.ts'
import { isText, joinTexts, type Piece, pieceDigest, type TextPiece, textsOf } from '../pieces.ts'
import { startProof, type WriteOptions } from '../prefix.ts'
import { wellFormed } from '../text.ts'
import { textsOfPart } from '../thinking-parts.ts'
import { type AssistantTurn, type Call, reasoningItems, type Result, turnsOf } from '../turns.ts'
import { callDigest, resultDigest, type Role, type Written } from '../written.ts'
import { isSendable, LIMITS } from './limits.ts'
import type {
  ResponsesFunctionCall,
  ResponsesFunctionCallOutput,
  ResponsesImage,
  ResponsesItem,
  ResponsesReasoning,
  ResponsesRequest,
  ResponsesText,
} from './types.ts'

const CALL_ITEM_ID = /^fc[a-zA-Z0-9_-]{0,62}$/

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
      for (const written of replyItems(turn, proof.keeps(turn), isNew)) {
        input.push(written.block)
        proof.add('assistant', written)
      }
      for (const block of turn.results) {
        input.push(output(block))
        proof.add('user', { block, digest: () => resultDigest(block) })
      }
    }
  }
  const request = { instructions: system.length === 0 ? null : joinTexts(system), input }
  proof.record(request, input)
  return request
}

/**
 * The items of a reply. Calls behind reasoning that is not sent must not name their items, or the provider misses the
 * reasoning; reasoning that nothing follows is refused.
 */
function replyItems(
  turn: AssistantTurn,
  keeps: boolean,
  isNew: (id: string) => boolean,
): Written<ResponsesItem>[] {
  const { message, refs, bound, calls } = turn
  const last = refs.findLastIndex(
    ({ kind, at }) => kind === 'call' || (kind === 'text' && says(message.content[at])),
  )
  const reasoning = reasoningItems(message)
  const items: Written<ResponsesItem>[] = []
  let texts: TextPiece[] = []
  let lost = false
  const speak = (): void => {
    const said = texts
    if (said.length > 0)
      items.push({
        block: { type: 'message', role: 'assistant', content: joinTexts(said) },
        digest: () => digestOfAll(MESSAGE, ...said.map(pieceDigest)),
      })
    texts = []
  }
  for (const [place, { kind, at }] of refs.entries()) {
    if (kind === 'text') {
      const part = message.content[at]
      // No part of a message may be empty; a blank one stays where something signed is bound to it.
      if (part !== undefined) texts.push(...textsOfPart(part, keeps && place < bound && !isEmpty(part)))
      continue
    }
    speak()
    const [item, call] = [reasoning[at], calls[at]]
    if (kind === 'reasoning' && item !== undefined) {
      const sent = keeps && place < last && isSendable(item) && isNew(item.id ?? '')
      lost = !sent
      if (sent) items.push({ block: reasoningItem(item), digest: () => reasoningDigest(item) })
    } else if (kind === 'call' && call !== undefined) {
      items.push(functionCall(call, lost ? never : isNew))
    }
  }
  speak()
  return items
}

const MESSAGE = digestOf('message')

const says = (part: Content | undefined): boolean => part !== undefined && textsOf([part]).length > 0

const isEmpty = (part: Content): boolean => isTextPart(part) && part.text === ''

const reasoningItem = ({ id, summary, encrypted_content }: ReasoningItemModel): ResponsesReasoning => ({
  type: 'reasoning',
  id: id ?? '',
  summary: (summary ?? []).map((text) => ({ type: 'summary_text', text: wellFormed(text) })),
  encrypted_content: encrypted_content ?? '',
})

function functionCall(call: Call, isNew: (id: string) => boolean): Written<ResponsesFunctionCall> {
  const { id: call_id, name, source } = call
  const { responses_item_id: id } = source
  const item = id !== null && CALL_ITEM_ID.test(id) && isNew(id) ? { id } : {}
  return {
    block: { type: 'function_call', ...item, call_id, name, arguments: argumentText(source.arguments) },
    digest: () => callDigest(call, item.id),
  }
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
    ? textPart(piece)
    : { type: 'input_image', image_url: urlOf(piece.image), detail: 'auto' }

const textPart = ({ text }: TextPiece): ResponsesText => ({ type: 'input_text', text })

const never = (): boolean => false

/** Whether an id comes for the first time: no two items of a request may share one. */
function once(): (id: string) => boolean {
  const seen = new Set<string>()
  return (id) => seen.size < seen.add(id).size
}
