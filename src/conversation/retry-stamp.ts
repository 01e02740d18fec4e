/** Repeats an append without the times stamped since, so that a caller who tries again finds it done. */

import type { Event } from '../event/types.ts'
import type { Store } from '../store/contract/store.ts'
import { type Stamp, stampEvents } from './stamp.ts'

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
