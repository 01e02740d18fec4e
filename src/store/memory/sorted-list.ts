/** A list that is always in order, for stores whose lists cost no more than a page of them. */

import { firstFrom } from './sorted.ts'

/** Most items of a chunk; beyond it becomes two. */
const MOST = 512

/** Items in the order of a comparison, by which no two are equal, in chunks: a change moves those of one only. */
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
    const at = Math.min(this.#chunkOf(item), Math.max(0, this.#chunks.length - 1))
    const chunk = this.#chunks[at]
    if (chunk === undefined) {
      this.#chunks.push([item])
      return
    }
    chunk.splice(this.#placeIn(chunk, item), 0, item)
    if (chunk.length > MOST) this.#chunks.splice(at + 1, 0, chunk.splice(MOST / 2))
  }

  /** Takes out the one that compares as this one does, if it is there. O(log n). */
  delete(item: T): void {
    const at = this.#chunkOf(item)
    const chunk = this.#chunks[at]
    if (chunk === undefined) return
    const place = this.#placeIn(chunk, item)
    if (place === chunk.length || this.#compare(chunk[place] as T, item) !== 0) return
    chunk.splice(place, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /**
   * The items from a place on, one after the other. O(log n) for the first, O(1) for each further one. The list must
   * not change meanwhile.
   * @param isBefore whether an item lies before the place: of all, the first ones
   */
  *from(isBefore: (item: T) => boolean): Generator<T, void, undefined> {
    let at = firstFrom(this.#chunks, (chunk) => isBefore(chunk.at(-1) as T))
    for (let nth = firstFrom(this.#chunks[at] ?? [], isBefore); at < this.#chunks.length; at += 1, nth = 0) {
      const chunk = this.#chunks[at] ?? []
      for (; nth < chunk.length; nth += 1) yield chunk[nth] as T
    }
  }

  /** The items that lie before a place, the last one first. The same. */
  *before(isBefore: (item: T) => boolean): Generator<T, void, undefined> {
    let at = firstFrom(this.#chunks, (chunk) => isBefore(chunk.at(-1) as T))
    let nth = firstFrom(this.#chunks[at] ?? [], isBefore)
    for (; at >= 0; at -= 1, nth = this.#chunks[at]?.length ?? 0) {
      const chunk = this.#chunks[at] ?? []
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

/** The first items, no more of them than so many. O(most). */
export function firstOf<T>(items: Iterable<T>, most: number): T[] {
  const first: T[] = []
  for (const item of items) {
    first.push(item)
    if (first.length === most) break
  }
  return first
}
