/**
 * Run leases in PostgreSQL: the rules of `nextLease` in the one statement that also keeps it, so that no two processes
 * win.
 */

import { unknownConversation } from '../kit/errors.ts'
import type { CheckedLeaseQuery } from '../kit/leases.ts'
import type { Lease } from '../contract/lease.ts'
import type { Connection } from './connection.ts'
import { LEASE_COLUMNS, type LeaseRow, leaseOf } from './conversation-row.ts'
import { DURABLE, NOW } from './schema/phrases.ts'

/** Takes or renews a lease; null while another owner holds a live one. @throws `unknown_conversation`. */
export async function acquireLease(
  connection: Connection,
  ask: { readonly conversationId: string; readonly owner: string; readonly ttl: number },
  now: bigint | null,
): Promise<Lease | null> {
  const { conversationId, owner, ttl } = ask
  const [row] = await connection.query<LeaseRow>(
    `UPDATE ${connection.schema}.conversations SET
      lease_generation = lease_generation
        + CASE WHEN lease_owner IS NOT NULL AND lease_expires_at > n.now THEN 0 ELSE 1 END,
      lease_owner = $2,
      lease_expires_at = n.now + $3::bigint
    FROM (SELECT coalesce($4::bigint, ${NOW}) / 1000 AS now) n, ${DURABLE}
    WHERE conversation_id = $1 AND (lease_owner IS NULL OR lease_owner = $2 OR lease_expires_at <= n.now)
    RETURNING ${LEASE_COLUMNS}`,
    [conversationId, owner, String(ttl), now === null ? null : String(now)],
  )
  if (row !== undefined) return leaseOf(conversationId, row)
  const known = await connection.query(
    `SELECT 1 AS known FROM ${connection.schema}.conversations WHERE conversation_id = $1`,
    [conversationId],
  )
  if (known.length === 0) throw unknownConversation(conversationId)
  return null
}

/** Gives a lease back; false when it is no longer the latest. */
export async function releaseLease(connection: Connection, lease: Lease): Promise<boolean> {
  const rows = await connection.query(
    `UPDATE ${connection.schema}.conversations SET lease_owner = NULL, lease_expires_at = NULL FROM ${DURABLE}
    WHERE conversation_id = $1 AND lease_owner = $2 AND lease_generation = $3::bigint RETURNING lease_generation`,
    [lease.conversationId, lease.owner, lease.generation],
  )
  return rows.length > 0
}

/** The latest lease, expired or not, or null. */
export async function findLease(connection: Connection, conversationId: string): Promise<Lease | null> {
  const [row] = await connection.query<LeaseRow>(
    `SELECT ${LEASE_COLUMNS} FROM ${connection.schema}.conversations
    WHERE conversation_id = $1 AND lease_owner IS NOT NULL`,
    [conversationId],
  )
  return row === undefined ? null : leaseOf(conversationId, row)
}

/** A page of the leases that were not given back. O(leases). */
export async function findLeases(
  connection: Connection,
  { expired, after, limit }: CheckedLeaseQuery,
  now: bigint | null,
): Promise<Lease[]> {
  const rows = await connection.query<LeaseRow & { readonly conversation_id: string }>(
    `SELECT conversation_id, ${LEASE_COLUMNS} FROM ${connection.schema}.conversations
    WHERE lease_owner IS NOT NULL AND conversation_id > $1
      AND (NOT $2::boolean OR lease_expires_at <= coalesce($3::bigint, ${NOW}) / 1000)
    ORDER BY conversation_id LIMIT $4`,
    [after ?? '', expired, now === null ? null : String(now), limit],
  )
  return rows.map((row) => leaseOf(row.conversation_id, row))
}
