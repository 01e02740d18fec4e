/** Pages over records in memory, with cursors that stay valid while records come and go. */

import { ColloquyError } from '../../event/errors.ts'
import { decodeCursor, encodeCursor, scopeOf } from '../../store/kit/query/cursor.ts'
import { MAX_PAGE_SIZE, type Page } from '../../store/contract/query.ts'
import { integer, optional, text, withDefault } from '../http/parameters.ts'

/** How a request asks for a page. */
export const PAGING = {
  page_id: optional(text()),
  limit: withDefault(integer({ least: 1, most: MAX_PAGE_SIZE }), MAX_PAGE_SIZE),
} as const

/** How to page. */
export interface Paging<T> {
  /** What a record is sorted by, and its id. */
  readonly keyOf: (record: T) => Place
  readonly descending: boolean
  /** Name of the list, of its order and of what narrows it: a cursor of another one is refused. */
  readonly list: string
  readonly order: string
  readonly filter: object
  readonly cursor: string | null
  readonly limit: number
}

/** Where a record stands in an order. */
export type Place = readonly [key: string, id: string]

/**
 * One page. O(n), and O(limit) more for each record that comes in an order of its own. @throws ColloquyError
 * `invalid_cursor`.
 */
export function pageOf<T>(records: readonly T[], paging: Paging<T>): Page<T> {
  const { keyOf, descending, cursor, limit } = paging
  const scope = scopeOf(paging.list, paging.order, paging.filter)
  const after = cursor === null ? null : readPlace(scope, cursor)
  const sign = descending ? -1 : 1
  /** The first of those beyond the place, one more than the page holds, in order. */
  const first: { readonly record: T; readonly key: Place }[] = []
  for (let nth = 0; nth < records.length; nth += 1) {
    // Records come about in the order of their times, so most of them are looked at once and never moved.
    const record = records[descending ? records.length - 1 - nth : nth] as T
    const key = keyOf(record)
    if (after !== null && sign * compare(key, after) <= 0) continue
    let at = first.length
    while (at > 0 && sign * compare((first[at - 1] as { key: Place }).key, key) > 0) at -= 1
    if (at > limit) continue
    first.splice(at, 0, { record, key })
    if (first.length > limit + 1) first.pop()
  }
  const last = first.length > limit ? first[limit - 1] : undefined
  return {
    items: first.slice(0, limit).map(({ record }) => record),
    next_page_id: last === undefined ? null : encodeCursor(scope, last.key),
  }
}

/** The place that a cursor names. @throws ColloquyError `invalid_cursor` for one of another list. */
export function readPlace(scope: string, cursor: string): Place {
  const [key, id] = decodeCursor(scope, cursor)
  if (key !== undefined && id !== undefined) return [key, id]
  throw new ColloquyError('invalid_cursor', 'The cursor cannot be used: its place is none.', {
    reason: 'altered',
  })
}

const compare = (a: Place, b: Place): number => compareTexts(a[0], b[0]) || compareTexts(a[1], b[1])

const compareTexts = (a: string, b: string): number => Number(a > b) - Number(a < b)
