/** Pages and counts of conversations, by the database's own functions (`schema/lists.ts`). */

import type { ConversationRecord } from '../contract/conversation-record.ts'
import { type Count, MOST_COUNTED, type Page } from '../contract/query.ts'
import {
  type CheckedConversationFilter,
  type CheckedConversationQuery,
  countWalkOf,
  lookedCount,
  lookedPage,
  type Walk,
  walkOf,
} from '../kit/query/conversation-query.ts'
import type { Bigint } from '../kit/row.ts'
import type { Connection } from './connection.ts'
import { type ConversationRow, recordOf } from './conversation-row.ts'

/** Before and after every time that a conversation can have. */
const FIRST = -(2n ** 62n)
const LAST = 2n ** 62n

type ListRow = ConversationRow & { readonly looked_id: string | null; readonly looked_at: Bigint }

/** One page, in one round trip. O(log n + records looked at). */
export async function listConversations(
  connection: Connection,
  query: CheckedConversationQuery,
): Promise<Page<ConversationRecord>> {
  if (!query.isPossible) return lookedPage(query, [], null)
  const walk = walkOf(query, query.by)
  const rows = await connection.query<ListRow>(
    `SELECT * FROM ${connection.schema}.list_${indexOf(walk)}_${query.descending ? 'down' : 'up'}(
      $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13
    )`,
    [...walkValues(walk, query), query.limit + 1],
  )
  const end = rows.at(-1)
  const isEnd = end !== undefined && end.looked_id !== null
  const found = (isEnd ? rows.slice(0, -1) : rows).map(recordOf)
  return lookedPage(query, found, isEnd ? { time: BigInt(end.looked_at), id: end.looked_id ?? '' } : null)
}

/** How many conversations a filter lets through. O(records looked at). */
export async function countConversations(
  connection: Connection,
  filter: CheckedConversationFilter,
  exact: boolean,
): Promise<Count> {
  if (!filter.isPossible) return lookedCount(0, 0, exact)
  const walk = countWalkOf(filter)
  const [row] = await connection.query<{ readonly looked: number; readonly fit: number }>(
    `SELECT * FROM ${connection.schema}.count_${indexOf(walk)}(
      $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
    )`,
    [...walkValues(walk, { descending: false, after: null }), isAll(walk), exact ? null : MOST_COUNTED + 1],
  )
  return lookedCount(row?.fit ?? 0, row?.looked ?? 0, exact)
}

const indexOf = ({ by, key }: Walk): string =>
  key !== null ? 'key' : by === 'createdAt' ? 'created' : 'updated'

/** Whether whatever is walked fits. */
const isAll = (walk: Walk): boolean =>
  walk.titleContains === null &&
  walk.public === null &&
  walk.keys.length === 0 &&
  walk.otherFrom === null &&
  walk.otherUntil === null

function walkValues(
  walk: Walk,
  { descending, after }: Pick<CheckedConversationQuery, 'descending' | 'after'>,
): unknown[] {
  const { key, from, until, titleContains, keys, otherFrom, otherUntil } = walk
  // No id is empty, so this comes before all of that time.
  let low = { time: from ?? FIRST, id: '' }
  let high = { time: until ?? LAST, id: '' }
  if (after !== null) {
    if (descending) high = after.time < high.time ? after : high
    else low = after.time >= low.time ? after : low
  }
  return [
    key?.[0] ?? null,
    key?.[1] ?? null,
    String(low.time),
    low.id,
    String(high.time),
    high.id,
    titleContains,
    walk.public,
    keys.map(([name]) => name),
    keys.map(([, value]) => value),
    String(otherFrom ?? FIRST),
    String(otherUntil ?? LAST),
  ]
}
