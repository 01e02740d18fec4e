/**
 * The feed in PostgreSQL: a table that a trigger writes, one row for each append, read below the oldest transaction
 * that runs.
 */

import type { FeedPage } from '../contract/feed.ts'
import {
  type CheckedFeedQuery,
  feedEnd,
  type FeedPart,
  type FeedRow,
  fillFeed,
  planFeed,
  rowsFor,
  TOLD,
} from '../kit/feed.ts'
import type { Bigint } from '../kit/row.ts'
import type { StoredEvent } from '../contract/stored-event.ts'
import type { Connection } from './connection.ts'
import { EVENT_COLUMNS, type EventRow, storedEvent } from './event-row.ts'

interface Row {
  readonly moment: Bigint
  readonly place: Bigint
  readonly witness: Bigint
  readonly conversation_id: string
  readonly told: number
  readonly from_seq: number
  readonly until_seq: number
  readonly is_there: boolean
}

/** What a transaction that runs may still come to stand before is not read yet. */
const SETTLED = 'f.moment < pg_snapshot_xmin(pg_current_snapshot())::text::bigint'

/** Rows of one shard, or the same of each. */
function rowsSql(schema: string, shard: number | null, condition: string, order: string): string {
  const rows = (of: string): string => `SELECT f.* FROM ${schema}.feed f
    WHERE f.shard = ${of} AND ${SETTLED}${condition} ORDER BY f.moment ${order}, f.place ${order} LIMIT $1`
  const from =
    shard === null
      ? `generate_series(0, 63) AS s (shard) CROSS JOIN LATERAL (${rows('s.shard::smallint')}) r`
      : `(${rows(`${shard}::smallint`)}) r`
  return `SELECT r.*, c.conversation_id IS NOT NULL AS is_there FROM (
      SELECT r.* FROM ${from} ORDER BY r.moment ${order}, r.place ${order} LIMIT $1
    ) r LEFT JOIN ${schema}.conversations c ON c.conversation_id = r.conversation_id AND c.feed_start <= r.moment
    ORDER BY r.moment ${order}, r.place ${order}`
}

/**
 * A page of the feed, in two statements. O(limit + log n) for a shard, with all of them O(64 * limit). Where it has
 * news, it waits for the standby: what is told to others, and where they have come to, must not be lost afterwards.
 */
export async function readFeed(connection: Connection, query: CheckedFeedQuery): Promise<FeedPage> {
  const { shard, after, fromEnd } = query
  if (fromEnd) {
    const sql = rowsSql(connection.schema, shard, '', 'DESC')
    const [last] = await connection.query<Row>(sql, [1])
    return feedEnd(query, last && toRow(last))
  }
  const [moment = '0', place = '0'] = after?.place.split(' ') ?? []
  const sql = rowsSql(connection.schema, shard, ' AND (f.moment, f.place) >= ($2::bigint, $3::bigint)', 'ASC')
  const rows = await connection.query<Row>(sql, [rowsFor(query), moment, place])
  const plan = planFeed(query, rows.map(toRow))
  if (plan.page.reset) await settleFeed(connection)
  const hasNews = rows.length > (after === null ? 0 : 1)
  const [events] = await Promise.all([
    eventsOf(connection, plan.parts),
    hasNews ? connection.waitForStandby() : undefined,
  ])
  return fillFeed(plan, (part) => events.get(part) ?? [])
}

/**
 * Whatever the planner knows of lengths, each part is a range of the key. The conversation is looked at again: it may
 * have gone since its rows were read, and another be there under its id.
 */
async function eventsOf(
  connection: Connection,
  parts: readonly FeedPart[],
): Promise<Map<FeedPart, StoredEvent[]>> {
  const wanted = parts.filter(({ row }) => row.told === TOLD.events)
  const events = new Map(wanted.map((part): [FeedPart, StoredEvent[]] => [part, []]))
  if (wanted.length === 0) return events
  const rows = await connection.query<EventRow & { readonly nth: number }>(
    `SELECT ${EVENT_COLUMNS}, w.nth::integer AS nth
    FROM unnest($1::text[], $2::integer[], $3::integer[], $4::bigint[])
      WITH ORDINALITY AS w (id, first, beyond, moment, nth)
    JOIN ${connection.schema}.conversations c ON c.conversation_id = w.id AND c.feed_start <= w.moment
    CROSS JOIN LATERAL (
      SELECT * FROM ${connection.schema}.events e
      WHERE e.conversation_id = w.id AND e.seq >= w.first AND e.seq < w.beyond ORDER BY e.seq LIMIT 100
    ) e ORDER BY w.nth, e.seq`,
    [
      wanted.map(({ row }) => row.conversationId),
      wanted.map(({ from }) => from),
      wanted.map(({ until }) => until),
      wanted.map(({ row }) => row.place.split(' ')[0]),
    ],
  )
  for (const row of rows) {
    const part = wanted[row.nth - 1]
    if (part) events.get(part)?.push(storedEvent(part.row.conversationId, row, row.inTree))
  }
  return events
}

/** Makes the feed of a database readable that was restored from a dump. */
export async function settleFeed(connection: Connection): Promise<void> {
  await connection.query(`SELECT ${connection.schema}.settle_feed()`, [])
}

const toRow = (row: Row): FeedRow => ({
  place: `${row.moment} ${row.place}`,
  witness: String(row.witness),
  conversationId: row.conversation_id,
  told: row.told,
  from: row.from_seq,
  until: row.until_seq,
  isThere: row.is_there,
})
