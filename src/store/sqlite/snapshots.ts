/** Parts of snapshots in SQLite, each call in one transaction. */

import { unknownConversation } from '../kit/errors.ts'
import { isLegalId } from '../../event/ids.ts'
import { checkParts } from '../kit/check-parts.ts'
import type { SnapshotPart } from '../contract/snapshot.ts'
import type { Connection } from './connection.ts'
import { findLog } from './rows.ts'

export const PARTS = 'SELECT part, bytes FROM colloquy_snapshot WHERE conversation_id = ? ORDER BY part'

const UPSERT = `INSERT INTO colloquy_snapshot (conversation_id, part, bytes) VALUES (?, ?, ?)
  ON CONFLICT (conversation_id, part) DO UPDATE SET bytes = excluded.bytes`

const ANY = 'SELECT 1 FROM colloquy_snapshot WHERE conversation_id = ? LIMIT 1'

const DELETE = 'DELETE FROM colloquy_snapshot WHERE conversation_id = ?'

/** Writes parts; with `complete` no others stay. O(bytes). @throws `unknown_conversation`, `invalid_argument`. */
export function saveSnapshot(
  connection: Connection,
  conversationId: string,
  parts: readonly SnapshotPart[],
  complete: boolean,
): void {
  checkParts(parts)
  connection.write(() => {
    if (findLog(connection, conversationId) === undefined) throw unknownConversation(conversationId)
    if (complete) connection.run(DELETE, conversationId)
    for (const { part, bytes } of parts) connection.run(UPSERT, conversationId, part, bytes)
  })
}

/** All parts, in order. O(bytes). */
export function loadSnapshot(connection: Connection, conversationId: string): SnapshotPart[] {
  if (!isLegalId(conversationId)) return []
  // Some drivers give a Buffer, which may be a piece of memory that others use.
  return connection
    .all<SnapshotPart>(PARTS, conversationId)
    .map(({ part, bytes }) => ({ part, bytes: new Uint8Array(bytes) }))
}

/** Removes all parts; false when there were none. */
export function deleteSnapshot(connection: Connection, conversationId: string): boolean {
  if (!isLegalId(conversationId)) return false
  return connection.write(() => {
    if (connection.get(ANY, conversationId) === undefined) return false
    connection.run(DELETE, conversationId)
    return true
  })
}
