/** Binary search for the first number that a condition holds for. */

/**
 * The smallest number of `from` … `to` that fits, or null when `to` does not; for a condition that turns from false to
 * true once. At most 1 + ceil(log2(to - from + 1)) questions, and none where `from` is beyond `to`.
 */
export function firstFit(from: number, to: number, fits: (at: number) => boolean): number | null {
  if (from > to || !fits(to)) return null
  let low = from
  for (let high = to; ;) {
    if (low === high) return low
    const middle = (low + high) >>> 1
    if (fits(middle)) high = middle
    else low = middle + 1
  }
}
