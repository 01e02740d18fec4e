/** Tells which shards of a feed may have news: by the store's watches, and by a look at the whole feed now and then. */

import { SHARDS } from '../../store/contract/feed.ts'
import { shardOf } from '../../store/kit/feed.ts'
import type { Store, Unwatch } from '../../store/contract/store.ts'
import { pause } from '../async/pause.ts'

/** The shards that may have news. A look where nothing happened costs one page of at most one item. */
export class News {
  readonly #store: Store
  /** Who waits for news of a shard. */
  readonly #waiting = new Map<number, () => void>()
  /** Those with news that no reader has waited for yet. */
  readonly #fresh = new Set<number>()
  /** What was there at the last look: all of it was read, or is fresh. */
  #tip: string | null = null
  #looking: Promise<void> | null = null
  #again = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Looks until the signal is aborted. Never rejects. */
  async look(interval: number, closing: AbortSignal, onError: (error: unknown) => void): Promise<void> {
    const lookNow = (): void => {
      if (this.#looking !== null) {
        this.#again = true
        return
      }
      this.#looking = this.#lookOnce()
        .catch((error: unknown) => {
          if (!closing.aborted) onError(error)
        })
        .then(() => {
          this.#looking = null
          if (this.#again && !closing.aborted) lookNow()
          this.#again = false
        })
    }
    let unwatch: Unwatch | null = null
    while (!closing.aborted) {
      try {
        unwatch ??= this.#store.watch(null, (id) => (id === undefined ? lookNow() : this.tell(shardOf(id))))
      } catch (error) {
        onError(error)
      }
      lookNow()
      await pause(interval, closing)
    }
    unwatch?.()
    await this.#looking
  }

  /** A shard may have news. */
  tell(shard: number): void {
    this.#fresh.add(shard)
    this.#waiting.get(shard)?.()
  }

  /** Resolves when a shard may have news, or the signal is aborted. */
  async wait(shard: number, signal: AbortSignal): Promise<void> {
    if (this.#fresh.delete(shard) || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = (): void => resolve()
    this.#waiting.set(shard, wake)
    signal.addEventListener('abort', wake, { once: true })
    await promise
    signal.removeEventListener('abort', wake)
    if (this.#waiting.get(shard) === wake) this.#waiting.delete(shard)
    this.#fresh.delete(shard)
  }

  async #lookOnce(): Promise<void> {
    if (this.#tip !== null) {
      const { next } = await this.#store.feed({ after: this.#tip, limit: 1 })
      if (next === this.#tip) return
    }
    // Reads from now on see all that is before it.
    this.#tip = (await this.#store.feed({ from: 'end', limit: 1 })).next
    for (let shard = 0; shard < SHARDS; shard += 1) this.tell(shard)
  }
}
