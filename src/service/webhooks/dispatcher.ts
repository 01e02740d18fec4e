/** Delivers the events and changes of all conversations to webhooks. All processes share the work. */

import { delayAfter, pause } from '../../conversation/async.ts'
import type { Engine } from '../../conversation/engine.ts'
import type { Follower } from '../../conversation/follow/follow.ts'
import { isConflictIn, type Job, Jobs } from '../../conversation/jobs.ts'
import { checkOptionNames, invalid } from '../../event/check-value.ts'
import { hasCode, nullOn } from '../../event/errors.ts'
import { hashText } from '../../event/text.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { ItemChange } from '../../store/contract/items.ts'
import { infoWithChildrenOf } from '../conversations/info.ts'
import type { Collections, DeliveryCursor, WebhookStart } from './delivery-cursor.ts'
import { collectionsOf, isReplaced, mark, markCreatedSince, newCursor, newsIn } from './delivery-cursor.ts'
import { batchOf, conversationMessage, recordDigest, post } from './payloads.ts'
import { checkWebhook, type Webhook, type WebhookOptions } from './webhook-options.ts'

interface Delivery {
  readonly engine: Engine
  readonly webhook: Webhook
  readonly collections: Collections
  readonly job: Job<DeliveryCursor>
  readonly signal: AbortSignal
}

/** Sends the next message; returns false if there is nothing to send yet. */
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
  const conversation = await engine.open(record)
  const state = await conversation.state().catch(nullOn('unknown_conversation'))
  const isNew = recordDigest(record) !== cursor.digest || state?.header.status !== cursor.status
  if (state !== null && isNew) {
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
  const size = batch.next - next
  if (batch.message !== null) {
    if (cursor.until !== batch.next) job.record = { ...cursor, until: batch.next }
    if (!job.isStored) await job.save()
    try {
      await post(webhook, batch.message, signal)
    } catch (error) {
      if (size === 1 || !(error instanceof Error && error.cause === 413)) throw error
      job.record = { ...cursor, until: next + (size >> 1) }
      return
    }
  }
  // Receivers limit bodies, often to 100 kB. After a smaller batch, the next batch is at most twice as large.
  const until = cursor.until === null || 2 * size >= webhook.maxBatchEvents ? null : batch.next + 2 * size
  job.record = afterSuccess(cursor, { next: batch.next, until })
}

async function sendRecord(
  { engine, webhook, job, signal }: Delivery,
  record: ConversationRecord,
  type: 'created' | 'updated',
): Promise<void> {
  const cursor = job.record
  const state = await (await engine.open(record)).state()
  const info = await infoWithChildrenOf(engine.store, record, state)
  await post(webhook, conversationMessage(type, cursor.born, info), signal)
  job.record = afterSuccess(cursor, { digest: recordDigest(record), status: state.header.status })
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
 * Ends the job and returns true if no further changes of the conversation are recorded. Otherwise, deletes the
 * record of the changes, keeps the job's lease and returns false.
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

/** Maximum number of messages sent for a conversation before other conversations get their turn. */
const IN_A_ROW = 10

/** Minimum milliseconds between two retries, of any messages. Applies only after many failures in a row. */
const PACE = 50

interface SenderOptions extends Omit<Delivery, 'job'> {
  readonly pollInterval: number
  readonly leaseTtl: number
  /** Called with the error of each failed attempt to send. If the store failed, `conversationId` is null. */
  readonly onFailure: (error: unknown, conversationId: string | null) => void
}

class Sender {
  readonly #options: SenderOptions
  readonly #jobs: Jobs<DeliveryCursor>
  readonly #busy = new Map<Promise<void>, boolean>()
  #sleep = new AbortController()
  #wasRepeated = false
  #streak = 0
  #pacedAt = -Infinity

  constructor(options: SenderOptions) {
    this.#options = options
    const { cursors, failing } = options.collections
    this.#jobs = new Jobs({
      store: options.engine.store,
      collection: cursors,
      collectionOf: ({ tries = 0 }) => (tries > 0 ? failing : cursors),
      ttl: options.leaseTtl,
    })
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
    // Retries use at most half of the capacity, so that hanging retries do not block first attempts. With a
    // capacity of one, retries and first attempts alternate.
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
      for (let sent = 1; await sendNext({ engine, webhook, collections, job, signal }); sent += 1) {
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
        wait = Math.ceil(delayAfter(tries, webhook))
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

/** Options of a webhook dispatcher. */
export interface WebhookDispatcherOptions {
  /** Milliseconds between polls for changes and retries. Default: 1,000. */
  readonly pollInterval?: number
  /** Milliseconds after which another process continues the work of a crashed process. Default: 15,000. */
  readonly leaseTtl?: number
  /**
   * Called with the error of each failed attempt to send, and with the webhook's id. If the store failed,
   * `webhook` is empty. Default: none.
   */
  readonly onFailure?: (error: unknown, webhook: string, conversationId: string | null) => void
}

export class WebhookDispatcher {
  readonly #engine: Engine
  readonly #webhooks: readonly Webhook[]
  readonly #options: Required<WebhookDispatcherOptions>
  readonly #closing = new AbortController()
  readonly #senders: Sender[] = []
  #done: Promise<unknown> | null = null
  #startedAt = 0

  /** Checks the webhooks, but sends nothing yet. @throws `invalid_argument` for an invalid webhook. */
  constructor(engine: Engine, webhooks: readonly WebhookOptions[], options: WebhookDispatcherOptions = {}) {
    checkOptionNames(options, 'pollInterval leaseTtl onFailure')
    this.#engine = engine
    this.#webhooks = webhooks.map(checkWebhook)
    if (new Set(this.#webhooks.map(({ id }) => id)).size < this.#webhooks.length)
      throw invalid('Two webhooks have the same id. Use unique ids.')
    this.#options = { pollInterval: 1_000, leaseTtl: 15_000, onFailure: () => undefined, ...options }
  }

  get size(): number {
    return this.#senders.reduce((sum, sender) => sum + sender.size, 0)
  }

  start(): void {
    if (this.#done !== null) return
    this.#startedAt = performance.now()
    // A slow start of one webhook does not delay the others.
    this.#done = Promise.all(this.#webhooks.map((webhook) => this.#deliver(webhook)))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#done
  }

  async #deliver(webhook: Webhook): Promise<void> {
    const { signal } = this.#closing
    const { leaseTtl, pollInterval, onFailure } = this.#options
    const sender = new Sender({
      engine: this.#engine,
      webhook,
      collections: collectionsOf(webhook.id),
      pollInterval,
      leaseTtl,
      signal,
      onFailure: (error, id) => onFailure(error, id === null ? '' : webhook.id, id),
    })
    this.#senders.push(sender)
    const sending = sender.run()
    let follower: Follower | null = null
    while (follower === null && !signal.aborted) {
      try {
        follower = await this.#begin(webhook, sender)
      } catch (error) {
        if (hasCode(error, 'store_closed') || hasCode(error, 'closed')) break
        if (!signal.aborted) onFailure(error, '', null)
      }
      if (follower === null) await pause(Math.max(20, leaseTtl / 3), signal)
    }
    await sending
    await follower?.close()
  }

  /** Starts a webhook. Returns null if another process is starting it. */
  async #begin(webhook: Webhook, sender: Sender): Promise<Follower | null> {
    const { store } = this.#engine
    const collections = collectionsOf(webhook.id)
    const { start: collection } = collections
    const item = await store.getItem(collection, collection)
    const before = item === null ? null : (item.body as object as WebhookStart)
    if (before?.isDone === true) return this.#follow(webhook, sender, before.since ?? null)
    const jobs = new Jobs<WebhookStart>({ store, collection, ttl: this.#options.leaseTtl })
    const [job = null] =
      before === null
        ? [await jobs.add(collection, { isDone: false }).catch(nullOn('version_conflict'))]
        : await jobs.claim(1)
    if (job === null) return null
    let follower: Follower | null = null
    try {
      if (job.record.since === undefined) {
        // Use the store's time when the service started. Then conversations that are created during the wait
        // for the lease are sent too.
        const startedAt = job.writtenAt - (performance.now() - this.#startedAt)
        const since = webhook.from === 'start' ? null : new Date(startedAt).toISOString()
        job.record = { since, isDone: false }
        await job.save()
      }
      const since = job.record.since ?? null
      follower = await this.#follow(webhook, sender, since)
      const signal = AbortSignal.any([this.#closing.signal, job.lost])
      await markCreatedSince({ store, collections, since }, signal)
      job.record = { since, isDone: true }
      await job.release(null)
      return follower
    } catch (error) {
      await follower?.close()
      // Another process can continue immediately.
      await job.release(0).catch(() => job.abandon())
      throw error
    }
  }

  #follow(webhook: Webhook, sender: Sender, since: string | null): Promise<Follower> {
    const { store } = this.#engine
    const { leaseTtl, pollInterval, onFailure } = this.#options
    const marking = { store, collections: collectionsOf(webhook.id), since }
    const options = {
      name: `webhook-${hashText(webhook.id)}`,
      // `markCreatedSince` finds earlier conversations.
      from: 'now',
      leaseTtl,
      pollInterval,
      retryDelay: pollInterval,
      maxRetryDelay: Math.max(pollInterval, leaseTtl),
      signal: this.#closing.signal,
      onError: (error: unknown) => {
        if (!this.#closing.signal.aborted) onFailure(error, '', null)
      },
    } as const
    return this.#engine.follow(options, async (items) => {
      await mark(marking, newsIn(items))
      sender.wake()
    })
  }
}
