import {
  actionKind,
  isWhitespace,
  objectOf,
  objectsOf,
  readArguments,
  stringOf,
  textOfArguments,
  textOfInput,
  withoutEmpty,
} from './text.ts'
import type { RawObject } from './text.ts'
import { checkOptionNames } from '../event/check-value.ts'
import { canonicalJson } from '../event/encode.ts'
import { isFrozenJson, MAX_DEPTH } from '../event/freeze.ts'
import { isObject } from '../event/json.ts'
import { hashText, quote } from '../event/text.ts'
import { isEarlyEnd, isOutputPart, type ReplyRecord } from '../event/reply.ts'
import type { Action, JsonObject, ReasoningItemModel, TextContent } from '../event/shapes.ts'
import type {
  ActionEvent,
  AgentErrorEvent,
  MessageEvent,
  ObservationEvent,
  StreamingDeltaEvent,
} from '../event/types.ts'
import type { State } from '../state/state.ts'
import { kindName, sentMore } from './blocks.ts'
import { callIds } from './turns.ts'
import type { Limits, FieldRef, PartRef, PartsInOrder } from './limits.ts'
import type { AssistantMessage, NeutralToolCall, Thinking } from './message.ts'
import { modelName, requestRecord, withoutDate } from './prefix.ts'
import { ownDigest, partsOf, fieldsOf } from './reply-parts.ts'
import { type RecordedUsage, shortUsage } from './reply-usage.ts'

/** An error that a provider or a proxy returns instead of a whole reply or the rest of one. */
export interface Failure {
  readonly type: 'failed'
  readonly explanation: string | null
}

/** Reads a response's error. Without a message, its JSON is the explanation, because it can have a code or a type. */
export function failureOf({ error }: RawObject): Failure | null {
  if (!error) return null
  const message = stringOf(objectOf(error)['message']) || stringOf(error)
  // The fields of an `Error` can contain the whole request.
  return failedWith(message || (error instanceof Error ? error.name : clipped(textOfInput(error))))
}

export const failedWith = (explanation: unknown): Failure => ({
  type: 'failed',
  explanation: stringOf(explanation) || null,
})

const clipped = (text: string): string => text.slice(0, 400)

/** Maps the stop reasons in `names` (separated by spaces) to the ending `type`. */
export const endingsAs = (type: Endings[string], names: string): Endings =>
  Object.fromEntries(names.split(' ').map((name) => [name, type]))

/** Returns the fields that are not in `known`, except nulls and empty lists; null if no field remains. */
export function moreOf(value: RawObject, ...known: readonly string[]): JsonObject | null {
  // Usually no field remains, so nothing is allocated.
  let more: string[] | null = null
  for (const key in value) {
    const field = value[key]
    const isEmpty = field === null || field === undefined || (Array.isArray(field) && field.length === 0)
    if (!isEmpty && !known.includes(key) && Object.hasOwn(value, key)) (more ??= []).push(key)
  }
  return more === null ? null : (Object.fromEntries(more.map((key) => [key, value[key]])) as JsonObject)
}

/** Returns the fields that `moreOf` must leave out: `['caller']` if the caller is `direct`, the default; else `[]`. */
export const defaultCaller = (item: RawObject): string[] =>
  objectOf(item['caller'])['type'] === 'direct' ? ['caller'] : []

/** Returns a call's arguments if they are a deep-frozen object of JSON, so that they need not be parsed; else null. */
export const frozenInput = (value: unknown): JsonObject | null =>
  isObject(value) && Object.isFrozen(value) && isFrozenJson(value, MAX_DEPTH) ? (value as JsonObject) : null

/** Reads a reply while it is streamed. It never throws. */
export interface ReplyCollector {
  /** Reads the next item of the provider's stream, and returns the item's deltas. */
  readonly push: (event: object) => readonly StreamingDeltaEvent[]
  /**
   * Returns the reply so far. It can be called at any time. Calls of a broken-off or failed reply are not
   * executed.
   */
  readonly end: () => Reply
}

export const replyDelta = {
  text: (content: string): StreamingDeltaEvent[] =>
    content === '' ? [] : [{ kind: 'StreamingDeltaEvent', source: 'agent', content }],
  reasoning: (reasoning_content: string): StreamingDeltaEvent[] =>
    reasoning_content === '' ? [] : [{ kind: 'StreamingDeltaEvent', source: 'agent', reasoning_content }],
}

/** Stop reasons of a reply that ended normally, or waits for the results of its calls. */
const ORDINARY_STOPS: ReadonlySet<string> = new Set([
  'end_turn',
  'tool_use',
  'stop',
  'tool_calls',
  'tool-calls',
  'completed',
  'STOP',
  'requires_action',
])

function recordOf(
  raw: RawReply,
  message: AssistantMessage,
  order: readonly OrderedPart[],
  limits: Limits,
  { request, state }: ReadOptions,
): ReplyRecord {
  const { metadata = null, ending } = raw
  const model = stringOf(raw.model)
  const stopReason = stringOf(raw.stopReason)
  const container = stringOf(raw.container)
  const usage: RecordedUsage = isObject(raw.usage) ? shortUsage(raw.usage as JsonObject) : {}
  const { grammar } = limits
  const requestDigests = request === undefined ? null : requestRecord(request)
  const proof = requestDigests?.grammar === grammar ? requestDigests : null
  const plain = partsOf(message, limits)
  const { refs } = plain
  const isPlain =
    order.length === refs.length &&
    order.every((part, index) => isField(part, refs[index]) && part.more === null)
  const parts = isPlain ? null : storeParts(order)
  const waits = waitingAfter(
    order,
    message.tool_calls.length > 0 || (limits.resumes !== undefined && ending?.type === 'paused'),
    limits,
  )
  const inOrder = parts === null ? plain : partsOf({ ...message, reply: { grammar, parts } }, limits)
  const ownDigest = ownOf(message, inOrder, order, limits)
  const isOrdinary = stopReason === '' || ORDINARY_STOPS.has(stopReason)
  // If all grammars write a reply alike, its record does not name the grammar.
  const reasons =
    message.reasoning_content !== null ||
    message.thinking_blocks.length > 0 ||
    fieldsOf(message).reasoning.length > 0
  // Whether only the model that wrote the reply gets all of it back.
  const isSpecific =
    ownDigest !== null ||
    reasons ||
    parts !== null ||
    message.tool_calls.some(({ id }) => id.length > limits.callId.maxLength)
  const isOfGrammar = isSpecific || !isOrdinary
  const record: Made<ReplyRecord> = {}
  if (state !== undefined) record.after = state.log.head?.id ?? null
  if (isOfGrammar) record.grammar = grammar
  if (model !== '') record.model = model
  const requested = isSpecific
    ? modelName((request as { readonly model?: unknown } | undefined)?.model)
    : null
  if (requested !== null && withoutDate(requested) !== withoutDate(model)) record.requested_model = requested
  // Without signed parts, the record needs no digest of the prefix or the tools.
  if (proof !== null && ownDigest !== null) record.prefix = proof.prefix
  if (proof?.tools !== undefined && ownDigest !== null) record.tools = proof.tools
  if (ownDigest !== null) record.digest = ownDigest
  const cuts = ownDigest === null ? null : cutDigests(message, inOrder, order, ownDigest, limits)
  if (cuts !== null) record.cuts = cuts
  if (!isOrdinary) record.stop_reason = stopReason
  if (isEarlyEnd(ending?.type)) record.outcome = ending.type
  const isSilent = message.tool_calls.length === 0 && !message.content.some(isOutputPart)
  // The AI SDK's requests for approval are not parts of the reply.
  const asks = objectsOf(metadata?.['approvals']).some(({ type }) => type === 'tool-approval-request')
  if (isSilent && (asks || order.some(isOutput))) record.output = true
  if (waits !== 0) record.waits = waits
  if (waits > 0 && container !== '') record.container = container
  if (usage.tokens !== undefined) record.tokens = usage.tokens
  if (usage.usage !== undefined) record.usage = usage.usage
  if (parts !== null) record.parts = parts
  if (metadata !== null) record.metadata = metadata
  return record
}

/** Kinds of parts, of all grammars, that are output for the user. */
const OUTPUT =
  /^(?:audio|document|file(?:Data)?|image(?:s|_generation_call)?|inlineData|mcp_approval_request|video)$/

/** Whether a part is output for the user. A draft of the model's thinking, or a failed image, is not. */
function isOutput(part: OrderedPart): boolean {
  if (!('other' in part) || !OUTPUT.test(kindName(part.other))) return false
  const { thought, type, result } = part.other
  return thought !== true && (type !== 'image_generation_call' || stringOf(result) !== '')
}

/**
 * `T` with writable fields. The object is filled field by field, because spreading a dozen mostly empty
 * objects would be slower.
 */
type Made<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Returns by how much a reply changes the number of provider tool calls that wait for results. The reply's
 * own calls wait only if the reply continues.
 */
function waitingAfter(order: readonly OrderedPart[], continues: boolean, { pairOf }: Limits): number {
  if (!order.some((part) => 'other' in part)) return 0
  const open = new Set<string>()
  let received = 0
  for (const part of order) {
    const pair = 'other' in part ? pairOf(part.other) : null
    if (pair === null || !pair.waits) continue
    if (pair.half === 'call') open.add(pair.id)
    else if (!open.delete(pair.id)) received += 1
  }
  return (continues ? open.size : 0) - received
}

/**
 * Returns the digest of the parts up to the last signed one; null if no part is signed. If one of these parts
 * cannot be written back, the digest matches nothing. The signed parts are then omitted, because the provider
 * would refuse them.
 */
function ownOf(
  message: AssistantMessage,
  parts: PartsInOrder,
  order: readonly OrderedPart[],
  limits: Limits,
): string | null {
  if (parts.bound === 0) return null
  const isWhole = order
    .slice(0, parts.bound)
    .every((part, index) => isWritten(part, parts.refs[index], limits))
  const digest = ownDigest(message, parts, limits)
  return isWhole ? digest : `${digest}, not whole`
}

/**
 * Maximum number of calls in a reply whose record has `cuts`, the digests of the reply up to each call. While
 * HEAD is between two calls of a longer reply, the reply's signed parts are not sent, because no digest proves them.
 */
const MAX_CUTS = 100

/**
 * Returns, for each call except the last, the digest of the reply cut off after this call. Returns null if
 * all digests equal the reply's own digest (`ownValue`), or if the reply has more than `MAX_CUTS` calls.
 */
export function cutDigests(
  message: AssistantMessage,
  { refs, bound }: PartsInOrder,
  order: readonly OrderedPart[],
  ownValue: string,
  limits: Limits,
): string[] | null {
  const { tool_calls } = message
  const [first, ...others] = tool_calls
  const isSignedBehind = bound > refs.findIndex(({ kind }) => kind === 'call') + 1
  const isCut = isSignedBehind || others.some((call) => call.responses_reasoning_item !== null)
  if (first === undefined || others.length === 0 || !isCut || others.length >= MAX_CUTS) return null
  const reply = { ...message.reply, parts: storeParts(order) }
  const digests = others.map((_, index) => {
    const cut = { ...message, tool_calls: tool_calls.slice(0, index + 1), reply }
    return ownOf(cut, partsOf(cut, limits), order, limits) ?? ownValue
  })
  return digests.every((digest) => digest === ownValue) ? null : digests
}

function isWritten(part: OrderedPart, ref: PartRef | undefined, { more }: Limits): boolean {
  if ('other' in part) return ref?.kind === 'other' && ref.value === part.other && ref.placeholder === null
  const sent = sentMore(part.more, more[part.kind])
  return isField(part, ref) && Object.keys(part.more ?? {}).every((field) => Object.hasOwn(sent ?? {}, field))
}

const isField = (part: OrderedPart, ref: PartRef | undefined): part is FieldRef =>
  'kind' in part && part.kind === ref?.kind && part.index === ref.index

type OrderedPart = FieldRef | { readonly other: JsonObject }

/**
 * Unites repeated calls. Of two calls with the same id, the call with the more complete arguments is kept. It
 * gets the fields of `more` that only the other call has, such as a signature. In OpenAI Responses, the id
 * alone identifies a call. In other grammars, servers reuse ids. There, a repeated call must also have the
 * same tool and, if both calls have arguments, the same arguments. O(parts).
 */
function uniteCalls(parts: readonly ReplyPart[], { origin }: Limits): readonly ReplyPart[] {
  const calls = parts.filter((part) => part.is === 'call')
  if (calls.length < 2) return parts
  const known = new Map<string, ReplyCall>()
  const united = new Map<ReplyPart, ReplyCall | null>()
  for (const call of calls) {
    const other = call.id === '' ? undefined : known.get(call.id)
    if (other !== undefined && (origin === 'responses' || isSameCall(call, other))) {
      const [kept, repeated] = fullness(call) >= fullness(other) ? [call, other] : [other, call]
      const [more, own] = [repeated, kept].map((each) => withoutEmpty((united.get(each) ?? each).more ?? {}))
      united.set(kept, { ...kept, more: moreOf({ ...more, ...own }) })
      united.set(repeated, null)
      known.set(call.id, kept)
    } else known.set(call.id, call)
  }
  return parts.flatMap((part) => {
    const whole = united.get(part)
    return whole === undefined ? [part] : (whole ?? [])
  })
}

const isSameCall = (call: ReplyCall, other: ReplyCall): boolean =>
  call.name === other.name &&
  (hasSameArguments(call.arguments, other.arguments) || fullness(call) === 0 || fullness(other) === 0)

/** Whether two texts have the same arguments. Proxies that write arguments again can change the field order. */
export function hasSameArguments(text: string, other: string): boolean {
  const [one, two] = [readArguments(text), readArguments(other)]
  return text === other || (one !== null && two !== null && canonicalJson(one) === canonicalJson(two))
}

function fullness({ arguments: text, input }: ReplyCall): number {
  const parsed = readArguments(text, input)
  if (parsed === null) return 1
  return Object.keys(parsed).length === 0 ? 0 : 1 + text.length
}

function orderParts(parts: readonly ReplyPart[], places: ReadonlyMap<ReplyPart, number>): OrderedPart[] {
  const counts = { text: 0, thinking: 0, call: 0 }
  return parts.map((part) => {
    const { is: kind } = part
    if (kind === 'other') return { other: part.value }
    const index = kind === 'reasoning' ? places.get(part) : counts[kind]++
    return index === undefined ? { other: (part as ReplyReasoning).value } : { kind, index, more: part.more }
  })
}

/**
 * Stores a reasoning item with the next call that has none yet, or with the message if the reply has no calls. A call
 * or message has at most one item. Further items are stored in the list of parts, as `other`.
 */
function placeReasoning(parts: readonly ReplyPart[], calls: number) {
  const slots = Math.max(1, calls)
  const room = Array.from({ length: slots }, (): ReplyReasoning | null => null)
  let call = 0
  let free = 0
  for (const part of parts) {
    if (part.is === 'call') call += 1
    if (part.is !== 'reasoning') continue
    free = Math.max(free, call)
    if (free >= slots) continue
    room[free] = part
    free += 1
  }
  const placed = room.filter((part) => part !== null)
  const places = new Map<ReplyPart, number>(placed.map((part, index) => [part, index]))
  return { items: room.map((part) => part?.item ?? null), places }
}

const storeParts = (order: readonly OrderedPart[]): JsonObject[] =>
  order.map((part) => {
    if ('other' in part) return { other: part.other }
    return { [part.kind]: part.index, ...(part.more === null ? {} : { more: part.more }) }
  })

/** Facts about a reply that the reply does not contain: its request, state and tools. */
export interface ReadOptions {
  /**
   * The request that a writer such as `toAnthropic` returned, or an object with that request's array of messages
   * (not a copy). The request's digests become part of the record. Default: the record has no digests of the request.
   */
  readonly request?: object
  /**
   * The state for which the request was written. The id of its HEAD becomes `after` in the record. A step
   * need not pass this option, because the run records `after`. Default: not recorded.
   */
  readonly state?: State
  /**
   * Tools that can be executed. Calls of other tools are not executed. Default: all tools can be executed.
   */
  readonly tools?: readonly ReplyTool[]
}

/** A tool that can be executed. */
export interface ReplyTool {
  readonly name: string
  /**
   * Kind of the tool's actions. Default: derived from the name, such as `FileEditorAction` for `file_editor`.
   */
  readonly action_type?: string
}

/**
 * How a reply ended. `done`: normally. `tool_calls`: with calls that need results. `truncated`: at the token
 * limit. `paused`: the reply continues when it is sent back. `refused`: by the model. `filtered`: by the
 * provider. `broken_off`: the stream ended early. `failed`: with an error of the provider.
 */
export type ReplyOutcome =
  | { readonly type: 'done' | 'tool_calls' | 'paused' }
  /** `reason`: the provider's stop reason. */
  | { readonly type: 'truncated' | 'filtered'; readonly reason: string }
  | { readonly type: 'refused' | 'failed'; readonly explanation: string | null }
  | { readonly type: 'broken_off'; readonly text: string }

/**
 * Early ends of replies, by the provider's stop reason. If several reasons mean the same end, the first is
 * the usual one.
 */
export type Endings = Readonly<Record<string, Exclude<ReplyOutcome['type'], 'done' | 'tool_calls'>>>

/** Returns the outcome for a stop reason. `detail`: an explanation, or the text so far. */
export function endingBy(endings: Endings, reason: string, detail: unknown = null): ReplyOutcome | null {
  const type = Object.hasOwn(endings, reason) ? endings[reason] : undefined
  if (type === undefined) return null
  if (type === 'truncated' || type === 'filtered') return { type, reason }
  if (type === 'paused') return { type }
  const text = stringOf(detail)
  return type === 'broken_off' ? { type, text } : { type, explanation: text || null }
}

/** A reply as events, which a step yields unchanged. */
export interface Reply {
  /** The events to append together, without ids. Empty if a failed reply has neither content nor token counts. */
  readonly events: readonly (ActionEvent | AgentErrorEvent | MessageEvent | ObservationEvent)[]
  readonly outcome: ReplyOutcome
}

export type ReplyPart =
  | { readonly is: 'text'; readonly text: string; readonly more: JsonObject | null }
  | { readonly is: 'thinking'; readonly block: Thinking; readonly more: JsonObject | null }
  | ReplyReasoning
  | ReplyCall
  | { readonly is: 'other'; readonly value: JsonObject }

interface ReplyReasoning {
  readonly is: 'reasoning'
  readonly item: ReasoningItemModel
  readonly value: JsonObject
  readonly more: JsonObject | null
}

export interface ReplyCall {
  readonly is: 'call'
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** The object from which `arguments` was written, if it is frozen. */
  readonly input?: JsonObject | null
  readonly item: string | null
  readonly unfit: string | null
  readonly result?: { readonly text: string; readonly isError: boolean } | null
  readonly more: JsonObject | null
}

/** A reply before its values are checked; a value of a wrong type is read as absent. */
interface RawReply {
  readonly id: unknown
  readonly model: unknown
  readonly stopReason: unknown
  readonly usage: unknown
  /** Plain reasoning, which is not bound to a signature. */
  readonly reasoning?: string
  readonly metadata?: JsonObject | null
  readonly parts: readonly ReplyPart[]
  /** Id of the container that runs the provider's own tools. */
  readonly container?: unknown
  /** How the reply ended; null if it ended normally. */
  readonly ending: ReplyOutcome | null
}

export const CUSTOM = 'calls of custom tools are not supported'

export const CUT_OFF = 'the reply was cut off in the middle of it'

export const readParts = (
  items: readonly RawObject[],
  ending: ReplyOutcome | null,
  partOf: (item: RawObject, isCutOff: boolean, before: RawObject | undefined) => ReplyPart | ReplyPart[],
): ReplyPart[] =>
  items.flatMap((item, index) =>
    partOf(item, ending?.type === 'truncated' && index === items.length - 1, items[index - 1]),
  )

export const replyPart = {
  text: (text: string, more: JsonObject | null = null): ReplyPart => ({ is: 'text', text, more }),
  thinking(thinking: string, signature: unknown, more: JsonObject | null = null): ReplyPart {
    const block = { type: 'thinking' as const, thinking, ...(typeof signature === 'string' && { signature }) }
    return { is: 'thinking', block, more }
  },
  redacted: (data: string, more: JsonObject | null = null): ReplyPart => ({
    is: 'thinking',
    block: { type: 'redacted_thinking', data },
    more,
  }),
  other: (value: RawObject): ReplyPart => ({ is: 'other', value: value as JsonObject }),
  call: (
    id: unknown,
    name: unknown,
    input: unknown,
    isCutOff: boolean,
    rest: Partial<ReplyCall> = {},
  ): ReplyPart => ({
    is: 'call',
    id: stringOf(id),
    name: stringOf(name),
    // The text of a custom call is not JSON.
    arguments: rest.unfit === CUSTOM ? textOfInput(input) : textOfArguments(input),
    input: frozenInput(input),
    item: null,
    more: null,
    ...rest,
    unfit: rest.unfit ?? (isCutOff ? CUT_OFF : null),
  }),
}

/** Property with the outcome of an incomplete stream. It is a symbol, so a provider's JSON cannot contain it. */
export const BROKEN = Symbol('broken')

/** Returns a reader of replies. A response in which all `fields` are missing or empty is read as an error. */
export const replyReader =
  <Raw extends object>(
    limits: Limits,
    fields: readonly string[],
    read: (raw: RawObject, broken: ReplyOutcome | null, options: ReadOptions) => RawReply,
  ) =>
  (reply: Raw, options?: ReadOptions): Reply => {
    if (options !== undefined) checkOptionNames(options, 'request state tools')
    // If a client has a wrong base URL, it returns a web page as text.
    const raw: RawObject & { readonly [BROKEN]?: ReplyOutcome } =
      typeof reply === 'string' ? { error: clipped(reply) } : objectOf(reply)
    const isReply = fields.some((field) => [raw[field] ?? []].flat().length > 0)
    const notReply = (): Failure => failedWith(`The response is not a reply: ${clipped(textOfInput(raw))}`)
    const failure = raw[BROKEN] ?? failureOf(raw) ?? (isReply ? null : notReply())
    return replyEvents(read(raw, failure, options ?? {}), limits, options ?? {})
  }

/**
 * Returns a reply's events and outcome. Only the first event has thinking, text and the whole record. Calls
 * that cannot be executed have `action: null`, and each gets an AgentErrorEvent after all calls. Empty or
 * repeated ids are replaced. O(length).
 */
export function replyEvents(raw: RawReply, limits: Limits, options: ReadOptions): Reply {
  const { reasoning = '', ending } = raw
  const id = stringOf(raw.id)
  const isBroken = ending?.type === 'failed' || ending?.type === 'broken_off'
  const isCounted = isObject(raw.usage) && shortUsage(raw.usage as JsonObject).tokens !== undefined
  const isKept = reasoning !== '' || isCounted || raw.parts.some(isVisible)
  if (isBroken && !isKept) return { events: [], outcome: ending }
  const parts = uniteCalls(raw.parts, limits)
  const calls = parts.filter((part) => part.is === 'call')
  const { items, places } = placeReasoning(parts, calls.length)
  const message = messageOf(parts, calls, items, reasoning, limits)
  const record = recordOf(raw, message, orderParts(parts, places), limits, options)
  const { after } = record
  // Some streams contain no id. The request, or else the content, then distinguishes replies.
  const prefix = options.request === undefined ? null : requestRecord(options.request)?.prefix
  const content = (): string => hashText(JSON.stringify([message.content, message.tool_calls]))
  const response = id || `reply-${after ?? prefix ?? content()}`
  const reasoningFields = {
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(message.thinking_blocks.length > 0 && { thinking_blocks: message.thinking_blocks }),
  }
  if (calls.length === 0) {
    const item = message.responses_reasoning_item
    const llm_message = {
      role: 'assistant' as const,
      content: message.content,
      ...reasoningFields,
      ...(item === null ? {} : { responses_reasoning_item: item }),
      reply: record,
    }
    const event = { kind: 'MessageEvent', source: 'agent', llm_message, llm_response_id: response } as const
    return { events: [event], outcome: ending ?? { type: 'done' } }
  }
  const actions: ActionEvent[] = []
  const results: (AgentErrorEvent | ObservationEvent)[] = []
  for (const [index, call] of message.tool_calls.entries()) {
    const { responses_reasoning_item: item, responses_item_id, ...tool_call } = call
    const input = readArguments(call.arguments, calls[index]?.input)
    const result = calls[index]?.result ?? null
    // A call with a result was executed, however the reply ended.
    const end = isBroken && result !== null ? null : ending
    const reason = reasonAgainst(calls[index]?.unfit ?? null, call.name, input, end, options)
    actions.push({
      kind: 'ActionEvent',
      source: 'agent',
      thought: index === 0 ? (message.content as TextContent[]) : [],
      ...(index === 0 ? reasoningFields : {}),
      ...(item === null ? {} : { responses_reasoning_item: item }),
      action: reason === null ? actionOf(call.name, input, options) : null,
      tool_name: call.name,
      tool_call_id: call.id,
      tool_call: {
        ...tool_call,
        ...(responses_item_id === null ? {} : { responses_item_id }),
        ...(index === 0 ? { reply: record } : after === undefined ? {} : { reply: { after } }),
      },
      llm_response_id: response,
    })
    const ends = { source: 'environment', tool_name: call.name, tool_call_id: call.id } as const
    if (reason !== null)
      results.push({ kind: 'AgentErrorEvent', ...ends, error: `The call was not executed: ${reason}.` })
    else if (result !== null) {
      const { text, isError: is_error } = result
      const content = [{ type: 'text' as const, text }]
      // The action's event has no id yet.
      const action_id = call.id
      const observation = { kind: 'ToolObservation', content, is_error }
      results.push({ kind: 'ObservationEvent', ...ends, action_id, observation })
    }
  }
  return { events: [...actions, ...results], outcome: ending ?? { type: 'tool_calls' } }
}

const isVisible = (part: ReplyPart): boolean => part.is !== 'text' || !isWhitespace(part.text)

function messageOf(
  parts: readonly ReplyPart[],
  calls: readonly ReplyCall[],
  items: readonly (ReasoningItemModel | null)[],
  reasoning: string,
  { grammar, origin = 'completion' }: Limits,
): AssistantMessage {
  const makeId = calls.length > 1 ? callIds(ANY_ID) : (id: string): string => id || 'call'
  const tool_calls = calls.map((call, index): NeutralToolCall => ({
    id: makeId(call.id),
    name: call.name,
    arguments: call.arguments,
    origin,
    responses_item_id: call.item,
    responses_reasoning_item: items[index] ?? null,
  }))
  return {
    role: 'assistant',
    content: parts.flatMap((part) => (part.is === 'text' ? [{ type: 'text', text: part.text }] : [])),
    tool_calls,
    reasoning_content: reasoning === '' ? null : reasoning,
    thinking_blocks: parts.flatMap((part) => (part.is === 'thinking' ? [part.block] : [])),
    responses_reasoning_item: calls.length === 0 ? (items[0] ?? null) : null,
    // Some grammars treat only parts of their own replies as signed.
    reply: { grammar },
  }
}

/** Any id is legal if it is present and unique: request writers replace ids that a provider does not accept. */
const ANY_ID = { illegal: /(?!)/gu, maxLength: Infinity }

function reasonAgainst(
  unfit: string | null,
  toolName: string,
  input: JsonObject | null,
  ending: ReplyOutcome | null,
  { tools }: ReadOptions,
): string | null {
  if (ending?.type === 'refused') return 'the reply was ended by a refusal'
  if (ending?.type === 'filtered') return 'the reply was held back by a content filter'
  if (ending?.type === 'failed') return 'the provider failed before the end of the reply'
  if (ending?.type === 'broken_off') return 'the reply broke off before its end'
  if (unfit !== null) return unfit
  if (tools !== undefined && !tools.some(({ name }) => name === toolName))
    return `there is no tool ${quote(toolName)}`
  return input === null ? 'its arguments are not a readable JSON object' : null
}

/** Makes an action from the arguments and a `kind`. An argument named `kind` remains only in the call's text. */
function actionOf(name: string, input: JsonObject | null, { tools }: ReadOptions): Action {
  return { ...input, kind: tools?.find((tool) => tool.name === name)?.action_type ?? actionKind(name) }
}
