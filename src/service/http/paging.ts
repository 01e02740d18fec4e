/** Limits pages of HTTP responses: a hundred large events could exceed the maximum length of a string. */

import { MAX_PAGE_SIZE, MAX_VISITED, type Page } from '../../store/contract/query.ts'
import { countWithin } from '../../store/kit/query/page.ts'
import { integer, optional, text, type ValuesOf, withDefault } from './parameters.ts'
import { HttpProblem } from './problem.ts'

/** Bytes of JSON in UTF-8 after which a page ends, even if it has fewer items than requested. */
export const MAX_PAGE_BYTES = 8 * 2 ** 20

const READ_FIRST = 8

/** Reads items by id; null for an unknown id. @throws HttpProblem 413 if the items together exceed a page. */
export async function readByIds<T extends object>(
  ids: readonly string[],
  what: string,
  read: (some: readonly string[]) => Promise<readonly (T | null)[]>,
): Promise<(T | null)[]> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  const unique = [...counts.keys()]
  const byId = new Map<string, T | null>()
  let bytes = 0
  for (let start = 0; start < unique.length; start += READ_FIRST) {
    const some = unique.slice(start, start + READ_FIRST)
    const values = await read(some)
    for (const [index, id] of some.entries()) {
      const value = values[index] ?? null
      byId.set(id, value)
      if (value !== null) bytes += jsonBytes(value) * (counts.get(id) ?? 1)
    }
    if (bytes > MAX_PAGE_BYTES && ids.length > 1)
      throw new HttpProblem(
        413,
        `These ${what} together exceed ${MAX_PAGE_BYTES / 2 ** 20} MiB. Send fewer ids; a request with one id has no limit.`,
      )
  }
  return ids.map((id) => byId.get(id) ?? null)
}

export interface PageBody<T> {
  readonly items: readonly T[]
  readonly next_page_id: string | null
}

export const CURSOR_PAGING = {
  page_id: optional(text()),
  limit: withDefault(integer({ min: 1, max: MAX_PAGE_SIZE }), MAX_PAGE_SIZE),
} as const

export function pageByName<T extends { readonly name: string }>(
  list: readonly T[],
  { page_id: after, limit }: ValuesOf<typeof CURSOR_PAGING>,
): PageBody<T> {
  const rest = after === null ? list : list.filter(({ name }) => name > after)
  const items = rest.slice(0, limit)
  return { items, next_page_id: rest.length > limit ? (items.at(-1)?.name ?? null) : null }
}

interface PageParts<R, T> {
  readonly cursor: string | null
  readonly limit: number
  readonly read: (cursor: string | null, limit: number) => Promise<Page<R>>
  /** Returns the response items; null for each item to leave out. */
  readonly show: (some: readonly R[]) => Promise<readonly (T | null)[]>
  /** Whether `read` itself filters. If so, a short page means that `read` checked its maximum number of items. */
  readonly isCompared: boolean
}

/**
 * Returns a page. It may be short if items are large, and even empty if the maximum number of items was
 * checked.
 */
export async function pageInBytes<R, T extends object>(parts: PageParts<R, T>): Promise<PageBody<T>> {
  const { limit, read, show, isCompared } = parts
  const items: T[] = []
  let next = parts.cursor
  let checked = 0
  let bytes = 0
  let step = READ_FIRST
  let isShort = false
  do {
    const count = Math.min(limit - items.length, step)
    const page = await read(next, count)
    for (const one of await show(page.items)) {
      if (one === null) continue
      bytes += jsonBytes(one)
      items.push(one)
    }
    if (bytes < MAX_PAGE_BYTES / 8) step = Math.min(2 * step, 4 * READ_FIRST)
    next = page.cursor
    checked += Math.max(1, page.items.length)
    isShort = isCompared && page.items.length < count
  } while (
    next !== null &&
    !isShort &&
    items.length < limit &&
    checked < MAX_VISITED &&
    bytes < MAX_PAGE_BYTES
  )
  return { items, next_page_id: next }
}

export const firstInBytes = <T extends object>(list: readonly T[], limit: number): readonly T[] =>
  list.slice(0, countWithin(list, limit, MAX_PAGE_BYTES, jsonBytes))

const jsonBytes = (value: object): number => new TextEncoder().encode(JSON.stringify(value)).length
