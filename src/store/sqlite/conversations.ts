/** Records of conversations in SQLite, each change in one transaction. */

import { conversationExists, unknownConversation } from '../kit/errors.ts'
import { isLegalId } from '../../event/ids.ts'
import { parseInstant } from '../../event/time.ts'
import type {
  ConversationPatch,
  ConversationRecord,
  NewConversation,
  UpdateOptions,
} from '../contract/conversation-record.ts'
import { foldText } from '../kit/query/message-text.ts'
import { checkStatus, newRecord, patchRecord } from '../kit/record.ts'
import { type Named, readNamed, readRecord, type RecordRow } from '../kit/row.ts'
import type { Connection } from './connection.ts'
import { micros, type Micros } from './rows.ts'

/** A record as it is read. */
export interface SqliteRecordRow extends RecordRow {
  readonly public: number
  readonly tags: string
  readonly created: Micros
  readonly updated: Micros
}

/** SQL for the columns of a {@link SqliteRecordRow}. */
export const RECORD_COLUMNS = `conversation.conversation_id, conversation.title, conversation.public, conversation.tags,
  conversation.metadata, conversation.time_zone, conversation.parent_conversation_id,
  conversation.sandbox_id, conversation.status, ${micros('conversation.created_at', 'created')}, ${micros('log.updated_at', 'updated')}, log.version, log.head_id`

const SELECT = `SELECT ${RECORD_COLUMNS} FROM colloquy_conversation AS conversation
  JOIN colloquy_log AS log USING (conversation_id) WHERE conversation.conversation_id = ?`

const INSERT = `INSERT INTO colloquy_conversation (conversation_id, title, title_folded, public, tags, metadata, time_zone,
  parent_conversation_id, sandbox_id, status, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const INSERT_LOG = `INSERT INTO colloquy_log (conversation_id, version, updated_at, last_time, max_time, in_order, kinds)
  VALUES (?, 0, ?, 0, 0, 1, '')`

const UPDATE = `UPDATE colloquy_conversation SET title = ?, title_folded = ?, public = ?, tags = ?, metadata = ?, time_zone = ?
  WHERE conversation_id = ?`

const TOUCH = 'UPDATE colloquy_log SET updated_at = ? WHERE conversation_id = ?'

const SET_STATUS = `UPDATE colloquy_conversation SET status = ? WHERE conversation_id = ?
  AND (SELECT version FROM colloquy_log AS log WHERE log.conversation_id = colloquy_conversation.conversation_id) = ?
  RETURNING 1`

const EXISTS = 'SELECT 1 FROM colloquy_conversation WHERE conversation_id = ?'

const DELETE = 'DELETE FROM colloquy_conversation WHERE conversation_id = ?'

/** Creates a conversation with an empty log. @throws `conversation_exists`, `invalid_id`, `invalid_argument`. */
export function createConversation(
  connection: Connection,
  conversation: NewConversation,
  now: bigint,
): ConversationRecord {
  const record = newRecord(conversation, now)
  const { id, title, metadata, timeZone, parentConversationId, sandboxId, status } = record
  return connection.write(() => {
    if (isThere(connection, id)) throw conversationExists(id)
    const [text, open, tags] = [title && foldText(title), Number(record.public), JSON.stringify(record.tags)]
    const made = [parentConversationId, sandboxId, status, now]
    connection.run(INSERT, id, title, text, open, tags, JSON.stringify(metadata), timeZone, ...made)
    connection.run(INSERT_LOG, id, now)
    return record
  })
}

/** Without reading the record, which may be damaged. */
const isThere = (connection: Connection, id: string): boolean =>
  isLegalId(id) && connection.get(EXISTS, id) !== undefined

/** The record of a conversation, or null. O(log conversations). */
export function findConversation(connection: Connection, id: string): ConversationRecord | null {
  const row = isLegalId(id) ? connection.get<SqliteRecordRow>(SELECT, id) : undefined
  return row === undefined ? null : toRecord(row)
}

/** Changes what a patch names. @throws `unknown_conversation`, `version_conflict`, `invalid_argument`. */
export function updateConversation(
  connection: Connection,
  id: string,
  patch: ConversationPatch,
  now: bigint,
  options?: UpdateOptions,
): ConversationRecord {
  return connection.write(() => {
    const before = findConversation(connection, id)
    if (before === null) throw unknownConversation(id)
    const record = patchRecord(before, patch, now, options)
    const { title, metadata, timeZone } = record
    const [text, open, tags] = [title && foldText(title), Number(record.public), JSON.stringify(record.tags)]
    connection.run(UPDATE, title, text, open, tags, JSON.stringify(metadata), timeZone, id)
    connection.run(TOUCH, parseInstant(record.updatedAt) ?? now, id)
    return record
  })
}

/** Says by which status a conversation is listed; false when its log has another number of events. O(log n). */
export const setStatus = (connection: Connection, id: string, status: string, version: number): boolean =>
  isLegalId(id) &&
  Number.isSafeInteger(version) &&
  connection.write(() => connection.get(SET_STATUS, checkStatus(status), id, version)) !== undefined

/** Deletes a conversation with all that hangs on it; false when there was none. O(log n) for each of its events. */
export function deleteConversation(connection: Connection, id: string): boolean {
  return connection.write(() => {
    if (!isThere(connection, id)) return false
    connection.run(DELETE, id)
    return true
  })
}

const tagsOf = ({ conversation_id: conversationId }: SqliteRecordRow): Named => ({
  what: `The tags of conversation ${JSON.stringify(conversationId)}`,
  data: { conversationId },
})

/** The record of a row, frozen. O(size). @throws `store_unavailable` for one that was damaged. */
export const toRecord = (row: SqliteRecordRow): ConversationRecord =>
  readRecord(row, {
    tags: readNamed(row.tags, () => tagsOf(row)) as ConversationRecord['tags'],
    isPublic: row.public === 1,
    created: row.created,
    updated: row.updated,
  })
