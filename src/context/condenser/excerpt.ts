/** Shortens texts to a fair share of a budget, head and tail kept. */

import { head, tail } from '../ellipsize.ts'

/** Below this length a text is cut at its end alone: a notice would leave nothing of it. */
const SHORT = 120

/**
 * The head and the tail of a text, with a notice of how much is missing between them. At most `limit` UTF-16 units.
 * O(limit).
 */
export function excerpt(text: string, limit: number): string {
  if (text.length <= limit) return text
  if (limit < SHORT) return head(text, limit)
  const room = limit - notice(text.length).length
  const [first, last] = [head(text, Math.ceil(room / 2)), tail(text, Math.floor(room / 2))]
  return first + notice(text.length - first.length - last.length) + last
}

const notice = (missing: number): string => `\n[… ${missing} characters left out …]\n`

/**
 * How long each text may be so that none is longer than `most` and all together are no longer than `total`: texts that
 * are short leave their share to the others. O(n log n).
 */
export function fairLimit(lengths: readonly number[], most: number, total: number): number {
  const sorted = lengths.toSorted((a, b) => a - b)
  let left = total
  for (const [index, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index))
    if (share >= most) return most
    if (length > share) return share
    left -= length
  }
  return most
}
