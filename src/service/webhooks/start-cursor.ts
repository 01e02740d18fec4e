/** Writes down where a new webhook begins, before it is sent anything. */

import { userConversations } from '../../store/system-conversations.ts'
import type { Store } from '../../store/contract/store.ts'
import { systemConversationId } from '../records/collection.ts'
import {
  isDeliveryCursor,
  keyOf,
  caughtUpCursor,
  type DeliveryCursor,
  type ToldParts,
} from './delivery-cursor.ts'
import type { Webhook } from './webhook.ts'

/** How many conversations are written down at once. */
const BATCH = 500

/**
 * Writes down that a webhook has begun. One that begins with the start knows nothing. One that begins with now knows
 * every conversation that was created before, up to the event at which it is found here: what is appended to it from
 * then on is sent, and a conversation that is created from its beginning on is sent as a whole, however long this takes
 * and however often it breaks off. O(conversations).
 */
export async function begin(store: Store, webhook: Webhook, parts: ToldParts): Promise<void> {
  const { records, told, lease, signal } = parts
  const kept = told.get(keyOf(webhook))
  const begun = kept === undefined || isDeliveryCursor(kept) ? null : kept
  if (begun?.done === true) return
  if (webhook.from === 'start' && begun === null) {
    return records.put(keyOf(webhook), { since: null, done: true }, lease)
  }
  // The time of the store, which is also what its conversations are created by.
  const since =
    begun?.since ?? (await store.updateConversation(systemConversationId('webhooks'), {})).updatedAt
  if (begun === null) await records.put(keyOf(webhook), { since, done: false }, lease)
  // All are found before any is written down, which takes longer: so much less passes by meanwhile.
  const known = new Map<string, DeliveryCursor>()
  for await (const record of userConversations(store, { order: 'created_at', createdAtLt: since })) {
    if (signal.aborted) return
    const key = keyOf(webhook, record.id)
    if (!told.has(key)) known.set(key, caughtUpCursor(record))
  }
  const list = [...known]
  for (let at = 0; at < list.length; at += BATCH) {
    if (signal.aborted) return
    await records.putAll(list.slice(at, at + BATCH), lease)
  }
  await records.put(keyOf(webhook), { since, done: true }, lease)
}
