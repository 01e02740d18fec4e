/** Rows as SQLite gives them go in, the values of the contract come out. */

import { isLegalId } from '../../event/ids.ts'
import type { LogTip } from '../lookup.ts'
import type { Spot } from '../path.ts'
import { readEvent } from '../rows.ts'
import type { StoredEvent } from '../stored-event.ts'
import type { Connection } from './connection.ts'

/** An integer that may be beyond 2^53: as text where a driver could not give it as a number. */
export type Micros = number | string

/**
 * SQL for a column of microseconds. Beyond the year 2255 they are no safe integers, which node:sqlite refuses and others round. The name
 * is another than the column's: ORDER BY would take the text for it.
 */
export const micros = (column: string, name: string): string =>
  `CASE WHEN ${column} BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}
    THEN ${column} ELSE CAST(${column} AS TEXT) END AS ${name}`

/** An event as it is read. */
export type EventRow = readonly [
  seq: number,
  at: Micros,
  id: string | null,
  parentId: string | null,
  lane: number | null,
  body: string,
]

/** SQL for the columns of an {@link EventRow}. */
export const EVENT_COLUMNS = `event.seq, ${micros('event.time', 'at')}, event.id, event.parent_id, event.lane, event.body`

/** An event as others hang on it; the columns are null where it is not in the tree. */
export interface SpotRow {
  readonly seq: number
  readonly id: string
  readonly parent_id: string | null
  readonly real: number
  readonly lane: number
  readonly clock_at: Micros
}

/** SQL for the columns of a {@link SpotRow}. */
export const SPOT_COLUMNS = `event.seq, event.id, event.parent_id, event.real, event.lane, ${micros('event.clock', 'clock_at')}`

/** The end of a log. */
export interface LogRow {
  readonly version: number
  readonly updated_at: Micros
  readonly time_at: Micros
  readonly clock_at: Micros
  readonly in_order: number
  readonly head_seq: number | null
  readonly head_id: string
  readonly head_parent_id: string | null
  readonly head_lane: number
  readonly head_clock_at: Micros
  readonly lane: number | null
  readonly lane_end: number
  /** How many events of each kind and source a search may find, as `groupsOf` reads it. */
  readonly kinds: string
  readonly time_zone: string | null
}

const SELECT_LOG = `SELECT log.version, ${micros('log.updated_at', 'updated_at')}, ${micros('log.time', 'time_at')},
  ${micros('log.clock', 'clock_at')}, log.in_order, log.head_seq, log.head_id, log.head_parent_id, log.head_lane,
  ${micros('log.head_clock', 'head_clock_at')}, log.lane, log.lane_end, log.kinds, conversation.time_zone
  FROM colloquy_log AS log JOIN colloquy_conversation AS conversation USING (conversation_id)
  WHERE log.conversation_id = ?`

/** The end of a log, or undefined for a conversation that there is not. O(log conversations). */
export function findLog(connection: Connection, conversationId: string): LogRow | undefined {
  // No text is bound that a driver would change on the way in, and then find something else.
  return isLegalId(conversationId) ? connection.get<LogRow>(SELECT_LOG, conversationId) : undefined
}

/** The event of a row, frozen. O(length of the body). @throws `store_unavailable` for a body that is no JSON. */
export function toStored(conversationId: string, row: EventRow): StoredEvent {
  const [seq, at, id, parentId, lane, body] = row
  const place = { conversationId, seq, id, parentId, stands: lane !== null, time: BigInt(at) }
  return readEvent(place, body)
}

/** What an append needs to know of an event. */
export function toSpot(row: SpotRow): Spot {
  const { seq, id, lane } = row
  return { seq, id, parentId: row.parent_id, real: row.real === 1, lane, clock: BigInt(row.clock_at) }
}

/** The end of a log as an append needs it. */
export function toTip(row: LogRow): LogTip {
  const head =
    row.head_seq === null
      ? null
      : {
          seq: row.head_seq,
          id: row.head_id,
          parentId: row.head_parent_id,
          real: true,
          lane: row.head_lane,
          clock: BigInt(row.head_clock_at),
        }
  const lane = row.lane === null ? null : { lane: row.lane, end: row.lane_end }
  return { version: row.version, head, time: BigInt(row.time_at), clock: BigInt(row.clock_at), lane }
}
