/** Converts `meta.json` and `base_state.json` of agent servers to conversation records, and back. */

import { canonicalJson, isLegalId, type JsonObject, type JsonValue, parseInstant } from '../../event/index.ts'
import type { ConversationRecord } from '../../index.ts'
import type { NewConversation } from '../../store/kit/index.ts'
import { dashed, undashed } from '../db/store.ts'

/** The fields of a conversation record that the documents contain. */
export type Description = Required<Omit<NewConversation, 'id' | 'status' | 'createdAt'>> & {
  readonly id: string | null
  /** ISO 8601; null for the current time. */
  readonly createdAt: string | null
}

interface Documents {
  readonly meta: JsonObject | null
  readonly baseState: JsonObject | null
}

/** Key of the imported documents in a record's metadata, so that an export can write them back. */
const KEPT = 'persisted'

const MAX_TAGS = 100
const TAG = /^[A-Za-z0-9][A-Za-z0-9_]{0,99}$/

export function describeDocuments({ meta, baseState }: Documents): Description {
  const stored = { ...(meta !== null && { meta }), ...(baseState !== null && { base_state: baseState }) }
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
    createdAt: timeIn(meta?.['created_at']),
  }
}

export function headIn({ baseState }: Documents): string | null | undefined {
  if (baseState?.['head_is_empty'] === true) return null
  const leaf = baseState?.['leaf_event_id']
  return typeof leaf === 'string' ? leaf : undefined
}

/** Returns the stored documents, updated from the record, with the fields that an agent server needs. */
export function documentsOf(record: ConversationRecord): { meta: JsonObject; baseState: JsonObject } {
  const saved = asObject(record.metadata[KEPT])
  const stored = { meta: asObject(saved?.['meta']), baseState: asObject(saved?.['base_state']) }
  const before = describeDocuments(stored)
  const { title, tags, parentConversationId: parent } = record
  const head = headIn(stored)
  const ownHead = head === undefined && stored.baseState !== null ? undefined : record.headId
  return {
    meta: {
      ...(stored.meta ?? { title, updated_at: record.updatedAt }),
      ...(before.id !== record.id && { id: undashed(record.id) }),
      ...(before.title !== title && { title }),
      ...(!sameInstant(before.createdAt, record.createdAt) && { created_at: record.createdAt }),
      ...(canonicalJson(before.tags) !== canonicalJson(tags) && { tags }),
      ...(before.public !== record.public && { public: record.public }),
      ...(before.parentConversationId !== parent && {
        parent_conversation_id: parent === null ? null : undashed(parent),
      }),
    },
    baseState: {
      ...stored.baseState,
      ...(before.id !== record.id && { id: dashed(record.id) }),
      ...(ownHead !== undefined &&
        ownHead !== head && {
          leaf_event_id: ownHead,
          head_is_empty: ownHead === null && record.version > 0,
        }),
    },
  }
}

export function asObject(value: JsonValue | undefined): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
}

export const legalId = (value: JsonValue | undefined): string | null =>
  typeof value === 'string' && isLegalId(value) ? value : null

function idIn(value: JsonValue | undefined): string | null {
  const id = legalId(value)
  return id === null ? null : dashed(id)
}

const timeIn = (value: JsonValue | undefined): string | null =>
  typeof value === 'string' && parseInstant(value) !== undefined ? value : null

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

const isKeepable = (text: string, max: number): boolean =>
  !text.includes('\u0000') && !/[\ud800-\udfff]/u.test(text) && [...text].length <= max

const sameInstant = (before: string | null, now: string): boolean =>
  before !== null && parseInstant(before) === parseInstant(now)

/** Version of `colloquy.json`; raised when a field changes its meaning. */
const VERSION = 1

export function ownDocument(record: ConversationRecord, documents: Documents): JsonObject | null {
  const description = describeDocuments(documents)
  const isComplete =
    canonicalJson(fieldsOf(record)) === canonicalJson(fieldsOf(description)) &&
    sameInstant(description.createdAt, record.createdAt)
  return isComplete ? null : { version: VERSION, ...fieldsOf(record), created_at: record.createdAt }
}

const fieldsOf = (record: Omit<Description, 'createdAt'>) => ({
  id: record.id,
  title: record.title,
  public: record.public,
  tags: record.tags,
  metadata: record.metadata,
  time_zone: record.timeZone,
  parent_conversation_id: record.parentConversationId,
  ...(record.sandboxId !== null && { sandbox_id: record.sandboxId }),
  ...(record.owner !== null && { owner: record.owner }),
})

/** Reads `colloquy.json`, which overrides other documents. Null if the document is damaged or has another version. */
export function describeOwn(document: JsonObject): Description | null {
  const [id, zone] = [legalId(document['id']), document['time_zone']]
  const metadata = asObject(document['metadata'])
  if (document['version'] !== VERSION || id === null || metadata === null) return null
  return {
    // Title, tags and time have the same field names as in meta.json.
    ...describeDocuments({ meta: document, baseState: null }),
    id,
    metadata,
    timeZone: typeof zone === 'string' ? zone : null,
    parentConversationId: legalId(document['parent_conversation_id']),
    sandboxId: legalId(document['sandbox_id']),
    owner: legalId(document['owner']),
  }
}
