/** The record of a reply that was read: what it stood behind, how it ended, and what no field of its events holds. */

import { isEarlyEnd, type ReplyRecord } from '../event/reply.ts'
import { sentMore } from './kinds.ts'
import type { AssistantMessage } from './message.ts'
import { ownDigest } from './own-digest.ts'
import { type PartsInOrder, partsOf } from './parts-in-order.ts'
import { modelName, requestRecord, undated } from './prefix.ts'
import type { FoundReply, ReadOptions } from './reply-events.ts'
import { type OrderedPart, storeParts } from './reply-order.ts'
import type { FieldRef, PartRef } from './reply-parts.ts'
import type { Limits } from './turns.ts'

/** How providers say that a reply came to its own end, or waits for the results of its calls. */
const ORDINARY_STOPS: ReadonlySet<string> = new Set([
  'end_turn',
  'tool_use',
  'stop',
  'tool_calls',
  'tool-calls',
  'completed',
  'STOP',
])

/** The record of a reply: what is not in its events, and what it stood behind. O(length). */
export function recordOf(
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
  const isOfGrammar = own !== null || parts !== null || !isOrdinary || message.thinking_blocks.length > 0
  const record: Made<ReplyRecord> = {}
  if (state !== undefined) record.after = state.log.head?.id ?? null
  if (isOfGrammar) record.grammar = grammar
  if (model !== '') record.model = model
  const asked = own === null ? null : modelName((request as { readonly model?: unknown } | undefined)?.model)
  if (asked !== null && undated(asked) !== undated(model)) record.asked = asked
  // Where nothing is signed, nothing has to be proved.
  if (seen !== null && own !== null) record.prefix = seen.prefix
  if (seen?.tools !== undefined && own !== null) record.tools = seen.tools
  if (own !== null) record.own = own
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

/** Whether a part is written back whole, at the place where it came. */
function isWritten(part: OrderedPart, ref: PartRef | undefined, { more }: Limits): boolean {
  if ('other' in part) return ref?.kind === 'other' && ref.value === part.other && ref.placeholder === null
  const sent = sentMore(part.more, more[part.kind])
  return isField(part, ref) && Object.keys(part.more ?? {}).every((field) => Object.hasOwn(sent ?? {}, field))
}

const isField = (part: OrderedPart, ref: PartRef | undefined): part is FieldRef =>
  'kind' in part && part.kind === ref?.kind && part.at === ref.at
