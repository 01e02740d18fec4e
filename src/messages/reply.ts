/**
 * Makes the events of a reply from its parts, the same way for all readers: one batch, in which each thing is said
 * once.
 */

import { actionKind, type Found, isWhitespace, objectOf, readArguments, stringOf } from './text.ts'
import { isObject } from '../event/json.ts'
import { quote } from '../event/text.ts'
import { isEarlyEnd, type ReplyRecord } from '../event/reply.ts'
import type {
  Action,
  JsonObject,
  ReasoningItemModel,
  RedactedThinkingBlock,
  TextContent,
  ThinkingBlock,
} from '../event/shapes.ts'
import type {
  ActionEvent,
  AgentErrorEvent,
  MessageEvent,
  ObservationEvent,
  StreamingDeltaEvent,
} from '../event/types.ts'
import type { State } from '../state/state.ts'
import { sentMore } from './blocks.ts'
import { callIds } from './turns.ts'
import type { Limits, FieldRef, PartRef, PartsInOrder } from './limits.ts'
import type { AssistantMessage, NeutralToolCall } from './message.ts'
import { modelName, ownDigest, requestRecord, undated } from './prefix.ts'
import { partsOf, reasoningItems } from './reply-parts.ts'
import { type RecordedUsage, shortUsage } from './reply-usage.ts'

/** What a provider or a proxy says in the place of a reply: that there is none, or not all of it. */
export interface Failure {
  readonly type: 'failed'
  readonly explanation: string | null
}

/** What an `error` beside or in the place of a reply says; null where there is none. O(1). */
export function failureOf({ error }: Found): Failure | null {
  return error === null || error === undefined
    ? null
    : failedWith(stringOf(objectOf(error)['message']) || stringOf(error))
}

/** A failure in the words of the provider, where there are any. */
export const failedWith = (words: unknown): Failure => ({
  type: 'failed',
  explanation: stringOf(words) || null,
})

/**
 * What an object says beside the fields that are named: nulls and empty lists say nothing. Null where it says nothing
 * more. O(fields).
 */
export function moreOf(value: Found, ...known: readonly string[]): JsonObject | null {
  // Mostly there is nothing more, and nothing is made.
  let more: string[] | null = null
  for (const key in value)
    if (!known.includes(key) && Object.hasOwn(value, key) && saysMore(value[key])) (more ??= []).push(key)
  return more === null ? null : (Object.fromEntries(more.map((key) => [key, value[key]])) as JsonObject)
}

const saysMore = (field: unknown): boolean =>
  field !== null && field !== undefined && !(Array.isArray(field) && field.length === 0)

/** What a provider counted, as a record has it. O(size). */
export const usageOf = (value: unknown): RecordedUsage =>
  isObject(value) ? shortUsage(value as JsonObject) : {}

/**
 * What {@link textOfInput} is written from, where that is an object which nothing will change: it need not be read from
 * the text again. O(1).
 */
export const frozenInput = (value: unknown): JsonObject | null =>
  isObject(value) && Object.isFrozen(value) ? (value as JsonObject) : null

/** What a provider sent as it is: it was JSON. */
export const asJson = (value: Found): JsonObject => value as JsonObject

/** Collects a streamed reply. */
export interface ReplyCollector {
  /** Takes the next event of the stream; gives what to publish of it, nothing for most. */
  readonly push: (event: object) => readonly StreamingDeltaEvent[]
  /**
   * The reply, as far as it has arrived; changes nothing, so it may be called at any time. No call of a reply that broke
   * off or failed is executed.
   */
  readonly end: () => Reply
}

/** Words of the reply for live readers; none for an empty text. */
export const textDelta = (content: string): StreamingDeltaEvent[] =>
  content === '' ? [] : [{ kind: 'StreamingDeltaEvent', source: 'agent', content }]

/** The same of its reasoning. */
export const reasoningDelta = (reasoning_content: string): StreamingDeltaEvent[] =>
  reasoning_content === '' ? [] : [{ kind: 'StreamingDeltaEvent', source: 'agent', reasoning_content }]

/** How providers say that a reply came to its own end, or waits for the results of its calls. */
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

/** The record of a reply: what is not in its events, and what it stood behind. O(length). */
function recordOf(
  { model, stopReason, usage, metadata = null, container = '', ending }: FoundReply,
  message: AssistantMessage,
  order: readonly OrderedPart[],
  limits: Limits,
  { request, state }: ReadOptions,
): ReplyRecord {
  const { grammar } = limits
  const sent = request === undefined ? null : requestRecord(request)
  const seen = sent?.grammar === grammar ? sent : null
  const plain = partsOf(message, limits)
  const { refs } = plain
  const isPlain =
    order.length === refs.length && order.every((part, at) => isField(part, refs[at]) && part.more === null)
  const parts = isPlain ? null : storeParts(order)
  const waits = waitingAfter(
    order,
    message.tool_calls.length > 0 || (limits.pauses && ending?.type === 'paused'),
    limits,
  )
  const inOrder = parts === null ? plain : partsOf({ ...message, reply: { grammar, parts } }, limits)
  const own = ownOf(message, inOrder, order, limits)
  const isOrdinary = stopReason === '' || ORDINARY_STOPS.has(stopReason)
  // What every grammar reads alike says nothing of the one that it came in.
  const reasons =
    message.reasoning_content !== null ||
    message.thinking_blocks.length > 0 ||
    reasoningItems(message).length > 0
  const isOfGrammar = own !== null || parts !== null || !isOrdinary || reasons
  const record: Made<ReplyRecord> = {}
  if (state !== undefined) record.after = state.log.head?.id ?? null
  if (isOfGrammar) record.grammar = grammar
  if (model !== '') record.model = model
  const asked =
    own === null && !reasons ? null : modelName((request as { readonly model?: unknown } | undefined)?.model)
  if (asked !== null && undated(asked) !== undated(model)) record.asked = asked
  // Where nothing is signed, nothing has to be proved.
  if (seen !== null && own !== null) record.prefix = seen.prefix
  if (seen?.tools !== undefined && own !== null) record.tools = seen.tools
  if (own !== null) record.own = own
  const cuts = own === null ? null : cutDigests(message, inOrder, order, own, limits)
  if (cuts !== null) record.cuts = cuts
  if (!isOrdinary) record.stop_reason = stopReason
  if (isEarlyEnd(ending?.type)) record.outcome = ending.type
  if (waits !== 0) record.waits = waits
  if (waits > 0 && container !== '') record.container = container
  if (usage.tokens !== undefined) record.tokens = usage.tokens
  if (usage.usage !== undefined) record.usage = usage.usage
  if (parts !== null) record.parts = parts
  if (metadata !== null) record.metadata = metadata
  return record
}

/** What is being made, field by field: to spread a dozen objects that are mostly empty takes longer. */
type Made<T> = { -readonly [K in keyof T]: T[K] }

/**
 * How many more calls of the provider's own tools wait for their results behind a reply than did before it. None of its
 * own does where nothing goes on with the reply.
 */
function waitingAfter(order: readonly OrderedPart[], goesOn: boolean, { pairOf }: Limits): number {
  if (!order.some((part) => 'other' in part)) return 0
  const open = new Set<string>()
  let brought = 0
  for (const part of order) {
    const pair = 'other' in part ? pairOf(part.other) : null
    if (pair === null || !pair.waits) continue
    if (pair.half === 'call') open.add(pair.id)
    else if (!open.delete(pair.id)) brought += 1
  }
  return (goesOn ? open.size : 0) - brought
}

/**
 * The digest of the signed parts, null where there are none. Where they are bound to something that cannot be written
 * back, it is one that nothing matches, so that they are left out: the provider would refuse them without it.
 */
function ownOf(
  message: AssistantMessage,
  parts: PartsInOrder,
  order: readonly OrderedPart[],
  limits: Limits,
): string | null {
  if (parts.bound === 0) return null
  const isWhole = order.slice(0, parts.bound).every((part, at) => isWritten(part, parts.refs[at], limits))
  const digest = ownDigest(message, parts)
  return isWhole ? digest : `${digest}, not whole`
}

/** A reply with more calls is written without its signed parts where HEAD is between them. */
const MAX_CUTS = 100

/** The digests of a reply up to each of its calls but the last; null where they are all `own`. O(calls · parts). */
export function cutDigests(
  message: AssistantMessage,
  { refs, bound }: PartsInOrder,
  order: readonly OrderedPart[],
  own: string,
  limits: Limits,
): string[] | null {
  const { tool_calls } = message
  const [first, ...others] = tool_calls
  const isSignedBehind = bound > refs.findIndex(({ kind }) => kind === 'call') + 1
  const isCut = isSignedBehind || others.some((call) => call.responses_reasoning_item !== null)
  if (first === undefined || others.length === 0 || !isCut || others.length >= MAX_CUTS) return null
  const reply = { ...message.reply, parts: storeParts(order) }
  const digests = others.map((_, at) => {
    const cut = { ...message, tool_calls: tool_calls.slice(0, at + 1), reply }
    return ownOf(cut, partsOf(cut, limits), order, limits) ?? own
  })
  return digests.every((digest) => digest === own) ? null : digests
}

/** Whether a part is written back whole, at the place where it came. */
function isWritten(part: OrderedPart, ref: PartRef | undefined, { more }: Limits): boolean {
  if ('other' in part) return ref?.kind === 'other' && ref.value === part.other && ref.placeholder === null
  const sent = sentMore(part.more, more[part.kind])
  return isField(part, ref) && Object.keys(part.more ?? {}).every((field) => Object.hasOwn(sent ?? {}, field))
}

const isField = (part: OrderedPart, ref: PartRef | undefined): part is FieldRef =>
  'kind' in part && part.kind === ref?.kind && part.at === ref.at

/** A part in its place: in a standard field, with what that lacks, or whole. */
export type OrderedPart = FieldRef | { readonly other: JsonObject }

/**
 * The parts without calls that repeat another one under its id: the fuller of the two stays, in its place. In OpenAI
 * Responses the id alone identifies a call. Elsewhere servers reuse ids, so that only a call of the same tool with the
 * same arguments, or with none, is the same call. O(parts).
 */
function uniteCalls(parts: readonly ReplyPart[], { origin }: Limits): readonly ReplyPart[] {
  const calls = parts.filter((part) => part.is === 'call')
  if (calls.length < 2) return parts
  const known = new Map<string, ReplyCall>()
  const repeated = new Set<ReplyPart>()
  for (const call of calls) {
    const other = call.id === '' ? undefined : known.get(call.id)
    if (other !== undefined && (origin === 'responses' || isSameCall(call, other))) {
      const isFuller = fullness(call) >= fullness(other)
      repeated.add(isFuller ? other : call)
      if (isFuller) known.set(call.id, call)
    } else known.set(call.id, call)
  }
  return repeated.size === 0 ? parts : parts.filter((part) => !repeated.has(part))
}

const isSameCall = (call: ReplyCall, other: ReplyCall): boolean =>
  call.name === other.name &&
  (call.arguments === other.arguments || fullness(call) === 0 || fullness(other) === 0)

/** How much the arguments of a call contain: 0 for none, then those that cannot be read, then by length. */
function fullness({ arguments: given, input }: ReplyCall): number {
  const read = readArguments(given, input)
  if (read === null) return 1
  return Object.keys(read).length === 0 ? 0 : 1 + given.length
}

/** The parts by the field that they stand in. */
interface OrderedParts {
  readonly texts: readonly string[]
  readonly thinking: readonly (ThinkingBlock | RedactedThinkingBlock)[]
  readonly calls: readonly ReplyCall[]
  /** One for each call, or one for a reply without calls; null where there is none. */
  readonly reasoning: readonly (ReasoningItemModel | null)[]
  readonly order: readonly OrderedPart[]
}

/**
 * The parts in their fields. A reasoning item stands with the next call that has none; one that finds no room is kept
 * whole. O(parts).
 */
function orderParts(parts: readonly ReplyPart[]): OrderedParts {
  const texts: string[] = []
  const thinking: (ThinkingBlock | RedactedThinkingBlock)[] = []
  const calls: ReplyCall[] = []
  const order: OrderedPart[] = []
  const { reasoning, places } = placeReasoning(parts)
  for (const part of parts) {
    switch (part.is) {
      case 'text':
        order.push({ kind: 'text', at: texts.length, more: part.more })
        texts.push(part.text)
        break
      case 'thinking':
        order.push({ kind: 'thinking', at: thinking.length, more: part.more })
        thinking.push(part.block)
        break
      case 'call':
        order.push({ kind: 'call', at: calls.length, more: part.more })
        calls.push(part)
        break
      case 'reasoning': {
        const at = places.get(part)
        order.push(at === undefined ? { other: part.value } : { kind: 'reasoning', at, more: part.more })
        break
      }
      case 'other':
        order.push({ other: part.value })
        break
    }
  }
  return { texts, thinking, calls, reasoning, order }
}

/** The reasoning items by the call that each stands with, and the index of each among those that have a place. */
function placeReasoning(parts: readonly ReplyPart[]): {
  readonly reasoning: readonly (ReasoningItemModel | null)[]
  readonly places: ReadonlyMap<ReplyPart, number>
} {
  if (!parts.some(({ is }) => is === 'reasoning')) return NO_REASONING
  const slots = Math.max(1, parts.filter(({ is }) => is === 'call').length)
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
  return {
    reasoning: room.map((part) => part?.item ?? null),
    places: new Map(placed.map((part, at) => [part, at])),
  }
}

const NO_REASONING = { reasoning: [], places: new Map<ReplyPart, number>() }

/**
 * The parts as a record stores them: references to the standard fields, with what these lack as `more`, and whole as
 * `other` what no standard field holds.
 */
export const storeParts = (order: readonly OrderedPart[]): JsonObject[] =>
  order.map((part) => {
    if ('other' in part) return { other: part.other }
    return { [part.kind]: part.at, ...(part.more === null ? {} : { more: part.more }) }
  })

/** What a reader is told beside the reply; all of it is optional, and what no reply can tell. */
export interface ReadOptions {
  /** The request that was sent, as `toX` wrote it or spread from that: its digests go into the record of the reply. */
  readonly request?: object
  /** The state whose messages were sent: the event under its HEAD goes into the record. A run stamps it by itself. */
  readonly state?: State
  /** The tools that can be executed; a call of any other one is not. Default: all are taken to be known. */
  readonly tools?: readonly ReplyTool[]
}

/** A tool that can be executed. */
export interface ReplyTool {
  readonly name: string
  /** The kind of its actions. Default: from its name, `file_editor` gives `FileEditorAction`. */
  readonly action_type?: string
}

/**
 * What ended a reply. `done`: its own words did. `tool_calls`: it waits for results, of calls that were not executed
 * too. `truncated`: a limit on tokens. `paused`: it goes on when it is sent back. `refused`: the model would not.
 * `filtered`: the provider held it back. `broken_off`: its stream ended too early. `failed`: the provider says that it
 * failed.
 */
export type ReplyOutcome =
  | { readonly type: 'done' | 'tool_calls' | 'paused' }
  /** `reason`: the provider's word for it. */
  | { readonly type: 'truncated' | 'filtered'; readonly reason: string }
  /** `explanation`: in words, where the provider gives one. */
  | { readonly type: 'refused' | 'failed'; readonly explanation: string | null }
  /** `text`: what had come of it. */
  | { readonly type: 'broken_off'; readonly text: string }

/** A reply as events. A step yields it as it is. */
export interface Reply {
  /** To be appended as one batch; empty when a reply that broke off or failed says nothing. They have no ids yet. */
  readonly events: readonly (ActionEvent | AgentErrorEvent | MessageEvent | ObservationEvent)[]
  readonly outcome: ReplyOutcome
}

/** A part of a reply, as the reader of a grammar finds it; `more` is what the standard fields have no place for. */
export type ReplyPart =
  | { readonly is: 'text'; readonly text: string; readonly more: JsonObject | null }
  | {
      readonly is: 'thinking'
      readonly block: ThinkingBlock | RedactedThinkingBlock
      readonly more: JsonObject | null
    }
  | ReplyReasoning
  | ReplyCall
  | { readonly is: 'other'; readonly value: JsonObject }

/** A reasoning item, and as the provider wrote it. */
export interface ReplyReasoning {
  readonly is: 'reasoning'
  readonly item: ReasoningItemModel
  readonly value: JsonObject
  readonly more: JsonObject | null
}

/** A call as the provider wrote it. */
export interface ReplyCall {
  readonly is: 'call'
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** What the arguments were written from, where it is frozen. */
  readonly input?: JsonObject | null
  /** Its id in the list of items, where the grammar has one. */
  readonly item: string | null
  /** Why it can not be executed, for a reason that the reader knows. */
  readonly unfit: string | null
  /** Its result, where it has been executed already. */
  readonly result?: { readonly text: string; readonly isError: boolean } | null
  readonly more: JsonObject | null
}

/** A reply as the reader of a grammar finds it. */
export interface FoundReply {
  readonly id: string
  readonly model: string
  readonly stopReason: string
  readonly usage: RecordedUsage
  /** Reasoning in plain text, that no provider takes back. */
  readonly reasoning: string
  /** What is said of the reply and not in it. */
  readonly metadata?: JsonObject | null
  readonly parts: readonly ReplyPart[]
  /** The id of the container that the provider's own tools ran in; empty where there is none. */
  readonly container?: string
  /** Null when nothing but its own end ended it. */
  readonly ending: ReplyOutcome | null
}

/** What the model is told of a call that was not executed. */
export const CUT_OFF = 'the reply was cut off in the middle of it'

/**
 * The events of a reply, and what ended it. Thinking, words and the record stand on the first event only. A call that
 * cannot be executed has `action: null` and its AgentErrorEvent behind the calls. An id that is empty or given twice
 * gets another. O(length).
 */
export function replyEvents(found: FoundReply, limits: Limits, options: ReadOptions): Reply {
  const { id, reasoning, ending } = found
  const isBroken = ending?.type === 'failed' || ending?.type === 'broken_off'
  if (isBroken && reasoning === '' && !found.parts.some(saysSomething)) return { events: [], outcome: ending }
  const ordered = orderParts(uniteCalls(found.parts, limits))
  const message = messageOf(ordered, reasoning, limits)
  const record = recordOf(found, message, ordered.order, limits, options)
  const { after } = record
  const response = id === '' ? `reply-${after ?? 'first'}` : id
  const said = { ...(reasoning === '' ? {} : { reasoning_content: reasoning }), ...thinkingOf(message) }
  const { calls } = ordered
  if (calls.length === 0) {
    const item = message.responses_reasoning_item
    const llm_message = {
      role: 'assistant' as const,
      content: message.content,
      ...said,
      ...(item === null ? {} : { responses_reasoning_item: item }),
      reply: record,
    }
    const event = { kind: 'MessageEvent', source: 'agent', llm_message, llm_response_id: response } as const
    return { events: [event], outcome: ending ?? { type: 'done' } }
  }
  const actions: ActionEvent[] = []
  const results: (AgentErrorEvent | ObservationEvent)[] = []
  for (const [at, call] of message.tool_calls.entries()) {
    const { responses_reasoning_item: item, responses_item_id, ...tool_call } = call
    const input = readArguments(call.arguments, calls[at]?.input)
    const result = calls[at]?.result ?? null
    // What has a result was executed, however the reply ended.
    const end = isBroken && result !== null ? null : ending
    const against = whyNot(calls[at]?.unfit ?? null, call.name, input, end, options)
    actions.push({
      kind: 'ActionEvent',
      source: 'agent',
      thought: at === 0 ? (message.content as TextContent[]) : [],
      ...(at === 0 ? said : {}),
      ...(item === null ? {} : { responses_reasoning_item: item }),
      action: against === null ? actionOf(call.name, input, options) : null,
      tool_name: call.name,
      tool_call_id: call.id,
      tool_call: {
        ...tool_call,
        ...(responses_item_id === null ? {} : { responses_item_id }),
        ...(at === 0 ? { reply: record } : after === undefined ? {} : { reply: { after } }),
      },
      llm_response_id: response,
    })
    const ends = { source: 'environment', tool_name: call.name, tool_call_id: call.id } as const
    if (against !== null)
      results.push({ kind: 'AgentErrorEvent', ...ends, error: `The call was not executed: ${against}.` })
    else if (result !== null) results.push(observation(ends, result))
  }
  return { events: [...actions, ...results], outcome: ending ?? { type: 'tool_calls' } }
}

/** Whether a part of a reply that ended badly is worth keeping. */
const saysSomething = (part: ReplyPart): boolean => part.is !== 'text' || !isWhitespace(part.text)

/** The action has no id yet, so that its result is known by the call. */
const observation = (
  ends: Pick<ObservationEvent, 'source' | 'tool_name' | 'tool_call_id'>,
  { text, isError }: { readonly text: string; readonly isError: boolean },
): ObservationEvent => ({
  kind: 'ObservationEvent',
  ...ends,
  action_id: ends.tool_call_id,
  observation: { kind: 'ToolObservation', content: [{ type: 'text', text }], is_error: isError },
})

const thinkingOf = ({ thinking_blocks }: AssistantMessage) =>
  thinking_blocks.length === 0 ? {} : { thinking_blocks }

/** The reply as the writers will find it in the log. */
function messageOf(
  { texts, thinking, calls, reasoning }: OrderedParts,
  reasoningText: string,
  { grammar, origin }: Limits,
): AssistantMessage {
  const giveId = calls.length > 1 ? callIds(ANY_ID) : (id: string): string => id || 'call'
  const tool_calls = calls.map((call, at): NeutralToolCall => ({
    id: giveId(call.id),
    name: call.name,
    arguments: call.arguments,
    origin,
    responses_item_id: call.item,
    responses_reasoning_item: reasoning[at] ?? null,
  }))
  return {
    role: 'assistant',
    content: texts.map((text) => ({ type: 'text', text })),
    tool_calls,
    reasoning_content: reasoningText === '' ? null : reasoningText,
    thinking_blocks: thinking,
    responses_reasoning_item: calls.length === 0 ? (reasoning[0] ?? null) : null,
    // As its writer will find it: some grammars take nothing for signed that is not said to be theirs.
    reply: { grammar },
  }
}

/** Ids are made legal where they are written; here they only need to be there, and told apart. */
const ANY_ID = { illegal: /(?!)/gu, maxLength: Infinity }

/** Why a call is not executed, in words for the model; null where it may be. */
function whyNot(
  unfit: string | null,
  called: string,
  input: JsonObject | null,
  ending: ReplyOutcome | null,
  { tools }: ReadOptions,
): string | null {
  if (ending?.type === 'refused') return 'the reply was ended by a refusal'
  if (ending?.type === 'filtered') return 'the reply was held back by a content filter'
  if (ending?.type === 'failed') return 'the provider failed before the end of the reply'
  if (ending?.type === 'broken_off') return 'the reply broke off before its end'
  if (unfit !== null) return unfit
  if (tools !== undefined && !tools.some(({ name }) => name === called))
    return `there is no tool ${quote(called)}`
  return input === null ? 'its arguments are no JSON object that can be read' : null
}

/** An argument that is called `kind` is in the text of the call only: the action has its own. */
function actionOf(name: string, input: JsonObject | null, { tools }: ReadOptions): Action {
  const kind = tools?.find((tool) => tool.name === name)?.action_type ?? actionKind(name)
  return { ...input, kind }
}
