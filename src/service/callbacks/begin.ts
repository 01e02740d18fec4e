/** A webhook that is new goes in; what it is taken to know already is written down. */

import { userConversations } from '../../store/own-records.ts'
import type { Store } from '../../store/store.ts'
import { ledgerId } from '../ledger.ts'
import { isTold, keyOf, knownOf, type Told, type ToldParts } from './told.ts'
import type { Webhook } from './webhook.ts'

/** How many conversations are written down at once. */
const BATCH = 500

/**
 * Writes down that a webhook has begun. One that begins with the start knows nothing. One that begins with now knows every conversation
 * that was created before, up to the event at which it is found here: what is appended to it from then on is told, and a conversation that
 * is created from the first moment on is told of as a whole, however long this takes and however often it breaks off. O(conversations).
 */
export async function begin(store: Store, webhook: Webhook, parts: ToldParts): Promise<void> {
  const { records, told, lease, signal } = parts
  const kept = told.get(keyOf(webhook))
  const begun = kept === undefined || isTold(kept) ? null : kept
  if (begun?.done === true) return
  if (webhook.from === 'start' && begun === null) {
    return records.put(keyOf(webhook), { since: null, done: true }, lease)
  }
  // The time of the store, which is also what its conversations are created by.
  const since = begun?.since ?? (await store.updateConversation(ledgerId('webhooks'), {})).updatedAt
  if (begun === null) await records.put(keyOf(webhook), { since, done: false }, lease)
  // All are found before any is written down, which takes longer: so much less passes by meanwhile.
  const known = new Map<string, Told>()
  for await (const record of userConversations(store, { order: 'created_at', createdAtLt: since })) {
    if (signal.aborted) return
    const key = keyOf(webhook, record.id)
    if (!told.has(key)) known.set(key, knownOf(record))
  }
  const list = [...known]
  for (let at = 0; at < list.length; at += BATCH) {
    if (signal.aborted) return
    await records.putAll(list.slice(at, at + BATCH), lease)
  }
  await records.put(keyOf(webhook), { since, done: true }, lease)
}
