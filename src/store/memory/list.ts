/** Pages and counts of conversation records in memory. */

import {
  type CheckedConversationFilter,
  type CheckedConversationQuery,
  type ConversationPlace,
  countWalkOf,
  lookedCount,
  lookedPage,
  type Walk,
  walkOf,
} from '../kit/query/conversation-query.ts'
import type { ConversationRecord } from '../contract/conversation-record.ts'
import { type Count, MOST_COUNTED, MOST_LOOKED_AT, type Page } from '../contract/query.ts'
import { fitsRecord, recordTime } from '../kit/query/fits.ts'
import { compareIds } from '../kit/record.ts'
import type { SortedList } from './sorted-list.ts'

/** The records that a walk goes through, in its order upwards; null for none. */
export type Walked = (walk: Walk) => SortedList<ConversationRecord> | null

/** One page. O(log n + records looked at). */
export function listConversations(walked: Walked, query: CheckedConversationQuery): Page<ConversationRecord> {
  const walk = walkOf(query, query.by)
  const found: ConversationRecord[] = []
  let looked = 0
  for (const record of recordsOf(walked, walk, query)) {
    if (fitsRecord(record, query)) found.push(record)
    looked += 1
    if (found.length > query.limit) break
    if (looked === MOST_LOOKED_AT) return lookedPage(query, found, placeOf(record, query.by))
  }
  return lookedPage(query, found, null)
}

/** How many a filter lets through. O(records looked at). */
export function countConversations(walked: Walked, filter: CheckedConversationFilter, exact: boolean): Count {
  const walk = countWalkOf(filter)
  let count = 0
  let looked = 0
  for (const record of recordsOf(walked, walk, { descending: false, after: null })) {
    if (fitsRecord(record, filter)) count += 1
    looked += 1
    if (!exact && looked > MOST_COUNTED) break
  }
  return lookedCount(count, looked, exact)
}

const placeOf = (record: ConversationRecord, by: Walk['by']): ConversationPlace => ({
  time: recordTime(record, by),
  id: record.id,
})

function* recordsOf(
  walked: Walked,
  walk: Walk,
  { descending, after }: Pick<CheckedConversationQuery, 'descending' | 'after'>,
): Generator<ConversationRecord, void, undefined> {
  const { by, from, until } = walk
  const list = walked(walk)
  if (list === null) return
  const order = (record: ConversationRecord, { time, id }: ConversationPlace): number => {
    const own = recordTime(record, by)
    return own === time ? compareIds(record.id, id) : own < time ? -1 : 1
  }
  const isEarly = (record: ConversationRecord): boolean => from !== null && recordTime(record, by) < from
  const isLate = (record: ConversationRecord): boolean => until !== null && recordTime(record, by) >= until
  const walkFrom = descending
    ? list.before((record) => !isLate(record) && (after === null || order(record, after) < 0))
    : list.from((record) => isEarly(record) || (after !== null && order(record, after) <= 0))
  for (const record of walkFrom) {
    if (descending ? isEarly(record) : isLate(record)) return
    yield record
  }
}
