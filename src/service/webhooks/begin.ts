/** Writes down where a webhook begins, and makes due what it is sent of what was there before. */

import type { Store } from '../../store/contract/store.ts'
import { walkConversations } from '../conversations/walk.ts'
import type { HeldItem } from '../records/held-item.ts'
import type { Records } from '../records/records.ts'
import { type Begun, type Collections } from './delivery-cursor.ts'
import { mark, type News, NOTHING } from './mark.ts'
import type { Webhook } from './webhook.ts'

/** How many conversations are made due at once. */
const BATCH = 100

/** What a webhook begins with. */
export interface Beginning {
  readonly store: Store
  readonly webhook: Webhook
  readonly begunRecords: Records<Begun>
  readonly collections: Collections
  /** One process begins at a time. */
  readonly lease: HeldItem
  /** When the webhook was to begin, as `performance.now()` says it. */
  readonly startedAt: number
  readonly signal: AbortSignal
  /** Begins to mark what happens from now on. */
  readonly follow: (since: string | null) => Promise<void>
}

/**
 * Begins. A webhook that begins with the start knows nothing. One that begins with now knows the
 * conversations that were created before: of these it is sent what is appended from then on, and those that are created
 * from then on as a whole, however long this takes and however often it breaks off. O(conversations that it is to be sent).
 */
export async function begin(beginning: Beginning): Promise<void> {
  const { webhook, begunRecords, lease, startedAt } = beginning
  const before = (await begunRecords.find(webhook.id))?.record ?? null
  const write = (begun: Begun): Promise<void> => lease.make([begunRecords.changeOf(webhook.id, begun)])
  // The time of the store, which is also what its conversations are created by, when the service was started: what is
  // created while it waits for the lease is sent as well.
  const now = (await lease.now()) - (performance.now() - startedAt)
  const start = webhook.from === 'start' ? null : new Date(now).toISOString()
  const since = before === null ? start : before.since
  if (before === null) await write({ since, done: false })
  await beginning.follow(since)
  await makeNewDue(beginning, since)
  await write({ since, done: true })
}

/** Those created since then that are not known yet. */
async function makeNewDue(beginning: Beginning, since: string | null): Promise<void> {
  const { store, collections, signal } = beginning
  const query = since === null ? {} : { createdAtGte: since }
  let found = new Map<string, News>()
  for await (const { id } of walkConversations(store, { order: 'created_at', ...query })) {
    if (signal.aborted) throw signal.reason
    found.set(id, NOTHING)
    if (found.size < BATCH) continue
    await mark({ store, collections, since }, found)
    found = new Map()
  }
  await mark({ store, collections, since }, found)
}
