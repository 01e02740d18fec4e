/** Appends, notifications and looks at the database go in; those who watch a conversation are woken. */

import type { Unwatch } from '../store.ts'
import { Watches } from '../watches.ts'
import type { Connection } from './connection.ts'
import { Listener, unref } from './listener.ts'
import { Notifier } from './notifier.ts'
import type { PostgresStoreOptions } from './options.ts'

/** Milliseconds. */
const POLL_INTERVAL = 1_000

/** While notifications arrive, only every so many looks are made: for what a writer could not tell any more. */
const RARELY = 10

/** Wakes those who watch: at once for appends of this store, by notification or polling for others'. */
export class Watcher {
  readonly #connection: Connection
  readonly #interval: number
  readonly #watches = new Watches()
  readonly #notifier: Notifier | null
  readonly #listener: Listener | null
  /** The versions seen last; null is yet to be seen. */
  readonly #seen = new Map<string, number | null>()
  #timer: ReturnType<typeof setInterval> | null = null
  #looking: Promise<void> | null = null
  #skipped = 0

  constructor(connection: Connection, options: PostgresStoreOptions) {
    const { url = null, client = null, schema: channel = 'colloquy', listen = true } = options
    this.#connection = connection
    this.#interval = options.pollInterval ?? POLL_INTERVAL
    this.#notifier = listen ? new Notifier(connection, channel) : null
    this.#listener = listen
      ? new Listener({
          channel,
          url,
          client,
          hear: (id) => this.#watches.wake(id),
          begin: () => this.#begin(),
        })
      : null
  }

  /** Tells of an append that this store made. Never throws. */
  appended(conversationId: string): void {
    this.#watches.wake(conversationId)
    this.#notifier?.tell(conversationId)
  }

  /** Watches a conversation until the function that it returns is called. The first look wakes in any case. */
  watch(conversationId: string, wake: () => void): Unwatch {
    const end = this.#watches.add(conversationId, wake)
    this.#seen.set(conversationId, null)
    this.#listener?.start()
    if (this.#timer === null) {
      this.#timer = setInterval(() => this.#tick(), this.#interval)
      unref(this.#timer)
    }
    this.#look()
    return end
  }

  /** Ends all watches, and tells what is still to be told. Never rejects. */
  async close(): Promise<void> {
    this.#watches.clear()
    if (this.#timer !== null) clearInterval(this.#timer)
    await Promise.all([this.#notifier?.flush(), this.#listener?.stop(), this.#looking])
  }

  /** Listening has begun: what came before it is looked up, and a notification of nothing shows that others will arrive. */
  #begin(): void {
    this.#notifier?.tell('')
    this.#look()
  }

  #tick(): void {
    this.#skipped += 1
    if (this.#listener?.hears === true && this.#skipped < RARELY) return
    this.#look()
  }

  #look(): void {
    this.#skipped = 0
    this.#looking ??= this.#compare().finally(() => (this.#looking = null))
  }

  /** Wakes those whose conversation has another version than when it was last looked at. Never rejects. */
  async #compare(): Promise<void> {
    const ids = new Set(this.#watches.ids())
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id)
    if (ids.size === 0) return
    try {
      const rows = await this.#connection.query<{ readonly id: string; readonly version: number }>(
        `SELECT conversation_id AS id, version FROM ${this.#connection.schema}.conversations
        WHERE conversation_id = ANY ($1::text[])`,
        [[...ids]],
      )
      const versions = new Map(rows.map(({ id, version }) => [id, version]))
      for (const id of ids) {
        const version = versions.get(id) ?? 0
        if (this.#seen.get(id) === version) continue
        this.#seen.set(id, version)
        this.#watches.wake(id)
      }
    } catch {
      // The next look may find the database again.
    }
  }
}
