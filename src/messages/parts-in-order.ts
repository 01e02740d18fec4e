/** The parts of a reply in the order in which a grammar writes them, and which of them are signed. */

import type { ReasoningItemModel } from '../event/shapes.ts'
import { keptBeside } from './kept-beside.ts'
import { replyPlaceholder } from './kinds-in-words.ts'
import { isReturnable, isSealed } from './kinds.ts'
import type { AssistantMessage } from './message.ts'
import { type OtherRef, type PartCounts, type PartKind, type PartRef, refsOf } from './reply-parts.ts'
import { type TextPiece, textPiece, textsOf } from './pieces.ts'
import type { Limits } from './turns.ts'

/** The parts of a reply, and which of them are signed. */
export interface PartsInOrder {
  /** In the order in which they are written. */
  readonly refs: readonly PartRef[]
  /** How many of them end with the last signed one; 0 when none is signed. */
  readonly bound: number
  /** How many of them are signed. */
  readonly signed: number
}

/**
 * The parts of a reply in their order: that of its record, where the grammar is the one that it was made in, else the
 * grammar's own, with a placeholder for each part that it cannot say behind the words that it came behind. O(parts).
 */
export function partsOf(message: AssistantMessage, limits: Limits): PartsInOrder {
  const { reply } = message
  const isOwn = reply?.grammar === limits.grammar
  const counts = countsOf(message)
  const own = isOwn ? refsOf(reply.parts, only(counts, limits.kinds)) : null
  const refs =
    own === null
      ? withPlaceholders(limits.order(message, counts), othersOf(message, isOwn, counts))
      : own.flatMap((ref): readonly PartRef[] => (ref.kind === 'other' ? ownPart(ref, limits) : [ref]))
  return signedOf(
    message,
    own !== null && limits.callsLast ? callsBehind(message, refs, limits) : refs,
    limits,
  )
}

/** Which of the parts of a reply are signed. O(parts). */
export function signedOf(message: AssistantMessage, refs: readonly PartRef[], limits: Limits): PartsInOrder {
  const isSigned = (ref: PartRef): boolean =>
    ref.kind === 'other'
      ? ref.placeholder === null && isSealed(limits, ref.value)
      : limits.isSigned(message, ref)
  let bound = 0
  let signed = 0
  for (let at = 0; at < refs.length; at += 1) {
    const ref = refs[at]
    if (ref === undefined || !isSigned(ref)) continue
    bound = at + 1
    signed += 1
  }
  return { refs, bound, signed }
}

/**
 * The reasoning items of a reply: its own, then those of its calls. Each of its parts asks for them. O(calls) the first
 * time.
 */
export const reasoningItems = /* @__PURE__ */ keptBeside(
  ({ responses_reasoning_item, tool_calls }: AssistantMessage): readonly ReasoningItemModel[] =>
    [responses_reasoning_item, ...tool_calls.map((call) => call.responses_reasoning_item)].filter(
      (item) => item !== null,
    ),
)

/** Most replies have none, and nothing is kept of them. */
function reasoningCount({ responses_reasoning_item, tool_calls }: AssistantMessage): number {
  let count = responses_reasoning_item === null ? 0 : 1
  for (const call of tool_calls) if (call.responses_reasoning_item !== null) count += 1
  return count
}

const countsOf = (message: AssistantMessage): Readonly<Record<PartKind, number>> => ({
  thinking: message.thinking_blocks.length,
  text: message.content.length,
  call: message.tool_calls.length,
  reasoning: reasoningCount(message),
})

function only(counts: Readonly<Record<PartKind, number>>, kinds: readonly PartKind[]): PartCounts {
  const some: Partial<Record<PartKind, number>> = {}
  for (const kind of kinds) some[kind] = counts[kind]
  return some
}

/** A part in the grammar that made it: itself, or where that cannot be sent its placeholder. */
function ownPart(ref: OtherRef, limits: Limits): OtherRef[] {
  return isReturnable(limits, ref.value) ? [ref] : unsent(ref, limits.grammar)
}

/** The placeholder of a part; none for reasoning. */
export function unsent(ref: OtherRef, grammar: unknown): OtherRef[] {
  const placeholder = replyPlaceholder(grammar, ref.value)
  return placeholder === null ? [] : [{ ...ref, placeholder }]
}

/** The other parts of a reply for a grammar that did not make it, each with how many texts stand before it. */
function othersOf(
  { reply }: AssistantMessage,
  isOwn: boolean,
  counts: Readonly<Record<PartKind, number>>,
): readonly { readonly ref: OtherRef; readonly texts: number }[] {
  if (reply?.parts === undefined) return []
  const named = kindsIn(reply.parts)
  const refs = isOwn ? null : refsOf(reply.parts, only(counts, named))
  let texts = 0
  return (refs ?? []).flatMap((ref) => {
    if (ref.kind === 'text') texts += 1
    return ref.kind === 'other' ? unsent(ref, reply.grammar).map((sent) => ({ ref: sent, texts })) : []
  })
}

/** The kinds of fields that parts refer to: those that the grammar has which made them. */
function kindsIn(parts: unknown): PartKind[] {
  const names = new Set(Array.isArray(parts) ? parts.flatMap((part: unknown) => Object.keys(part ?? {})) : [])
  return (['thinking', 'text', 'call', 'reasoning'] as const).filter((kind) => names.has(kind))
}

/** The parts with the placeholders of others behind the texts that they came behind. */
function withPlaceholders(
  refs: readonly PartRef[],
  others: readonly { readonly ref: OtherRef; readonly texts: number }[],
): readonly PartRef[] {
  if (others.length === 0) return refs
  const out: PartRef[] = []
  let next = 0
  const add = (texts: number): void => {
    for (let other = others[next]; other !== undefined && other.texts <= texts; other = others[next]) {
      out.push(other.ref)
      next += 1
    }
  }
  let texts = 0
  for (const ref of refs) {
    // What came before the next text, or among the last ones, stands before what is called.
    if (ref.kind === 'text') add(texts)
    else if (ref.kind === 'call') add(Infinity)
    if (ref.kind === 'text') texts += 1
    out.push(ref)
  }
  add(Infinity)
  return out
}

/**
 * The parts as they came up to the last thinking that leads to a call, which is bound to all before it, and the calls
 * last behind that. What a server's tool said is refused behind a call; then they are last in all.
 */
function callsBehind(
  message: AssistantMessage,
  refs: readonly PartRef[],
  limits: Limits,
): readonly PartRef[] {
  const last = refs.findLastIndex(({ kind }) => kind === 'call')
  const bound = refs.findLastIndex(
    (ref, at) => at < last && ref.kind === 'thinking' && limits.isSigned(message, ref),
  )
  const head = refs.slice(0, Math.max(0, bound))
  const first = head.findIndex(({ kind }) => kind === 'call')
  if (first >= 0 && head.slice(first).some(({ kind }) => kind === 'other')) return callsLast(refs)
  return [...head, ...callsLast(refs.slice(head.length))]
}

/** The parts with the calls behind all else, as they stand where thinking between them is not sent. O(parts). */
export function callsLast(refs: readonly PartRef[]): readonly PartRef[] {
  const first = refs.findIndex(({ kind }) => kind === 'call')
  if (first < 0 || refs.slice(first).every(({ kind }) => kind === 'call')) return refs
  return [...refs.filter(({ kind }) => kind !== 'call'), ...refs.filter(({ kind }) => kind === 'call')]
}

/** What a reply says in words, placeholders too, in the order in which it is written. */
export const wordsOf = (message: AssistantMessage, refs: readonly PartRef[]): TextPiece[] =>
  refs.flatMap((ref) => {
    if (ref.kind === 'other') return ref.placeholder === null ? [] : [textPiece(ref.placeholder)]
    const part = ref.kind === 'text' ? message.content[ref.at] : undefined
    return part === undefined ? [] : textsOf([part])
  })

/** Whether a reply has a part that no standard field holds, and that is written as it came. */
export const hasOwnParts = ({ refs }: Pick<PartsInOrder, 'refs'>): boolean =>
  refs.some((ref) => ref.kind === 'other' && ref.placeholder === null)
