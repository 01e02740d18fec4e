/** Where a stream begins, from the parameters of its request. */

import { readPlace, type ReplyPlace } from '../../conversation/streamed.ts'
import { isLegalId } from '../../event/ids.ts'
import type { Store } from '../../store/contract/store.ts'
import { dateTime, integer, oneOf, optional, text, withDefault } from '../http/parameters.ts'
import { invalid } from '../http/problem.ts'

/** What both transports take. */
export const LIVE_QUERY = {
  /** A position: everything after it is given. */
  after: optional(integer({ least: -1 })),
  /**
   * The same by the id of the last event that the reader has. Beside `after` it must be the one that stands there: the
   * reader may be of a log that has become another one.
   */
  after_event_id: optional(text()),
  /**
   * `all`: the whole log. `since`: from the first event, in the log's order, whose time is `after_timestamp` or later.
   * Default: none of it.
   */
  resend_mode: optional(oneOf(['all', 'since'])),
  after_timestamp: optional(dateTime()),
  /**
   * How far the reader has come with a reply that is under way: `said` of the last delta that it has. Default: it is
   * given all that was said of it so far.
   */
  after_delta: optional(text()),
  format: withDefault(oneOf(['event', 'envelope']), 'event'),
} as const

/** Where to begin, as a request has it; the first that is given counts, but for an id beside a position. */
export interface StartValues {
  readonly after: number | null
  readonly after_event_id: string | null
  readonly resend_mode: 'all' | 'since' | null
  readonly after_timestamp: string | null
  readonly after_delta: string | null
}

/** How far a reader has come with a reply. @throws HttpProblem 422 for what is no place in one. */
export function saidBefore({ after_delta: given }: StartValues): ReplyPlace | null {
  if (given === null) return null
  const place = readPlace(given)
  if (place !== null) return place
  throw invalid({
    type: 'value_error',
    loc: ['query', 'after_delta'],
    msg: 'Value error, it is no place in a reply',
    input: given.slice(0, 200),
  })
}

/**
 * The position after which to begin; `end`, the last of the log, for those who want nothing of it. Null for a place
 * that this log does not have: what the reader holds is of another one, or of an end that was lost.
 * @throws HttpProblem 422 for `since` without a time.
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
    throw invalid({
      type: 'value_error',
      loc: ['query', 'after_timestamp'],
      msg: 'Value error, resend_mode since needs it',
      input: null,
    })
  return (await firstSince(store, id, timestamp, end)) - 1
}

/**
 * The lowest position of an event at or after an instant. Times may go back in a log, so all events from there on are
 * looked at. O(events since).
 */
async function firstSince(store: Store, id: string, timestampGte: string, end: number): Promise<number> {
  let first = end + 1
  let cursor: string | null = null
  do {
    const page = await store.search({ conversationId: id, timestampGte, ...(cursor !== null && { cursor }) })
    for (const { seq } of page.items) first = Math.min(first, seq)
    cursor = page.next_page_id
  } while (cursor !== null)
  return first
}

/** The peer took nothing for as long as it was waited for. */
export class SlowReader extends Error {
  override readonly name = 'SlowReader'
}
