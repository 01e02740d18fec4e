/** Reads rows of a database as events and records of the contract, in the one way that all adapters share. */

import { ColloquyError } from '../../event/errors.ts'
import { freezeJson } from '../../event/freeze.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { ConversationRecord } from '../contract/conversation-record.ts'
import { formatInstant } from './record.ts'
import type { StoredEvent } from '../contract/stored-event.ts'

/** A bigint as a driver gives it. */
export type Bigint = string | number | bigint

/**
 * A stored event. Frozen. O(length of the body).
 *
 * @param more what the body lacks
 * @throws `store_unavailable` for a body that was damaged.
 */
export function readEvent(place: Omit<StoredEvent, 'fact'>, body: string, more?: JsonObject): StoredEvent {
  const { conversationId, seq, id, parentId, inTree, time } = place
  const given = parsed(conversationId, seq, body)
  const fact = more === undefined ? given : { ...given, ...more }
  freezeJson(fact as JsonValue)
  return Object.freeze({ conversationId, seq, id, fact: fact as object as Fact, parentId, inTree, time })
}

function parsed(conversationId: string, seq: number, body: string): JsonValue & object {
  try {
    return JSON.parse(body) as JsonValue & object
  } catch (cause) {
    throw new ColloquyError(
      'store_unavailable',
      `The body at position ${seq} of ${JSON.stringify(conversationId)} is no JSON; restore the database from a backup.`,
      { conversationId, seq },
      { cause },
    )
  }
}

/** The columns of a record that all databases keep alike. */
export interface RecordRow {
  readonly conversation_id: string
  readonly title: string | null
  readonly metadata: string
  readonly time_zone: string | null
  readonly parent_conversation_id: string | null
  readonly sandbox_id: string | null
  readonly status: string | null
  readonly version: number
  readonly head_id: string | null
}

/** A record. Frozen. O(size). */
export function readRecord(
  row: RecordRow,
  { tags, isPublic, created, updated }: RecordParts,
): ConversationRecord {
  return Object.freeze({
    id: row.conversation_id,
    title: row.title,
    public: isPublic,
    tags,
    metadata: readObject(row.metadata),
    timeZone: row.time_zone,
    parentConversationId: row.parent_conversation_id,
    sandboxId: row.sandbox_id,
    status: row.status,
    createdAt: formatInstant(BigInt(created)),
    updatedAt: formatInstant(BigInt(updated)),
    version: row.version,
    headId: row.head_id,
  })
}

/** What each database keeps of a record in its own way. */
interface RecordParts {
  readonly tags: ConversationRecord['tags']
  readonly isPublic: boolean
  readonly created: Bigint
  readonly updated: Bigint
}

/** An object from its JSON text. Frozen. O(length). */
export function readObject(text: string): JsonObject {
  const value = JSON.parse(text) as JsonValue
  freezeJson(value)
  return value as JsonObject
}
