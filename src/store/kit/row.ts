import { ColloquyError } from '../../event/errors.ts'
import { freezeJson } from '../../event/freeze.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { ConversationRecord } from '../contract/conversation-record.ts'
import type { BlobReference } from '../contract/blobs.ts'
import { freezeBlobs, replaceStrings } from './blobs.ts'
import { blobText } from '../../event/text.ts'
import { formatInstant } from './record.ts'
import type { StoredEvent } from '../contract/query.ts'

export type Bigint = string | number | bigint

export interface BodyStrings {
  readonly references: readonly BlobReference[]
  /** Strings by hash; null to return references in place of strings. */
  readonly texts: ReadonlyMap<string, string> | null
}

export interface EventRow {
  readonly seq: number
  readonly id: string | null
  readonly parent_id: string | null
  readonly lane: number | null
  readonly kind: string | null
  /** Microseconds in digits, because a driver's numbers may lose precision. */
  readonly time: string
  readonly body: string
  readonly blobs: string | null
}

/** Returns the event of a row. `strings`: the long strings that `splitBody` removed from the body. */
export function readEvent(conversationId: string, row: EventRow, strings?: BodyStrings): StoredEvent {
  const { seq, id, parent_id: parentId, lane, time, body } = row
  const fact = readFact(conversationId, seq, body, strings)
  freezeJson(fact as object as JsonValue)
  const event = { conversationId, seq, id, fact, parentId, inTree: lane !== null, time }
  if (strings?.texts !== null) return Object.freeze(event)
  return Object.freeze({ ...event, blobs: freezeBlobs(strings.references) })
}

/** Returns the fact of a row like {@link readEvent}, but does not freeze the fact. */
export function readFact(conversationId: string, seq: number, body: string, strings?: BodyStrings): Fact {
  try {
    const fact = parsed(body)
    if (strings === undefined) return fact as object as Fact
    const { references, texts } = strings
    const whole = replaceStrings(fact, references, ({ hash }) => texts?.get(hash) ?? blobText(hash))
    return whole as object as Fact
  } catch (cause) {
    const what = `The body at position ${seq} of ${JSON.stringify(conversationId)}`
    throw damaged(what, { conversationId, seq }, cause)
  }
}

function parsed(text: string): JsonValue & object {
  const value = JSON.parse(text) as JsonValue
  if (typeof value === 'object' && value !== null) return value
  throw new TypeError('The text is not a JSON object.')
}

function damaged(what: string, data: Readonly<Record<string, unknown>>, cause: unknown): ColloquyError {
  const message = `${what} is not a JSON object. Restore the database from a backup.`
  return new ColloquyError('store_unavailable', message, data, { cause })
}

export interface RecordRow {
  readonly conversation_id: string
  readonly title: string | null
  readonly public: number
  readonly tags: string
  readonly metadata: string
  readonly time_zone: string | null
  readonly parent_conversation_id: string | null
  readonly sandbox_id: string | null
  readonly owner: string | null
  readonly status: string | null
  readonly created: Bigint
  readonly updated: Bigint
  readonly version: number
  readonly head_id: string | null
}

export function readRecord(row: RecordRow): ConversationRecord {
  const id = row.conversation_id
  const read = (field: 'tags' | 'metadata'): JsonObject =>
    readObject(row[field], `The ${field} of conversation ${JSON.stringify(id)}`, { conversationId: id })
  return Object.freeze({
    id,
    title: row.title,
    public: row.public === 1,
    tags: read('tags') as ConversationRecord['tags'],
    metadata: read('metadata'),
    timeZone: row.time_zone,
    parentConversationId: row.parent_conversation_id,
    sandboxId: row.sandbox_id,
    owner: row.owner,
    status: row.status,
    createdAt: formatInstant(row.created),
    updatedAt: formatInstant(row.updated),
    version: row.version,
    headId: row.head_id,
  })
}

export function readObject(text: string, what: string, data: Readonly<Record<string, unknown>>): JsonObject {
  try {
    const value = parsed(text)
    freezeJson(value)
    return value as JsonObject
  } catch (cause) {
    throw damaged(what, data, cause)
  }
}
