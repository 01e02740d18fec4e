/** Cuts texts to a budget: a text and a length go in, its head and tail come out; lengths and a sum go in, a fair share comes out. */

/** Below this length a text is cut at its end alone: a notice would leave nothing of it. */
const SHORT = 120

/** The head and the tail of a text, with a notice of how much is missing between them. At most `limit` UTF-16 units. O(limit). */
export function excerpt(text: string, limit: number): string {
  if (text.length <= limit) return text
  if (limit < SHORT) return text.slice(0, whole(text, limit))
  const room = limit - notice(text.length).length
  const head = whole(text, Math.ceil(room / 2))
  const tail = wholeFrom(text, text.length - (room - Math.ceil(room / 2)))
  return text.slice(0, head) + notice(tail - head) + text.slice(tail)
}

const notice = (missing: number): string => `\n[… ${missing} characters left out …]\n`

/** An end of a slice that does not part a surrogate pair. */
const whole = (text: string, end: number): number => (partsPair(text, end) ? end - 1 : end)

/** A start of a slice that does not. */
const wholeFrom = (text: string, start: number): number => (partsPair(text, start) ? start + 1 : start)

function partsPair(text: string, at: number): boolean {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)]
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000
}

/**
 * How long each text may be so that none is longer than `most` and all together are no longer than `total`: texts that are short
 * leave their share to the others. O(n log n).
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
