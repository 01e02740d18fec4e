/** A row of the conversations goes in, the record or the lease comes out. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { freezeJson } from '../../event/freeze.ts'
import { setOwn } from '../../event/json.ts'
import type { ConversationRecord } from '../conversation-record.ts'
import type { Lease } from '../lease.ts'
import { formatInstant } from '../record.ts'

type Bigint = string | number | bigint

/** A row as {@link RECORD_COLUMNS} selects it. */
export interface ConversationRow {
  readonly conversation_id: string
  readonly title: string | null
  readonly public: boolean
  readonly tags: readonly string[]
  readonly metadata: string
  readonly time_zone: string | null
  readonly parent_conversation_id: string | null
  readonly created_at: Bigint
  readonly updated_at: Bigint
  readonly version: number
  readonly head_id: string | null
}

/** What a record is made of. */
export const RECORD_COLUMNS =
  'conversation_id, title, public, tags, metadata, time_zone, parent_conversation_id, created_at, updated_at, version, head_id'

/** The record that a row holds. Frozen. O(size). */
export function recordOf(row: ConversationRow): ConversationRecord {
  const metadata = JSON.parse(row.metadata) as JsonValue
  freezeJson(metadata)
  return Object.freeze({
    id: row.conversation_id,
    title: row.title,
    public: row.public,
    tags: tagsOf(row.tags),
    metadata: metadata as JsonObject,
    timeZone: row.time_zone,
    parentConversationId: row.parent_conversation_id,
    createdAt: formatInstant(BigInt(row.created_at)),
    updatedAt: formatInstant(BigInt(row.updated_at)),
    version: row.version,
    headId: row.head_id,
  })
}

/**
 * A tag as it is stored; no key holds the sign between.
 *
 * @example
 * tagText(['env', 'a=b']) // 'env=a=b'
 */
export const tagText = ([key, value]: readonly [string, string]): string => `${key}=${value}`

function tagsOf(texts: readonly string[]): Readonly<Record<string, string>> {
  const tags = {}
  for (const text of texts) {
    const end = text.indexOf('=')
    setOwn(tags, text.slice(0, end), text.slice(end + 1))
  }
  return Object.freeze(tags)
}

/** A row as {@link LEASE_COLUMNS} selects it. */
export interface LeaseRow {
  readonly lease_owner: string
  readonly lease_generation: number
  readonly lease_expires_at: Bigint
}

/** What a lease is made of. */
export const LEASE_COLUMNS = 'lease_owner, lease_generation, lease_expires_at'

/** The lease that a row holds. Frozen. O(1). */
export function leaseOf(conversationId: string, row: LeaseRow): Lease {
  return Object.freeze({
    conversationId,
    owner: row.lease_owner,
    generation: row.lease_generation,
    expiresAt: Number(row.lease_expires_at),
  })
}
