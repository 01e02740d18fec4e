/** Records of conversations in PostgreSQL. */

import { conversationExists, unknownConversation } from '../kit/errors.ts'
import type { CheckedConversationFilter, CheckedConversationQuery } from '../kit/query/conversation-query.ts'
import type { ConversationPatch, ConversationRecord } from '../contract/conversation-record.ts'
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
  const { id, title, timeZone, parentConversationId } = record
  const [row] = await connection.query<ConversationRow>(
    `INSERT INTO ${connection.schema}.conversations (
      conversation_id, title, title_folded, public, tags, metadata, time_zone, parent_conversation_id,
      created_at, updated_at
    )
    SELECT $1, $3, $4, $5::boolean, $6::text[], $7, $8, $9, n.now, n.now
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
    ],
  )
  if (row !== undefined) return recordOf(row)
  await connection.settle()
  throw conversationExists(id)
}

/** The record of a conversation, or null. */
export async function findConversation(
  connection: Connection,
  id: string,
): Promise<ConversationRecord | null> {
  const [row] = await connection.query<ConversationRow>(
    `SELECT ${RECORD_COLUMNS} FROM ${connection.schema}.conversations WHERE conversation_id = $1`,
    [id],
  )
  return row === undefined ? null : recordOf(row)
}

/**
 * Changes what a patch names, in one statement. @throws `unknown_conversation`; `invalid_argument` for a field that
 * cannot be kept.
 */
export async function updateConversation(
  connection: Connection,
  id: string,
  patch: ConversationPatch,
  now: bigint | null,
): Promise<ConversationRecord> {
  const before = await findConversation(connection, id)
  if (before === null) throw unknownConversation(id)
  const { title, public: open, tags, metadata, timeZone } = patchRecord(before, patch, 0n)
  const changes: [column: string, value: unknown][] = []
  if (patch.title !== undefined) {
    changes.push(['title', title], ['title_folded', title === null ? null : foldText(title)])
  }
  if (patch.public !== undefined) changes.push(['public', open])
  if (patch.tags !== undefined) changes.push(['tags', Object.entries(tags).map(tagText)])
  if (patch.metadata !== undefined) changes.push(['metadata', JSON.stringify(metadata)])
  if (patch.timeZone !== undefined) changes.push(['time_zone', timeZone])
  const [row] = await connection.query<ConversationRow>(
    `UPDATE ${connection.schema}.conversations
    SET ${[`updated_at = ${LATER}`, ...changes.map(([column], i) => `${column} = $${i + 3}`)].join(', ')}
    FROM ${DURABLE} WHERE conversation_id = $1 RETURNING ${RECORD_COLUMNS}`,
    [id, now === null ? null : String(now), ...changes.map(([, value]) => value)],
  )
  if (row === undefined) throw unknownConversation(id)
  return recordOf(row)
}

/** Deletes a conversation with its log; false when there was none. O(log). */
export async function deleteConversation(connection: Connection, id: string): Promise<boolean> {
  const [row] = await connection.query<{ readonly deleted: boolean }>(
    `SELECT ${connection.schema}.delete_conversation($1) AS deleted`,
    [id],
  )
  if (row?.deleted !== true) await connection.settle()
  return row?.deleted === true
}

/**
 * At most `limit + 1` records beyond the query's place. O(limit) in order of creation where the filter lets most
 * through; in order of change O(conversations), since an index on what every append changes would cost every append.
 */
export async function listConversations(
  connection: Connection,
  query: CheckedConversationQuery,
): Promise<ConversationRecord[]> {
  const column = query.by === 'createdAt' ? 'created_at' : 'updated_at'
  const { conditions, values } = conditionsOf(query)
  if (query.after !== null) {
    const { time, id } = query.after
    const places = [values.push(String(time)), values.push(id)].map((place) => `$${place}`)
    conditions.push(
      `(${column}, conversation_id) ${query.descending ? '<' : '>'} (${places[0]}::bigint, ${places[1]})`,
    )
  }
  const way = query.descending ? 'DESC' : 'ASC'
  const rows = await connection.query<ConversationRow>(
    `SELECT ${RECORD_COLUMNS} FROM ${connection.schema}.conversations ${where(conditions)}
    ORDER BY ${column} ${way}, conversation_id ${way} LIMIT $${values.push(query.limit + 1)}`,
    values,
  )
  return rows.map(recordOf)
}

/** How many records a filter lets through. O(conversations). */
export async function countConversations(
  connection: Connection,
  filter: CheckedConversationFilter,
): Promise<number> {
  const { conditions, values } = conditionsOf(filter)
  const [row] = await connection.query<{ readonly count: number }>(
    `SELECT count(*)::integer AS count FROM ${connection.schema}.conversations ${where(conditions)}`,
    values,
  )
  return row?.count ?? 0
}

const where = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`

function conditionsOf(filter: CheckedConversationFilter): { conditions: string[]; values: unknown[] } {
  const { titleContains, parentConversationId, tags } = filter
  const asked: readonly (readonly [condition: (place: string) => string, value: unknown])[] = [
    [(place) => `position(${place} IN title_folded) > 0`, titleContains],
    [(place) => `public = ${place}`, filter.public],
    [(place) => `parent_conversation_id = ${place}`, parentConversationId],
    [(place) => `tags @> ${place}::text[]`, tags.length === 0 ? null : tags.map(tagText)],
    [(place) => `created_at >= ${place}::bigint`, filter.createdFrom],
    [(place) => `created_at < ${place}::bigint`, filter.createdUntil],
    [(place) => `updated_at >= ${place}::bigint`, filter.updatedFrom],
    [(place) => `updated_at < ${place}::bigint`, filter.updatedUntil],
  ]
  const given = asked.filter(([, value]) => value !== null)
  return {
    conditions: given.map(([condition], i) => condition(`$${i + 1}`)),
    values: given.map(([, value]) => (typeof value === 'bigint' ? String(value) : value)),
  }
}
