/** Maximum growth for four times the length, between linear (4) and quadratic (16). */
const MAX_GROWTH = 9
/** Maximum growth for a doubling. After faster growth, the next doubling might never end. */
const MAX_GROWTH_OF_DOUBLING = 12
/** Milliseconds below which a time on a busy machine means nothing. */
const NOISE = 25
/** Number of measurements of a cost that seems excessive. The minimum is used. */
const MAX_RETRIES = 3

/** An excessive cost: a text's length, and the milliseconds for it (`after`) and a quarter of it (`before`). */
export interface Overgrowth {
  readonly length: number
  readonly before: number
  readonly after: number
}

/**
 * Finds a text that costs more than nine times as much as a quarter of it, or more than twelve times as much
 * as half of it; otherwise returns null. The length doubles from measurement to measurement, which finds
 * quadratic work before it takes minutes. Smaller growth in a single doubling may only mean that the text
 * exceeds the processor's caches.
 * Uses the thread's CPU time, so that other load matters little.
 * @param make returns a text of about this many characters
 * @param noise milliseconds below which a time means nothing
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
  const measure = (length: number): { readonly text: string; minimum: number } => {
    const text = make(length)
    return { text, minimum: costOf(() => work(text)) }
  }
  measure(from / 16)
  let [quarter, half] = [measure(from / 4), measure(from / 2)]
  let isSuspect = false
  for (let length = from; length <= (isSuspect ? 2 * to : to); length *= 2) {
    const whole = measure(length)
    const isExcessive = (): boolean =>
      whole.minimum > MAX_GROWTH * Math.max(quarter.minimum, noise) ||
      whole.minimum > MAX_GROWTH_OF_DOUBLING * Math.max(half.minimum, noise)
    for (let i = 0; i < MAX_RETRIES && isExcessive(); i += 1)
      for (const measurement of [quarter, half, whole])
        measurement.minimum = Math.min(
          measurement.minimum,
          costOf(() => work(measurement.text)),
        )
    if (isExcessive()) return { length, before: quarter.minimum, after: whole.minimum }
    // At the last length, one more doubling decides.
    isSuspect = whole.minimum > Math.sqrt(MAX_GROWTH) * Math.max(half.minimum, noise)
    ;[quarter, half] = [half, whole]
  }
  return null
}

/** Milliseconds of the thread's CPU time. */
export function costOf(work: () => unknown): number {
  const start = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(start)
  return (user + system) / 1_000
}
