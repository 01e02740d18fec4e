/** Rows of conversations as records and leases. */

import { setOwn } from '../../event/json.ts'
import type { ConversationRecord } from '../contract/conversation-record.ts'
import type { Lease } from '../contract/lease.ts'
import { type Bigint, readRecord, type RecordRow } from '../kit/row.ts'
import { RECORD_TYPES } from './schema/lists.ts'

/** A row as {@link RECORD_COLUMNS} selects it. */
export interface ConversationRow extends RecordRow {
  readonly public: boolean
  readonly tags: readonly string[]
  readonly created_at: Bigint
  readonly updated_at: Bigint
}

/** What a record is made of. */
export const RECORD_COLUMNS = Object.keys(RECORD_TYPES).join(', ')

/** The record that a row holds. Frozen. O(size). */
export function recordOf(row: ConversationRow): ConversationRecord {
  const { public: isPublic, created_at: created, updated_at: updated } = row
  return readRecord(row, { tags: tagsOf(row.tags), isPublic, created, updated })
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
