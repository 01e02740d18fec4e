/** Pages of conversation records in memory. */

import { parseInstant } from '../../event/time.ts'
import type { CheckedConversationFilter, CheckedConversationQuery } from '../kit/query/conversation-query.ts'
import type { ConversationRecord } from '../contract/conversation-record.ts'
import { foldText } from '../kit/query/message-text.ts'
import { compareIds } from '../kit/record.ts'
import { firstFrom } from './sorted.ts'

/** The order of a list upwards: by time, then by id. */
export function compareRecords(
  by: CheckedConversationQuery['by'],
): (a: ConversationRecord, b: ConversationRecord) => number {
  // All times of records have one form, in which text and instant sort alike.
  return (a, b) => (a[by] === b[by] ? compareIds(a.id, b.id) : a[by] < b[by] ? -1 : 1)
}

/** Whether a filter lets a record through. O(tags + title). */
export function fitsRecord(record: ConversationRecord, filter: CheckedConversationFilter): boolean {
  const { titleContains, parentConversationId, createdFrom, createdUntil, updatedFrom, updatedUntil } = filter
  const created = timeOf(record, 'createdAt')
  const updated = timeOf(record, 'updatedAt')
  return (
    (filter.public === null || record.public === filter.public) &&
    (parentConversationId === null || record.parentConversationId === parentConversationId) &&
    (titleContains === null || (record.title !== null && foldText(record.title).includes(titleContains))) &&
    filter.tags.every(([key, value]) => Object.hasOwn(record.tags, key) && record.tags[key] === value) &&
    (createdFrom === null || created >= createdFrom) &&
    (createdUntil === null || created < createdUntil) &&
    (updatedFrom === null || updated >= updatedFrom) &&
    (updatedUntil === null || updated < updatedUntil)
  )
}

/**
 * At most `most` records beyond the query's place, in its order, out of all in order upwards. O(log n + records looked
 * at).
 */
export function listConversations(
  sorted: readonly ConversationRecord[],
  query: CheckedConversationQuery,
  most: number,
): ConversationRecord[] {
  const { after, by, descending } = query
  const isBefore = (record: ConversationRecord): boolean => {
    if (after === null) return descending
    const time = timeOf(record, by)
    const order = time === after.time ? compareIds(record.id, after.id) : time < after.time ? -1 : 1
    return descending ? order < 0 : order <= 0
  }
  const start = firstFrom(sorted, isBefore)
  const found: ConversationRecord[] = []
  const step = descending ? -1 : 1
  for (let at = descending ? start - 1 : start; at >= 0 && at < sorted.length; at += step) {
    const record = sorted[at] as ConversationRecord
    if (fitsRecord(record, query) && found.push(record) === most) break
  }
  return found
}

const timeOf = (record: ConversationRecord, by: CheckedConversationQuery['by']): bigint =>
  parseInstant(record[by]) as bigint
