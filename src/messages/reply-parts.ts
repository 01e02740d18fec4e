/**
 * The order of a reply's parts, where its record says it: references to the standard fields, so that thinking, words
 * and calls go back in the order in which they came and nothing is stored twice, and whole what no field holds.
 */

import { isObject } from '../event/json.ts'
import {
  type Content,
  isTextPart,
  type JsonObject,
  type JsonValue,
  type ReasoningItemModel,
  type RedactedThinkingBlock,
  type ThinkingBlock,
} from '../event/shapes.ts'
import { isReturnable, isSealed, isTyped, kindName } from './blocks.ts'
import { jsonOf, keptBeside } from './digest.ts'
import { isBase64 } from './files.ts'
import type {
  FieldRef,
  Limits,
  OtherRef,
  PartCounts,
  PartKind,
  PartRef,
  PartsInOrder,
  TextPiece,
} from './limits.ts'
import type { AssistantMessage } from './message.ts'
import { textPiece, textsOf } from './pieces.ts'
import { isWellFormed } from './text.ts'

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

/**
 * The parts of a reply in their order: that of its record, where the grammar is the one that it was made in, else the
 * grammar's own, with a placeholder for each part that it cannot say behind the words that it came behind. O(parts).
 */
export function partsOf(message: AssistantMessage, limits: Limits): PartsInOrder {
  const { reply } = message
  const isOwn = reply?.grammar === limits.grammar
  const counts = countsOf(message, limits.kinds)
  const own = isOwn ? refsOf(reply.parts, counts, signedIn(message, limits)) : null
  const refs =
    own === null
      ? withPlaceholders(limits.order(message, counts), isOwn ? [] : othersOf(message))
      : own.flatMap((ref): readonly PartRef[] => (ref.kind === 'other' ? ownPart(ref, limits) : [ref]))
  return signedOf(
    message,
    own !== null && limits.callsLast ? callsBehind(message, refs, limits) : refs,
    limits,
  )
}

/** Whether a part of a reply is signed. */
const signedIn =
  (message: AssistantMessage, limits: Limits) =>
  (ref: PartRef): boolean =>
    ref.kind === 'other'
      ? ref.placeholder === null && isSealed(limits, ref.value)
      : limits.isSigned(message, ref)

/** Which of the parts of a reply are signed. O(parts). */
export function signedOf(message: AssistantMessage, refs: readonly PartRef[], limits: Limits): PartsInOrder {
  const signed = refs.map(signedIn(message, limits))
  return { refs, bound: signed.lastIndexOf(true) + 1, signed: signed.filter(Boolean).length }
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

/** How many parts of the kinds given a reply has. */
function countsOf(message: AssistantMessage, kinds: readonly PartKind[]): PartCounts {
  const { thinking_blocks, content, tool_calls } = message
  const lengths = { thinking: thinking_blocks.length, text: content.length, call: tool_calls.length }
  const counts: Partial<Record<PartKind, number>> = {}
  for (const kind of kinds)
    counts[kind] = kind === 'reasoning' ? reasoningItems(message).length : lengths[kind]
  return counts
}

/** A part in the grammar that made it: itself, or where that cannot be sent its placeholder. */
function ownPart(ref: OtherRef, limits: Limits): OtherRef[] {
  return isReturnable(limits, ref.value) ? [ref] : unsent(ref)
}

/** The placeholder of a part; none for reasoning. */
export function unsent(ref: OtherRef): OtherRef[] {
  const placeholder = replyPlaceholder(ref.value)
  return placeholder === null ? [] : [{ ...ref, placeholder }]
}

/** The other parts of a reply for a grammar that did not make it, each with how many texts stand before it. */
function othersOf(message: AssistantMessage): readonly { readonly ref: OtherRef; readonly texts: number }[] {
  const { parts } = message.reply ?? {}
  let texts = 0
  return (refsOf(parts, countsOf(message, kindsIn(parts))) ?? []).flatMap((ref) => {
    if (ref.kind === 'text') texts += 1
    return ref.kind === 'other' ? unsent(ref).map((sent) => ({ ref: sent, texts })) : []
  })
}

/** The kinds of fields that parts refer to: those that the grammar has which made them. */
function kindsIn(parts: unknown): PartKind[] {
  const names = new Set(Array.isArray(parts) ? parts.flatMap((part: unknown) => Object.keys(part ?? {})) : [])
  return KINDS.filter((kind) => names.has(kind))
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

const KINDS: readonly PartKind[] = ['thinking', 'text', 'call', 'reasoning']

/**
 * The references of a record's `parts`; null when there are none or they do not name each part of the standard fields
 * exactly once: parts that are garbled are ignored whole. Where HEAD is between the calls of a reply, the later calls
 * are not on its branch: they are left out, and the thinking that led to them. O(parts).
 */
export function refsOf(
  parts: unknown,
  counts: PartCounts,
  isSigned: (ref: PartRef) => boolean = () => false,
): readonly (FieldRef | OtherRef)[] | null {
  if (!Array.isArray(parts)) return null
  const refs = parts.map(refOf)
  const { call = 0, reasoning } = counts
  const named = (kind: PartKind, count: number): number =>
    call === 0 ? count : Math.max(count, refs.filter((ref) => ref?.kind === kind).length)
  const whole = {
    ...counts,
    call: named('call', call),
    ...(reasoning !== undefined && { reasoning: named('reasoning', reasoning) }),
  }
  const left = new Set(allOf(whole, ...KINDS).map(nameOfRef))
  const isWhole = refs.every((ref) => ref !== null && (ref.kind === 'other' || left.delete(nameOfRef(ref))))
  if (!isWhole || left.size > 0) return null
  const found = refs as (FieldRef | OtherRef)[]
  if (whole.call === call) return found
  const last = found.findLastIndex(({ kind, at }) => kind === 'call' && at < call)
  // What is signed behind it is bound to the calls that are gone.
  return found.flatMap((ref, place) => {
    if (place <= last) return [ref]
    if (ref.kind === 'text') return [isSigned(ref) ? { ...ref, more: null } : ref]
    return ref.kind === 'other' && !isSigned(ref) ? [ref] : []
  })
}

const nameOfRef = ({ kind, at }: FieldRef): string => `${kind} ${at}`

/** References to all parts of the kinds given, in their order. */
export const allOf = (counts: PartCounts, ...kinds: readonly PartKind[]): FieldRef[] =>
  kinds.flatMap((kind) =>
    Array.from({ length: counts[kind] ?? 0 }, (_, at): FieldRef => ({ kind, at, more: null })),
  )

/** Whether a record holds a part that no standard field holds. O(parts). */
export const hasOthers = (parts: unknown): boolean =>
  Array.isArray(parts) &&
  parts.some((part: unknown) => isObject(part as JsonValue) && Object.hasOwn(part as object, 'other'))

/** Whether a value is a part as records hold it: a reference to a standard field, or a part of another kind. O(1). */
export const isPart = (part: JsonValue): boolean => refOf(part, 0) !== null

function refOf(part: JsonValue, index: number): FieldRef | OtherRef | null {
  if (!isObject(part)) return null
  const { other, more } = part
  if (other !== undefined)
    return isObject(other) ? { kind: 'other', at: index, value: other, placeholder: null } : null
  const named = KINDS.filter((kind) => Object.hasOwn(part, kind))
  const [kind] = named
  if (kind === undefined || named.length > 1) return null
  const at = part[kind]
  if (typeof at !== 'number' || !Number.isInteger(at) || at < 0) return null
  return { kind, at, more: isObject(more) ? more : null }
}

/** Thinking under its signature. */
interface SignedThinking {
  readonly thinking: string
  readonly signature: string
}

/** Thinking that only its provider can read. */
interface RedactedThinking {
  readonly data: string
}

/**
 * What a provider takes back of a block: null when it is unsigned or empty, or holds a lone surrogate, since a text
 * without bytes cannot go back byte for byte. O(length).
 */
export function returnable(
  block: ThinkingBlock | RedactedThinkingBlock,
): SignedThinking | RedactedThinking | null {
  if (!('thinking' in block))
    return block.data !== '' && isWellFormed(block.data) ? { data: block.data } : null
  const { thinking, signature } = block
  return signature && isWellFormed(signature) && isWellFormed(thinking) ? { thinking, signature } : null
}

/** The fields that help a model, in the order in which they are written. */
export const WORD_FIELDS: readonly string[] =
  /* @__PURE__ */ 'mcp_server_name server_label kind name toolName mediaType mimeType filename file_id queries action operation input args arguments code revised_prompt content text transcript result output outputs response error'.split(
    ' ',
  )

/** Kinds of which other providers are not told: reasoning, and what only adds to words that are written anyway. */
const PRIVATE = /^(?:redacted_)?thinking|^reasoning|^(?:annotations|extra_content)$/

/** Whether other providers are told of parts of a kind. O(1). */
export const isTold = (kind: string): boolean => !PRIVATE.test(kind)

/** How long the words of a placeholder may be, in UTF-16 units. */
const WORDS = 400

/**
 * The words that replace a part which a request cannot contain: its kind, and the fields that help a model. Null for
 * reasoning, and for a part without a type whose fields have no words: it may be no content. Depends on the part alone.
 * O(size).
 * @example
 * replyPlaceholder({ type: 'file_search_call', queries: ['oak'] }) // '[file_search_call: ["oak"]]'
 */
export function replyPlaceholder(value: JsonObject): string | null {
  const kind = kindName(value)
  if (!isTold(kind)) return null
  const { [kind]: inner } = value
  const holder = isTyped(value) ? value : isObject(inner) ? inner : {}
  const words = WORD_FIELDS.flatMap((field) => fieldWords(holder[field])).join(' ')
  const label = /^[\w.-]{1,64}$/.test(kind) ? kind : 'content'
  if (words === '') return isTyped(value) ? `[${label}]` : null
  return `[${label}: ${clipped(words)}]`
}

/** An id, a name or a text as it is, all else as JSON; long bytes are no words. */
function fieldWords(value: JsonValue | undefined): string[] {
  if (value === null || value === undefined || value === '') return []
  if (typeof value === 'string') return value.length > WORDS && isBase64(value) ? [] : [value]
  if (typeof value !== 'object') return [String(value)]
  const json = jsonOf(value) === null ? '{}' : JSON.stringify(value, withoutSeals)
  return json === '{}' || json === '[]' ? [] : [json]
}

/** What only its provider can read helps no other. */
const withoutSeals = (key: string, value: unknown): unknown =>
  key.startsWith('encrypted_') || key === 'signature' ? undefined : value

const clipped = (words: string): string => (words.length <= WORDS ? words : `${words.slice(0, WORDS)}…`)
