/** Sends a webhook the conversations that are due, a few at a time, beside the other processes that do. */

import { pause } from '../../conversation/async.ts'
import type { Engine } from '../../conversation/engine.ts'
import { hasCode } from '../../event/errors.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import { infoWithChildrenOf } from '../conversations/info.ts'
import { Claimed } from './claimed.ts'
import { type Collections, type DeliveryCursor, isReplaced, newCursor } from './delivery-cursor.ts'
import { batchOf, conversationMessage, digestOf, type Message, post } from './payloads.ts'
import { waitBefore, type Webhook } from './webhook.ts'

/** What a conversation is sent with. */
interface Delivery {
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
async function sendNext(delivery: Delivery): Promise<boolean> {
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

/** Messages of one conversation in a row, before others that are due have their turn. */
const IN_A_ROW = 10

/** Milliseconds between two repetitions while nothing at all is taken: a receiver that is gone is not stormed. */
const PACE = 50

/** What a webhook is sent with. */
export interface SenderOptions {
  readonly engine: Engine
  readonly webhook: Webhook
  readonly collections: Collections
  /** Milliseconds between two looks for what is due. */
  readonly pollInterval: number
  /** Milliseconds after which another process goes on with what one sent that died. */
  readonly leaseTtl: number
  readonly signal: AbortSignal
  /** Called with each attempt that failed, and with failures of the store: those have no conversation. */
  readonly onFailure: (error: unknown, conversationId: string | null) => void
}

/** One process's part of the sending to a webhook. */
export class Sender {
  readonly #options: SenderOptions
  /** Those that are being sent, and whether they failed before. */
  readonly #busy = new Map<Promise<void>, boolean>()
  #sleep = new AbortController()
  #wasRepeated = false
  /** Failures since anything was taken. */
  #streak = 0
  #pacedAt = -Infinity

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** How many conversations are being sent. */
  get size(): number {
    return this.#busy.size
  }

  /** Looks at once: there may be something due. */
  wake(): void {
    this.#sleep.abort()
  }

  /** Sends until the signal is aborted, and what was under way is put back. Never rejects. */
  async run(): Promise<void> {
    const { signal, pollInterval, onFailure } = this.#options
    while (!signal.aborted) {
      this.#sleep = new AbortController()
      let isFull = false
      try {
        isFull = await this.#claim()
      } catch (error) {
        if (hasCode(error, 'store_closed')) break
        if (!signal.aborted) onFailure(error, null)
      }
      // Who is full looks again when there is room.
      await pause(isFull ? 2 ** 30 : pollInterval, AbortSignal.any([signal, this.#sleep.signal]))
    }
    await Promise.all(this.#busy.keys())
  }

  /** Takes what is due, as far as there is room; says whether there may be more. */
  async #claim(): Promise<boolean> {
    const { concurrency } = this.#options.webhook
    const room = concurrency - this.#busy.size
    if (room <= 0) return true
    const repeating = [...this.#busy.values()].filter(Boolean).length
    // Repetitions take half: the others need not wait for what hangs again. Where that is one, each in its turn.
    const most = Math.min(room, Math.max(1, concurrency >> 1) - repeating)
    const isStormy = this.#streak >= 2 * concurrency
    const isPaced = isStormy && performance.now() - this.#pacedAt < PACE
    const repeat = (left: number): Promise<number> =>
      left <= 0 || isPaced ? Promise.resolve(0) : this.#take(true, isStormy ? 1 : left)
    const first = this.#wasRepeated && room === 1 ? 0 : await repeat(most)
    const fresh = await this.#take(false, room - first)
    const later = first === 0 && fresh === 0 ? await repeat(most) : 0
    const repeated = first + later
    this.#wasRepeated = repeated > 0
    if (isStormy && repeated > 0) this.#pacedAt = performance.now()
    return this.#busy.size >= concurrency
  }

  async #take(isRepeated: boolean, limit: number): Promise<number> {
    const { engine, collections, leaseTtl, signal } = this.#options
    if (limit <= 0 || signal.aborted) return 0
    const collection = isRepeated ? collections.failing : collections.cursors
    const items = await engine.store.claimItems(collection, { ttl: leaseTtl, limit: Math.min(limit, 100) })
    for (const item of items) {
      const work = this.#send(new Claimed(engine.store, collections, item, leaseTtl)).finally(() => {
        this.#busy.delete(work)
        this.wake()
      })
      this.#busy.set(work, isRepeated)
    }
    return items.length
  }

  /** Sends what is new in a conversation, for some messages. Never rejects. */
  async #send(claimed: Claimed): Promise<void> {
    const { engine, webhook, onFailure } = this.#options
    const signal = AbortSignal.any([this.#options.signal, claimed.lost])
    try {
      for (let sent = 0; await sendNext({ engine, webhook, claimed, signal }); sent += 1) {
        this.#streak = 0
        if (sent >= IN_A_ROW || signal.aborted) return await claimed.putBack(0)
      }
    } catch (error) {
      if (claimed.lost.aborted || hasCode(error, 'store_closed')) return claimed.end()
      let wait = 0
      if (!this.#options.signal.aborted) {
        this.#streak += 1
        const tries = (claimed.cursor.tries ?? 0) + 1
        claimed.cursor = { ...claimed.cursor, tries }
        wait = Math.ceil(waitBefore(webhook, tries))
        onFailure(error, claimed.id)
      }
      // Else it is due when its claim runs out.
      await claimed.putBack(wait).catch((failure: unknown) => {
        claimed.end()
        if (!signal.aborted && !hasCode(failure, 'store_closed')) onFailure(failure, null)
      })
    }
  }
}
