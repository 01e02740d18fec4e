/** A lease on an item. */

import { serialQueue } from '../conversation/async.ts'
import { ColloquyError, hasCode } from '../event/errors.ts'
import type { Item, ItemChange } from '../store/contract/items.ts'
import type { Store } from '../store/contract/store.ts'

/** A lease that is being renewed. */
export interface HeldItem {
  /** Aborted when another process has taken the item, or it ran out while the store could not be reached. */
  readonly lost: AbortSignal
  /** Makes changes, all or none, if the lease still holds. @throws ColloquyError `lease_lost`. */
  readonly make: (changes: readonly ItemChange[]) => Promise<void>
  /** The time on the store's clock, in milliseconds since 1970. */
  readonly now: () => Promise<number>
  /** Ends the renewal and gives the item back. */
  readonly release: () => Promise<void>
}

/**
 * Claims the one item of a collection, which is made where there is none, and renews it three times within `ttl`
 * milliseconds. Null while another process holds it.
 */
export async function holdItem(store: Store, collection: string, ttl: number): Promise<HeldItem | null> {
  const named = { collection, id: collection }
  if ((await store.getItem(collection, collection)) === null) {
    await store
      .changeItems([{ ...named, expected: null, put: { body: {}, dueIn: 0 } }])
      .catch((error: unknown) => {
        if (!hasCode(error, 'version_conflict')) throw error
      })
  }
  const [claimed] = await store.claimItems(collection, { ttl, limit: 1 })
  return claimed === undefined ? null : new Holder(store, claimed, ttl)
}

class Holder implements HeldItem {
  readonly #store: Store
  readonly #ttl: number
  readonly #lost = new AbortController()
  /** Each renewal gives a new version, which whatever comes after it must name. */
  readonly #inTurn = serialQueue()
  readonly #timer: ReturnType<typeof setInterval>
  #item: Item
  #renewedAt = performance.now()
  #released = false

  constructor(store: Store, item: Item, ttl: number) {
    this.#store = store
    this.#item = item
    this.#ttl = ttl
    this.#timer = setInterval(() => void this.now().catch(() => undefined), ttl / 3)
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  make(changes: readonly ItemChange[]): Promise<void> {
    return this.#inTurn(() => this.#change({}, changes))
  }

  now(): Promise<number> {
    return this.#inTurn(async () => {
      const askedAt = performance.now()
      try {
        if (!this.#released && !this.lost.aborted) await this.#change({ put: { body: {}, dueIn: this.#ttl } })
        this.#renewedAt = askedAt
      } finally {
        // The store may be back before the lease has run out.
        if (performance.now() - this.#renewedAt > this.#ttl) this.#lost.abort(lost())
      }
      return (this.#item.dueAt ?? 0) - this.#ttl
    })
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    this.#released = true
    await this.#inTurn(() => this.#change({ put: { body: {}, dueIn: 0 } }))
  }

  async #change(own: Pick<ItemChange, 'put'>, others: readonly ItemChange[] = []): Promise<void> {
    // Whether it still holds the store knows best: what was not taken over may be finished after its time.
    const { collection, id, version } = this.#item
    try {
      const [item] = await this.#store.changeItems([{ collection, id, expected: version, ...own }, ...others])
      if (item !== null && item !== undefined) this.#item = item
    } catch (error) {
      if (!hasCode(error, 'version_conflict') || error.data['collection'] !== collection) throw error
      this.#lost.abort(lost())
      throw lost()
    }
  }
}

const lost = (): ColloquyError =>
  new ColloquyError('lease_lost', 'The lease was lost; another process holds it.')

/** A lease on an item. */
