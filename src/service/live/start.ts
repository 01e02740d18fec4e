import { readReplyOffset, type ReplyOffset } from '../../conversation/streamed.ts'
import { isLegalId } from '../../event/ids.ts'
import { BLOBS_QUERY } from '../events/search.ts'
import type { Store } from '../../store/contract/store.ts'
import { allItems } from '../../store/kit/query/page.ts'
import { dateTime, integer, oneOf, optional, text, type ValuesOf, withDefault } from '../http/parameters.ts'
import { invalidValue } from '../http/problem.ts'

export const LIVE_QUERY = {
  after: optional(integer({ min: -1 })),
  /**
   * Id of the reader's last event. The stream begins with a `reset` unless the log contains this event at
   * position `after`.
   */
  after_event_id: optional(text()),
  /**
   * `all`: the whole log. `since`: from the first event, in the log's order, whose time is `after_timestamp`
   * or later. Default: only new events.
   */
  resend_mode: optional(oneOf(['all', 'since'])),
  after_timestamp: optional(dateTime()),
  /** `after_delta` of the last received delta. Default: the stream repeats the reply so far. */
  after_delta: optional(text()),
  format: withDefault(oneOf(['event', 'envelope']), 'event'),
  ...BLOBS_QUERY,
} as const

/**
 * Where a stream starts. `after_event_id` and `after` take precedence over `resend_mode`. If a request has
 * both `after_event_id` and `after`, the event must be at position `after`.
 */
export type StartValues = Omit<ValuesOf<typeof LIVE_QUERY>, 'format' | 'blobs'>

/** Reads `after_delta`: how much of a reply the client has received. */
export function resumePlace({ after_delta: text }: StartValues): ReplyOffset | null {
  if (text === null) return null
  const position = readReplyOffset(text)
  if (position !== null) return position
  throw invalidValue(['query', 'after_delta'], 'it is not a position in a reply', text.slice(0, 200))
}

/**
 * Returns the position after which the stream begins, by default `end`. Null if the log lacks the requested position
 * or event. This happens if the reader has read another log, or if the last events of this log were lost.
 */
export async function startAfter(
  store: Store,
  id: string,
  end: number,
  { after, after_event_id: eventId, resend_mode: mode, after_timestamp: timestamp }: StartValues,
): Promise<number | null> {
  if (eventId !== null) {
    const seq = isLegalId(eventId) ? ((await store.get(id, eventId))?.seq ?? null) : null
    return after === null || after === seq ? seq : null
  }
  if (after !== null) return after <= end ? after : null
  if (mode === 'all') return -1
  if (mode === null) return end
  if (timestamp === null)
    throw invalidValue(['query', 'after_timestamp'], 'required with resend_mode=since', null)
  return (await firstSince(store, id, timestamp, end)) - 1
}

/**
 * Returns the first position whose event has the time `timestampGte` or a later time, or else `end + 1`. Reads
 * all events with such times, because the times in a log may decrease.
 */
async function firstSince(store: Store, id: string, timestampGte: string, end: number): Promise<number> {
  let first = end + 1
  const read = (page: object) => store.search({ conversationId: id, timestampGte, ...page })
  for await (const { seq } of allItems(read)) first = Math.min(first, seq)
  return first
}

export class SlowReader extends Error {
  override readonly name = 'SlowReader'
}
