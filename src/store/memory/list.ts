/** Pages of conversation records in memory. */

import type { ConversationRecord } from '../contract/conversation-record.ts'
import type { CheckedConversationQuery } from '../kit/query/conversation-query.ts'
import { fitsRecord, recordTime } from '../kit/query/fits.ts'
import { compareIds } from '../kit/record.ts'
import { firstFrom } from './sorted.ts'

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
    const time = recordTime(record, by)
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
