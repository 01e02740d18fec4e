/** Items: what a program keeps beside conversations, as rows of named collections that several processes share. */

import type { JsonObject } from '../../event/shapes.ts'
import type { Count, CountOptions, Page } from './query.ts'

/** One item, as it was put or claimed last. */
export interface Item {
  /** 1 to 200 characters, as the ids of conversations (design D19). */
  readonly collection: string
  /** The same; unique in its collection. */
  readonly id: string
  /**
   * Changes with every put and every claim, upwards. No other state of the item ever has it, also of one that was taken
   * out and put again.
   */
  readonly version: number
  readonly body: JsonObject
  /** What it is listed by: at most 8 texts, by name. */
  readonly keys: Readonly<Record<string, string>>
  /** When it is due, in milliseconds since 1970 on the store's clock; null: never. */
  readonly dueAt: number | null
}

/** What becomes of one item. */
export interface ItemChange {
  readonly collection: string
  readonly id: string
  /** The version that it must have, from 1 on; null: it must not be there. Left out: whichever, or none. */
  readonly expected?: number | null
  /**
   * What is put in its place, whole; null takes out what is there. Left out: it is only compared with what is expected.
   */
  readonly put?: NewItem | null
}

/** What an item becomes. */
export interface NewItem {
  readonly body: JsonObject
  /**
   * Names of 1 to 40 lower-case letters, digits and underscores, the first a letter; values of at most 200 characters
   * of well-formed Unicode without NUL. Default: none.
   */
  readonly keys?: Readonly<Record<string, string>>
  /** In how many milliseconds, by the store's clock, it is due; null, the default: never. */
  readonly dueIn?: number | null
}

/** Which items of a collection to list. */
export interface ItemQuery {
  /** The key to list by: those without it are left out. Default: ids, all items. */
  readonly by?: string
  /** Only where the key is this text. */
  readonly value?: string
  /** Only where the key, by code points, is this text or comes behind it. */
  readonly from?: string
  /** Only where the key comes before this text. */
  readonly below?: string
  /** Default: false. */
  readonly descending?: boolean
  readonly cursor?: string
  /** 1 to `MAX_PAGE_SIZE`, which is the default. */
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

/**
 * Keeps items. They belong to no conversation, and are in no list of conversations. The costs are those of the items
 * that a call names or gives, whatever the number of those that there are.
 */
export interface Items {
  /** An item, or null, also for a name that none can have. O(log n). */
  getItem(collection: string, id: string): Promise<Item | null>

  /**
   * Changes several items, all or none, in one round trip: first each is compared with what is expected of it, then all
   * changes are made. No other change or claim of them comes in between, nor one of an item that must not be there; of
   * several who meet, in whatever order they name their items, one gets on.
   * Gives, in order, each item as it was put; null for one that was taken out or only compared.
   *
   * O(size of the changes). @throws `version_conflict` for the first that is not as expected, with its `collection`,
   * `id` and `version`, null where there is none, in `data`; `invalid_argument` for more than 100 changes, for two of
   * one item, and for what cannot be kept.
   */
  changeItems(changes: readonly ItemChange[]): Promise<(Item | null)[]>

  /**
   * One page of a collection in the order of a key, then of ids, both by code points. What is there during the whole
   * of a walk, and keeps its key, is in one of its pages once. Cursors are as those of a search. O(limit + log n).
   * @throws `invalid_query`, `invalid_cursor`.
   */
  listItems(collection: string, query?: ItemQuery): Promise<Page<Item>>

  /**
   * How many items a list would have, counted to {@link MOST_COUNTED} at most unless the count is to be exact.
   * O(those).
   * @throws `invalid_query`.
   */
  countItems(collection: string, filter?: ItemFilter, options?: CountOptions): Promise<Count>

  /**
   * Takes items of a collection that are due, those that have been due longest first: each gets a new version, and is
   * due again after `ttl` milliseconds. Of many who claim at once each gets others, and may get fewer than are left.
   * Who claimed an item holds it for as long as its version stays: a change that expects this version is refused once
   * another process has claimed it, which it can when the holder has died, or has not put it anew in time. O(limit ·
   * log n). @throws `invalid_argument`.
   */
  claimItems(collection: string, claim: ItemClaim): Promise<Item[]>
}
