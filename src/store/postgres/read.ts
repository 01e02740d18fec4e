/** Reads stored events by position and by id. */

import { unknownConversation } from '../kit/errors.ts'
import { isLegalId } from '../../event/ids.ts'
import type { StoredEvent } from '../contract/stored-event.ts'
import type { Connection } from './connection.ts'
import { EVENT_COLUMNS, type EventRow, storedEvent } from './event-row.ts'

const MAX_SEQ = 2 ** 31 - 1

/**
 * So many positions downwards. Positions are dense, so that their range says how many there are: to a mere limit the
 * planner may prefer to read all and sort, where it takes the conversation for a short one.
 */
const downwards = (schema: string): string => {
  const from = `least($2::integer, (SELECT version - 1 FROM ${schema}.conversations WHERE conversation_id = $1))`
  return `BETWEEN ${from} - $3::bigint + 1 AND ${from}`
}

const UPWARDS = 'BETWEEN $2::integer AND $2::integer + $3::bigint - 1'

/** The facts from a position on, forward or backward. O(result). @throws `unknown_conversation`. */
export async function eventsFrom(
  connection: Connection,
  conversationId: string,
  options: { readonly from: number | null; readonly backward: boolean; readonly limit: number },
): Promise<StoredEvent[]> {
  const { backward } = options
  const limit = Math.min(options.limit, MAX_SEQ)
  const from = Math.min(options.from ?? (backward ? MAX_SEQ : 0), MAX_SEQ)
  const rows = await connection.query<EventRow>(
    `SELECT ${EVENT_COLUMNS} FROM ${connection.schema}.events e
    WHERE e.conversation_id = $1 AND e.seq ${backward ? downwards(connection.schema) : UPWARDS}
    ORDER BY e.seq ${backward ? 'DESC' : 'ASC'}`,
    [conversationId, from, limit],
  )
  if (rows.length === 0) {
    const known = await connection.query(
      `SELECT 1 AS known FROM ${connection.schema}.conversations WHERE conversation_id = $1`,
      [conversationId],
    )
    if (known.length === 0) throw unknownConversation(conversationId)
  }
  return rows.map((row) => storedEvent(conversationId, row, row.inTree))
}

/** The events of the tree with these ids, null for each that is missing. O(ids). */
export async function eventsById(
  connection: Connection,
  conversationId: string,
  ids: readonly string[],
): Promise<(StoredEvent | null)[]> {
  // No text is asked for that the driver would change on its way, and then find something else.
  const legal = ids.filter((id) => isLegalId(id))
  if (legal.length === 0 || !isLegalId(conversationId)) return ids.map(() => null)
  const rows = await connection.query<EventRow>(
    `SELECT ${EVENT_COLUMNS} FROM ${connection.schema}.events_with($1, $2) e`,
    [conversationId, legal],
  )
  const byId = new Map(rows.map((row) => [row.id, storedEvent(conversationId, row, row.inTree)]))
  return ids.map((id) => byId.get(id) ?? null)
}
