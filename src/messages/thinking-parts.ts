/**
 * What the grammars share whose replies hold thinking in blocks between words and calls: order, what is signed, what
 * stays as it came.
 */

import { isTextPart, type Content } from '../event/shapes.ts'
import type { AssistantMessage } from './message.ts'
import { type TextPiece, textPiece, textsOf } from './pieces.ts'
import { allOf, type FieldRef, type PartCounts, type PartKind, type PartRef } from './reply-parts.ts'
import { returnable } from './thinking.ts'

export const THINKING_KINDS: readonly PartKind[] = ['thinking', 'text', 'call']

/** First the thinking, then the words, then the calls: how a reply is written of which nothing more is known. */
export const thinkingFirst = (_: AssistantMessage, counts: PartCounts): FieldRef[] =>
  allOf(counts, ...THINKING_KINDS)

/** Whether a part is thinking that its provider takes back. */
export function isSignedThinking({ thinking_blocks }: AssistantMessage, { kind, at }: FieldRef): boolean {
  const block = kind === 'thinking' ? thinking_blocks[at] : undefined
  return block !== undefined && returnable(block) !== null
}

/** The texts of one part of a reply's content; `exact` keeps a blank one too, as it came. */
export const textsOfPart = (part: Content, exact: boolean): TextPiece[] =>
  exact && isTextPart(part) ? [textPiece(part.text, part.cache_prompt === true, part)] : textsOf([part])

/** Whether the last part of a reply that says something is signed thinking. */
export function endsInThinking(message: AssistantMessage, refs: readonly PartRef[]): boolean {
  const last = refs.findLast((ref) => {
    if (ref.kind === 'other') return true
    const part = ref.kind === 'text' ? message.content[ref.at] : undefined
    if (part !== undefined) return textsOf([part]).length > 0
    return ref.kind === 'call' || isSignedThinking(message, ref)
  })
  return last?.kind === 'thinking'
}
