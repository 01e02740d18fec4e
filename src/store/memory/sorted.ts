/** Lists kept in order, with binary search. */

/**
 * The first place of a sorted list whose item is not before what is looked for. O(log n).
 *
 * @example
 * firstFrom([1, 3, 5], (item) => item < 3) // 1
 */
export function firstFrom<T>(list: readonly T[], isBefore: (item: T) => boolean): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(list[middle] as T)) low = middle + 1
    else high = middle
  }
  return low
}

/** Puts an item where it belongs, after its equals. O(1) at the end, where nearly all go; O(n) moves elsewhere. */
export function insertSorted<T>(list: T[], item: T, compare: (a: T, b: T) => number): void {
  const last = list.at(-1)
  if (last === undefined || compare(last, item) <= 0) list.push(item)
  else
    list.splice(
      firstFrom(list, (other) => compare(other, item) <= 0),
      0,
      item,
    )
}

/** A stretch of a sorted list that is walked one item after the other. */
export interface Walk<T> {
  readonly list: readonly T[]
  at: number
  /** The first place no longer walked. */
  readonly end: number
  readonly step: 1 | -1
}

/** The items of several walks in one order. O(log walks) for each item, O(walks · log walks) before the first. */
export function* merge<T>(walks: readonly Walk<T>[], compare: (a: T, b: T) => number): Generator<T> {
  // A binary heap, the walk with the next item on top: the path of a log that went back often is as many walks as
  // events.
  const heap = walks.filter((walk) => walk.at !== walk.end)
  const next = (walk: Walk<T>): T => walk.list[walk.at] as T
  const sink = (from: number): void => {
    let at = from
    for (;;) {
      let least = at
      for (const child of [2 * at + 1, 2 * at + 2]) {
        const below = heap[child]
        if (below !== undefined && compare(next(below), next(heap[least] as Walk<T>)) < 0) least = child
      }
      if (least === at) return
      const moved = heap[at] as Walk<T>
      heap[at] = heap[least] as Walk<T>
      heap[least] = moved
      at = least
    }
  }
  for (let at = heap.length >>> 1; at >= 0; at -= 1) sink(at)
  for (let top = heap[0]; top !== undefined; top = heap[0]) {
    yield next(top)
    top.at += top.step
    if (top.at === top.end) {
      const last = heap.pop() as Walk<T>
      if (heap.length > 0) heap[0] = last
    }
    sink(0)
  }
}
