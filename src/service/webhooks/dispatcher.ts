/** Sends webhooks what happens in all conversations: from the store's feed, by all processes together. */

import { pause } from '../../conversation/async.ts'
import type { Engine } from '../../conversation/engine.ts'
import type { Follower } from '../../conversation/follow/follow.ts'
import { ColloquyError, hasCode } from '../../event/errors.ts'
import { hashText } from '../../event/text.ts'
import type { Store } from '../../store/contract/store.ts'
import { walkConversations } from '../conversations/listing.ts'
import { type HeldItem, holdItem } from '../held-item.ts'
import type { Records } from '../records.ts'
import {
  type Begun,
  begunIn,
  type Collections,
  collectionsOf,
  mark,
  type News,
  newsIn,
  NOTHING,
} from './delivery-cursor.ts'
import { Sender } from './sender.ts'
import { checkWebhook, type Webhook, type WebhookOptions } from './webhook.ts'

/** How many conversations are made due at once. */
const BATCH = 100

/** What a webhook begins with. */
interface Beginning {
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
async function begin(beginning: Beginning): Promise<void> {
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

/** How callbacks are made. */
export interface WebhookDispatcherOptions {
  /** Milliseconds between two looks for what has changed, and for what is to be sent again. Default: 1,000. */
  readonly pollInterval?: number
  /** Milliseconds after which other processes take over from one that was killed. Default: 15,000. */
  readonly leaseTtl?: number
  /**
   * Called with each attempt that failed, by the webhook's id; with a failure of the store, with no id. Default: none.
   */
  readonly onFailure?: (error: unknown, webhook: string, conversationId: string | null) => void
}

/** The callbacks of a service. */
export class WebhookDispatcher {
  readonly #engine: Engine
  readonly #webhooks: readonly Webhook[]
  readonly #options: Required<WebhookDispatcherOptions>
  readonly #begun: Records<Begun>
  readonly #closing = new AbortController()
  readonly #senders: Sender[] = []
  #done: Promise<unknown> | null = null
  /** As `performance.now()` says it. */
  #startedAt = 0

  /** @throws ColloquyError `invalid_argument` for a webhook that cannot be. */
  constructor(engine: Engine, webhooks: readonly WebhookOptions[], options: WebhookDispatcherOptions = {}) {
    this.#engine = engine
    this.#webhooks = webhooks.map(checkWebhook)
    if (new Set(this.#webhooks.map(({ id }) => id)).size < this.#webhooks.length) {
      throw new ColloquyError('invalid_argument', 'Two webhooks have one id.')
    }
    this.#options = { pollInterval: 1_000, leaseTtl: 15_000, onFailure: () => undefined, ...options }
    this.#begun = begunIn(engine.store)
  }

  /** How many conversations are being sent, by this process. */
  get size(): number {
    return this.#senders.reduce((sum, sender) => sum + sender.size, 0)
  }

  /** Begins to deliver. */
  start(): void {
    if (this.#done !== null) return
    this.#startedAt = performance.now()
    // One that takes long to begin delays no other.
    this.#done = Promise.all(this.#webhooks.map((webhook) => this.#deliver(webhook)))
  }

  /** Ends what is being sent; what was not taken is sent again, by another process or the next one. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#done
  }

  /** Delivers to one webhook until all is closed. Never rejects. */
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

  /** Begins with a webhook, unless it has begun; null while another process does. */
  async #begin(webhook: Webhook, sender: Sender): Promise<Follower | null> {
    const { store } = this.#engine
    const { leaseTtl } = this.#options
    const begun = (await this.#begun.find(webhook.id))?.record
    if (begun?.done === true) return this.#follow(webhook, sender, begun.since)
    const lease = await holdItem(store, `webhook-lease-${hashText(webhook.id)}`, leaseTtl)
    if (lease === null) return null
    let follower: Follower | null = null
    let hasBegun = false
    try {
      await begin({
        store,
        webhook,
        begunRecords: this.#begun,
        collections: collectionsOf(webhook.id),
        lease,
        startedAt: this.#startedAt,
        signal: AbortSignal.any([this.#closing.signal, lease.lost]),
        follow: async (since) => {
          follower = await this.#follow(webhook, sender, since)
        },
      })
      hasBegun = true
      return follower
    } finally {
      if (!hasBegun) await (follower as Follower | null)?.close()
      await lease.release().catch(() => undefined)
    }
  }

  #follow(webhook: Webhook, sender: Sender, since: string | null): Promise<Follower> {
    const { store } = this.#engine
    const { leaseTtl, pollInterval, onFailure } = this.#options
    const marking = { store, collections: collectionsOf(webhook.id), since }
    const options = {
      name: `webhook-${hashText(webhook.id)}`,
      // What there was before is found otherwise.
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
