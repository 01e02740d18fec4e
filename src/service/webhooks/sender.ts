/** Sends a webhook the conversations that are due, a few at a time; other processes do the same. */

import { pause } from '../../conversation/async.ts'
import type { Engine } from '../../conversation/engine.ts'
import { hasCode } from '../../event/errors.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { ItemChange } from '../../store/contract/items.ts'
import { infoWithChildrenOf } from '../conversations/info.ts'
import { isConflictIn, type Job, type Jobs } from '../../conversation/jobs.ts'
import {
  type Collections,
  type DeliveryCursor,
  deliveryJobs,
  isReplaced,
  newCursor,
} from './delivery-cursor.ts'
import { batchOf, conversationMessage, digestOf, post } from './payloads.ts'
import { waitBefore, type Webhook } from './webhook.ts'

interface Delivery {
  readonly engine: Engine
  readonly webhook: Webhook
  readonly collections: Collections
  readonly job: Job<DeliveryCursor>
  readonly signal: AbortSignal
}

/**
 * Sends the next message, if any; false when there is nothing to send until there is news.
 * @throws what the receiver or the store throws, the signal's reason, `lease_lost`.
 */
async function sendNext(delivery: Delivery): Promise<boolean> {
  const { engine, job } = delivery
  const cursor = job.record
  const record = await engine.store.getConversation(job.id)
  if (record === null || isReplaced(record, cursor)) return sendDeleted(delivery, record)
  if (cursor.digest === null) {
    // The job already records the creation, so a deletion after a crash is sent too.
    await sendRecord(delivery, record, 'created')
    return true
  }
  if (cursor.next !== null && record.version > cursor.next) {
    await sendEvents(delivery, cursor.next)
    return true
  }
  const status = await statusOf(engine, job.id)
  if (status !== null && (digestOf(record) !== cursor.digest || status !== cursor.status)) {
    await sendRecord(delivery, record, 'updated')
    return true
  }
  return !(await rest(delivery, (absent) => job.release(null, [absent])))
}

async function sendEvents({ engine, webhook, job, signal }: Delivery, next: number): Promise<void> {
  const { id, record: cursor } = job
  const limit = cursor.until === null ? webhook.maxBatchEvents : Math.max(1, cursor.until - next)
  const events = await engine.store.read(id, { from: next, limit })
  // The conversation was deleted.
  if (events.length === 0) return
  const batch = batchOf(webhook, { id, createdAt: cursor.born }, events)
  if (batch.message !== null) {
    if (cursor.until !== batch.next) job.record = { ...cursor, until: batch.next }
    if (!job.isStored) await job.save()
    await post(webhook, batch.message, signal)
  }
  job.record = afterSuccess(cursor, { next: batch.next, until: null })
}

async function sendRecord(
  { engine, webhook, job, signal }: Delivery,
  record: ConversationRecord,
  type: 'created' | 'updated',
): Promise<void> {
  const cursor = job.record
  const state = await (await engine.open(record.id)).state()
  const info = await infoWithChildrenOf(engine.store, record, state)
  await post(webhook, conversationMessage(type, cursor.born, info), signal)
  job.record = afterSuccess(cursor, { digest: digestOf(record), status: state.header.status })
}

async function sendDeleted(delivery: Delivery, record: ConversationRecord | null): Promise<boolean> {
  const { webhook, job, signal } = delivery
  const { id, record: cursor } = job
  if (cursor.isGone !== true) {
    const info = { id, execution_status: 'deleting' }
    await post(webhook, conversationMessage('deleted', cursor.born, info), signal)
    job.record = afterSuccess(cursor, { isGone: true })
  }
  if (record === null) return !(await rest(delivery, (absent) => job.finish([absent])))
  job.record = newCursor(record)
  await job.save()
  return true
}

/**
 * Ends the job unless there is news; false, and the lease remains, if there is.
 * @throws ColloquyError `lease_lost`.
 */
async function rest(
  { job, collections }: Delivery,
  end: (absent: ItemChange) => Promise<void>,
): Promise<boolean> {
  const { id } = job
  const { news: collection } = collections
  try {
    await end({ collection, id, expected: null })
    return true
  } catch (error) {
    if (!isConflictIn(error, collection)) throw error
    await job.save([{ collection, id, put: null }])
    return false
  }
}

const afterSuccess = (cursor: DeliveryCursor, change: Partial<DeliveryCursor>): DeliveryCursor => ({
  ...cursor,
  ...change,
  tries: 0,
})

async function statusOf(engine: Engine, id: string): Promise<string | null> {
  try {
    return (await (await engine.open(id)).state()).header.status
  } catch (error) {
    if (hasCode(error, 'unknown_conversation')) return null
    throw error
  }
}

/** Messages of one conversation in a row before other conversations are sent. */
const IN_A_ROW = 10

/** Milliseconds between two retries while every request fails: backoff for unreachable receivers. */
const PACE = 50

interface SenderOptions {
  readonly engine: Engine
  readonly webhook: Webhook
  readonly collections: Collections
  readonly pollInterval: number
  readonly leaseTtl: number
  readonly signal: AbortSignal
  /** Called with each failed attempt, and with failures of the store, which have no conversation. */
  readonly onFailure: (error: unknown, conversationId: string | null) => void
}

export class Sender {
  readonly #options: SenderOptions
  readonly #jobs: Jobs<DeliveryCursor>
  readonly #busy = new Map<Promise<void>, boolean>()
  #sleep = new AbortController()
  #wasRepeated = false
  #streak = 0
  #pacedAt = -Infinity

  constructor(options: SenderOptions) {
    this.#options = options
    this.#jobs = deliveryJobs(options.engine.store, options.collections, options.leaseTtl)
  }

  get size(): number {
    return this.#busy.size
  }

  wake(): void {
    this.#sleep.abort()
  }

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
      // At capacity: wait for a free slot.
      await pause(isFull ? 2 ** 30 : pollInterval, AbortSignal.any([signal, this.#sleep.signal]))
    }
    await Promise.all(this.#busy.keys())
  }

  async #claim(): Promise<boolean> {
    const { concurrency } = this.#options.webhook
    const room = concurrency - this.#busy.size
    if (room <= 0) return true
    const repeating = [...this.#busy.values()].filter(Boolean).length
    // Retries use at most half of the capacity, so that hanging ones do not block the others. A capacity of one alternates.
    const limit = Math.min(room, Math.max(1, concurrency >> 1) - repeating)
    const isStormy = this.#streak >= 2 * concurrency
    const isPaced = isStormy && performance.now() - this.#pacedAt < PACE
    const repeat = (count: number): Promise<number> =>
      count <= 0 || isPaced ? Promise.resolve(0) : this.#take(true, isStormy ? 1 : count)
    const first = this.#wasRepeated && room === 1 ? 0 : await repeat(limit)
    const fresh = await this.#take(false, room - first)
    const later = first === 0 && fresh === 0 ? await repeat(limit) : 0
    const repeated = first + later
    this.#wasRepeated = repeated > 0
    if (isStormy && repeated > 0) this.#pacedAt = performance.now()
    return this.#busy.size >= concurrency
  }

  async #take(isRetry: boolean, limit: number): Promise<number> {
    const { collections, signal } = this.#options
    if (limit <= 0 || signal.aborted) return 0
    const jobs = await this.#jobs.claim(limit, isRetry ? collections.failing : collections.cursors)
    for (const job of jobs) {
      const work = this.#send(job).finally(() => {
        this.#busy.delete(work)
        this.wake()
      })
      this.#busy.set(work, isRetry)
    }
    return jobs.length
  }

  async #send(job: Job<DeliveryCursor>): Promise<void> {
    const { engine, webhook, collections, onFailure } = this.#options
    const signal = AbortSignal.any([this.#options.signal, job.lost])
    try {
      for (let sent = 0; await sendNext({ engine, webhook, collections, job, signal }); sent += 1) {
        this.#streak = 0
        if (sent >= IN_A_ROW || signal.aborted) return await job.release(0)
      }
    } catch (error) {
      if (job.lost.aborted || hasCode(error, 'store_closed')) return job.abandon()
      let wait = 0
      if (!this.#options.signal.aborted) {
        this.#streak += 1
        const tries = (job.record.tries ?? 0) + 1
        job.record = { ...job.record, tries }
        wait = Math.ceil(waitBefore(webhook, tries))
        onFailure(error, job.id)
      }
      await job.release(wait).catch((failure: unknown) => {
        // The conversation is due when the lease ends.
        job.abandon()
        if (!signal.aborted && !hasCode(failure, 'store_closed')) onFailure(failure, null)
      })
    }
  }
}
