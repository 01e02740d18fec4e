/** Run leases in SQLite, each decided in one transaction, so that no two processes win. */

import { unknownConversation } from '../kit/errors.ts'
import { isLegalId } from '../../event/ids.ts'
import { checkLease, type CheckedLeaseQuery, nextLease } from '../kit/leases.ts'
import type { Lease } from '../contract/lease.ts'
import type { Connection } from './connection.ts'
import { findLog, type Micros, micros } from './rows.ts'

interface LeaseRow {
  /** Null when it was given back; the generation stays, so that it comes but once. */
  readonly owner: string | null
  readonly generation: number
  readonly expires: Micros
}

const SELECT = `SELECT owner, generation, ${micros('expires_at', 'expires')}
  FROM colloquy_lease WHERE conversation_id = ?`

/** In the order of the index that holds those that were not given back, and no others. */
const LIST = `SELECT conversation_id AS id, owner, generation, ${micros('expires_at', 'expires')}
  FROM colloquy_lease INDEXED BY colloquy_lease_taken
  WHERE owner IS NOT NULL AND conversation_id > ? AND expires_at <= ? ORDER BY conversation_id LIMIT ?`

/** The largest integer of SQLite: a lease may end beyond what a number can count. */
const LATEST = 2n ** 63n - 1n

const UPSERT = `INSERT INTO colloquy_lease (conversation_id, owner, generation, expires_at) VALUES (?, ?, ?, ?)
  ON CONFLICT (conversation_id) DO UPDATE
  SET owner = excluded.owner, generation = excluded.generation, expires_at = excluded.expires_at`

const RELEASE = 'UPDATE colloquy_lease SET owner = NULL WHERE conversation_id = ?'

/** The latest lease, or null when there is none or it was given back. O(log n). */
export function findLease(connection: Connection, conversationId: string): Lease | null {
  if (!isLegalId(conversationId)) return null
  const row = connection.get<LeaseRow>(SELECT, conversationId)
  return row === undefined ? null : toLease(conversationId, row)
}

/** A page of the leases that were not given back; `now` in milliseconds. O(leases). */
export const listLeases = (
  connection: Connection,
  { expired, after, limit }: CheckedLeaseQuery,
  now: number,
): Lease[] =>
  connection
    .all<LeaseRow & { readonly id: string }>(LIST, after ?? '', expired ? now : LATEST, limit)
    .flatMap((row) => toLease(row.id, row) ?? [])

/** Takes or renews a lease; `now` in milliseconds. @throws `unknown_conversation`, `invalid_id`, `invalid_argument`. */
export function acquireLease(
  connection: Connection,
  conversationId: string,
  owner: string,
  ttl: number,
  now: number,
): Lease | null {
  return connection.write(() => {
    if (findLog(connection, conversationId) === undefined) throw unknownConversation(conversationId)
    checkLease(owner, ttl)
    const row = connection.get<LeaseRow>(SELECT, conversationId)
    const latest = row === undefined ? null : toLease(conversationId, row)
    const lease = nextLease(latest, row?.generation ?? 0, { conversationId, owner, ttl, now })
    if (lease === null) return null
    connection.run(UPSERT, conversationId, owner, lease.generation, lease.expiresAt)
    return lease
  })
}

/** Gives a lease back; false when it is no longer the latest. */
export function releaseLease(connection: Connection, { conversationId, owner, generation }: Lease): boolean {
  return connection.write(() => {
    const latest = findLease(connection, conversationId)
    if (latest?.owner !== owner || latest.generation !== generation) return false
    connection.run(RELEASE, conversationId)
    return true
  })
}

function toLease(conversationId: string, { owner, generation, expires }: LeaseRow): Lease | null {
  return owner === null
    ? null
    : Object.freeze({ conversationId, owner, generation, expiresAt: Number(expires) })
}
