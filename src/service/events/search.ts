import { isLegalId } from '../../event/ids.ts'
import { edit, editObject, withoutNulls } from '../../event/json.ts'
import { EVENT_KINDS, type EventKind, KINDS } from '../../event/kinds.ts'
import { maskSecrets } from '../../event/mask.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import { type JsonObject, type JsonValue, SOURCES } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import type { BlobReference } from '../../store/contract/blobs.ts'
import { blobText } from '../../event/text.ts'
import type { EventFilter, StoredEvent } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { maybe } from '../http/operation.ts'
import { CURSOR_PAGING, MAX_PAGE_BYTES, type PageBody, readByIds } from '../http/paging.ts'
import type { Parameter, ValuesOf } from '../http/parameters.ts'
import { dateTime, oneOf, optional, text, withDefault } from '../http/parameters.ts'

const eventKind = oneOf(EVENT_KINDS as unknown as readonly [EventKind, ...EventKind[]])

const TIMES = { timestamp__gte: optional(dateTime()), timestamp__lt: optional(dateTime()) } as const

export const FILTERS = { kind__eq: optional(eventKind), ...TIMES } as const

/** An event kind: its name, or a dotted class path that ends with the name. */
const kindName: Parameter<EventKind> = {
  schema: { type: 'string' },
  omitted: null,
  read: (values) => eventKind.read([(values.at(-1) ?? '').split('.').at(-1) ?? '']),
}

export const AGENT_FILTERS = {
  kind: optional(kindName),
  source: optional(oneOf(SOURCES)),
  body: optional(text()),
  ...TIMES,
} as const

export const PAGING = {
  sort_order: withDefault(oneOf(['TIMESTAMP', 'TIMESTAMP_DESC']), 'TIMESTAMP'),
  ...CURSOR_PAGING,
} as const

export const BLOBS_QUERY = { blobs: withDefault(oneOf(['whole', 'refs']), 'whole') } as const

export const EVENT: JsonObject = { $ref: '#/components/schemas/Event' }
export const EVENT_PAGE: JsonObject = { $ref: '#/components/schemas/EventPage' }
export const EVENT_OR_NULL: JsonObject = maybe(EVENT)

export type FilterValues = Partial<ValuesOf<typeof FILTERS & typeof AGENT_FILTERS>>

export type PageValues = FilterValues & ValuesOf<typeof PAGING> & Partial<ValuesOf<typeof BLOBS_QUERY>>

export interface EventPageBody extends PageBody<Event> {
  readonly blobs?: readonly (BlobReference & { readonly event_id: string })[]
}

/** Returns the store's filter. It excludes hidden kinds, so that a page is full if enough events match. */
export function filterOf(
  conversationId: string,
  values: FilterValues,
  hidden: readonly EventKind[] = [],
): EventFilter {
  const { kind = null, kind__eq = kind, source, body: text } = values
  const { timestamp__gte: timestampGte, timestamp__lt: timestampLt } = values
  return {
    conversationId,
    ...(hidden.length > 0 && { excludeKinds: hidden }),
    ...(kind__eq !== null && { kinds: [kind__eq] }),
    ...withoutNulls({ timestampGte, timestampLt, source, text }),
  }
}

export async function searchPage(
  store: Pick<Store, 'search'>,
  filter: EventFilter,
  { sort_order, page_id, limit, blobs = 'whole' }: Omit<PageValues, keyof FilterValues>,
): Promise<EventPageBody> {
  const { items, cursor: next_page_id } = await store.search({
    ...filter,
    order: sort_order === 'TIMESTAMP' ? 'timestamp' : 'timestamp_desc',
    limit,
    maxBytes: MAX_PAGE_BYTES,
    blobs,
    ...(page_id !== null && { cursor: page_id }),
  })
  const events = items.flatMap((item) => wireEvent(item) ?? [])
  if (blobs === 'whole') return { items: events, next_page_id }
  const stored = new Map(items.map((item) => [item.id, item]))
  const references = events.flatMap((event) =>
    wireBlobs(event, stored.get(event.id ?? null) ?? {}).map((one) => ({ event_id: event.id ?? '', ...one })),
  )
  return { items: events, next_page_id, blobs: references }
}

export function wireEvent({ fact, id }: Pick<StoredEvent, 'fact' | 'id'>): Event | null {
  if (isQuarantined(fact)) return null
  const event = withDefaults(maskSecrets(fact))
  return event.id === undefined && id !== null ? { ...event, id } : event
}

/** Returns the blob references in an event, except references to content that was masked for clients. */
export function wireBlobs(
  event: Event,
  { blobs = [] }: Pick<StoredEvent, 'blobs'>,
): readonly BlobReference[] {
  const valueAt = (path: BlobReference['path']): unknown =>
    path.reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | null)?.[key], event)
  return blobs.filter(({ path, hash }) => valueAt(path) === blobText(hash))
}

/** Reads events by id; null for an unknown id. @throws HttpProblem 413 if several events exceed a page. */
export const getEvents = (
  store: Pick<Store, 'getMany'>,
  conversationId: string,
  ids: readonly string[],
): Promise<(Event | null)[]> =>
  readByIds(ids, 'events', async (some) => {
    const byId = new Map<string, Event | null>()
    for (const event of await store.getMany(conversationId, some.filter(isLegalId)))
      if (event !== null && event.id !== null) byId.set(event.id, wireEvent(event))
    return some.map((id) => byId.get(id) ?? null)
  })

/** Fills in an omitted `source`, and the omitted `type` of text, image and thinking blocks. */
export function withDefaults(event: Event): Event {
  let edited = event as object as JsonObject
  for (const name of CONTENT_FIELDS) edited = edit(edited, name, typed)
  for (const [name, field] of HOLDERS)
    edited = editObject(edited, name, (holder) => edit(holder, field, typed))
  const source = KINDS[event.kind].defaultSource
  if (edited['source'] === undefined && source !== null) edited = { ...edited, source }
  return edited as object as Event
}

const CONTENT_FIELDS = [
  'thought',
  'thinking_blocks',
  'extended_content',
  'system_prompt',
  'dynamic_context',
] as const

const HOLDERS = [
  ['llm_message', 'content'],
  ['llm_message', 'thinking_blocks'],
  ['observation', 'content'],
] as const

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
    return parts.some((part, index) => part !== value[index]) ? parts : value
  }
  const part = value as JsonObject
  if (part['type'] !== undefined) return part
  const type = TYPES.find(([field]) => Object.hasOwn(part, field))?.[1]
  return type === undefined ? part : { type, ...part }
}
