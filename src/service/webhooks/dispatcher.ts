/** Sends webhooks what happens in all conversations, from the durable log, by one process at a time. */

import type { Engine } from '../../conversation/engine.ts'
import { ColloquyError, hasCode } from '../../event/errors.ts'
import { parseInstant } from '../../event/time.ts'
import type { Store } from '../../store/contract/store.ts'
import { formatInstant } from '../../store/kit/record.ts'
import { pause } from '../../conversation/async/pause.ts'
import { walkConversations } from '../conversations/walk.ts'
import { type HeldItem, holdItem } from '../records/held-item.ts'
import type { Records } from '../records/records.ts'
import { begin } from './start-cursor.ts'
import { Delivery } from './delivery.ts'
import { type Begun, begunIn, cursorsOf, type Told } from './delivery-cursor.ts'
import { checkWebhook, type Webhook, type WebhookOptions } from './webhook.ts'

/** How callbacks are made. */
export interface WebhookDispatcherOptions {
  /** Milliseconds between two looks for what has changed. Default: 1,000. */
  readonly pollInterval?: number
  /**
   * Milliseconds between two looks at everything, by which deletions are found; more where that takes long. Default:
   * 60,000.
   */
  readonly sweepInterval?: number
  /** Milliseconds after which another process takes over from one that was killed. Default: 15,000. */
  readonly leaseTtl?: number
  /**
   * Called with each attempt that failed, by the webhook's id; with a failure of the store, with no id. Default: none.
   */
  readonly onFailure?: (error: unknown, webhook: string, conversationId: string | null) => void
}

/** The item that the process holds which delivers. */
const LEASE = 'webhook-lease'

/** Changes may come to light a little out of order: for how long one may be late, in microseconds. */
const OVERLAP = 10_000_000

/** A look at what has changed takes at most one part of so many of the time, and a look at everything of so many. */
const LOOK_SHARE = 5
const SWEEP_SHARE = 20

/** The callbacks of a service. */
export class WebhookDispatcher {
  readonly #engine: Engine
  readonly #webhooks: readonly Webhook[]
  readonly #options: Required<WebhookDispatcherOptions>
  readonly #begun: Records<Begun>
  readonly #closing = new AbortController()
  #deliveries: readonly Delivery[] = []
  #done: Promise<void> | null = null
  /** As `performance.now()` says it. */
  #startedAt = 0

  /** @throws ColloquyError `invalid_argument` for a webhook that cannot be. */
  constructor(engine: Engine, webhooks: readonly WebhookOptions[], options: WebhookDispatcherOptions = {}) {
    this.#engine = engine
    this.#webhooks = webhooks.map(checkWebhook)
    if (new Set(this.#webhooks.map(({ id }) => id)).size < this.#webhooks.length) {
      throw new ColloquyError('invalid_argument', 'Two webhooks have one id.')
    }
    this.#options = {
      pollInterval: 1_000,
      sweepInterval: 60_000,
      leaseTtl: 15_000,
      onFailure: () => undefined,
      ...options,
    }
    this.#begun = begunIn(engine.store)
  }

  /** Resolves when what an earlier version of the library kept is here. */
  ready(): Promise<void> {
    return this.#begun.ready()
  }

  /** How many conversations wait to be sent, by this process. */
  get size(): number {
    return this.#deliveries.reduce((sum, delivery) => sum + delivery.size, 0)
  }

  /** Begins to deliver, as soon as no other process does. */
  start(): void {
    if (this.#webhooks.length === 0 || this.#done !== null) return
    this.#startedAt = performance.now()
    this.#done = this.#run()
  }

  /** Ends what is being sent; what was not taken is sent again by the next one. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#done
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    const { leaseTtl: lease, onFailure } = this.#options
    while (!signal.aborted) {
      let held: HeldItem | null = null
      try {
        await this.#begun.ready()
        held = await holdItem(this.#engine.store, LEASE, lease)
        if (held !== null) await this.#deliver(held)
      } catch (error) {
        if (hasCode(error, 'store_closed') || hasCode(error, 'closed')) return
        if (!signal.aborted) onFailure(error, '', null)
      } finally {
        await held?.release().catch(() => undefined)
      }
      await pause(Math.max(20, lease / 3), signal)
    }
  }

  /** Delivers until the lease is lost, or all is closed. */
  async #deliver(lease: HeldItem): Promise<void> {
    const over = new AbortController()
    const signal = AbortSignal.any([this.#closing.signal, lease.lost, over.signal])
    const { onFailure } = this.#options
    const deliveries = this.#webhooks.map((webhook): Ready => {
      const told = { cursors: cursorsOf(this.#engine.store, webhook.id), lease, signal }
      const delivery = new Delivery({
        ...told,
        engine: this.#engine,
        webhook,
        onFailure: (error, { id }, conversationId) => onFailure(error, id, conversationId),
      })
      return { ...told, webhook, delivery }
    })
    this.#deliveries = deliveries.map(({ delivery }) => delivery)
    // One that takes long to begin delays no other.
    const ready: Ready[] = []
    const beginning = Promise.all(
      deliveries.map(async (one) => {
        await begin(this.#engine.store, one.webhook, this.#begun, one, this.#startedAt)
        ready.push(one)
      }),
    )
    beginning.catch(() => over.abort())
    try {
      await this.#lookOn(ready, signal)
      await beginning
    } finally {
      over.abort()
      await beginning.catch(() => undefined)
      await Promise.all(deliveries.map(({ delivery }) => delivery.settle()))
      this.#deliveries = []
    }
  }

  async #lookOn(ready: readonly Ready[], signal: AbortSignal): Promise<void> {
    const { store } = this.#engine
    const { pollInterval: poll, sweepInterval: sweep } = this.#options
    let sweepAt = -Infinity
    let swept = 0
    let since: bigint | null = null
    let sinceAt = 0
    while (!signal.aborted) {
      const start = performance.now()
      // Who has just begun has seen nothing yet.
      const all = start >= sweepAt || ready.length > swept
      const looking = [...ready]
      // What was late is no longer late: a service where nothing happens looks at next to nothing.
      const late = BigInt(Math.max(0, Math.ceil(OVERLAP - 1_000 * (start - sinceAt))))
      const filter = all || since === null ? {} : { updatedAtGte: formatInstant(since - late) }
      for await (const record of walkConversations(store, { order: 'updated_at', ...filter })) {
        if (signal.aborted) return
        const at: bigint = parseInstant(record.updatedAt) ?? 0n
        if (since === null || at > since) {
          since = at
          sinceAt = performance.now()
        }
        for (const { delivery } of looking) await delivery.look(record)
      }
      if (all) {
        for (const one of looking) await lookForDeleted(store, one)
        swept = looking.length
        sweepAt = performance.now() + Math.max(sweep, SWEEP_SHARE * (performance.now() - start))
      }
      await pause(Math.max(poll, LOOK_SHARE * (performance.now() - start)), signal)
    }
  }
}

/** A delivery whose webhook has begun. */
interface Ready extends Told {
  readonly webhook: Webhook
  readonly delivery: Delivery
}

/** Looks which of the conversations that were sent are gone. O(conversations that were sent). */
async function lookForDeleted(store: Store, { cursors, delivery, signal }: Ready): Promise<void> {
  for await (const { id } of cursors.walk()) {
    if (signal.aborted) return
    if ((await store.getConversation(id)) === null) delivery.offer(id)
  }
}
