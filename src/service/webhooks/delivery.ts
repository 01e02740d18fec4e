/** Sends a webhook what is new in one conversation, in order. */

import type { Engine } from '../../conversation/engine.ts'
import { hasCode } from '../../event/errors.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import { infoWithChildrenOf } from '../conversations/info.ts'
import type { Claimed } from './claimed.ts'
import { type DeliveryCursor, isReplaced, newCursor } from './delivery-cursor.ts'
import { batchOf, conversationMessage, digestOf } from './payloads.ts'
import { type Message, post } from './post.ts'
import type { Webhook } from './webhook.ts'

/** What a conversation is sent with. */
export interface Delivery {
  readonly engine: Engine
  readonly webhook: Webhook
  readonly claimed: Claimed
  /** Aborted when the conversation is another process's, or all is closed. */
  readonly signal: AbortSignal
}

/**
 * Sends the next message, if any, and says whether there may be another one; false when the conversation rests.
 * @throws what the receiver or the store throws, the signal's reason when that is aborted, `lease_lost`.
 */
export async function sendNext(delivery: Delivery): Promise<boolean> {
  const { engine, claimed } = delivery
  const { id, cursor: told } = claimed
  const record = await engine.store.getConversation(id)
  if (record === null || isReplaced(record, told)) return tellDeleted(delivery, record)
  if (told.digest === null) {
    // Should it be deleted after a crash, that is sent too: that it was begun is kept already.
    await tellRecord(delivery, record, 'created')
    return true
  }
  if (told.next !== null && record.version > told.next) {
    await tellEvents(delivery, told.next)
    return true
  }
  const status = await statusOf(engine, id)
  if (status !== null && (digestOf(record) !== told.digest || status !== told.status)) {
    await tellRecord(delivery, record, 'updated')
    return true
  }
  return !(await claimed.rest(told))
}

async function tellEvents(delivery: Delivery, next: number): Promise<void> {
  const { engine, webhook, claimed } = delivery
  const { id, cursor: told } = claimed
  const limit = told.until === null ? webhook.maxBatchEvents : Math.max(1, told.until - next)
  const events = await engine.store.read(id, { from: next, limit })
  // It was deleted just now.
  if (events.length === 0) return
  const batch = batchOf(webhook, { id, createdAt: told.born }, events)
  if (batch.message !== null) {
    if (told.until !== batch.next) claimed.cursor = { ...told, until: batch.next }
    if (!claimed.isKept) await claimed.keep()
    await send(delivery, batch.message)
  }
  claimed.cursor = taken(told, { next: batch.next, until: null })
}

async function tellRecord(
  delivery: Delivery,
  record: ConversationRecord,
  type: 'created' | 'updated',
): Promise<void> {
  const { engine, claimed } = delivery
  const { cursor: told } = claimed
  const state = await (await engine.open(record.id)).state()
  const info = await infoWithChildrenOf(engine.store, record, state)
  await send(delivery, conversationMessage(type, told.born, info))
  claimed.cursor = taken(told, { digest: digestOf(record), status: state.header.status })
}

/** Says whether there is another one by its id. */
async function tellDeleted(delivery: Delivery, record: ConversationRecord | null): Promise<boolean> {
  const { claimed } = delivery
  const { id, cursor: told } = claimed
  if (told.isGone !== true) {
    await send(delivery, conversationMessage('deleted', told.born, { id, execution_status: 'deleting' }))
    claimed.cursor = taken(told, { isGone: true })
  }
  if (record === null) return !(await claimed.rest(null))
  claimed.cursor = newCursor(record)
  await claimed.keep()
  return true
}

function send({ webhook, signal }: Delivery, message: Message): Promise<void> {
  return post(webhook, message, signal)
}

/** What comes of a message that was taken: it fails no longer. */
const taken = (told: DeliveryCursor, change: Partial<DeliveryCursor>): DeliveryCursor => ({
  ...told,
  ...change,
  tries: 0,
})

/** Null when it is deleted meanwhile. */
async function statusOf(engine: Engine, id: string): Promise<string | null> {
  try {
    return (await (await engine.open(id)).state()).header.status
  } catch (error) {
    if (hasCode(error, 'unknown_conversation')) return null
    throw error
  }
}
