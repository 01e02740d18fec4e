/** Searches of events for all faces: the parameters of a request to a query, its page to the wire, without secrets. */

import { isLegalId } from '../../event/ids.ts'
import { edit, editObject } from '../../event/json.ts'
import { EVENT_KINDS, type EventKind, KINDS } from '../../event/kinds.ts'
import { maskSecrets } from '../../event/mask.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { JsonObject, JsonValue, Source } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import { type EventFilter, MAX_PAGE_SIZE, type StoredEvent } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { maybe } from '../http/operation.ts'
import { MAX_PAGE_BYTES, readByIds } from '../http/page-bytes.ts'
import { dateTime, integer, oneOf, optional, text, withDefault } from '../http/parameters.ts'

/** The filters that search and count share. */
export const FILTERS = {
  kind__eq: optional(oneOf(EVENT_KINDS as unknown as readonly [EventKind, ...EventKind[]])),
  timestamp__gte: optional(dateTime()),
  timestamp__lt: optional(dateTime()),
} as const

/** How a search is ordered and paged. */
export const PAGING = {
  sort_order: withDefault(oneOf(['TIMESTAMP', 'TIMESTAMP_DESC']), 'TIMESTAMP'),
  page_id: optional(text()),
  limit: withDefault(integer({ least: 1, most: MAX_PAGE_SIZE }), MAX_PAGE_SIZE),
} as const

/** The responses: a page, and an event that may be missing. */
export const EVENT: JsonObject = { $ref: '#/components/schemas/Event' }
export const EVENT_PAGE: JsonObject = { $ref: '#/components/schemas/EventPage' }
export const EVENT_OR_NULL: JsonObject = maybe(EVENT)

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

/**
 * The event with its `source`, and with the `type` of each of its texts and images, and of each block of thinking. The
 * very same event where nothing was left out. O(parts).
 *
 * @example
 * withDefaults({ kind: 'PauseEvent' }).source // 'user'
 */
export function withDefaults(event: Event): Event {
  let told = event as object as JsonObject
  for (const name of PARTS) told = edit(told, name, typed)
  for (const [name, field] of HOLDERS) told = editObject(told, name, (holder) => edit(holder, field, typed))
  told = editObject(told, 'llm_message', (message) => edit(message, 'thinking_blocks', typed))
  const source = KINDS[event.kind].defaultSource
  if (told['source'] === undefined && source !== null) told = { ...told, source }
  return told as object as Event
}

/** Fields that are a part, or lists of them. */
const PARTS = ['thought', 'thinking_blocks', 'extended_content', 'system_prompt', 'dynamic_context'] as const

/** Objects, and the field of each that has its parts. */
const HOLDERS = [
  ['llm_message', 'content'],
  ['observation', 'content'],
] as const

/** By a field that nothing else has. */
const TYPES = [
  ['text', 'text'],
  ['image_urls', 'image'],
  ['thinking', 'thinking'],
  ['data', 'redacted_thinking'],
] as const

function typed(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const parts = (value as readonly JsonValue[]).map(typed)
    return parts.some((part, at) => part !== value[at]) ? parts : value
  }
  const part = value as JsonObject
  if (part['type'] !== undefined) return part
  const type = TYPES.find(([field]) => Object.hasOwn(part, field))?.[1]
  return type === undefined ? part : { type, ...part }
}
