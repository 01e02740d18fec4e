/** Lists kept in order, with binary search. */

const MOST = 512

/** Items in a strict order, in chunks: a change moves the items of one chunk. */
export class SortedList<T> {
  readonly #chunks: T[][] = []
  readonly #compare: (a: T, b: T) => number

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  /** O(log n). */
  add(item: T): void {
    const index = Math.min(this.#chunkOf(item), Math.max(0, this.#chunks.length - 1))
    const chunk = this.#chunks[index]
    if (chunk === undefined) {
      this.#chunks.push([item])
      return
    }
    chunk.splice(this.#placeIn(chunk, item), 0, item)
    if (chunk.length > MOST) this.#chunks.splice(index + 1, 0, chunk.splice(MOST / 2))
  }

  /** Takes out the one that compares as this one does, if it is there. O(log n). */
  delete(item: T): void {
    const index = this.#chunkOf(item)
    const chunk = this.#chunks[index]
    if (chunk === undefined) return
    const position = this.#placeIn(chunk, item)
    if (position === chunk.length || this.#compare(chunk[position] as T, item) !== 0) return
    chunk.splice(position, 1)
    if (chunk.length === 0) this.#chunks.splice(index, 1)
  }

  /**
   * The items from a position on. O(log n) for the first, O(1) for each further one. The list must not change
   * meanwhile.
   * @param isBefore true for the items before the position, which are the first in order
   */
  *from(isBefore: (item: T) => boolean): Generator<T, void, undefined> {
    let index = firstFrom(this.#chunks, (chunk) => isBefore(chunk.at(-1) as T))
    for (
      let nth = firstFrom(this.#chunks[index] ?? [], isBefore);
      index < this.#chunks.length;
      index += 1, nth = 0
    ) {
      const chunk = this.#chunks[index] ?? []
      for (; nth < chunk.length; nth += 1) yield chunk[nth] as T
    }
  }

  *before(isBefore: (item: T) => boolean): Generator<T, void, undefined> {
    let index = firstFrom(this.#chunks, (chunk) => isBefore(chunk.at(-1) as T))
    let nth = firstFrom(this.#chunks[index] ?? [], isBefore)
    for (; index >= 0; index -= 1, nth = this.#chunks[index]?.length ?? 0) {
      const chunk = this.#chunks[index] ?? []
      while (nth > 0) yield chunk[(nth -= 1)] as T
    }
  }

  #chunkOf(item: T): number {
    return firstFrom(this.#chunks, (chunk) => this.#compare(chunk.at(-1) as T, item) < 0)
  }

  #placeIn(chunk: readonly T[], item: T): number {
    return firstFrom(chunk, (other) => this.#compare(other, item) < 0)
  }
}

/** Returns the first items, up to a limit. O(limit). */
export function firstOf<T>(items: Iterable<T>, limit: number): T[] {
  const first: T[] = []
  for (const item of items) {
    first.push(item)
    if (first.length === limit) break
  }
  return first
}

/**
 * Returns the first index of a sorted list whose item is not before the target. O(log n).
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

/** A range of a sorted list, read item by item. */
export interface Walk<T> {
  readonly list: readonly T[]
  index: number
  readonly end: number
  readonly step: 1 | -1
}

/** The items of several walks in one order. O(log walks) for each item, O(walks · log walks) before the first. */
export function* merge<T>(walks: readonly Walk<T>[], compare: (a: T, b: T) => number): Generator<T> {
  // A binary heap, the walk with the next item on top: the path of a log that went back often is as many walks as
  // events.
  const heap = walks.filter((walk) => walk.index !== walk.end)
  const next = (walk: Walk<T>): T => walk.list[walk.index] as T
  const sink = (from: number): void => {
    let index = from
    for (;;) {
      let least = index
      for (const child of [2 * index + 1, 2 * index + 2]) {
        const below = heap[child]
        if (below !== undefined && compare(next(below), next(heap[least] as Walk<T>)) < 0) least = child
      }
      if (least === index) return
      const moved = heap[index] as Walk<T>
      heap[index] = heap[least] as Walk<T>
      heap[least] = moved
      index = least
    }
  }
  for (let index = heap.length >>> 1; index >= 0; index -= 1) sink(index)
  for (let top = heap[0]; top !== undefined; top = heap[0]) {
    yield next(top)
    top.index += top.step
    if (top.index === top.end) {
      const last = heap.pop() as Walk<T>
      if (heap.length > 0) heap[0] = last
    }
    sink(0)
  }
}
