/** The conversations of which a webhook has yet to be told go in; each is told of in order, one message after the other, again and again until it is taken. */

import type { Engine } from '../../conversation/engine.ts'
import { hasCode } from '../../event/errors.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import { infoOf } from '../lifecycle/info.ts'
import type { Ledger, LeaseProof } from '../ledger.ts'
import { batchOf, conversationMessage, digestOf } from './messages.ts'
import { post } from './post.ts'
import { waitBefore, type Webhook } from './webhook.ts'

/** How far a webhook has come with a conversation. */
export interface Told {
  /** The position of the next event to tell. */
  readonly next: number
  /** What was last told of the record; null: nothing yet. */
  readonly digest: string | null
  /** The status that was last told; null: none. */
  readonly status: string | null
}

/** Where it is kept. */
export const toldKey = (webhook: Webhook, conversationId: string): string =>
  `${webhook.id}\n${conversationId}`

/** What a delivery works with. */
export interface DeliveryParts {
  readonly engine: Engine
  readonly webhook: Webhook
  readonly records: Ledger<Told>
  /** All that was told, kept up with what is written. */
  readonly told: Map<string, Told>
  readonly lease: LeaseProof
  readonly signal: AbortSignal
  /** Told of each attempt that failed. */
  readonly onFailure: (error: unknown, webhook: Webhook, conversationId: string) => void
}

interface Failed {
  tries: number
  /** Where the message that was not taken ends: it is repeated as it was. */
  until: number | null
}

const NOTHING: Told = { next: 0, digest: null, status: null }

/** The delivery of one webhook, for as long as this process is the one that delivers. */
export class Delivery {
  readonly #parts: DeliveryParts
  readonly #queue = new Set<string>()
  readonly #busy = new Set<string>()
  readonly #again = new Set<string>()
  readonly #failed = new Map<string, Failed>()
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>()
  readonly #work = new Set<Promise<void>>()

  constructor(parts: DeliveryParts) {
    this.#parts = parts
    parts.signal.addEventListener('abort', () => {
      for (const timer of this.#timers.values()) clearTimeout(timer)
      this.#queue.clear()
    })
  }

  /** How many conversations wait. */
  get size(): number {
    return this.#queue.size + this.#busy.size + this.#timers.size
  }

  /** Looks whether there is news in a record. */
  look(record: ConversationRecord): void {
    const told = this.#toldOf(record.id)
    if (told.digest === null || record.version > told.next || digestOf(record) !== told.digest)
      this.offer(record.id)
  }

  /** Puts a conversation into the queue, unless it is there, or waits for its repetition. */
  offer(id: string): void {
    if (this.#parts.signal.aborted || this.#timers.has(id)) return
    if (this.#busy.has(id)) this.#again.add(id)
    else this.#queue.add(id)
    this.#fill()
  }

  /** Resolves when nothing is being sent. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#work)
  }

  #fill(): void {
    for (const id of this.#queue) {
      if (this.#busy.size >= this.#parts.webhook.concurrency || this.#parts.signal.aborted) return
      this.#queue.delete(id)
      this.#busy.add(id)
      const work = this.#turn(id).finally(() => {
        this.#work.delete(work)
        this.#fill()
      })
      this.#work.add(work)
    }
  }

  /** One message of a conversation; the others get their turn before its next. Never rejects. */
  async #turn(id: string): Promise<void> {
    const { signal, webhook, onFailure } = this.#parts
    let more = false
    try {
      more = await this.#step(id)
      this.#failed.delete(id)
    } catch (error) {
      if (!signal.aborted) {
        const failed = this.#failureOf(id)
        failed.tries += 1
        onFailure(error, webhook, id)
        this.#repeat(id, waitBefore(webhook, failed.tries))
      }
    }
    this.#busy.delete(id)
    if (this.#again.delete(id) || more) this.offer(id)
  }

  #repeat(id: string, milliseconds: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(id)
      this.offer(id)
    }, milliseconds)
    this.#timers.set(id, timer)
  }

  /** Sends the next message; says whether there may be another one. */
  async #step(id: string): Promise<boolean> {
    const { engine, webhook, signal } = this.#parts
    const told = this.#toldOf(id)
    const record = await engine.store.getConversation(id)
    if (record === null) return this.#tellDeleted(id, told)
    if (told.digest === null) return this.#tellRecord(record, told, 'created')
    if (record.version > told.next) {
      const failed = this.#failureOf(id)
      const limit = failed.until === null ? webhook.batch : Math.max(1, failed.until - told.next)
      const events = await engine.store.read(id, { from: told.next, limit })
      const { next, message } = batchOf(webhook, id, events)
      failed.until = next
      if (message !== null) await post(webhook, message, signal)
      await this.#write(id, { ...told, next })
      return true
    }
    const status = await this.#statusOf(id)
    if (status !== null && (digestOf(record) !== told.digest || status !== told.status)) {
      return this.#tellRecord(record, told, 'updated')
    }
    return false
  }

  async #tellRecord(record: ConversationRecord, told: Told, type: 'created' | 'updated'): Promise<boolean> {
    const { engine, webhook, signal } = this.#parts
    const state = await (await engine.open(record.id)).state()
    const message = conversationMessage(type, infoOf(record, state))
    await post(webhook, message, signal)
    await this.#write(record.id, { ...told, digest: digestOf(record), status: state.header.status })
    return true
  }

  async #tellDeleted(id: string, told: Told): Promise<boolean> {
    const { records, webhook, signal, lease } = this.#parts
    const key = toldKey(webhook, id)
    // Of one that came and went unseen there is nothing to tell.
    if (told.digest === null) return false
    await post(webhook, conversationMessage('deleted', { id, execution_status: 'deleting' }), signal)
    await records.remove(key, lease)
    this.#parts.told.delete(key)
    return false
  }

  /** Null when it is deleted meanwhile. */
  async #statusOf(id: string): Promise<string | null> {
    try {
      return (await (await this.#parts.engine.open(id)).state()).header.status
    } catch (error) {
      if (hasCode(error, 'unknown_conversation')) return null
      throw error
    }
  }

  /** Under the lease: who is no longer the one to deliver writes nothing. */
  async #write(id: string, now: Told): Promise<void> {
    const { records, told, webhook, lease } = this.#parts
    const key = toldKey(webhook, id)
    await records.put(key, now, lease)
    told.set(key, now)
  }

  #toldOf(id: string): Told {
    return this.#parts.told.get(toldKey(this.#parts.webhook, id)) ?? NOTHING
  }

  #failureOf(id: string): Failed {
    const known = this.#failed.get(id)
    if (known !== undefined) return known
    const failed: Failed = { tries: 0, until: null }
    this.#failed.set(id, failed)
    return failed
  }
}
