/** Keyset pages: checks order, limit and cursor, and cuts a page with the cursor of the next. */

import { ColloquyError } from '../../../event/errors.ts'
import { checkInteger, checkOneOf, checkText, type Given } from './check-value.ts'
import { decodeCursor, encodeCursor, scopeOf } from './cursor.ts'
import { MAX_PAGE_SIZE, type Page } from '../../contract/query.ts'

/** A list that comes in pages, by (time, key). */
export interface PagedList<Order extends string, Place> {
  readonly name: string
  /** Those downwards end in `_desc`. */
  readonly orders: readonly Order[]
  readonly defaultOrder: Order
  /** The place that a cursor names; null for a key that nothing in the list can have. */
  placeOf(time: bigint, key: string): Place | null
}

/** What every page is found by: at most `limit` items beyond `after`. */
export interface CheckedPage<Place> {
  readonly descending: boolean
  readonly limit: number
  readonly after: Place | null
  /** List, filter and order in one text; what a cursor is bound to. */
  readonly scope: string
}

/**
 * Checks how a list is paged. O(size of the filter + length of the cursor).
 * @throws `invalid_query` naming the field in `data.field`; `invalid_cursor` saying why in `data.reason`.
 */
export function checkPage<Order extends string, Place>(
  list: PagedList<Order, Place>,
  filter: object,
  query: { readonly order?: Given; readonly limit?: Given; readonly cursor?: Given },
): CheckedPage<Place> & { readonly order: Order } {
  const order = checkOneOf('order', query.order, list.orders) ?? list.defaultOrder
  const limit = checkInteger('limit', query.limit, 1, MAX_PAGE_SIZE, MAX_PAGE_SIZE)
  const scope = scopeOf(list.name, order, filter)
  const cursor = checkText('cursor', query.cursor)
  const after = cursor === null ? null : placeIn(list, scope, cursor)
  return { order, descending: order.endsWith('_desc'), limit, scope, after }
}

function placeIn<Place>(list: PagedList<string, Place>, scope: string, cursor: string): Place {
  const [time = '', key = ''] = decodeCursor(scope, cursor)
  // The checksum is no signature: a client that knows it can write a cursor, and still gets an error of ours.
  const place = /^-?\d{1,18}$/.test(time) ? list.placeOf(BigInt(time), key) : null
  if (place !== null) return place
  throw new ColloquyError('invalid_cursor', 'The cursor cannot be used: its place is none.', {
    reason: 'altered',
  })
}

/** The cursor of the page that follows an item. O(length of the scope). */
export const cursorAfter = (scope: string, time: bigint | string, key: string | number): string =>
  encodeCursor(scope, [String(time), String(key)])

/**
 * A page of a list that was read one item further than the page goes, to know whether anything is left. O(limit).
 *
 * @example
 * pageOf(['a', 'b', 'c'], 2, (last) => `after ${last}`) // { items: ['a', 'b'], next_page_id: 'after b' }
 * pageOf(['a', 'b'], 2, (last) => `after ${last}`) // { items: ['a', 'b'], next_page_id: null }
 */
export function pageOf<T>(found: readonly T[], limit: number, cursorOf: (last: T) => string): Page<T> {
  const items = found.slice(0, limit)
  const last = found.length > limit ? items.at(-1) : undefined
  return { items, next_page_id: last === undefined ? null : cursorOf(last) }
}

/**
 * How many of the first items a page of so many bytes holds, at most `limit`: it ends with the one that fills it, so it
 * holds one at least. `sizeOf` is asked for no item beyond. O(limit).
 *
 * @example
 * countWithin([1, 5, 1], 3, 4, (size) => size) // 2
 */
export function countWithin<T>(
  found: readonly T[],
  limit: number,
  maxBytes: number | null,
  sizeOf: (item: T) => number,
): number {
  if (maxBytes === null) return limit
  let sum = 0
  let count = 0
  for (const item of found) {
    if (count === limit || sum >= maxBytes) break
    sum += sizeOf(item)
    count += 1
  }
  return Math.max(1, count)
}
