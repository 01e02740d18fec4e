/** Keeps replies from holding more than one can: a hundred large events or requests are more than fits in a text. */

import { HttpProblem } from './problem.ts'

/** Bytes of bodies with which a page ends before it is full. */
export const MAX_PAGE_BYTES = 8 * 2 ** 20

/** How many are read before their size is looked at. */
export const READ_FIRST = 8

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
        `These ${what} hold more than ${MAX_PAGE_BYTES / 2 ** 20} MiB; ask for fewer at once, or for one alone.`,
      )
  }
  return ids.map((id) => found.get(id) ?? null)
}

/** How long one is as JSON, in characters. O(its size). */
export const bytesOf = (value: object): number => JSON.stringify(value).length
