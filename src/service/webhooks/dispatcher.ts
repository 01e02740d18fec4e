/** Delivers the events and changes of all conversations to webhooks. All processes share the work. */

import { pause } from '../../conversation/async.ts'
import type { Engine } from '../../conversation/engine.ts'
import type { Follower } from '../../conversation/follow/follow.ts'
import { ColloquyError, hasCode } from '../../event/errors.ts'
import { hashText } from '../../event/text.ts'
import { Jobs } from '../../conversation/jobs.ts'
import { collectionsOf, mark, markCreatedSince, newsIn, type WebhookStart } from './delivery-cursor.ts'
import { Sender } from './sender.ts'
import { checkWebhook, type Webhook, type WebhookOptions } from './webhook.ts'

/** Options of deliveries. */
export interface WebhookDispatcherOptions {
  /** Milliseconds between two polls for changes and for retries. Default: 1,000. */
  readonly pollInterval?: number
  /** Milliseconds after which other processes continue the work of a crashed one. Default: 15,000. */
  readonly leaseTtl?: number
  /**
   * Called with each failed attempt and the webhook's id; with a failure of the store, the id is empty.
   * Default: none.
   */
  readonly onFailure?: (error: unknown, webhook: string, conversationId: string | null) => void
}

/** The webhooks of a service. */
export class WebhookDispatcher {
  readonly #engine: Engine
  readonly #webhooks: readonly Webhook[]
  readonly #options: Required<WebhookDispatcherOptions>
  readonly #closing = new AbortController()
  readonly #senders: Sender[] = []
  #done: Promise<unknown> | null = null
  #startedAt = 0

  /** @throws ColloquyError `invalid_argument` for an invalid webhook. */
  constructor(engine: Engine, webhooks: readonly WebhookOptions[], options: WebhookDispatcherOptions = {}) {
    this.#engine = engine
    this.#webhooks = webhooks.map(checkWebhook)
    if (new Set(this.#webhooks.map(({ id }) => id)).size < this.#webhooks.length) {
      throw new ColloquyError('invalid_argument', 'Two webhooks have the same id. Use unique ids.')
    }
    this.#options = { pollInterval: 1_000, leaseTtl: 15_000, onFailure: () => undefined, ...options }
  }

  get size(): number {
    return this.#senders.reduce((sum, sender) => sum + sender.size, 0)
  }

  start(): void {
    if (this.#done !== null) return
    this.#startedAt = performance.now()
    // A slow start of one webhook delays no other.
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

  /** Follows the feed for a webhook; null while another process finds the conversations that existed before it. */
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
        ? [await jobs.add(collection, { isDone: false }).catch(nullOnConflict)]
        : await jobs.claim(1)
    if (job === null) return null
    let follower: Follower | null = null
    try {
      if (job.record.since === undefined) {
        // The store's time when the service started: conversations created during the wait for the lease are
        // sent too.
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

function nullOnConflict(error: unknown): null {
  if (hasCode(error, 'version_conflict')) return null
  throw error
}
