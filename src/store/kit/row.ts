/** Reads rows of a database as events and records of the contract, in the one way that all adapters share. */

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
  /** By hash; null to put references. */
  readonly texts: ReadonlyMap<string, string> | null
}

/**
 * Returns a stored event, frozen. O(length of the body).
 * @param strings the strings that `splitBody` took from the body
 * @throws `store_unavailable` for a damaged body.
 * @example
 * const position = { conversationId: 'c', seq: 0, id: 'p', parentId: null, inTree: true, time: '0' }
 * readEvent(position, '{"kind":"PauseEvent"}').fact // { kind: 'PauseEvent' }
 */
export function readEvent(
  position: Omit<StoredEvent, 'fact' | 'blobs'>,
  body: string,
  strings?: BodyStrings,
): StoredEvent {
  const { conversationId, seq, id, parentId, inTree, time } = position
  const fact = readFact(conversationId, seq, body, strings)
  freezeJson(fact as object as JsonValue)
  const event = { conversationId, seq, id, fact, parentId, inTree, time }
  if (strings?.texts !== null) return Object.freeze(event)
  return Object.freeze({ ...event, blobs: freezeBlobs(strings.references) })
}

/** The fact of a stored event as {@link readEvent} reads it, not frozen. @throws as it does. */
export function readFact(conversationId: string, seq: number, body: string, strings?: BodyStrings): Fact {
  const name = (): Named => ({
    what: `The body at position ${seq} of ${JSON.stringify(conversationId)}`,
    data: { conversationId, seq },
  })
  const fact = parsed(body, name)
  return (strings === undefined ? fact : filled(fact, strings, name)) as object as Fact
}

function filled(
  body: JsonValue & object,
  { references, texts }: BodyStrings,
  name: () => Named,
): JsonValue & object {
  try {
    return replaceStrings(body, references, ({ hash }) => texts?.get(hash) ?? blobText(hash)) as JsonValue &
      object
  } catch (cause) {
    throw damaged(name(), cause)
  }
}

interface Named {
  readonly what: string
  readonly data: Readonly<Record<string, unknown>>
}

function parsed(text: string, name: () => Named): JsonValue & object {
  let cause: unknown
  try {
    const value = JSON.parse(text) as JsonValue
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    cause = error
  }
  throw damaged(name(), cause)
}

function damaged({ what, data }: Named, cause: unknown): ColloquyError {
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

/** The record of a row, frozen. O(size). @throws `store_unavailable` for one that was damaged. */
export function readRecord(row: RecordRow): ConversationRecord {
  const conversationId = row.conversation_id
  const name = (field: string): Named => ({
    what: `The ${field} of conversation ${JSON.stringify(conversationId)}`,
    data: { conversationId },
  })
  return Object.freeze({
    id: conversationId,
    title: row.title,
    public: row.public === 1,
    tags: readNamed(row.tags, () => name('tags')) as ConversationRecord['tags'],
    metadata: readNamed(row.metadata, () => name('metadata')),
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

/**
 * Parses an object, and freezes it. O(length). @throws `store_unavailable` for a damaged text.
 * @example
 * readObject('{"a":1}') // { a: 1 }
 */
export function readObject(text: string): JsonObject {
  return readNamed(text, () => ({ what: 'A record of the database', data: {} }))
}

export function readNamed(text: string, name: () => Named): JsonObject {
  const value = parsed(text, name)
  freezeJson(value)
  return value as JsonObject
}
