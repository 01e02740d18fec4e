/** An append that was refused because its ids are taken goes in; out comes the same append without the times that were stamped since. */

import type { Event } from '../event/types.ts'
import type { Store } from '../store/store.ts'
import { type Stamp, stampEvents } from './draft.ts'

/**
 * The events stamped, but for those whose id is known already: what their caller left out stays out, so that the store compares what was
 * given and nothing else (law S). Null when none is known. O(events).
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
