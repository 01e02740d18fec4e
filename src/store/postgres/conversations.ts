/** Records of conversations in PostgreSQL. */

import { conversationExists, unknownConversation } from '../kit/errors.ts'
import type { ConversationPatch, ConversationRecord, UpdateOptions } from '../contract/conversation-record.ts'
import { foldText } from '../kit/query/message-text.ts'
import { patchRecord } from '../kit/record.ts'
import type { Connection } from './connection.ts'
import { type ConversationRow, RECORD_COLUMNS, recordOf, tagText } from './conversation-row.ts'
import { DURABLE, NOW } from './schema/phrases.ts'

const LATER = `greatest(updated_at, coalesce($2::bigint, ${NOW}))`

/**
 * Keeps a new record; its times are those of the clock, or the server's when that is null. @throws
 * `conversation_exists`.
 */
export async function createConversation(
  connection: Connection,
  record: ConversationRecord,
  now: bigint | null,
): Promise<ConversationRecord> {
  const { id, title, timeZone, parentConversationId, sandboxId, status } = record
  const [row] = await connection.query<ConversationRow>(
    `INSERT INTO ${connection.schema}.conversations (
      conversation_id, title, title_folded, public, tags, metadata, time_zone, parent_conversation_id,
      sandbox_id, status, created_at, updated_at
    )
    SELECT $1, $3, $4, $5::boolean, $6::text[], $7, $8, $9, $10, $11, n.now, n.now
    FROM (SELECT coalesce($2::bigint, ${NOW}) AS now) n, ${DURABLE}
    ON CONFLICT (conversation_id) DO NOTHING RETURNING ${RECORD_COLUMNS}`,
    [
      id,
      now === null ? null : String(now),
      title,
      title === null ? null : foldText(title),
      record.public,
      Object.entries(record.tags).map(tagText),
      JSON.stringify(record.metadata),
      timeZone,
      parentConversationId,
      sandboxId,
      status,
    ],
  )
  if (row !== undefined) return recordOf(row)
  await connection.waitForStandby()
  throw conversationExists(id)
}

/** The record of a conversation, or null. */
export async function findConversation(
  connection: Connection,
  id: string,
): Promise<ConversationRecord | null> {
  const row = await findRow(connection, id)
  return row === undefined ? null : recordOf(row)
}

async function findRow(connection: Connection, id: string): Promise<ConversationRow | undefined> {
  const [row] = await connection.query<ConversationRow>(
    `SELECT ${RECORD_COLUMNS} FROM ${connection.schema}.conversations WHERE conversation_id = $1`,
    [id],
  )
  return row
}

/**
 * Changes what a patch names, in one statement. @throws `unknown_conversation`; `version_conflict` for other metadata
 * than was expected; `invalid_argument` for a field that cannot be kept.
 */
export async function updateConversation(
  connection: Connection,
  id: string,
  patch: ConversationPatch,
  now: bigint | null,
  options: UpdateOptions = {},
): Promise<ConversationRecord> {
  const before = await findRow(connection, id)
  if (before === undefined) throw unknownConversation(id)
  const { title, public: open, tags, metadata, timeZone } = patchRecord(recordOf(before), patch, 0n, options)
  const changes: [column: string, value: unknown][] = []
  if (patch.title !== undefined) {
    changes.push(['title', title], ['title_folded', title === null ? null : foldText(title)])
  }
  if (patch.public !== undefined) changes.push(['public', open])
  if (patch.tags !== undefined) changes.push(['tags', Object.entries(tags).map(tagText)])
  if (patch.metadata !== undefined) changes.push(['metadata', JSON.stringify(metadata)])
  if (patch.timeZone !== undefined) changes.push(['time_zone', timeZone])
  const isAsRead = options.expected === undefined ? '' : ` AND metadata = $${changes.length + 3}`
  const [row] = await connection.query<ConversationRow>(
    `UPDATE ${connection.schema}.conversations
    SET ${[`updated_at = ${LATER}`, ...changes.map(([column], i) => `${column} = $${i + 3}`)].join(', ')}
    FROM ${DURABLE} WHERE conversation_id = $1${isAsRead} RETURNING ${RECORD_COLUMNS}`,
    [
      id,
      now === null ? null : String(now),
      ...changes.map(([, value]) => value),
      ...(isAsRead === '' ? [] : [before.metadata]),
    ],
  )
  // It went, or has changed, since it was read.
  return row === undefined ? updateConversation(connection, id, patch, now, options) : recordOf(row)
}

/** Deletes a conversation with its log; false when there was none. O(log). */
export async function deleteConversation(connection: Connection, id: string): Promise<boolean> {
  const [row] = await connection.query<{ readonly deleted: boolean }>(
    `SELECT ${connection.schema}.delete_conversation($1) AS deleted`,
    [id],
  )
  if (row?.deleted !== true) await connection.waitForStandby()
  return row?.deleted === true
}

/** Says by which status a conversation is listed; false when its log has another number of events. */
export async function setStatus(
  connection: Connection,
  id: string,
  status: string,
  version: number,
): Promise<boolean> {
  const rows = await connection.query(
    `UPDATE ${connection.schema}.conversations SET status = $2
    FROM ${DURABLE} WHERE conversation_id = $1 AND version = $3 RETURNING 1`,
    [id, status, version],
  )
  return rows.length > 0
}
