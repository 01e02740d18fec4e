/** Gives events their id and time at append, after checking them. */

import type { Event, StreamingDeltaEvent } from '../event/types.ts'
import type { Store } from '../store/contract/store.ts'
import { hashText } from '../event/text.ts'
import { decodeEvent } from '../event/decode.ts'
import { ColloquyError } from '../event/errors.ts'
import { KINDS } from '../event/kinds.ts'

/** Gives every event that comes without them an id and a time. */
export interface Stamp {
  readonly newId: () => string
  /** ISO 8601 in UTC. */
  readonly now: () => string
}

/**
 * Checked copies of events to append. O(size).
 * @throws ColloquyError `invalid_event`, with the issues as data, for one that is no event; `transient_event` for one
 * that is never stored.
 */
export function checkEvents(given: readonly unknown[]): Event[] {
  return given.map((value, at) => {
    const event = checkEvent(value, at)
    if (KINDS[event.kind].stored) return event
    throw new ColloquyError(
      'transient_event',
      `${event.kind} is for live readers only and is never stored; publish it instead.`,
      { kind: event.kind, at },
    )
  })
}

/** One event to publish. @throws ColloquyError `invalid_event`, also for an event that belongs into the log. */
export function checkDelta(value: unknown): StreamingDeltaEvent {
  const event = checkEvent(value, 0)
  if (event.kind === 'StreamingDeltaEvent') return event
  throw new ColloquyError('invalid_event', `${event.kind} belongs into the log; append it instead.`, {
    kind: event.kind,
  })
}

function checkEvent(value: unknown, at: number): Event {
  const decoded = decodeEvent(value)
  if (decoded.ok) return decoded.event
  const [first] = decoded.issues
  const where = first === undefined || first.loc.length === 0 ? '' : ` at ${first.loc.join('.')}`
  const message = `Event ${at} of the append cannot be read${where}: ${first?.msg ?? 'it is no event'}`
  throw new ColloquyError('invalid_event', message, { at, issues: decoded.issues })
}

/**
 * The events with an id and a time each (design D15), but for those whose id is known or stands before in the same
 * append: what their caller left out stays out, so that the store compares what was given and nothing else (law S).
 * O(events).
 */
export function stampEvents(
  events: readonly Event[],
  { newId, now }: Stamp,
  known: Iterable<string> = [],
): Event[] {
  const ids = new Set(known)
  return events.map((event) => {
    if (event.id !== undefined && ids.has(event.id)) return event
    const { id = newId(), timestamp = now() } = event
    ids.add(id)
    return { ...event, id, timestamp }
  })
}

/** Alike for one key in every process, and another one in every conversation. */
export const keyedId = (
  kind: 'message' | 'policy' | 'edit' | 'work' | 'child',
  conversationId: string,
  key: string,
): string => `${kind}-${hashText(`${conversationId}\n${key}`)}`

/**
 * The events stamped, but for those whose id the store knows. Null when it knows none. O(events).
 */
export async function stampUnknown(
  store: Store,
  conversationId: string,
  events: readonly Event[],
  stamp: Stamp,
): Promise<Event[] | null> {
  const known = await store.getMany(
    conversationId,
    events.flatMap(({ id }) => id ?? []),
  )
  const ids = known.flatMap((event) => event?.id ?? [])
  return ids.length === 0 ? null : stampEvents(events, stamp, ids)
}
