/** Applies checked filters to one event or record at a time, for stores without an index. */

import { KINDS } from '../../../event/kinds.ts'
import { isQuarantined } from '../../../event/quarantine.ts'
import { parseInstant } from '../../../event/time.ts'
import type { ConversationRecord } from '../../contract/conversation-record.ts'
import type { EventPage, Page, StoredEvent } from '../../contract/query.ts'
import { withReferences } from '../blobs.ts'
import { compareIds } from '../record.ts'
import {
  type CheckedConversationFilter,
  type CheckedConversationQuery,
  conversationCursor,
  type ConversationPlace,
  keysOf,
} from './conversation-query.ts'
import type { CheckedEventFilter, CheckedEventQuery, EventPlace } from './event-query.ts'
import { eventCursor } from './event-query.ts'
import { foldText, messageText } from './message-text.ts'
import { bodyBytes, countWithin, inOrder, pageOf } from './page.ts'

/**
 * Whether an event matches a filter. Does not check the conversation and `leafId`; for `leafId`, see
 * `pathSegments`. O(1), or O(length) with a text.
 */
export function fitsEvent({ fact, inTree, time: digits }: StoredEvent, filter: CheckedEventFilter): boolean {
  if (!inTree || isQuarantined(fact)) return false
  const { kinds, source, text, from, until } = filter
  const time = BigInt(digits)
  return (
    (kinds === null || kinds.has(fact.kind)) &&
    (source === null || (fact.source ?? KINDS[fact.kind].defaultSource) === source) &&
    (from === null || time >= from) &&
    (until === null || time < until) &&
    (text === null || messageText(fact)?.includes(text) === true)
  )
}

/** Returns the query's page. `fitting`: all events that match, in any order. O(n log n). */
export function pageOfEvents(fitting: readonly StoredEvent[], query: CheckedEventQuery): EventPage {
  const { limit, maxBytes, refs } = query
  const places = fitting.map((event) => ({ event, time: BigInt(event.time), seq: event.seq }))
  const result = inOrder(places, query, compareEvents)
    .slice(0, limit + 1)
    .map(({ event }) => (refs ? withReferences(event) : event))
  const count = countWithin(result, limit, maxBytes, (event) => bodyBytes(withReferences(event), refs))
  return pageOf(result, count, (last) => eventCursor(query, last))
}

const compareEvents = (a: EventPlace, b: EventPlace): number =>
  a.time === b.time ? a.seq - b.seq : a.time < b.time ? -1 : 1

/**
 * Returns a function that compares records by time, then by id. O(1).
 * @example
 * const [a, b] = ['a', 'b'].map((id) => newRecord({ id }, 0n))
 * [b, a].toSorted(compareRecords('createdAt')).map(({ id }) => id) // ['a', 'b']
 */
export function compareRecords(
  by: CheckedConversationQuery['by'],
): (a: ConversationRecord, b: ConversationRecord) => number {
  // All times of records have one form, in which text and instant sort alike.
  return (a, b) => (a[by] === b[by] ? compareIds(a.id, b.id) : a[by] < b[by] ? -1 : 1)
}

/** Whether a record matches a filter. O(tags + title). */
export function fitsRecord(record: ConversationRecord, filter: CheckedConversationFilter): boolean {
  const { titleContains, keys, createdFrom, createdUntil, updatedFrom, updatedUntil } = filter
  const ownKeys = keys.length === 0 ? [] : keysOf(record)
  return (
    (filter.public === null || record.public === filter.public) &&
    (titleContains === null || (record.title !== null && foldText(record.title).includes(titleContains))) &&
    keys.every(([name, value]) => ownKeys.some((key) => key[0] === name && key[1] === value)) &&
    (createdFrom === null || recordTime(record, 'createdAt') >= createdFrom) &&
    (createdUntil === null || recordTime(record, 'createdAt') < createdUntil) &&
    (updatedFrom === null || recordTime(record, 'updatedAt') >= updatedFrom) &&
    (updatedUntil === null || recordTime(record, 'updatedAt') < updatedUntil)
  )
}

/** Returns the query's page. `fitting`: all records that match, in any order. O(n log n). */
export function pageOfRecords(
  fitting: readonly ConversationRecord[],
  query: CheckedConversationQuery,
): Page<ConversationRecord> {
  const places = fitting.map((record) => ({ record, time: recordTime(record, query.by), id: record.id }))
  const matches = inOrder(places, query, comparePlaces).map(({ record }) => record)
  return pageOf(matches, query.limit, (last) => conversationCursor(query, last))
}

export const comparePlaces = (a: ConversationPlace, b: ConversationPlace): number =>
  a.time === b.time ? compareIds(a.id, b.id) : a.time < b.time ? -1 : 1

/** Returns a record's time of creation or change (`by`), in microseconds since 1970. */
export const recordTime = (record: ConversationRecord, by: CheckedConversationQuery['by']): bigint =>
  parseInstant(record[by]) as bigint
