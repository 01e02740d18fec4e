/** Reads and writes the documents that agent servers store with a conversation's events. */

import { canonicalJson, isLegalId, type JsonObject, type JsonValue, parseInstant } from '../../event/index.ts'
import type { ConversationRecord } from '../../index.ts'
import type { NewConversation } from '../../store/kit/index.ts'
import { dashed, undashed } from '../db/store.ts'

/** The fields of a record, and its creation time; `id` is null where no document has it. */
export type Description = Required<Omit<NewConversation, 'id' | 'status' | 'createdAt'>> & {
  readonly id: string | null
  /** ISO 8601; null for now. */
  readonly createdAt: string | null
}

interface Documents {
  readonly meta: JsonObject | null
  readonly baseState: JsonObject | null
}

/** Key in a record's metadata for the documents, so that an export writes them back. */
const KEPT = 'persisted'

const TAG = /^[A-Za-z0-9][A-Za-z0-9_]{0,99}$/
const MAX_TAGS = 100

export function describeDocuments({ meta, baseState }: Documents): Description {
  const stored = { ...(meta !== null && { meta }), ...(baseState !== null && { base_state: baseState }) }
  const created = meta?.['created_at']
  const parent = meta?.['parent_conversation_id'] ?? meta?.['forked_from_conversation_id']
  return {
    id: idIn(baseState?.['id']) ?? idIn(meta?.['id']) ?? idIn(meta?.['conversation_id']),
    title: titleIn(meta?.['title']),
    public: meta?.['public'] === true,
    tags: tagsIn(meta?.['tags'] ?? baseState?.['tags']),
    metadata: Object.keys(stored).length === 0 ? {} : { [KEPT]: stored },
    timeZone: null,
    parentConversationId: idIn(parent),
    sandboxId: null,
    owner: null,
    createdAt: typeof created === 'string' && parseInstant(created) !== undefined ? created : null,
  }
}

function keptDocuments({ metadata }: Pick<ConversationRecord, 'metadata'>): Documents {
  const stored = asObject(metadata[KEPT])
  return { meta: asObject(stored?.['meta']), baseState: asObject(stored?.['base_state']) }
}

/** HEAD recorded in base_state.json: an id, null for an empty HEAD, undefined if none is recorded. */
export function headIn({ baseState }: Documents): string | null | undefined {
  if (baseState?.['head_is_empty'] === true) return null
  const leaf = baseState?.['leaf_event_id']
  return typeof leaf === 'string' ? leaf : undefined
}

/** The stored documents with later changes, and the fields that an agent server needs. */
export function documentsOf(record: ConversationRecord): { meta: JsonObject; baseState: JsonObject } {
  const stored = keptDocuments(record)
  const before = describeDocuments(stored)
  const meta = stored.meta ?? {}
  const { title, tags, parentConversationId: parent } = record
  const created = sameInstant(before.createdAt, record.createdAt) ? {} : { created_at: record.createdAt }
  const head = headIn(stored)
  const ownHead = head === undefined && stored.baseState !== null ? undefined : record.headId
  return {
    meta: {
      ...(before.id !== record.id && { id: undashed(record.id) }),
      ...(stored.meta === null && { title, updated_at: record.updatedAt }),
      ...meta,
      ...(before.id !== record.id && { id: undashed(record.id) }),
      ...(before.title !== title && { title }),
      ...created,
      ...(!sameTags(before.tags, tags) && { tags }),
      ...(before.public !== record.public && { public: record.public }),
      ...(before.parentConversationId !== parent && {
        parent_conversation_id: parent === null ? null : undashed(parent),
      }),
    },
    baseState: {
      ...(before.id !== record.id && { id: dashed(record.id) }),
      ...stored.baseState,
      ...(before.id !== record.id && { id: dashed(record.id) }),
      ...(ownHead !== undefined && ownHead !== head && headFields(ownHead, record.version)),
    },
  }
}

const headFields = (headId: string | null, version: number): JsonObject => ({
  leaf_event_id: headId,
  head_is_empty: headId === null && version > 0,
})

export function asObject(value: JsonValue | undefined): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
}

function idIn(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && isLegalId(value) ? dashed(value) : null
}

export function titleIn(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' && isKeepable(value, 200) ? value : null
}

function tagsIn(value: JsonValue | undefined): Readonly<Record<string, string>> {
  const fit = Object.entries(asObject(value) ?? {}).filter(
    (entry): entry is [string, string] =>
      TAG.test(entry[0]) && typeof entry[1] === 'string' && isKeepable(entry[1], 256),
  )
  return Object.fromEntries(fit.slice(0, MAX_TAGS))
}

/** Whether a store accepts it; anything else stays in the documents. */
const isKeepable = (text: string, max: number): boolean =>
  !text.includes('\u0000') && !/[\ud800-\udfff]/u.test(text) && [...text].length <= max

const sameInstant = (before: string | null, now: string): boolean =>
  before !== null && parseInstant(before) === parseInstant(now)

const sameTags = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean => {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}

/** Raised when a field changes its meaning. */
const VERSION = 1

/** `colloquy.json`, or null where the other documents contain all of it. */
export function ownDocument(
  record: ConversationRecord,
  documents: { readonly meta: JsonObject; readonly baseState: JsonObject },
): JsonObject | null {
  if (isComplete(record, describeDocuments(documents))) return null
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
    ...(record.owner !== null && { owner: record.owner }),
    created_at: createdAt,
  }
}

/** Reads `colloquy.json`, which overrides the other documents. Null if it is unreadable. */
export function describeOwn(document: JsonObject): Description | null {
  const {
    id,
    metadata,
    time_zone: zone,
    parent_conversation_id: parent,
    sandbox_id: sandbox,
    owner,
    created_at: created,
  } = document
  const stored = asObject(metadata)
  if (document['version'] !== VERSION || typeof id !== 'string' || !isLegalId(id) || stored === null)
    return null
  return {
    id,
    title: titleIn(document['title']),
    public: document['public'] === true,
    tags: tagsIn(document['tags']),
    metadata: stored,
    timeZone: typeof zone === 'string' ? zone : null,
    parentConversationId: typeof parent === 'string' && isLegalId(parent) ? parent : null,
    sandboxId: typeof sandbox === 'string' && isLegalId(sandbox) ? sandbox : null,
    owner: typeof owner === 'string' && isLegalId(owner) ? owner : null,
    createdAt: typeof created === 'string' && parseInstant(created) !== undefined ? created : null,
  }
}

function isComplete(record: ConversationRecord, description: Description): boolean {
  const { id, title, tags, metadata, timeZone, parentConversationId: parent, createdAt } = record
  const now = [id, title, record.public, tags, metadata, timeZone, parent, record.sandboxId, record.owner]
  const then = [
    description.id,
    description.title,
    description.public,
    description.tags,
    description.metadata,
    description.timeZone,
    description.parentConversationId,
    description.sandboxId,
    description.owner,
  ]
  if (canonicalJson(now) !== canonicalJson(then) || description.createdAt === null) return false
  return parseInstant(description.createdAt) === parseInstant(createdAt)
}
