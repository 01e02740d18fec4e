/** How the time of some work grows with the length of a text, told by doublings, so that what is quadratic is seen long before it takes minutes. */

/** What four times the length may cost at most: it is four for what is linear, and sixteen for what is quadratic. */
const MOST = 9
/** What a doubling may cost at most: the next one might never end. */
const FAR_TOO_MUCH = 12
/** Milliseconds that say nothing, on a busy machine. */
const NOISE = 25
/** How often what cost too much is measured again: the least of all measurements count. */
const TRIES = 3

/** What cost too much: the length of a text, its milliseconds, and those of the shorter one that it is compared with. */
export interface Overgrowth {
  readonly length: number
  readonly before: number
  readonly after: number
}

/**
 * A text that costs more than nine times as much as one of a quarter of its length; null when there is none. A doubling
 * alone may be where the text no longer fits the processor's caches. The time is that of the thread's processor alone,
 * so that a busy machine changes little.
 * @param make gives a text of about so many characters
 * @param noise milliseconds that say nothing of how a time grows
 */
export function overgrowth(
  work: (text: string) => unknown,
  make: (length: number) => string,
  {
    from = 2 ** 13,
    to = 2 ** 19,
    noise = NOISE,
  }: { readonly from?: number; readonly to?: number; readonly noise?: number | undefined } = {},
): Overgrowth | null {
  const measure = (length: number): { readonly text: string; least: number } => {
    const text = make(length)
    return { text, least: costOf(() => work(text)) }
  }
  measure(from / 16)
  let [quarter, half] = [measure(from / 4), measure(from / 2)]
  let isSuspect = false
  for (let length = from; length <= (isSuspect ? 2 * to : to); length *= 2) {
    const whole = measure(length)
    const isTooMuch = (): boolean =>
      whole.least > MOST * Math.max(quarter.least, noise) ||
      whole.least > FAR_TOO_MUCH * Math.max(half.least, noise)
    for (let i = 0; i < TRIES && isTooMuch(); i += 1)
      for (const one of [quarter, half, whole])
        one.least = Math.min(
          one.least,
          costOf(() => work(one.text)),
        )
    if (isTooMuch()) return { length, before: quarter.least, after: whole.least }
    // At the end, whether it goes on so is seen by one doubling more.
    isSuspect = whole.least > Math.sqrt(MOST) * Math.max(half.least, noise)
    ;[quarter, half] = [half, whole]
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
