import type { JsonObject } from '../../event/shapes.ts'
import type { Count, CountOptions, Page } from './query.ts'

export interface Item {
  /** 1 to 200 characters. The rules of conversation ids apply (design D19). */
  readonly collection: string
  readonly id: string
  /** Increases with every change and claim. Never used twice, even after the item is removed. */
  readonly version: number
  readonly body: JsonObject
  /** At most 8 named strings. A list can be filtered and ordered by one of them. */
  readonly keys: Readonly<Record<string, string>>
  /** When the item is due, in milliseconds since 1970 on the store's clock. Null: never. */
  readonly dueAt: number | null
}

export interface ItemChange {
  readonly collection: string
  readonly id: string
  /** The version that the item must have (1 or more); null if the item must not exist. Default: not checked. */
  readonly expected?: number | null
  /** The new value, or null to remove the item. Without `put`, the item's version is only checked. */
  readonly put?: NewItem | null
}

export interface NewItem {
  readonly body: JsonObject
  /**
   * Keys by name. Names have 1 to 40 lower-case letters, digits and underscores, and begin with a letter.
   * Values have at most 200 characters of well-formed Unicode without NUL. Default: none.
   */
  readonly keys?: Readonly<Record<string, string>>
  /** Milliseconds until the item is due, by the store's clock; null (default) for never. */
  readonly dueIn?: number | null
}

export interface ItemQuery {
  /** Name of the key that orders the list. Items without this key are left out. Default: all items, by id. */
  readonly by?: string
  /** Only items whose key `by` equals this text. Without `by`, the id is compared. */
  readonly value?: string
  /** Only items whose key `by` is this text or sorts after it. Without `by`, the id is compared. */
  readonly from?: string
  /** Only items whose key `by` sorts before this text. Without `by`, the id is compared. */
  readonly below?: string
  /** Whether the order is descending. Default: false. */
  readonly descending?: boolean
  readonly cursor?: string
  readonly limit?: number
}

export type ItemFilter = Pick<ItemQuery, 'by' | 'value' | 'from' | 'below'>

export interface ItemClaim {
  /** Milliseconds until the claimed items are due again. */
  readonly ttl: number
  /** Maximum number of items, 1 to `MAX_PAGE_SIZE` (default). */
  readonly limit?: number
}

/**
 * Stores items, which are rows that a program stores outside conversations. Several processes can share
 * items. A call costs O(log n) for each item that it reads or changes, in a store of n items.
 * @example
 * const store = memoryStore()
 * const [job] = await store.changeItems([
 *   { collection: 'jobs', id: 'j', expected: null, put: { body: { to: 'a' }, keys: { state: 'new' }, dueIn: 0 } },
 * ])
 * const { items } = await store.listItems('jobs', { by: 'state', value: 'new' })
 * items[0].body // { to: 'a' }
 * const [claimed] = await store.claimItems('jobs', { ttl: 60_000 })
 * await store.changeItems([{ collection: 'jobs', id: 'j', expected: claimed.version, put: null }]) // [null]
 * await store.getItem('jobs', job.id) // null
 */
export interface Items {
  /** Returns an item; null if it does not exist, or if `collection` or `id` is invalid. O(log n). */
  getItem(collection: string, id: string): Promise<Item | null>

  /**
   * Changes several items, all or none, in one round trip. If all items have their expected versions, changes
   * all of them; otherwise, changes none. If several concurrent changes expect the same version of an item,
   * only one of them succeeds. Returns the stored items in the order of `changes`, with null for an item that
   * was removed or only checked. O(size of the changes).
   * @throws `version_conflict` for the first item whose version is not the expected one, with `collection`,
   *   `id` and `version` (null if the item does not exist) in `data`; `invalid_argument` for more than 100
   *   changes, two changes of one item, or an invalid item.
   */
  changeItems(changes: readonly ItemChange[]): Promise<(Item | null)[]>

  /**
   * Returns one page of a collection, ordered by a key, then by id, both in the order of code points. An item
   * whose key does not change between the pages is on exactly one page. For cursors, see `Store.search`.
   * O(limit + log n).
   * @throws `invalid_query`, `invalid_cursor`.
   */
  listItems(collection: string, query?: ItemQuery): Promise<Page<Item>>

  /** Counts items, at most {@link MAX_COUNTED} unless `exact` is true. O(count). @throws `invalid_query`. */
  countItems(collection: string, filter?: ItemFilter, options?: CountOptions): Promise<Count>

  /**
   * Claims items that are due, starting with the items that have been due longest. A claimed item gets a new
   * version, and is due again after `ttl` milliseconds. Concurrent callers get different items. To finish an
   * item, change it and pass its version as `expected`. The change fails if another process has claimed the
   * item meanwhile. O(limit · log n). @throws `invalid_argument`.
   */
  claimItems(collection: string, claim: ItemClaim): Promise<Item[]>
}
