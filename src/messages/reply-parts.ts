/**
 * The parts of a reply. Its record lists them in order: references to standard fields, and whole values that
 * no standard field can store. Nothing is stored twice, and the parts can be sent back in order.
 */

import { isObject } from '../event/json.ts'
import type { GrammarName } from '../event/reply.ts'
import type { Content, JsonObject, JsonValue, ReasoningItemModel, ThinkingBlock } from '../event/shapes.ts'
import { isImagePart, isTextPart } from '../event/shapes.ts'
import { digitsOf } from '../event/text.ts'
import { isReturnable, isSealed, isTyped, kindName } from './blocks.ts'
import type { Digest } from './digest.ts'
import { cachedDigest, digestOf, digestOfAll, digestWith, jsonOf, memoize, otherDigest } from './digest.ts'
import { isBase64 } from './files.ts'
import type {
  AssistantTurn,
  Call,
  FieldRef,
  Limits,
  OtherRef,
  PartKind,
  PartRef,
  PartsInOrder,
  TextPiece,
} from './limits.ts'
import type { AssistantMessage, NeutralToolCall, Thinking } from './message.ts'
import { textPiece, textPieces } from './pieces.ts'

export const callDigest = ({ id, name, source }: Call, item = ''): Digest =>
  digestOfAll('call', digestOf(id), digestOf(name), cachedDigest(source, 0, source.arguments), digestOf(item))

export function thinkingDigest(block: Thinking): Digest {
  const key = cacheKey(block)
  if (!('thinking' in block)) return digestOfAll('redacted', cachedDigest(key, 0, block.data))
  const { thinking, signature } = block
  return digestOfAll('thinking', cachedDigest(key, 0, thinking), cachedDigest(key, 1, signature ?? ''))
}

export function reasoningDigest(item: ReasoningItemModel): Digest {
  const { id, encrypted_content, summary } = item
  const key = cacheKey(item)
  return digestOfAll(
    'reasoning',
    digestOf(id ?? ''),
    cachedDigest(key, 0, encrypted_content ?? ''),
    ...(summary ?? []).map((text, slot) => cachedDigest(key, slot + 1, text)),
  )
}

/** Returns a frozen part, such as a part in a log, as a cache key; null for other parts, because they could change. */
const cacheKey = <T extends object>(part: T): T | null => (Object.isFrozen(part) ? part : null)

function contentDigest(part: Content): Digest {
  if (isTextPart(part)) return digestOfAll('text', cachedDigest(cacheKey(part), 0, part.text))
  if (isImagePart(part)) return digestOfAll('image', ...part.image_urls.map(digestOf))
  return digestOfAll('part', digestOf(JSON.stringify(part)))
}

export const COMMON_KINDS: Limits['kinds'] = {
  text: contentDigest,
  call: (source: NeutralToolCall) => callDigest({ ...source, source }, source.responses_item_id ?? ''),
}

export const THINKING_LIMITS = {
  kinds: { ...COMMON_KINDS, thinking: thinkingDigest },
  order: (message: AssistantMessage) => allOf(message, 'thinking', 'text', 'call'),
  hasOutput: (turn: AssistantTurn) => turn.bound > 0 || turn.texts.length > 0 || hasOwnParts(turn),
} as const

/**
 * Returns the digest of a reply's parts in their logged form, up to the last signed part. O(length), or
 * O(parts) if the digests of the parts are cached.
 */
export const ownDigest = (
  message: AssistantMessage,
  { refs, bound }: Pick<PartsInOrder, 'refs' | 'bound'>,
  limits: Limits,
): string =>
  digitsOf(digestOfAll('own', ...refs.slice(0, bound).map((ref) => partDigest(message, ref, limits))))

function partDigest(message: AssistantMessage, ref: PartRef, { kinds }: Limits): Digest {
  if (ref.kind === 'other')
    return ref.placeholder === null ? otherDigest(ref.value) : digestOf(ref.placeholder)
  const part = fieldsOf(message)[ref.kind][ref.index]
  const digest = (part !== undefined && kinds[ref.kind]?.(part as never)) || digestOf('absent')
  return digestWith(digest, ref.more)
}

export function isSignedThinking({ thinking_blocks }: AssistantMessage, { kind, index }: FieldRef): boolean {
  const block = kind === 'thinking' ? thinking_blocks[index] : undefined
  return block !== undefined && returnable(block) !== null
}

/** Returns a readable thinking block; null for a reply of another grammar: some providers refuse its signatures. */
export function thoughtAt(
  { reply, thinking_blocks }: AssistantMessage,
  grammar: GrammarName,
  index: number,
): ThinkingBlock | null {
  const block = reply?.grammar === grammar ? thinking_blocks[index] : undefined
  return block !== undefined && 'thinking' in block ? block : null
}

/**
 * Google accepts this text instead of a signature if another model made the call or the signature was lost.
 */
export const NO_SIGNATURE = 'skip_thought_signature_validator'

export function signatureOf(
  message: AssistantMessage,
  { kind, index, more }: FieldRef,
  { grammar, more: accepted }: Pick<Limits, 'grammar' | 'more'>,
  field: string,
): string | null {
  const block = kind === 'thinking' ? thoughtAt(message, grammar, index) : null
  const stored = Object.hasOwn(accepted[kind] ?? {}, field) ? more?.[field] : null
  const signature = kind === 'thinking' ? block?.signature : stored
  const isSound = typeof signature === 'string' && signature !== '' && signature.isWellFormed()
  return isSound && (block?.thinking ?? '').isWellFormed() ? signature : null
}

export const textsOfPart = (part: Content, exact: boolean): TextPiece[] =>
  exact && isTextPart(part) ? [textPiece(part.text, part.cache_prompt === true, part)] : textPieces([part])

export function endsInThinking(message: AssistantMessage, refs: readonly PartRef[]): boolean {
  const last = refs.findLast((ref) => {
    if (ref.kind === 'other') return true
    const part = ref.kind === 'text' ? message.content[ref.index] : undefined
    if (part !== undefined) return textPieces([part]).length > 0
    return ref.kind === 'call' || isSignedThinking(message, ref)
  })
  return last?.kind === 'thinking'
}

/**
 * Returns a reply's parts: in the order of the record if the reply has this grammar, otherwise in the
 * grammar's usual order. A placeholder replaces a part that the grammar cannot write, and follows the text
 * that preceded the part. O(parts).
 */
export function partsOf(message: AssistantMessage, limits: Limits): PartsInOrder {
  const { reply } = message
  const isOwn = reply?.grammar === limits.grammar
  const kinds = Object.keys(limits.kinds) as PartKind[]
  const ownRefs = isOwn ? refsOf(reply.parts, message, kinds, signedIn(message, limits)) : null
  const refs =
    ownRefs === null
      ? withPlaceholders(limits.order(message), isOwn ? [] : othersOf(message))
      : ownRefs.flatMap((ref): readonly PartRef[] =>
          ref.kind === 'other' && !isReturnable(limits, ref.value) ? unsent(ref) : [ref],
        )
  const arranged = ownRefs === null ? null : limits.arrange?.(message, refs, limits)
  return signedOf(message, arranged ?? refs, limits)
}

const signedIn =
  (message: AssistantMessage, limits: Limits) =>
  (ref: PartRef): boolean =>
    ref.kind === 'other'
      ? ref.placeholder === null && isSealed(limits, ref.value)
      : limits.isSigned(message, ref)

export function signedOf(message: AssistantMessage, refs: readonly PartRef[], limits: Limits): PartsInOrder {
  const signed = refs.map(signedIn(message, limits))
  return { refs, bound: signed.lastIndexOf(true) + 1, signed: signed.filter(Boolean).length }
}

/** Returns the standard fields of a reply, by the kind of their parts. O(calls) the first time. */
export const fieldsOf = /* @__PURE__ */ memoize((message: AssistantMessage) => ({
  thinking: message.thinking_blocks,
  text: message.content,
  call: message.tool_calls,
  /** The message's reasoning item, then the items of its calls. */
  reasoning: [message, ...message.tool_calls].flatMap((part) => part.responses_reasoning_item ?? []),
}))

export function unsent(ref: OtherRef): OtherRef[] {
  const placeholder = replyPlaceholder(ref.value)
  return placeholder === null ? [] : [{ ...ref, placeholder }]
}

function othersOf(message: AssistantMessage): readonly { readonly ref: OtherRef; readonly texts: number }[] {
  const parts: unknown = message.reply?.parts
  if (!Array.isArray(parts)) return []
  const names = new Set(parts.flatMap((part: unknown) => Object.keys(part ?? {})))
  const kinds = PART_KINDS.filter((kind) => names.has(kind))
  let texts = 0
  return (refsOf(parts, message, kinds) ?? []).flatMap((ref) => {
    if (ref.kind === 'text') texts += 1
    return ref.kind === 'other' ? unsent(ref).map((sent) => ({ ref: sent, texts })) : []
  })
}

/** Inserts each placeholder before the text that followed the replaced part, and always before the first call. */
function withPlaceholders(
  refs: readonly PartRef[],
  others: readonly { readonly ref: OtherRef; readonly texts: number }[],
): readonly PartRef[] {
  if (others.length === 0) return refs
  const texts = refs.flatMap(({ kind }, index) => (kind === 'text' ? [index] : []))
  const firstCall = refs.findIndex(({ kind }) => kind === 'call')
  const end = firstCall < 0 ? refs.length : firstCall
  let next = 0
  const placed = others.flatMap(({ ref, texts: count }) => {
    const start = next
    next = Math.min(texts[count] ?? end, end)
    return [...refs.slice(start, next), ref]
  })
  return [...placed, ...refs.slice(next)]
}

/**
 * Moves calls to the end. If a call follows signed thinking, the parts before that thinking keep their order,
 * because its signature covers them. However, the provider refuses server tool content after a call. If these
 * parts have this order, all calls move.
 */
export function callsBehind(
  message: AssistantMessage,
  refs: readonly PartRef[],
  limits: Limits,
): readonly PartRef[] {
  const last = refs.findLastIndex(({ kind }) => kind === 'call')
  const bound = refs.findLastIndex(
    (ref, index) => index < last && ref.kind === 'thinking' && limits.isSigned(message, ref),
  )
  const head = refs.slice(0, Math.max(0, bound))
  const first = head.findIndex(({ kind }) => kind === 'call')
  if (first >= 0 && head.slice(first).some(({ kind }) => kind === 'other')) return callsLast(refs)
  return [...head, ...callsLast(refs.slice(head.length))]
}

export const callsLast = (refs: readonly PartRef[]): readonly PartRef[] => [
  ...refs.filter(({ kind }) => kind !== 'call'),
  ...refs.filter(({ kind }) => kind === 'call'),
]

export const textPiecesOf = (message: AssistantMessage, refs: readonly PartRef[]): TextPiece[] =>
  refs.flatMap((ref) => {
    if (ref.kind === 'other') return ref.placeholder === null ? [] : [textPiece(ref.placeholder)]
    const part = ref.kind === 'text' ? message.content[ref.index] : undefined
    return part === undefined ? [] : textPieces([part])
  })

export const hasOwnParts = ({ refs }: Pick<PartsInOrder, 'refs'>): boolean =>
  refs.some((ref) => ref.kind === 'other' && ref.placeholder === null)

const PART_KINDS: readonly PartKind[] = ['thinking', 'text', 'call', 'reasoning']

/**
 * Returns the references in a record's `parts`; null if they do not name each part of the standard fields
 * exactly once. If HEAD is between a reply's calls, the branch lacks the later calls. The returned list
 * then has, after the branch's last call, only texts and unsigned `other` parts. O(parts).
 */
function refsOf(
  parts: unknown,
  message: AssistantMessage,
  kinds: readonly PartKind[],
  isSigned: (ref: PartRef) => boolean = () => false,
): readonly (FieldRef | OtherRef)[] | null {
  if (!Array.isArray(parts)) return null
  const refs = parts.map(refOf)
  const fields = fieldsOf(message)
  const call = kinds.includes('call') ? fields.call.length : 0
  const namesOf = (kind: PartKind): string[] => {
    const mayLack = call > 0 && (kind === 'call' || kind === 'reasoning')
    const named = mayLack ? refs.filter((ref) => ref?.kind === kind).length : 0
    return Array.from({ length: Math.max(fields[kind].length, named) }, (_, index) => `${kind} ${index}`)
  }
  const remaining = new Set(kinds.flatMap(namesOf))
  const isWhole = refs.every(
    (ref) => ref !== null && (ref.kind === 'other' || remaining.delete(`${ref.kind} ${ref.index}`)),
  )
  if (!isWhole || remaining.size > 0) return null
  const known = refs as (FieldRef | OtherRef)[]
  if (known.every(({ kind, index }) => kind !== 'call' || index < call)) return known
  const last = known.findLastIndex(({ kind, index }) => kind === 'call' && index < call)
  // A signed part after this call is bound to the missing calls.
  return known.flatMap((ref, position) => {
    if (position <= last) return [ref]
    if (ref.kind === 'text') return [isSigned(ref) ? { ...ref, more: null } : ref]
    return ref.kind === 'other' && !isSigned(ref) ? [ref] : []
  })
}

export const allOf = (message: AssistantMessage, ...kinds: readonly PartKind[]): FieldRef[] =>
  kinds.flatMap((kind) => {
    const { length } = fieldsOf(message)[kind]
    return Array.from({ length }, (_, index): FieldRef => ({ kind, index, more: null }))
  })

export const hasOthers = (parts: unknown): boolean =>
  Array.isArray(parts) &&
  parts.some((part: unknown) => isObject(part as JsonValue) && Object.hasOwn(part as object, 'other'))

export const isPart = (part: JsonValue): boolean => refOf(part, 0) !== null

function refOf(part: JsonValue, position: number): FieldRef | OtherRef | null {
  if (!isObject(part)) return null
  const { other, more } = part
  if (other !== undefined)
    return isObject(other) ? { kind: 'other', index: position, value: other, placeholder: null } : null
  const named = PART_KINDS.filter((kind) => Object.hasOwn(part, kind))
  const [kind] = named
  if (kind === undefined || named.length > 1) return null
  const index = part[kind]
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0) return null
  return { kind, index, more: isObject(more) ? more : null }
}

/**
 * Returns a block as its provider accepts it. Returns null if the block has neither signature nor data, or
 * has a lone surrogate, which cannot be sent byte for byte. O(length).
 */
export function returnable(
  block: Thinking,
): { readonly thinking: string; readonly signature: string } | { readonly data: string } | null {
  if (!('thinking' in block))
    return block.data !== '' && block.data.isWellFormed() ? { data: block.data } : null
  const { thinking, signature } = block
  return signature && signature.isWellFormed() && thinking.isWellFormed() ? { thinking, signature } : null
}

const TEXT_FIELDS: readonly string[] =
  /* @__PURE__ */ 'mcp_server_name server_label kind name toolName mediaType mimeType filename file_id queries action operation input args arguments code revised_prompt content text transcript result output outputs response error'.split(
    ' ',
  )

/**
 * Kinds of parts that requests to other providers omit: reasoning, and additions to a text. The requests
 * contain the text itself.
 */
const PRIVATE = /^(?:redacted_)?thinking|^reasoning|^(?:annotations|extra_content)$/

export const isShared = (kind: string): boolean => !PRIVATE.test(kind)

const MAX_TEXT_LENGTH = 400

/**
 * Returns the placeholder of a part that a request cannot contain. It has the part's kind, and fields that
 * help a model. Returns null for reasoning, for annotations, and for a part with neither type nor text, which
 * is perhaps not content. Depends only on the part. O(size).
 * @example
 * replyPlaceholder({ type: 'file_search_call', queries: ['oak'] }) // '[file_search_call: ["oak"]]'
 */
export function replyPlaceholder(value: JsonObject): string | null {
  const kind = kindName(value)
  if (!isShared(kind)) return null
  const { [kind]: inner } = value
  const holder = isTyped(value) ? value : isObject(inner) ? inner : {}
  const text = TEXT_FIELDS.flatMap((field) => fieldTexts(holder[field])).join(' ')
  const label = /^[\w.-]{1,64}$/.test(kind) ? kind : 'content'
  if (text === '') return isTyped(value) ? `[${label}]` : null
  return `[${label}: ${clipped(text)}]`
}

function fieldTexts(value: JsonValue | undefined): string[] {
  if (value === null || value === undefined || value === '') return []
  if (typeof value === 'string') return value.length > MAX_TEXT_LENGTH && isBase64(value) ? [] : [value]
  if (typeof value !== 'object') return [String(value)]
  const json = jsonOf(value) === null ? '{}' : JSON.stringify(value, withoutSeals)
  return json === '{}' || json === '[]' ? [] : [json]
}

const withoutSeals = (key: string, value: unknown): unknown =>
  key.startsWith('encrypted_') || key === 'signature' ? undefined : value

const clipped = (text: string): string =>
  text.length <= MAX_TEXT_LENGTH ? text : `${text.slice(0, MAX_TEXT_LENGTH)}…`
