import { monotonicFactory } from 'ulid'
import type { Event, StreamingDeltaEvent } from '../event/types.ts'
import type { Store } from '../store/contract/store.ts'
import { decodeEvent } from '../event/decode.ts'
import { ColloquyError } from '../event/errors.ts'
import { decodedList, decodedLists } from '../event/freeze.ts'
import { KINDS } from '../event/kinds.ts'
import { parseInstant } from '../event/time.ts'
import { type Clock, formatInstant } from '../store/kit/record.ts'

export interface Stamp {
  readonly newId: () => string
  readonly clock: Clock
}

export function monotonicUlids(): (now?: number) => string {
  // The generator of `ulid` makes a call for each random character, which costs more than an append.
  let random = new Uint8Array(0)
  return monotonicFactory(() => {
    if (random.length === 0) random = crypto.getRandomValues(new Uint8Array(256))
    const [byte = 0] = random
    random = random.subarray(1)
    return byte / 256
  })
}

export function checkEvents(values: readonly unknown[]): readonly Event[] {
  return decodedList(
    values.map((value, index) => {
      const event = checkEvent(value, index)
      if (KINDS[event.kind].stored) return event
      throw new ColloquyError(
        'transient_event',
        `${event.kind} is for live readers only and is never stored. Publish it instead.`,
        { kind: event.kind, at: index },
      )
    }),
  )
}

export function checkDelta(value: unknown): StreamingDeltaEvent {
  const event = checkEvent(value, 0, 'Invalid event')
  if (event.kind === 'StreamingDeltaEvent') return event
  throw new ColloquyError(
    'invalid_event',
    `${event.kind} belongs in the log, so it cannot be published. Append it instead.`,
    { kind: event.kind },
  )
}

function checkEvent(value: unknown, index: number, lead = `Invalid event at index ${index}`): Event {
  const decoded = decodeEvent(value)
  if (decoded.ok) return decoded.event
  const [first] = decoded.issues
  const where = first === undefined || first.loc.length === 0 ? '' : `, field ${first.loc.join('.')}`
  const message = `${lead}${where}: ${first?.msg ?? 'it is not an event.'}`
  throw new ColloquyError('invalid_event', message, { at: index, issues: decoded.issues })
}

/**
 * Adds missing ids and times (D15). Events whose id is in `known` stay unchanged, because the store compares
 * them with the stored events.
 * @param last the time of the log's last event
 */
export function stampEvents(
  events: readonly Event[],
  { newId, clock }: Stamp,
  last: string | null,
  known: Iterable<string> = [],
): readonly Event[] {
  const ids = new Set(known)
  let previous = last
  const stamped = events.map((event) => {
    if (event.id !== undefined && ids.has(event.id)) return event
    const { id = newId() } = event
    let { timestamp } = event
    if (timestamp === undefined) {
      const now = clock()
      const before = previous === null ? undefined : parseInstant(previous)
      // Never before the previous event: clocks go back, and differ between machines.
      timestamp = previous !== null && before !== undefined && now < before ? previous : formatInstant(now)
    }
    ids.add(id)
    previous = timestamp
    // Frozen, so that the store adopts it without a copy.
    return Object.freeze({ ...event, id, timestamp })
  })
  return decodedLists.has(events) ? decodedList(stamped) : stamped
}

/** Stamps only the events that are not in the store. Returns null if the store has none of the events' ids. */
export async function stampUnknown(
  store: Store,
  conversationId: string,
  events: readonly Event[],
  stamp: Stamp,
  last: string | null,
): Promise<readonly Event[] | null> {
  const known = await store.getMany(
    conversationId,
    events.flatMap(({ id }) => id ?? []),
  )
  const ids = known.flatMap((event) => event?.id ?? [])
  return ids.length === 0 ? null : stampEvents(events, stamp, last, ids)
}
