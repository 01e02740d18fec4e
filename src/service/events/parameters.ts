/** What a search of events takes (interface section 4.1). */

import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { EVENT_KINDS, type EventKind } from '../../event/kinds.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { maybe } from '../http/json-schema.ts'
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
