/**
 * The record of a model's reply, stored in the reply's events. With it, later requests contain the reply
 * unchanged.
 */

import { isObject } from './json.ts'
import { type Content, isImagePart, isTextPart, type JsonObject, type JsonValue } from './shapes.ts'
import { hasText } from './text.ts'
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
 * The record of a reply. The first event of the reply has all fields. The later events have only `after`, or
 * no record if the first event's `after` is true. Logs of other producers have no records.
 */
export interface ReplyRecord {
  /** Id of HEAD when the model was called; true if this HEAD is the event's parent; null if HEAD was empty. */
  readonly after?: string | true | null
  readonly grammar?: GrammarName
  readonly model?: string
  /**
   * The requested model. Recorded only if the reply has parts that no other model accepts, and if the
   * response names another model or none. Names that differ only in a date count as the same model.
   */
  readonly requested_model?: string
  /** Digest of the request's system prompt and messages. `prefix` and `tools` exist only if a part is signed. */
  readonly prefix?: string
  /** Digest of the request's tools. */
  readonly tools?: string
  /** Digest of the reply's parts up to the last signed part; missing if no part is signed. */
  readonly digest?: string
  /**
   * Digests of the reply up to each call, except the last call. Missing if all of them equal `digest`, or if
   * the reply has more than 100 calls.
   */
  readonly cuts?: readonly string[]
  /** The provider's stop reason; missing if the reply ended normally or with calls. */
  readonly stop_reason?: string
  readonly outcome?: EarlyEnd
  /**
   * Numbers of input, output, cache read, cache write and reasoning tokens, in this order, without zeros at
   * the end. Input includes cached tokens, and output includes reasoning tokens.
   */
  readonly tokens?: readonly number[]
  /** Usage that `tokens` does not contain, in the provider's fields. */
  readonly usage?: JsonObject
  /** The parts of the reply in order, if the event's other fields cannot express them. */
  readonly parts?: readonly JsonValue[]
  /** Whether a reply without text has other output for the user, such as an image. Such a reply is final. */
  readonly output?: true
  /** Data that the provider returned but accepts in no request, such as sources, citations and ratings. */
  readonly metadata?: JsonObject
  /** By how much the reply changes the number of waiting calls of the provider's own tools. Omitted if 0. */
  readonly waits?: number
  /** Id of the container in which calls of the provider's own tools wait. The next request contains this id. */
  readonly container?: string
  readonly interrupted?: true
}

/** Whether a request contains a part: not a blank text, nor an empty list of images. */
export const isVisible = (part: Content): boolean =>
  isTextPart(part) ? hasText(part.text) : !isImagePart(part) || part.image_urls.length > 0

/** Whether a part of a message is output: images, or a text that is not blank. */
export const isOutputPart = (part: Content): boolean =>
  (isTextPart(part) || isImagePart(part)) && isVisible(part)

export const isOfReply = (event: Event): event is ActionEvent | MessageEvent =>
  event.kind === 'ActionEvent' || (event.kind === 'MessageEvent' && event.source === 'agent')

/** Returns an event's record of its reply, or null. The record's fields are not validated. */
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
 * Records `after`, the id of HEAD when the model was called, in the events of an append (D20). An event that
 * already has such a record keeps it. `head` becomes the parent of the first event. If `after` equals `head`,
 * the first event records true, and the other tool calls of its reply record nothing. O(events).
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
