/** Searches of events: the values of a request go in, pages of events as the wire has them come out, without secrets. */

import { isLegalId } from '../../event/ids.ts'
import type { EventKind } from '../../event/kinds.ts'
import type { Source } from '../../event/shapes.ts'
import { maskSecrets } from '../../event/mask.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import type { EventFilter } from '../../store/query.ts'
import type { Store } from '../../store/store.ts'
import type { StoredEvent } from '../../store/stored-event.ts'

/** A filter as a request has it. */
export interface FilterValues {
  readonly kind__eq: EventKind | null
  readonly timestamp__gte: string | null
  readonly timestamp__lt: string | null
  /** Where the operation takes them. */
  readonly source?: Source | null
  readonly body?: string | null
}

/** A page as a request asks for it. */
export interface PageValues extends FilterValues {
  readonly sort_order: 'TIMESTAMP' | 'TIMESTAMP_DESC'
  readonly page_id: string | null
  readonly limit: number
}

/** A page of events, as the interface has it (section 2.1). */
export interface EventPageBody {
  readonly items: readonly Event[]
  readonly next_page_id: string | null
}

/** The filter of a search; hidden kinds are left out by the store, so that a page is full whenever enough events exist. */
export function filterOf(
  conversationId: string,
  { kind__eq, timestamp__gte, timestamp__lt, source = null, body = null }: FilterValues,
  hidden: readonly EventKind[] = [],
): EventFilter {
  return {
    conversationId,
    excludeKinds: hidden,
    ...(kind__eq !== null && { kinds: [kind__eq] }),
    ...(timestamp__gte !== null && { timestampGte: timestamp__gte }),
    ...(timestamp__lt !== null && { timestampLt: timestamp__lt }),
    ...(source !== null && { source }),
    ...(body !== null && { text: body }),
  }
}

/** One page. O(limit). @throws ColloquyError `invalid_query`, `invalid_cursor`. */
export async function searchPage(
  store: Store,
  filter: EventFilter,
  { sort_order, page_id, limit }: Omit<PageValues, keyof FilterValues>,
): Promise<EventPageBody> {
  const { items, next_page_id } = await store.search({
    ...filter,
    order: sort_order === 'TIMESTAMP' ? 'timestamp' : 'timestamp_desc',
    limit,
    ...(page_id !== null && { cursor: page_id }),
  })
  return { items: items.flatMap((item) => wireEvent(item) ?? []), next_page_id }
}

/** An event as clients see it: with its id, and null in place of encrypted content; null for a line that is no event. */
export function wireEvent({ fact, id }: Pick<StoredEvent, 'fact' | 'id'>): Event | null {
  if (isQuarantined(fact)) return null
  const event = maskSecrets(fact)
  return event.id === undefined && id !== null ? { ...event, id } : event
}

/** The events with these ids, in the order asked; null for each that is missing, or can be no id. O(ids). */
export async function getEvents(
  store: Store,
  conversationId: string,
  ids: readonly string[],
): Promise<(Event | null)[]> {
  const legal = ids.filter(isLegalId)
  const found = new Map<string, StoredEvent>()
  for (const event of await store.getMany(conversationId, legal))
    if (event !== null) found.set(event.id ?? '', event)
  return ids.map((id) => {
    const event = found.get(id)
    return event === undefined ? null : wireEvent(event)
  })
}
