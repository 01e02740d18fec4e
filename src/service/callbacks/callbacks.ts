/** An engine and webhooks go in; whatever happens in its conversations is told to each of them, from the durable log, by one process at a time. */

import type { Engine } from '../../conversation/engine.ts'
import { type HeldLease, holdLease } from '../../conversation/run/lease.ts'
import { hasCode } from '../../event/errors.ts'
import { parseInstant } from '../../event/time.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import type { Page } from '../../store/query.ts'
import { formatInstant } from '../../store/record.ts'
import { pause } from '../control/pause.ts'
import { isReserved } from '../conversation-id.ts'
import { type Ledger, ledger, ledgerId } from '../ledger.ts'
import { Delivery, type Told, toldKey } from './delivery.ts'
import { digestOf } from './messages.ts'
import { checkWebhook, type Webhook, type WebhookOptions } from './webhook.ts'

/** How callbacks are made. */
export interface CallbacksOptions {
  /** Milliseconds between two looks for what has changed. Default: 1,000. */
  readonly poll?: number
  /** Milliseconds between two looks at everything, by which deletions are found. Default: 60,000. */
  readonly sweep?: number
  /** Milliseconds after which another process takes over from one that was killed. Default: 15,000. */
  readonly lease?: number
  /** Told of each attempt that failed. Default: nobody is. */
  readonly onFailure?: (error: unknown, webhook: string, conversationId: string | null) => void
}

const NAME = 'webhooks'

/** Times of changes may come to light a little out of order, in microseconds. */
const OVERLAP = 10_000_000n

/** The callbacks of a service. */
export class Callbacks {
  readonly #engine: Engine
  readonly #webhooks: readonly Webhook[]
  readonly #options: Required<CallbacksOptions>
  readonly #records: Ledger<Told>
  readonly #closing = new AbortController()
  #deliveries: readonly Delivery[] = []
  #done: Promise<void> | null = null

  /** @throws RangeError for a webhook that cannot be. */
  constructor(engine: Engine, webhooks: readonly WebhookOptions[], options: CallbacksOptions = {}) {
    this.#engine = engine
    this.#webhooks = webhooks.map(checkWebhook)
    if (new Set(this.#webhooks.map(({ id }) => id)).size < this.#webhooks.length) {
      throw new RangeError('Two webhooks have one id.')
    }
    this.#options = { poll: 1_000, sweep: 60_000, lease: 15_000, onFailure: () => undefined, ...options }
    this.#records = ledger(engine.store, NAME)
  }

  /** How many conversations wait to be told of, by this process. */
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
    const { lease, onFailure } = this.#options
    const owner = `webhooks-${crypto.randomUUID()}`
    while (!signal.aborted) {
      let held: HeldLease | null = null
      try {
        await this.#makeLedger()
        held = await holdLease(this.#engine.store, ledgerId(NAME), owner, lease)
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
    if ((await store.getConversation(ledgerId(NAME))) !== null) return
    await store.createConversation({ id: ledgerId(NAME) }).catch((error: unknown) => {
      if (!hasCode(error, 'conversation_exists')) throw error
    })
  }

  /** Delivers until the lease is lost, or all is closed. */
  async #deliver({ lease, lost }: HeldLease): Promise<void> {
    const over = new AbortController()
    const signal = AbortSignal.any([this.#closing.signal, lost, over.signal])
    const told = new Map(await this.#records.all())
    const { onFailure } = this.#options
    const deliveries = this.#webhooks.map(
      (webhook) =>
        new Delivery({
          engine: this.#engine,
          webhook,
          records: this.#records,
          told,
          lease,
          signal,
          onFailure: (error, { id }, conversationId) => onFailure(error, id, conversationId),
        }),
    )
    this.#deliveries = deliveries
    try {
      for (const webhook of this.#webhooks) await this.#begin(webhook, told, lease)
      await this.#lookOn(deliveries, told, signal)
    } finally {
      over.abort()
      await Promise.all(deliveries.map((delivery) => delivery.settle()))
      this.#deliveries = []
    }
  }

  /** A webhook that is new, and is to be told only of what comes, is taken to know all that is there. */
  async #begin(webhook: Webhook, told: Map<string, Told>, lease: HeldLease['lease']): Promise<void> {
    const key = toldKey(webhook, '')
    if (told.has(key)) return
    const put = async (id: string, record: Told): Promise<void> => {
      await this.#records.put(id, record, lease)
      told.set(id, record)
    }
    if (webhook.from === 'now') {
      for await (const record of this.#list({ order: 'created_at' })) {
        await put(toldKey(webhook, record.id), {
          next: record.version,
          digest: digestOf(record),
          status: null,
        })
      }
    }
    await put(key, { next: 0, digest: '', status: null })
  }

  async #lookOn(
    deliveries: readonly Delivery[],
    told: ReadonlyMap<string, Told>,
    signal: AbortSignal,
  ): Promise<void> {
    const { poll, sweep } = this.#options
    let swept = -Infinity
    let since: bigint | null = null
    while (!signal.aborted) {
      const all = performance.now() - swept >= sweep
      if (all) swept = performance.now()
      const seen = new Set<string>()
      const filter = all || since === null ? {} : { updatedAtGte: formatInstant(since - OVERLAP) }
      for await (const record of this.#list({ order: 'updated_at', ...filter })) {
        if (signal.aborted) return
        seen.add(record.id)
        const at: bigint = parseInstant(record.updatedAt) ?? 0n
        if (since === null || at > since) since = at
        for (const delivery of deliveries) delivery.look(record)
      }
      if (all) this.#lookForDeleted(deliveries, told, seen)
      await pause(poll, signal)
    }
  }

  /** Those that were told of and were not in the list: their delivery looks whether they are really gone. */
  #lookForDeleted(
    deliveries: readonly Delivery[],
    told: ReadonlyMap<string, Told>,
    seen: ReadonlySet<string>,
  ): void {
    this.#webhooks.forEach((webhook, at) => {
      const prefix = toldKey(webhook, '')
      for (const key of told.keys()) {
        const id = key.startsWith(prefix) ? key.slice(prefix.length) : ''
        if (id !== '' && !seen.has(id)) deliveries[at]?.offer(id)
      }
    })
  }

  async *#list(query: {
    readonly order: 'created_at' | 'updated_at'
    readonly updatedAtGte?: string
  }): AsyncGenerator<ConversationRecord, void, undefined> {
    let cursor: string | null = null
    do {
      const page: Page<ConversationRecord> = await this.#engine.store.listConversations({
        ...query,
        ...(cursor !== null && { cursor }),
      })
      yield* page.items.filter(({ id }) => !isReserved(id))
      cursor = page.next_page_id
    } while (cursor !== null)
  }
}
