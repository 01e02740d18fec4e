/** Repeats an append without the times stamped since, so that a caller who tries again finds it done. */

import type { Event } from '../event/types.ts'
import type { Store } from '../store/contract/store.ts'
import { type Stamp, stampEvents } from './stamp.ts'

/**
 * The events stamped, but for those whose id is known already: what their caller left out stays out, so that the store
 * compares what was given and nothing else (law S). Null when none is known. O(events).
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
  const ids = new Set(known.flatMap((event) => event?.id ?? []))
  if (ids.size === 0) return null
  return events.flatMap((event) => (ids.has(event.id ?? '') ? [event] : stampEvents([event], stamp)))
}
