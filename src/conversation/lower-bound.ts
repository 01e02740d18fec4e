/** Search in a list that is sorted by a question: false up to some place, true from there on. */

/** The first place of which it is true; the length where there is none. O(log n). */
export function lowerBound<T>(list: readonly T[], isThere: (item: T) => boolean): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isThere(list[middle] as T)) high = middle
    else low = middle + 1
  }
  return low
}
