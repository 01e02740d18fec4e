/** The document in which an export keeps what the documents of agent servers have no place for. */

import type { ConversationRecord } from '../../index.ts'
import { canonicalJson, isLegalId, type JsonObject, parseInstant } from '../../event/index.ts'
import { asObject, type Description, describeDocuments, tagsIn, titleIn } from './documents.ts'

/** Raised when a field changes its meaning. */
const VERSION = 1

/** `colloquy.json`, or null where the other documents say all of it. */
export function ownDocument(
  record: ConversationRecord,
  documents: { readonly meta: JsonObject; readonly baseState: JsonObject },
): JsonObject | null {
  if (isSaid(record, describeDocuments(documents))) return null
  const { id, title, tags, metadata, createdAt } = record
  return {
    version: VERSION,
    id,
    title,
    public: record.public,
    tags,
    metadata,
    time_zone: record.timeZone,
    parent_conversation_id: record.parentConversationId,
    ...(record.sandboxId !== null && { sandbox_id: record.sandboxId }),
    created_at: createdAt,
  }
}

/** What the document says of a record; it holds, whatever the others say. Null for one that cannot be read. */
export function describeOwn(document: JsonObject): Description | null {
  const {
    id,
    metadata,
    time_zone: zone,
    parent_conversation_id: parent,
    sandbox_id: sandbox,
    created_at: created,
  } = document
  const kept = asObject(metadata)
  if (document['version'] !== VERSION || typeof id !== 'string' || !isLegalId(id) || kept === null)
    return null
  return {
    id,
    title: titleIn(document['title']),
    public: document['public'] === true,
    tags: tagsIn(document['tags']),
    metadata: kept,
    timeZone: typeof zone === 'string' ? zone : null,
    parentConversationId: typeof parent === 'string' && isLegalId(parent) ? parent : null,
    sandboxId: typeof sandbox === 'string' && isLegalId(sandbox) ? sandbox : null,
    createdAt: typeof created === 'string' && parseInstant(created) !== undefined ? created : null,
  }
}

function isSaid(record: ConversationRecord, said: Description): boolean {
  const { id, title, tags, metadata, timeZone, parentConversationId: parent, createdAt } = record
  const now = [id, title, record.public, tags, metadata, timeZone, parent, record.sandboxId]
  const then = [
    said.id,
    said.title,
    said.public,
    said.tags,
    said.metadata,
    said.timeZone,
    said.parentConversationId,
    said.sandboxId,
  ]
  if (canonicalJson(now) !== canonicalJson(then) || said.createdAt === null) return false
  return parseInstant(said.createdAt) === parseInstant(createdAt)
}
