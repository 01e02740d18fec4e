/** Parts of snapshots in PostgreSQL, one statement a call. */

import { unknownConversation } from '../kit/errors.ts'
import type { SnapshotPart } from '../contract/snapshot.ts'
import type { Connection } from './connection.ts'

/** Writes parts; with `complete` no others stay. O(bytes). @throws `unknown_conversation`. */
export async function saveSnapshot(
  connection: Connection,
  conversationId: string,
  parts: readonly SnapshotPart[],
  complete: boolean,
): Promise<void> {
  const lengths = parts.map(({ bytes }) => bytes.length)
  const starts: number[] = []
  let size = 0
  for (const length of lengths) {
    starts.push(size + 1)
    size += length
  }
  // One value of bytes goes over the wire as it is, a list of them as text of twice the length.
  const all = new Uint8Array(size)
  for (const [i, { bytes }] of parts.entries()) all.set(bytes, (starts[i] as number) - 1)
  const [row] = await connection.query<{ readonly saved: boolean }>(
    `SELECT ${connection.schema}.save_snapshot($1, $2, $3, $4, $5, $6) AS saved`,
    [conversationId, complete, parts.map(({ part }) => part), starts, lengths, all],
  )
  if (row?.saved !== true) throw unknownConversation(conversationId)
}

/** All parts, in order. O(bytes). */
export async function loadSnapshot(connection: Connection, conversationId: string): Promise<SnapshotPart[]> {
  const rows = await connection.query<SnapshotPart>(
    `SELECT part, bytes FROM ${connection.schema}.snapshot_parts WHERE conversation_id = $1 ORDER BY part`,
    [conversationId],
  )
  // Drivers may give a Buffer, which may be a piece of memory that others use.
  return rows.map(({ part, bytes }) => ({ part, bytes: new Uint8Array(bytes) }))
}

/** Removes all parts; false when there were none. */
export async function deleteSnapshot(connection: Connection, conversationId: string): Promise<boolean> {
  const [row] = await connection.query<{ readonly deleted: boolean }>(
    `SELECT ${connection.schema}.delete_snapshot($1) AS deleted`,
    [conversationId],
  )
  return row?.deleted === true
}
