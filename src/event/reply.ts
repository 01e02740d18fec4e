/** The record of a model's reply in its events, from which the reply is sent back unchanged. */

import { isObject } from './json.ts'
import type { JsonObject, JsonValue } from './shapes.ts'
import type { ActionEvent, Event, MessageEvent } from './types.ts'

/** Name of a provider's message format, such as `anthropic`. */
export type GrammarName = string

/** Why a reply ended early; see `ReplyOutcome`. */
export type EarlyEnd = 'truncated' | 'paused' | 'refused' | 'filtered' | 'broken_off' | 'failed'

const EARLY_ENDS: ReadonlySet<unknown> = new Set<EarlyEnd>([
  'truncated',
  'paused',
  'refused',
  'filtered',
  'broken_off',
  'failed',
])

export const isEarlyEnd = (value: unknown): value is EarlyEnd => EARLY_ENDS.has(value)

/**
 * The record of a reply. The first event of the reply has all fields; the others have only `after`, or
 * nothing if the first event's `after` is true. Logs of other producers have no records.
 */
export interface ReplyRecord {
  /** Id of HEAD at the model call; null for an empty HEAD, true for this event's parent. */
  readonly after?: string | true | null
  readonly grammar?: GrammarName
  readonly model?: string
  /**
   * The requested model, if the provider returned another name (apart from a date), and the reply has
   * reasoning or signed parts.
   */
  readonly requested_model?: string
  /** Digest of the request's system prompt and messages, if the reply has signed parts. */
  readonly prefix?: string
  readonly tools?: string
  /** Digest of the reply's parts up to the last signed one; missing if none is signed. */
  readonly digest?: string
  /**
   * For each call except the last, the digest of the reply up to that call; missing if all equal `digest`, or
   * for more than 100 calls.
   */
  readonly cuts?: readonly string[]
  /** The provider's stop reason; missing if the reply ended normally or with calls. */
  readonly stop_reason?: string
  readonly outcome?: EarlyEnd
  /**
   * Input, output, cache read, cache write and reasoning tokens, without zeros at the end. Input includes
   * cached tokens, and output includes reasoning tokens.
   */
  readonly tokens?: readonly number[]
  /** Usage that `tokens` does not contain, in the provider's fields. */
  readonly usage?: JsonObject
  /** The parts in order, if the standard fields cannot express them. */
  readonly parts?: readonly JsonValue[]
  /** What the provider reported and does not accept back: sources, citations, ratings, withheld inputs. */
  readonly metadata?: JsonObject
  /** Change in the number of waiting calls of the provider's tools; negative for results. Omitted if 0. */
  readonly waits?: number
  /** The provider's container in which its tools' calls wait; the request with their results names it. */
  readonly container?: string
  readonly interrupted?: true
}

/** Whether an event belongs to a model's reply: a call, or a message of the agent. O(1). */
export const isOfReply = (event: Event): event is ActionEvent | MessageEvent =>
  event.kind === 'ActionEvent' || (event.kind === 'MessageEvent' && event.source === 'agent')

/** Returns an event's reply record, with unchecked fields; null without a record. */
export function replyOf(event: Event): ReplyRecord | null {
  const holder =
    event.kind === 'ActionEvent'
      ? event.tool_call
      : event.kind === 'MessageEvent' && event.source === 'agent'
        ? event.llm_message
        : null
  const reply: unknown = (holder as { readonly reply?: unknown } | null)?.reply
  return isObject(reply) ? reply : null
}

/**
 * Records `after`, the HEAD at which a reply was requested, in the events of one append that lack it (D20).
 * If `after` equals `head` (the first event's parent), the reply's first event records true, and its further
 * calls record nothing. O(events).
 */
export function recordRequestHead(
  events: readonly Event[],
  after: string | null,
  head: string | null,
): readonly Event[] {
  let recordedReply: string | null = null
  return events.map((event, index) => {
    const recorded = replyOf(event)?.after
    const requestHead = recorded === undefined ? after : recorded
    const isNext = event.kind === 'ActionEvent' && event.llm_response_id === recordedReply
    if (requestHead !== null && requestHead === after && isNext) return withAfter(event, undefined)
    const isAtHead =
      index === 0 && requestHead === head && head !== null && (event.parent_id ?? null) === null
    recordedReply = isAtHead && event.kind === 'ActionEvent' ? event.llm_response_id : null
    return withAfter(event, isAtHead ? true : requestHead)
  })
}

function withAfter(event: Event, after: ReplyRecord['after']): Event {
  const { after: _, ...others } = replyOf(event) ?? {}
  const record = Object.freeze(after === undefined ? others : { ...others, after })
  // Frozen like decoded events, so that no store needs to copy it.
  const holding = <T extends object>(holder: T & { readonly reply?: unknown }) => {
    const { reply: _reply, ...rest } = holder
    return Object.freeze(Object.keys(record).length === 0 ? rest : { ...rest, reply: record }) as T
  }
  if (event.kind === 'ActionEvent') return Object.freeze({ ...event, tool_call: holding(event.tool_call) })
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return event
  return Object.freeze({ ...event, llm_message: holding(event.llm_message) })
}

/** Recorded HEAD of the request: null for an empty HEAD, true for the parent, undefined if not recorded. */
export function requestHeadOf(event: Event): string | true | null | undefined {
  const after: unknown = replyOf(event)?.after
  return typeof after === 'string' || after === true || after === null ? after : undefined
}

export function earlyEndOf(event: Event): EarlyEnd | null {
  const outcome: unknown = replyOf(event)?.outcome
  return isEarlyEnd(outcome) ? outcome : null
}

export function waitsOf(event: Event): number {
  const waits: unknown = replyOf(event)?.waits
  return typeof waits === 'number' && Number.isSafeInteger(waits) ? waits : 0
}
