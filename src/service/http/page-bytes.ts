/** Keeps replies from holding more than one can: a hundred large events or requests are more than fits in a text. */

import { MOST_LOOKED_AT, type Page } from '../../store/contract/query.ts'
import { HttpProblem } from './problem.ts'

/** Bytes of bodies with which a page ends before it is full. */
export const MAX_PAGE_BYTES = 8 * 2 ** 20

/** How many are read before their size is looked at. */
const READ_FIRST = 8

/**
 * Those with these ids, in the order asked. O(ids).
 *
 * @param what they are, in the plural
 * @param read gives those with some of the ids, in their order, null for each that is missing
 * @throws HttpProblem 413 for several that hold more than a page may. A single one is given, however large.
 */
export async function readByIds<T extends object>(
  ids: readonly string[],
  what: string,
  read: (some: readonly string[]) => Promise<readonly (T | null)[]>,
): Promise<(T | null)[]> {
  const times = new Map<string, number>()
  for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1)
  const unique = [...times.keys()]
  const found = new Map<string, T | null>()
  let bytes = 0
  for (let at = 0; at < unique.length; at += READ_FIRST) {
    const some = unique.slice(at, at + READ_FIRST)
    const values = await read(some)
    for (const [no, id] of some.entries()) {
      const value = values[no] ?? null
      found.set(id, value)
      if (value !== null) bytes += bytesOf(value) * (times.get(id) ?? 1)
    }
    if (bytes > MAX_PAGE_BYTES && ids.length > 1)
      throw new HttpProblem(
        413,
        `These ${what} exceed ${MAX_PAGE_BYTES / 2 ** 20} MiB. Request fewer, or a single one.`,
      )
  }
  return ids.map((id) => found.get(id) ?? null)
}

/** How a page is put together. */
interface PageParts<R, T> {
  readonly cursor: string | null
  readonly limit: number
  /** Gives the next so many, from a place on. */
  readonly read: (cursor: string | null, limit: number) => Promise<Page<R>>
  /** What is shown of some, null for each that is left out. */
  readonly show: (some: readonly R[]) => Promise<readonly (T | null)[]>
  /** Whether `read` has compared by itself: one that gave fewer than it was asked for has looked at enough. */
  readonly isCompared: boolean
}

/**
 * A page of what is shown, which is short where that is large: it is read a few at a time. Short, or empty, it is too
 * where so many were looked at as one page may. O(what is looked at).
 */
export async function pageInBytes<R, T extends object>(parts: PageParts<R, T>): Promise<Page<T>> {
  const { limit, read, show, isCompared } = parts
  const items: T[] = []
  let next = parts.cursor
  let looked = 0
  let bytes = 0
  let step = READ_FIRST
  let isShort = false
  do {
    const asked = Math.min(limit - items.length, step)
    const page = await read(next, asked)
    for (const one of await show(page.items)) {
      if (one === null) continue
      bytes += bytesOf(one)
      items.push(one)
    }
    if (bytes < MAX_PAGE_BYTES / 8) step = Math.min(2 * step, 4 * READ_FIRST)
    next = page.next_page_id
    looked += Math.max(1, page.items.length)
    isShort = isCompared && page.items.length < asked
  } while (
    next !== null &&
    !isShort &&
    items.length < limit &&
    looked < MOST_LOOKED_AT &&
    bytes < MAX_PAGE_BYTES
  )
  return { items, next_page_id: next }
}

/** As many of the first of a list as one page holds. O(their size). */
export function firstInBytes<T extends object>(list: readonly T[], limit: number): readonly T[] {
  let bytes = 0
  let count = 0
  for (const one of list) {
    if (count === limit || bytes >= MAX_PAGE_BYTES) break
    bytes += bytesOf(one)
    count += 1
  }
  return list.slice(0, count)
}

/** How long one is as JSON, in characters. O(its size). */
const bytesOf = (value: object): number => JSON.stringify(value).length
