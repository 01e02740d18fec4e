/** Searches of events for all faces: the parameters of a request to a query, its page to the wire, without secrets. */

import { MAX_PAGE_BYTES, readByIds } from '../http/page-bytes.ts'
import { withDefaults } from './defaults.ts'
import { isLegalId } from '../../event/ids.ts'
import type { EventKind } from '../../event/kinds.ts'
import type { Source } from '../../event/shapes.ts'
import { maskSecrets } from '../../event/mask.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import type { EventFilter } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import type { StoredEvent } from '../../store/contract/stored-event.ts'

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

/** A page of events, as clients get it (interface section 2.1). */
export interface EventPageBody {
  readonly items: readonly Event[]
  readonly next_page_id: string | null
}

/**
 * The filter of a search; hidden kinds are left out by the store, so that a page is full whenever enough events exist.
 */
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
  store: Pick<Store, 'search'>,
  filter: EventFilter,
  { sort_order, page_id, limit }: Omit<PageValues, keyof FilterValues>,
): Promise<EventPageBody> {
  const { items, next_page_id } = await store.search({
    ...filter,
    order: sort_order === 'TIMESTAMP' ? 'timestamp' : 'timestamp_desc',
    limit,
    maxBytes: MAX_PAGE_BYTES,
    ...(page_id !== null && { cursor: page_id }),
  })
  return { items: items.flatMap((item) => wireEvent(item) ?? []), next_page_id }
}

/**
 * An event as clients see it: with its id, with the defaults that its writer left out, and null in place of encrypted
 * content; null for a line that is no event.
 */
export function wireEvent({ fact, id }: Pick<StoredEvent, 'fact' | 'id'>): Event | null {
  if (isQuarantined(fact)) return null
  const event = withDefaults(maskSecrets(fact))
  return event.id === undefined && id !== null ? { ...event, id } : event
}

/**
 * The events with these ids, in the order asked; null for each that is missing, or can be no id. O(ids).
 * @throws HttpProblem 413 for several events that hold more than a page may.
 */
export const getEvents = (
  store: Pick<Store, 'getMany'>,
  conversationId: string,
  ids: readonly string[],
): Promise<(Event | null)[]> =>
  readByIds(ids, 'events', async (some) => {
    const found = new Map<string, Event | null>()
    for (const event of await store.getMany(conversationId, some.filter(isLegalId)))
      if (event !== null && event.id !== null) found.set(event.id, wireEvent(event))
    return some.map((id) => found.get(id) ?? null)
  })
