import { firstIndex } from '../../event/json.ts'

const CHUNK = 512

export interface Range<T> {
  isEarly(item: T): boolean
  isLate(item: T): boolean
  /** Compares an item with the position after which the walk begins. Null to begin at the first item. */
  readonly order: ((item: T) => number) | null
  readonly descending: boolean
}

/** Items in a strict order, in chunks, so that a change moves only the items of one chunk. */
export class SortedList<T> {
  readonly #chunks: T[][] = []
  readonly #compare: (a: T, b: T) => number

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare
  }

  get first(): T | undefined {
    return this.#chunks[0]?.[0]
  }

  /** Adds an item. O(1) at the end, O(log n) elsewhere. */
  add(item: T): void {
    const { index, nth } = this.#find((other) => this.#compare(other, item) < 0)
    const chunk = (this.#chunks[index] ??= [])
    chunk.splice(nth, 0, item)
    if (chunk.length > CHUNK) this.#chunks.splice(index + 1, 0, chunk.splice(CHUNK / 2))
  }

  /** Removes the item that compares as equal, if there is one. O(log n). */
  delete(item: T): void {
    const { index, nth } = this.#find((other) => this.#compare(other, item) < 0)
    const chunk = this.#chunks[index] ?? []
    if (nth === chunk.length || this.#compare(chunk[nth] as T, item) !== 0) return
    chunk.splice(nth, 1)
    if (chunk.length === 0) this.#chunks.splice(index, 1)
  }

  /** Counts the items for which `isBefore` is true; these must be the first in order. O(n / 512). */
  rank(isBefore: (item: T) => boolean): number {
    const { index, nth } = this.#find(isBefore)
    return this.#chunks.slice(0, index).reduce((sum, { length }) => sum + length, nth)
  }

  /** Yields the items of a range. The list must not change meanwhile. O(log n), then O(1) per item. */
  *between({ isEarly, isLate, order, descending }: Range<T>): Generator<T, void, undefined> {
    let { index, nth } = this.#find((item) =>
      descending
        ? !isLate(item) && (order === null || order(item) < 0)
        : isEarly(item) || (order !== null && order(item) <= 0),
    )
    const step = descending ? -1 : 1
    if (descending) nth -= 1
    for (let chunk = this.#chunks[index]; chunk !== undefined; chunk = this.#chunks[index]) {
      for (; nth >= 0 && nth < chunk.length; nth += step) {
        const item = chunk[nth] as T
        if (descending ? isEarly(item) : isLate(item)) return
        yield item
      }
      index += step
      nth = descending ? (this.#chunks[index]?.length ?? 0) - 1 : 0
    }
  }

  /** Finds the first item that is not before a position, or the end of the last chunk. */
  #find(isBefore: (item: T) => boolean): { readonly index: number; readonly nth: number } {
    const [last, first] = [this.#chunks.at(-1), this.first]
    if (first === undefined || !isBefore(first)) return { index: 0, nth: 0 }
    if (last !== undefined && isBefore(last.at(-1) as T))
      return { index: this.#chunks.length - 1, nth: last.length }
    const index = firstFrom(this.#chunks, (chunk) => isBefore(chunk.at(-1) as T))
    return { index, nth: firstFrom(this.#chunks[index] ?? [], isBefore) }
  }
}

/** Returns the index of the first item that is not before the target, in a sorted list. O(log n). */
export const firstFrom = <T>(list: readonly T[], isBefore: (item: T) => boolean): number =>
  firstIndex(0, list.length, (index) => !isBefore(list[index] as T))

/** Returns at most `limit` items for which `fits` is true. Does not read the items after them. */
export function firstOf<T>(items: Iterable<T>, limit: number, fits: (item: T) => boolean = () => true): T[] {
  const first: T[] = []
  for (const item of items) if (fits(item) && first.push(item) === limit) break
  return first
}

/** Yields the items of several walks in one strict order. O(log walks) per item. */
export function* merge<T>(
  walks: readonly IterableIterator<T>[],
  compare: (a: T, b: T) => number,
): Generator<T, void, undefined> {
  const [first, ...others] = walks
  if (first !== undefined && others.length === 0) return yield* first
  // A binary heap, next item on top, because many moves of HEAD can cause as many walks as events.
  const heap = walks.flatMap((walk) => {
    const { done, value } = walk.next()
    return done === true ? [] : [{ walk, item: value as T }]
  })
  const sink = (from: number): void => {
    const sinking = heap[from]
    if (sinking === undefined) return
    let index = from
    for (;;) {
      let child = 2 * index + 1
      let least = heap[child]
      const right = heap[child + 1]
      if (least !== undefined && right !== undefined && compare(right.item, least.item) < 0) {
        least = right
        child += 1
      }
      if (least === undefined || compare(sinking.item, least.item) <= 0) break
      heap[index] = least
      index = child
    }
    heap[index] = sinking
  }
  for (let index = heap.length >>> 1; index >= 0; index -= 1) sink(index)
  for (let top = heap[0]; top !== undefined; top = heap[0]) {
    yield top.item
    const { done, value } = top.walk.next()
    if (done === true) {
      const last = heap.pop()
      if (last !== undefined && heap.length > 0) heap[0] = last
    } else top.item = value as T
    sink(0)
  }
}
