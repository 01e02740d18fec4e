/** Sends webhooks what happens in all conversations, from the durable log, by one process at a time. */

import type { Engine } from '../../conversation/engine.ts'
import { type HeldLease, holdLease } from '../../conversation/run/lease.ts'
import { ColloquyError, hasCode } from '../../event/errors.ts'
import { parseInstant } from '../../event/time.ts'
import { userConversations } from '../../store/system-conversations.ts'
import { formatInstant } from '../../store/kit/record.ts'
import { pause } from '../async/pause.ts'
import { type Collection, collection, systemConversationId } from '../records/collection.ts'
import { begin } from './start-cursor.ts'
import { Delivery } from './delivery.ts'
import { type Entry, conversationsOf } from './delivery-cursor.ts'
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

const NAME = 'webhooks'

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
  readonly #records: Collection<Entry>
  readonly #closing = new AbortController()
  #deliveries: readonly Delivery[] = []
  #done: Promise<void> | null = null

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
    this.#records = collection(engine.store, NAME)
  }

  /** How many conversations wait to be sent, by this process. */
  get size(): number {
    return this.#deliveries.reduce((sum, delivery) => sum + delivery.size, 0)
  }

  /** Begins to deliver, as soon as no other process does. */
  start(): void {
    if (this.#webhooks.length > 0) this.#done ??= this.#run()
  }

  /** Ends what is being sent; what was not taken is sent again by the next one. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#done
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    const { leaseTtl: lease, onFailure } = this.#options
    const owner = `webhooks-${crypto.randomUUID()}`
    while (!signal.aborted) {
      let held: HeldLease | null = null
      try {
        await this.#makeLedger()
        held = await holdLease(this.#engine.store, systemConversationId(NAME), owner, lease)
        await this.#deliver(held)
      } catch (error) {
        if (hasCode(error, 'store_closed') || hasCode(error, 'closed')) return
        if (!hasCode(error, 'already_running') && !signal.aborted) onFailure(error, '', null)
      } finally {
        await held?.release().catch(() => undefined)
      }
      await pause(Math.max(20, lease / 3), signal)
    }
  }

  async #makeLedger(): Promise<void> {
    const { store } = this.#engine
    if ((await store.getConversation(systemConversationId(NAME))) !== null) return
    await store.createConversation({ id: systemConversationId(NAME) }).catch((error: unknown) => {
      if (!hasCode(error, 'conversation_exists')) throw error
    })
  }

  /** Delivers until the lease is lost, or all is closed. */
  async #deliver({ lease, lost }: HeldLease): Promise<void> {
    const over = new AbortController()
    const signal = AbortSignal.any([this.#closing.signal, lost, over.signal])
    const told = await this.#records.all()
    const { onFailure } = this.#options
    const parts = { records: this.#records, told, lease, signal }
    const deliveries = this.#webhooks.map((webhook) => ({
      webhook,
      delivery: new Delivery({
        ...parts,
        engine: this.#engine,
        webhook,
        onFailure: (error, { id }, conversationId) => onFailure(error, id, conversationId),
      }),
    }))
    this.#deliveries = deliveries.map(({ delivery }) => delivery)
    // One that takes long to begin delays no other.
    const ready: typeof deliveries = []
    const beginning = Promise.all(
      deliveries.map(async (one) => {
        await begin(this.#engine.store, one.webhook, parts)
        ready.push(one)
      }),
    )
    beginning.catch(() => over.abort())
    try {
      await this.#lookOn(ready, told, signal)
      await beginning
    } finally {
      over.abort()
      await beginning.catch(() => undefined)
      await Promise.all(deliveries.map(({ delivery }) => delivery.settle()))
      this.#deliveries = []
    }
  }

  async #lookOn(
    ready: readonly Ready[],
    told: ReadonlyMap<string, Entry>,
    signal: AbortSignal,
  ): Promise<void> {
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
      const seen = new Set<string>()
      // What was late is no longer late: a service where nothing happens looks at next to nothing.
      const late = BigInt(Math.max(0, Math.ceil(OVERLAP - 1_000 * (start - sinceAt))))
      const filter = all || since === null ? {} : { updatedAtGte: formatInstant(since - late) }
      for await (const record of userConversations(store, { order: 'updated_at', ...filter })) {
        if (signal.aborted) return
        if (all) seen.add(record.id)
        const at: bigint = parseInstant(record.updatedAt) ?? 0n
        if (since === null || at > since) {
          since = at
          sinceAt = performance.now()
        }
        for (const { delivery } of looking) delivery.look(record)
      }
      if (all) {
        lookForDeleted(looking, told, seen)
        swept = looking.length
        sweepAt = performance.now() + Math.max(sweep, SWEEP_SHARE * (performance.now() - start))
      }
      await pause(Math.max(poll, LOOK_SHARE * (performance.now() - start)), signal)
    }
  }
}

/** A delivery whose webhook has begun. */
interface Ready {
  readonly webhook: Webhook
  readonly delivery: Delivery
}

/** Those that were sent and were not in the list: their delivery looks whether they are really gone. */
function lookForDeleted(
  deliveries: readonly Ready[],
  told: ReadonlyMap<string, Entry>,
  seen: ReadonlySet<string>,
): void {
  for (const { webhook, delivery } of deliveries) {
    for (const id of conversationsOf(webhook, told)) if (!seen.has(id)) delivery.offer(id)
  }
}
