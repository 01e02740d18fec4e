/** Writes a reply as items of OpenAI Responses: each as it came, or what stands for it. */

import type { Content, JsonObject, ReasoningItemModel } from '../../event/shapes.ts'
import { isTextPart } from '../../event/content.ts'
import { argumentText } from '../arguments.ts'
import { digestOf, digestOfAll, followedBy } from '../digest.ts'
import { isSealed, kindName, kindOf, sentMore } from '../kinds.ts'
import { otherDigest } from '../other-parts.ts'
import { reasoningDigest } from '../own-digest.ts'
import { reasoningItems, unsent } from '../parts-in-order.ts'
import { joinTexts, pieceDigest, type TextPiece, textPiece, textsOf } from '../pieces.ts'
import type { FieldRef, PartRef } from '../reply-parts.ts'
import { wellFormed } from '../text.ts'
import { textsOfPart } from '../thinking-parts.ts'
import type { AssistantTurn, Call } from '../turns.ts'
import { callDigest, type Written } from '../written.ts'
import { isSendable, LIMITS } from './limits.ts'
import { reasoningOf } from './reasoning.ts'
import type {
  ResponsesCustomCall,
  ResponsesFunctionCall,
  ResponsesItem,
  ResponsesOutputPart,
  ResponsesPhase,
  ResponsesReasoning,
} from './types.ts'

const ID_FORM = {
  message: /^msg[a-zA-Z0-9_-]{0,61}$/,
  function: /^fc[a-zA-Z0-9_-]{0,62}$/,
  custom: /^ctc[a-zA-Z0-9_-]{0,61}$/,
}

/** A text, and what it has beside its words. */
interface Said {
  readonly piece: TextPiece
  readonly more: JsonObject | null
}

/**
 * The items of a reply. What stands behind reasoning that is not sent must not name itself, or the provider misses the
 * reasoning; reasoning that nothing follows is refused.
 */
export function replyItems(
  turn: AssistantTurn,
  keeps: boolean,
  isNew: (id: string) => boolean,
): Written<ResponsesItem>[] {
  const { message, refs, bound, calls } = turn
  const last = refs.findLastIndex((ref) => isFollowing(ref, message.content))
  const reasoning = reasoningItems(message)
  const items: Written<ResponsesItem>[] = []
  let said: Said[] = []
  let lost = false
  const mayName = (id: unknown, form: RegExp): id is string =>
    typeof id === 'string' && form.test(id) && !lost && isNew(id)
  const speak = (): void => {
    if (said.length > 0) items.push(messageItem(said, (id) => mayName(id, ID_FORM.message)))
    said = []
  }
  const reason = (item: ReasoningItemModel, place: number): void => {
    const sent = keeps && place < last && isSendable(item) && isNew(item.id ?? '')
    lost = !sent
    if (sent) items.push({ block: reasoningItem(item), digest: () => reasoningDigest(item) })
  }
  for (const [place, ref] of refs.entries()) {
    const { kind, at } = ref
    if (kind === 'text') {
      const part = message.content[at]
      const more = sentMore(ref.more, LIMITS.more.text)
      if (beginsMessage(more)) speak()
      // No part of a message may be empty; a blank one stays where something signed is bound to it.
      const exact = keeps && place < bound
      if (part !== undefined)
        said.push(...textsOfPart(part, exact && !isEmpty(part)).map((piece) => ({ piece, more })))
      continue
    }
    if (kind === 'other') {
      const { placeholder, value } = ref
      if (value['type'] === 'reasoning') {
        speak()
        reason(reasoningOf(value), place)
        continue
      }
      if (placeholder === null && isSealed(LIMITS.grammar, value) && !keeps) continue
      const sent = placeholder === null ? named(value, (id) => mayName(id, ANY)) : null
      if (sent === null) {
        const [other] = placeholder === null ? unsent(ref, LIMITS.grammar) : [ref]
        if (typeof other?.placeholder === 'string')
          said.push({ piece: textPiece(other.placeholder), more: null })
        continue
      }
      speak()
      items.push({ block: sent as unknown as ResponsesItem, digest: () => otherDigest(sent) })
      continue
    }
    speak()
    const [item, call] = [reasoning[at], calls[at]]
    if (kind === 'reasoning' && item !== undefined) reason(item, place)
    else if (kind === 'call' && call !== undefined) items.push(callItem(call, ref, mayName))
  }
  speak()
  return items
}

const ANY = /^[a-zA-Z0-9_-]{1,64}$/

/** Whether a part is what reasoning may stand before. */
function isFollowing(ref: PartRef, content: readonly Content[]): boolean {
  const { kind, at } = ref
  if (kind === 'other')
    return (
      ref.placeholder !== null || (ref.value['type'] !== 'reasoning' && !isSealed(LIMITS.grammar, ref.value))
    )
  const part = content[at]
  return kind === 'call' || (kind === 'text' && part !== undefined && textsOf([part]).length > 0)
}

const isEmpty = (part: Content): boolean => isTextPart(part) && part.text === ''

/** Texts in a row are one message, until one brings fields of a message of its own. */
const beginsMessage = (more: JsonObject | null): boolean =>
  more !== null && (Object.hasOwn(more, 'id') || Object.hasOwn(more, 'phase'))

const MESSAGE = digestOf('message')

/** A message as it came where its id may be named; else its words alone. */
function messageItem(said: readonly Said[], mayName: (id: unknown) => boolean): Written<ResponsesItem> {
  const { id, phase, status } = said[0]?.more ?? {}
  const phased = phase === 'commentary' || phase === 'final_answer' ? { phase: phase as ResponsesPhase } : {}
  const isLong = mayName(id)
  const digests = said.map(({ piece, more }) =>
    more === null ? pieceDigest(piece) : followedBy(pieceDigest(piece), otherDigest(more)),
  )
  const ends = { type: 'message', role: 'assistant' } as const
  const block: ResponsesItem = isLong
    ? {
        ...ends,
        id: String(id),
        status: status === 'incomplete' ? status : 'completed',
        content: said.map(outputPart),
        ...phased,
      }
    : { ...ends, content: joinTexts(said.map(({ piece }) => piece)), ...phased }
  return { block, digest: () => digestOfAll(MESSAGE, digestOf(isLong ? String(id) : ''), ...digests) }
}

function outputPart({ piece: { text }, more }: Said): ResponsesOutputPart {
  const { annotations, type } = more ?? {}
  return type === 'refusal'
    ? { type, refusal: text }
    : { type: 'output_text', text, annotations: (annotations ?? []) as never[] }
}

/**
 * An item that was kept whole, under its id where that may be named. Null where it may not be and the provider takes
 * the kind under an id only.
 */
function named(value: JsonObject, mayName: (id: unknown) => boolean): JsonObject | null {
  const { id, ...rest } = value
  if (id === undefined || id === null || mayName(id)) return value
  const needs = kindOf(LIMITS.grammar, kindName(value))?.needs ?? {}
  return Object.hasOwn(needs, 'id') ? null : rest
}

const reasoningItem = ({ id, summary, encrypted_content }: ReasoningItemModel): ResponsesReasoning => ({
  type: 'reasoning',
  id: id ?? '',
  summary: (summary ?? []).map((text) => ({ type: 'summary_text', text: wellFormed(text) })),
  encrypted_content: encrypted_content ?? '',
})

/** A call in its own form: with arguments, or in free text. */
function callItem(
  call: Call,
  { more }: FieldRef,
  mayName: (id: unknown, form: RegExp) => id is string,
): Written<ResponsesFunctionCall | ResponsesCustomCall> {
  const { id: call_id, name, source } = call
  const { type, id: _, ...fields } = sentMore(more, LIMITS.more.call) ?? {}
  const isCustom = type === 'custom_tool_call'
  const given = isCustom ? more?.['id'] : source.responses_item_id
  const item = mayName(given, isCustom ? ID_FORM.custom : ID_FORM.function) ? { id: given } : {}
  const digest = callDigest.bind(null, call, item.id)
  return {
    block: isCustom
      ? { type, ...item, call_id, name, input: wellFormed(source.arguments), ...fields }
      : {
          type: 'function_call',
          ...item,
          call_id,
          name,
          arguments: argumentText(source.arguments),
          ...fields,
        },
    digest: () =>
      more === null ? digest() : followedBy(digest(), otherDigest({ type: type ?? '', ...fields })),
  }
}
