/** Items: rows of named collections next to conversations, which several processes share. */

import type { JsonObject } from '../../event/shapes.ts'
import type { Count, CountOptions, Page } from './query.ts'

/** One item, as it was put or claimed last. */
export interface Item {
  /** 1 to 200 characters, as the ids of conversations (design D19). */
  readonly collection: string
  readonly id: string
  /** Increases with every change and claim; never repeated, even after a removal. */
  readonly version: number
  readonly body: JsonObject
  /** What it is listed by: at most 8 texts, by name. */
  readonly keys: Readonly<Record<string, string>>
  /** When it is due, in milliseconds since 1970 on the store's clock; null: never. */
  readonly dueAt: number | null
}

/** A change of one item. */
export interface ItemChange {
  readonly collection: string
  readonly id: string
  /** The expected version, from 1; null if no item must exist. Default: not checked. */
  readonly expected?: number | null
  /** Replaces the item; null removes it. If absent, the item is only compared with `expected`. */
  readonly put?: NewItem | null
}

/** The new value of an item. */
export interface NewItem {
  readonly body: JsonObject
  /**
   * Names of 1 to 40 lower-case letters, digits and underscores, the first a letter; values of at most 200
   * characters of well-formed Unicode without NUL. Default: none.
   */
  readonly keys?: Readonly<Record<string, string>>
  /** In how many milliseconds, by the store's clock, it is due; null, the default: never. */
  readonly dueIn?: number | null
}

/** Which items of a collection to list. */
export interface ItemQuery {
  /** The key to list by: those without it are left out. Default: ids, all items. */
  readonly by?: string
  readonly value?: string
  /** Only keys equal to this text or after it, by code points. */
  readonly from?: string
  readonly below?: string
  /** Default: false. */
  readonly descending?: boolean
  readonly cursor?: string
  readonly limit?: number
}

/** Which items to count. */
export type ItemFilter = Pick<ItemQuery, 'by' | 'value' | 'from' | 'below'>

/** Which items to claim. */
export interface ItemClaim {
  /** Milliseconds from now on the store's clock after which they are due again. */
  readonly ttl: number
  /** 1 to `MAX_PAGE_SIZE`, which is the default. */
  readonly limit?: number
}

/** Keeps items, which belong to no conversation. A call's cost depends on its items, not on the store. */
export interface Items {
  /** An item, or null, also for a name that none can have. O(log n). */
  getItem(collection: string, id: string): Promise<Item | null>

  /**
   * Changes several items, all or nothing, in one round trip: compares each with its expected state, then
   * changes all. No other change or claim intervenes; of concurrent calls one succeeds, in any order of
   * items.
   *
   * Returns each item as stored, in order; null for one removed or only compared.
   *
   * O(size of the changes). @throws `version_conflict` for the first unexpected item, with `collection`, `id`
   * and `version` (null without an item) in `data`; `invalid_argument` for more than 100 changes, two of one
   * item, or an invalid item.
   */
  changeItems(changes: readonly ItemChange[]): Promise<(Item | null)[]>

  /**
   * Returns one page of a collection by a key, then id, in code point order. An item that keeps its key
   * during the walk is on exactly one page. Cursors are as in a search. O(limit + log n).
   * @throws `invalid_query`, `invalid_cursor`.
   */
  listItems(collection: string, query?: ItemQuery): Promise<Page<Item>>

  /** Counts a list's items, to {@link MOST_COUNTED} unless exact. O(those). @throws `invalid_query`. */
  countItems(collection: string, filter?: ItemFilter, options?: CountOptions): Promise<Count>

  /**
   * Claims due items, the longest due first: each gets a new version, and is due again after `ttl`
   * milliseconds. Concurrent callers get different items, maybe fewer than remain. A change that expects this
   * version fails once another process has claimed the item, possible when due again. O(limit · log n).
   * @throws `invalid_argument`.
   */
  claimItems(collection: string, claim: ItemClaim): Promise<Item[]>
}
