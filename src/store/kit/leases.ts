/** The rules of leases that all adapters share: what may be asked for, and who holds a lease next. */

import { ColloquyError } from '../../event/errors.ts'
import { isLegalId } from '../../event/ids.ts'
import type { Lease, LeaseQuery } from '../contract/lease.ts'
import { MAX_PAGE_SIZE } from '../contract/query.ts'
import { checkBoolean, checkId, checkInteger, invalidArgument } from './query/check-value.ts'

/** A query with its defaults. */
export interface CheckedLeaseQuery {
  readonly expired: boolean
  readonly after: string | null
  readonly limit: number
}

/** Checks which leases a caller wants. O(1). @throws `invalid_argument` naming the field in `data.field`. */
export const checkLeaseQuery = (query: LeaseQuery = {}): CheckedLeaseQuery => ({
  expired: checkBoolean('expired', query.expired, invalidArgument) ?? false,
  after: checkId('after', query.after, invalidArgument),
  limit: checkInteger('limit', query.limit, 1, MAX_PAGE_SIZE, MAX_PAGE_SIZE, invalidArgument),
})

/**
 * Refuses an owner or a time that no lease can have; the time is in milliseconds. O(length).
 * @throws `invalid_id`, `invalid_argument`.
 */
export function checkLease(owner: string, ttl: number): void {
  if (typeof owner !== 'string' || !isLegalId(owner)) {
    const rule = '1 to 200 characters of well-formed Unicode, without control characters'
    throw new ColloquyError('invalid_id', `The owner of a lease must be ${rule}.`, { owner })
  }
  if (!(Number.isSafeInteger(ttl) && ttl > 0))
    invalidArgument('ttl', 'must be a number of whole milliseconds above 0')
}

/**
 * The lease that an owner gets, or null while another one holds a live lease. A renewal keeps the generation; the owner
 * that comes after a lease that ran out or was given back, be it the same one, gets the next one. O(1).
 *
 * @param latest the latest lease; null when there is none or it was given back
 * @param generation how many there have been
 * @param now milliseconds since 1970
 *
 * @example
 * const first = nextLease(null, 0, { conversationId: 'c', owner: 'a', ttl: 10, now: 100 })
 * first // { conversationId: 'c', owner: 'a', generation: 1, expiresAt: 110 }
 * nextLease(first, 1, { conversationId: 'c', owner: 'b', ttl: 10, now: 109 }) // null
 * nextLease(first, 1, { conversationId: 'c', owner: 'b', ttl: 10, now: 110 }).generation // 2
 */
export function nextLease(
  latest: Lease | null,
  generation: number,
  ask: {
    readonly conversationId: string
    readonly owner: string
    readonly ttl: number
    readonly now: number
  },
): Lease | null {
  const { conversationId, owner, ttl, now } = ask
  const live = latest !== null && latest.expiresAt > now
  if (live && latest.owner !== owner) return null
  return Object.freeze({
    conversationId,
    owner,
    generation: live ? latest.generation : generation + 1,
    expiresAt: now + ttl,
  })
}
