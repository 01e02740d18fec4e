/** The feed in SQLite: a table that triggers write, one row for each append. */

import type { FeedPage } from '../contract/feed.ts'
import {
  type CheckedFeedQuery,
  feedEnd,
  type FeedPart,
  type FeedRow,
  fillFeed,
  placeNumber,
  planFeed,
  rowsFor,
} from '../kit/feed.ts'
import type { StoredEvent } from '../contract/stored-event.ts'
import type { Connection } from './connection.ts'
import { readStretch } from './read.ts'

const COLUMNS = `feed.place, feed.witness, feed.conversation_id AS conversationId, feed.told, feed.from_seq AS "from",
  feed.until_seq AS "until", EXISTS (
    SELECT 1 FROM colloquy_log AS log WHERE log.conversation_id = feed.conversation_id AND log.feed_start <= feed.place
  ) AS isThere`

const rowsSql = (condition: string): string =>
  `SELECT ${COLUMNS} FROM colloquy_feed AS feed WHERE ${condition}feed.place >= ? ORDER BY feed.place LIMIT ?`

/** The rows from a place on: of all shards, and of one. */
export const FEED_ROWS = [rowsSql(''), rowsSql('feed.shard = ? AND ')] as const

const lastSql = (condition: string): string =>
  `SELECT ${COLUMNS} FROM colloquy_feed AS feed ${condition} ORDER BY feed.place DESC LIMIT 1`

/** The last row: of all shards, and of one. */
export const FEED_LAST = [lastSql(''), lastSql('WHERE feed.shard = ?')] as const

type Row = Omit<FeedRow, 'place' | 'witness' | 'isThere'> & {
  readonly place: number
  readonly witness: number
  readonly isThere: number
}

/** A page of the feed, from one state of the database. O(limit + log n). */
export function readFeed(connection: Connection, query: CheckedFeedQuery): FeedPage {
  const { shard, fromEnd } = query
  const from = placeNumber(query)
  const of = shard === null ? [] : [shard]
  return connection.snapshot(() => {
    if (fromEnd) {
      const last = connection.get<Row>(FEED_LAST[shard === null ? 0 : 1], ...of)
      return feedEnd(query, last && toRow(last))
    }
    const sql = FEED_ROWS[shard === null ? 0 : 1]
    const rows = connection.all<Row>(sql, ...of, from, rowsFor(query)).map(toRow)
    return fillFeed(planFeed(query, rows), (part) => eventsOf(connection, part))
  })
}

const eventsOf = (connection: Connection, { row, from, until }: FeedPart): StoredEvent[] =>
  readStretch(connection, row.conversationId, from, until - from)

const toRow = (row: Row): FeedRow => ({
  ...row,
  place: String(row.place),
  witness: String(row.witness),
  isThere: row.isThere === 1,
})
