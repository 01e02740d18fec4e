/** How the time of some work grows with the length of a text, told by doublings, so that what is quadratic is seen long before it takes minutes. */

/** What a doubling may cost at most: it is two for what is linear, and four for what is quadratic. */
const MOST = 3
/** What is told at once: the next doubling might never end. */
const FAR_TOO_MUCH = 12
/** Milliseconds that say nothing of how a time grows. */
const NOISE = 25
/** How often a doubling that cost too much is measured again: the least of all measurements count. */
const TRIES = 3

/** A doubling that cost too much: the length of the longer text, and the milliseconds of both. */
export interface Overgrowth {
  readonly length: number
  readonly before: number
  readonly after: number
}

/**
 * Two doublings of a text's length in a row that each cost more than three times as much; null when there are none. One
 * alone may be where the text no longer fits the processor's caches. The time is that of the thread's processor alone,
 * so that a busy machine changes little.
 * @param make gives a text of about so many characters
 */
export function overgrowth(
  work: (text: string) => unknown,
  make: (length: number) => string,
  { from = 2 ** 13, to = 2 ** 22 }: { readonly from?: number; readonly to?: number } = {},
): Overgrowth | null {
  const timeOf = (text: string): number => costOf(() => work(text))
  timeOf(make(from / 16))
  let half = make(from / 2)
  let before = timeOf(half)
  let isSuspect = false
  for (let length = from; length <= (isSuspect ? 2 * to : to); length *= 2) {
    const text = make(length)
    let after = timeOf(text)
    for (let i = 0; i < TRIES && after > bound(before); i += 1) {
      before = Math.min(before, timeOf(half))
      after = Math.min(after, timeOf(text))
    }
    const isTooMuch = after > bound(before)
    if (isTooMuch && (isSuspect || after > FAR_TOO_MUCH * Math.max(before, NOISE)))
      return { length, before, after }
    isSuspect = isTooMuch
    half = text
    before = after
  }
  return null
}

/** Milliseconds of the thread's processor. */
export function costOf(work: () => unknown): number {
  const start = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(start)
  return (user + system) / 1_000
}

const bound = (before: number): number => MOST * Math.max(before, NOISE)
