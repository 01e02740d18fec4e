/**
 * The record of a model's reply, kept in the open part of its events so that what was said can go back as it was said,
 * behind what it saw.
 */

import { isObject } from './json.ts'
import type { JsonObject, JsonValue } from './shapes.ts'
import type { ActionEvent, Event, MessageEvent } from './types.ts'

/** Name of a provider's grammar, such as `anthropic`, in which requests are written and replies are read. */
export type GrammarName = string

/**
 * What can end a reply early. `truncated`: a limit on tokens. `paused`: it goes on when it is sent back. `refused`: the
 * model would not. `filtered`: the provider held it back. `broken_off`: its stream ended too early. `failed`: the provider
 * failed in the middle of it.
 */
export type EarlyEnd = 'truncated' | 'paused' | 'refused' | 'filtered' | 'broken_off' | 'failed'

const EARLY_ENDS: ReadonlySet<unknown> = new Set<EarlyEnd>([
  'truncated',
  'paused',
  'refused',
  'filtered',
  'broken_off',
  'failed',
])

/** Whether a value is one of these. */
export const isEarlyEnd = (value: unknown): value is EarlyEnd => EARLY_ENDS.has(value)

/**
 * What is known of the reply that an event came in. All of it is optional: logs made elsewhere, and older ones, have
 * none. `after` stands on each event of a reply, the rest on its first one only.
 */
export interface ReplyRecord {
  /**
   * The id of the event that was under HEAD when the model was asked; null for an empty log, and true where it is the
   * event that this one hangs on.
   */
  readonly after?: string | true | null
  /** The grammar in which the model was asked and has replied. */
  readonly grammar?: GrammarName
  /** The model's name, as the provider gave it. */
  readonly model?: string
  /** The name by which the model was asked, where that is another one and the reply has reasoning. */
  readonly asked?: string
  /** Digest of the system prompt and the messages that the request held. */
  readonly prefix?: string
  /** Digest of the tool list of the request, where it is known. */
  readonly tools?: string
  /** Digest of the reply's own signed parts. */
  readonly own?: string
  /** The same where HEAD is at its first call, at its second and so on, if they differ from it. */
  readonly cuts?: readonly string[]
  /** Why the model stopped, in the provider's words, where that was not its ordinary end. */
  readonly stop_reason?: string
  /** What ended the reply, where that was not its own end: then it is no final reply. */
  readonly outcome?: EarlyEnd
  /**
   * The tokens of this one reply: input, output, read from a cache, written to one, of reasoning; those at the end that
   * are 0 are left out.
   */
  readonly tokens?: readonly number[]
  /** What the provider says of its usage beyond `tokens`; where there are none, all of it, in the provider's words. */
  readonly usage?: JsonObject
  /** The reply's parts in the order in which they came, where the standard fields cannot say it. */
  readonly parts?: readonly JsonValue[]
  /** What the provider said of the reply and takes none of back: sources, citations, ratings. */
  readonly metadata?: JsonObject
  /**
   * How many more calls of the provider's own tools wait for their results behind this reply than did before it; less
   * than 0 where it brings results that were waited for. Left out where it is 0.
   */
  readonly waits?: number
  /** The id of the provider's container in which they wait: it is to be named when their results are sent. */
  readonly container?: string
  /** True when the reply was cut off by its user: it is no final reply. */
  readonly interrupted?: true
}

/** Whether an event is of a model's reply: a call, or a message of the agent. O(1). */
export const isOfReply = (event: Event): event is ActionEvent | MessageEvent =>
  event.kind === 'ActionEvent' || (event.kind === 'MessageEvent' && event.source === 'agent')

/**
 * The record of the reply that an event came in, or null where it has none. A record that is no object counts as none;
 * its fields are as they were stored, so a reader checks each one that it uses. O(1).
 */
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
 * The events of one append with what their replies were asked at in their records (D20), each unless it says that
 * itself. `head` is the id of the event that they will stand behind. Where a reply was asked at that one, its first
 * event says so in a word, and its next calls say nothing of it. O(events).
 * @example
 * const llm_message = { role: 'assistant', content: [{ type: 'text', text: 'hi' }] }
 * const reply = { kind: 'MessageEvent', source: 'agent', llm_message }
 * replyOf(stampAfter([reply], 'm1', 'm1')[0]).after // true
 * replyOf(stampAfter([reply], 'm1', 'm2')[0]).after // 'm1'
 */
export function stampAfter(
  events: readonly Event[],
  after: string | null,
  head: string | null,
): readonly Event[] {
  /** The reply whose first event has said that it was asked at what it hangs on, as long as its calls go on. */
  let told: string | null = null
  return events.map((event, at) => {
    const said = replyOf(event)?.after
    const asked = said === undefined ? after : said
    const isNext = event.kind === 'ActionEvent' && event.llm_response_id === told
    if (asked !== null && asked === after && isNext) return withAfter(event, undefined)
    const isAtHead = at === 0 && asked === head && head !== null && (event.parent_id ?? null) === null
    told = isAtHead && event.kind === 'ActionEvent' ? event.llm_response_id : null
    return withAfter(event, isAtHead ? true : asked)
  })
}

/** The event of a reply with that in its record, or without it; any other event as it is. */
function withAfter(event: Event, after: ReplyRecord['after']): Event {
  const { after: _, ...said } = replyOf(event) ?? {}
  const record = Object.freeze(after === undefined ? said : { ...said, after })
  // Frozen, as what was decoded is, so that no store need copy it.
  const holding = <T extends object>(holder: T & { readonly reply?: unknown }) => {
    const { reply: _reply, ...rest } = holder
    return Object.freeze(Object.keys(record).length === 0 ? rest : { ...rest, reply: record }) as T
  }
  if (event.kind === 'ActionEvent') return Object.freeze({ ...event, tool_call: holding(event.tool_call) })
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return event
  return Object.freeze({ ...event, llm_message: holding(event.llm_message) })
}

/**
 * The id of the event that was under HEAD when the model was asked for this reply, null when none was, true when it is
 * the one that this event hangs on; undefined for an event that does not say it. O(1).
 */
export function askedAfter(event: Event): string | true | null | undefined {
  const after: unknown = replyOf(event)?.after
  return typeof after === 'string' || after === true || after === null ? after : undefined
}

/** What has ended the reply of an event early, as its record says; null where it does not say so. O(1). */
export function earlyEndOf(event: Event): EarlyEnd | null {
  const outcome: unknown = replyOf(event)?.outcome
  return isEarlyEnd(outcome) ? outcome : null
}

/** How many more calls wait for their results behind the reply of an event, as its record says; 0 without one. O(1). */
export function waitsOf(event: Event): number {
  const waits: unknown = replyOf(event)?.waits
  return typeof waits === 'number' && Number.isSafeInteger(waits) ? waits : 0
}
