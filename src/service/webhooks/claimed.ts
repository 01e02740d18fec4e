/** A conversation that this process sends to a webhook: its item, claimed, renewed and written under its version. */

import { ColloquyError, hasCode } from '../../event/errors.ts'
import type { Item, ItemChange } from '../../store/contract/items.ts'
import type { Store } from '../../store/contract/store.ts'
import { type RunInOrder, serialQueue } from '../../conversation/async.ts'
import { type Collections, cursorOf, type DeliveryCursor, itemOf } from './delivery-cursor.ts'

/** Holds an item until it is put back, or another process has claimed it. */
export class Claimed {
  readonly id: string
  readonly #store: Store
  readonly #collections: Collections
  /** Milliseconds. */
  readonly #ttl: number
  /** Each write gives a new version, which whatever comes after it must name. */
  readonly #inTurn: RunInOrder = serialQueue()
  readonly #lost = new AbortController()
  readonly #timer: ReturnType<typeof setInterval>
  #item: Pick<Item, 'collection' | 'version'>
  #cursor: DeliveryCursor
  /** What the item keeps, which may be behind. */
  #kept: DeliveryCursor
  #isOver = false

  constructor(store: Store, collections: Collections, item: Item, ttl: number) {
    this.id = item.id
    this.#store = store
    this.#collections = collections
    this.#ttl = ttl
    this.#item = item
    this.#cursor = cursorOf(item)
    this.#kept = this.#cursor
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), ttl / 3)
  }

  /** How far it has come; what is not kept yet is, with the next write. */
  get cursor(): DeliveryCursor {
    return this.#cursor
  }

  set cursor(cursor: DeliveryCursor) {
    this.#cursor = cursor
  }

  /** Aborted when another process has it. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Whether the item says what the cursor is. */
  get isKept(): boolean {
    return this.#cursor === this.#kept
  }

  /** Keeps the cursor, and goes on. @throws ColloquyError `lease_lost`. */
  keep(): Promise<void> {
    return this.#inTurn(() => this.#write(this.#cursor, this.#ttl))
  }

  /** Puts it back, due in some milliseconds. @throws ColloquyError `lease_lost`. */
  putBack(dueIn: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#write(this.#cursor, dueIn)
      this.end()
    })
  }

  /**
   * Lets it rest until there is news, or takes it out. Where there was news it goes on, and gives false.
   * @throws ColloquyError `lease_lost`.
   */
  rest(cursor: DeliveryCursor | null): Promise<boolean> {
    const { id } = this
    const { news: collection } = this.#collections
    return this.#inTurn(async () => {
      try {
        await this.#write(cursor, null, [{ collection, id, expected: null }])
      } catch (error) {
        if (!isConflict(error, collection)) throw error
        await this.#write(this.#cursor, this.#ttl, [{ collection, id, put: null }])
        return false
      }
      this.end()
      return true
    })
  }

  /** Renews it no longer. */
  end(): void {
    this.#isOver = true
    clearInterval(this.#timer)
  }

  #renew(): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#isOver) await this.#write(this.#kept, this.#ttl)
    })
  }

  async #write(
    cursor: DeliveryCursor | null,
    dueIn: number | null,
    others: readonly ItemChange[] = [],
  ): Promise<void> {
    this.lost.throwIfAborted()
    const { id } = this
    const { collection: before, version: expected } = this.#item
    const { failing, cursors, news } = this.#collections
    const collection = (cursor?.tries ?? 0) > 0 ? failing : cursors
    const put = cursor && itemOf(cursor, dueIn)
    const own: readonly ItemChange[] =
      cursor === null || collection === before
        ? [{ collection: before, id, expected, put }]
        : [
            { collection, id, expected: null, put },
            { collection: before, id, expected, put: null },
          ]
    try {
      const [item] = await this.#store.changeItems([...own, ...others])
      if (item) this.#item = item
      if (cursor !== null) this.#kept = cursor
    } catch (error) {
      if (!hasCode(error, 'version_conflict') || isConflict(error, news)) throw error
      this.#lost.abort(
        new ColloquyError('lease_lost', 'Another process sends this conversation to the webhook.'),
      )
      this.end()
      throw this.lost.reason
    }
  }
}

const isConflict = (error: unknown, collection: string): boolean =>
  hasCode(error, 'version_conflict') && error.data['collection'] === collection
