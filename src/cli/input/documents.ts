/** Reads and writes the documents that agent servers keep beside a conversation's events. */

import { canonicalJson, isLegalId, type JsonObject, type JsonValue, parseInstant } from '../../event/index.ts'
import type { ConversationRecord } from '../../index.ts'
import type { NewConversation } from '../../store/kit/index.ts'
import { dashed, undashed } from '../db/store.ts'

/** What a record is made of, and when it was; `id` is null where nothing says it. */
export type Description = Required<Omit<NewConversation, 'id' | 'status' | 'createdAt'>> & {
  readonly id: string | null
  /** ISO 8601; null for now. */
  readonly createdAt: string | null
}

/** The parsed documents of agent servers; null for one that is not there. */
export interface Documents {
  readonly meta: JsonObject | null
  readonly baseState: JsonObject | null
}

/** The key of a record's metadata under which the documents are kept, so that an export writes them back. */
const KEPT = 'persisted'

const TAG = /^[A-Za-z0-9][A-Za-z0-9_]{0,99}$/
const MOST_TAGS = 100

/** What the documents say, as far as a record has a place for it; all of them is kept in its metadata. */
export function describeDocuments({ meta, baseState }: Documents): Description {
  const kept = { ...(meta !== null && { meta }), ...(baseState !== null && { base_state: baseState }) }
  const created = meta?.['created_at']
  const parent = meta?.['parent_conversation_id'] ?? meta?.['forked_from_conversation_id']
  return {
    id: idIn(baseState?.['id']) ?? idIn(meta?.['id']) ?? idIn(meta?.['conversation_id']),
    title: titleIn(meta?.['title']),
    public: meta?.['public'] === true,
    tags: tagsIn(meta?.['tags'] ?? baseState?.['tags']),
    metadata: Object.keys(kept).length === 0 ? {} : { [KEPT]: kept },
    timeZone: null,
    parentConversationId: idIn(parent),
    sandboxId: null,
    owner: null,
    createdAt: typeof created === 'string' && parseInstant(created) !== undefined ? created : null,
  }
}

/** The documents kept in a record's metadata. */
function keptDocuments({ metadata }: Pick<ConversationRecord, 'metadata'>): Documents {
  const kept = asObject(metadata[KEPT])
  return { meta: asObject(kept?.['meta']), baseState: asObject(kept?.['base_state']) }
}

/** HEAD as base_state.json has it: an id, null for the empty HEAD, undefined where it does not say. */
export function headIn({ baseState }: Documents): string | null | undefined {
  if (baseState?.['head_is_empty'] === true) return null
  const leaf = baseState?.['leaf_event_id']
  return typeof leaf === 'string' ? leaf : undefined
}

/**
 * The documents of a record as an export writes them: as they were kept, with what has changed since, and what an agent
 * server needs to find it.
 */
export function documentsOf(record: ConversationRecord): { meta: JsonObject; baseState: JsonObject } {
  const kept = keptDocuments(record)
  const before = describeDocuments(kept)
  const meta = kept.meta ?? {}
  const { title, tags, parentConversationId: parent } = record
  const created = sameInstant(before.createdAt, record.createdAt) ? {} : { created_at: record.createdAt }
  const head = headIn(kept)
  const ownHead = head === undefined && kept.baseState !== null ? undefined : record.headId
  return {
    meta: {
      ...(before.id !== record.id && { id: undashed(record.id) }),
      ...(kept.meta === null && { title, updated_at: record.updatedAt }),
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
      ...kept.baseState,
      ...(before.id !== record.id && { id: dashed(record.id) }),
      ...(ownHead !== undefined && ownHead !== head && headFields(ownHead, record.version)),
    },
  }
}

const headFields = (headId: string | null, version: number): JsonObject => ({
  leaf_event_id: headId,
  head_is_empty: headId === null && version > 0,
})

/** A value as an object, or null. */
export function asObject(value: JsonValue | undefined): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
}

function idIn(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && isLegalId(value) ? dashed(value) : null
}

/** A title that a record can have, or null. */
export function titleIn(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' && isKeepable(value, 200) ? value : null
}

/** Those tags that a record can have, the first of them where there are too many. */
export function tagsIn(value: JsonValue | undefined): Readonly<Record<string, string>> {
  const fit = Object.entries(asObject(value) ?? {}).filter(
    (entry): entry is [string, string] =>
      TAG.test(entry[0]) && typeof entry[1] === 'string' && isKeepable(entry[1], 256),
  )
  return Object.fromEntries(fit.slice(0, MOST_TAGS))
}

/** What a store keeps as it is; the rest stays in the documents. */
const isKeepable = (text: string, most: number): boolean =>
  !text.includes('\u0000') && !/[\ud800-\udfff]/u.test(text) && [...text].length <= most

const sameInstant = (before: string | null, now: string): boolean =>
  before !== null && parseInstant(before) === parseInstant(now)

const sameTags = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean => {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}

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
    ...(record.owner !== null && { owner: record.owner }),
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
    owner,
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
    owner: typeof owner === 'string' && isLegalId(owner) ? owner : null,
    createdAt: typeof created === 'string' && parseInstant(created) !== undefined ? created : null,
  }
}

function isSaid(record: ConversationRecord, said: Description): boolean {
  const { id, title, tags, metadata, timeZone, parentConversationId: parent, createdAt } = record
  const now = [id, title, record.public, tags, metadata, timeZone, parent, record.sandboxId, record.owner]
  const then = [
    said.id,
    said.title,
    said.public,
    said.tags,
    said.metadata,
    said.timeZone,
    said.parentConversationId,
    said.sandboxId,
    said.owner,
  ]
  if (canonicalJson(now) !== canonicalJson(then) || said.createdAt === null) return false
  return parseInstant(said.createdAt) === parseInstant(createdAt)
}
