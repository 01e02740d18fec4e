/** Reads rows of SQLite as values of the contract. */

import { isLegalId } from '../../event/ids.ts'
import type { LogTip } from '../kit/append/append-context.ts'
import type { TreeNode } from '../kit/append/lanes.ts'
import { readEvent } from '../kit/row.ts'
import type { StoredEvent } from '../contract/stored-event.ts'
import type { Connection } from './connection.ts'

/** An integer that may be beyond 2^53: as text where a driver could not give it as a number. */
export type Micros = number | string

/**
 * SQL for a column of microseconds. Beyond the year 2255 they are no safe integers, which node:sqlite refuses and
 * others round. The name is another than the column's: ORDER BY would take the text for it.
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

const PLACE_COLUMNS = `event.seq, ${micros('event.time', 'at')}, event.id, event.parent_id, event.lane`

/** SQL for the columns of an {@link EventRow}. */
export const EVENT_COLUMNS = `${PLACE_COLUMNS}, event.body`

/** An event as a search finds it: its body, null for a large one, and how many bytes that has. */
export type FoundRow = readonly [
  seq: number,
  at: Micros,
  id: string | null,
  parentId: string | null,
  lane: number | null,
  body: string | null,
  bytes: number,
]

/** Bytes of a body that a page reads with the others; a larger one is read by itself, if the page holds it. */
const LARGE = 2 ** 16

/** SQL for the columns of a {@link FoundRow}. SQLite knows the length of a body without reading it. */
export const FOUND_COLUMNS = `${PLACE_COLUMNS}, CASE WHEN octet_length(event.body) <= ${LARGE} THEN event.body END AS body, octet_length(event.body) AS bytes`

/** An event as others hang on it; the columns are null where it is not in the tree. */
export interface TreeNodeRow {
  readonly seq: number
  readonly id: string
  readonly parent_id: string | null
  readonly can_be_head: number
  readonly lane: number
  readonly max_time_at: Micros
}

/** SQL for the columns of a {@link TreeNodeRow}. */
export const TREE_NODE_COLUMNS = `event.seq, event.id, event.parent_id, event.can_be_head, event.lane, ${micros('event.max_time', 'max_time_at')}`

/** The end of a log. */
export interface LogRow {
  readonly version: number
  readonly updated_at: Micros
  readonly last_time_at: Micros
  readonly max_time_at: Micros
  readonly in_order: number
  readonly head_seq: number | null
  readonly head_id: string
  readonly head_parent_id: string | null
  readonly head_lane: number
  readonly head_max_time_at: Micros
  readonly tip_lane: number | null
  readonly tip_end: number
  /** How many events of each kind and source a search may find, as `groupsOf` reads it. */
  readonly kinds: string
  readonly time_zone: string | null
}

const SELECT_LOG = `SELECT log.version, ${micros('log.updated_at', 'updated_at')}, ${micros('log.last_time', 'last_time_at')},
  ${micros('log.max_time', 'max_time_at')}, log.in_order, log.head_seq, log.head_id, log.head_parent_id, log.head_lane,
  ${micros('log.head_max_time', 'head_max_time_at')}, log.tip_lane, log.tip_end, log.kinds, conversation.time_zone
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
  const place = { conversationId, seq, id, parentId, inTree: lane !== null, time: String(at) }
  return readEvent(place, body)
}

/** What an append needs to know of an event. */
export function toTreeNode(row: TreeNodeRow): TreeNode {
  const { seq, id, lane } = row
  return {
    seq,
    id,
    parentId: row.parent_id,
    canBeHead: row.can_be_head === 1,
    lane,
    maxTime: BigInt(row.max_time_at),
  }
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
          canBeHead: true,
          lane: row.head_lane,
          maxTime: BigInt(row.head_max_time_at),
        }
  const lane = row.tip_lane === null ? null : { lane: row.tip_lane, end: row.tip_end }
  return {
    version: row.version,
    head,
    time: BigInt(row.last_time_at),
    maxTime: BigInt(row.max_time_at),
    lane,
  }
}
