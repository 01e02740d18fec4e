/** Records in memory and a place in their order go in, one page of them with the cursor of the next comes out. */

import { ColloquyError } from '../../event/errors.ts'
import { decodeCursor, encodeCursor, scopeOf } from '../../store/cursor.ts'
import type { Page } from '../../store/query.ts'

/** How to page. */
export interface Paging<T> {
  /** What a record is sorted by, and its id. */
  readonly keyOf: (record: T) => readonly [key: string, id: string]
  readonly descending: boolean
  /** Name of the list, of its order and of what narrows it: a cursor of another one is refused. */
  readonly list: string
  readonly order: string
  readonly filter: object
  readonly cursor: string | null
  readonly limit: number
}

/** One page. O(n log n). @throws ColloquyError `invalid_cursor`. */
export function pageOf<T>(records: Iterable<T>, paging: Paging<T>): Page<T> {
  const { keyOf, descending, cursor, limit } = paging
  const scope = scopeOf(paging.list, paging.order, paging.filter)
  const after = cursor === null ? null : readPlace(scope, cursor)
  const sign = descending ? -1 : 1
  const beyond = [...records]
    .map((record) => ({ record, key: keyOf(record) }))
    .filter(({ key }) => after === null || sign * compare(key, after) > 0)
    .toSorted((a, b) => sign * compare(a.key, b.key))
  const items = beyond.slice(0, limit)
  const last = beyond.length > limit ? items.at(-1) : undefined
  return {
    items: items.map(({ record }) => record),
    next_page_id: last === undefined ? null : encodeCursor(scope, last.key),
  }
}

type Key = readonly [key: string, id: string]

const compare = (a: Key, b: Key): number => compareTexts(a[0], b[0]) || compareTexts(a[1], b[1])

const compareTexts = (a: string, b: string): number => Number(a > b) - Number(a < b)

function readPlace(scope: string, cursor: string): Key {
  const [key, id] = decodeCursor(scope, cursor)
  if (key !== undefined && id !== undefined) return [key, id]
  throw new ColloquyError('invalid_cursor', 'The cursor cannot be used: its place is none.', {
    reason: 'altered',
  })
}
