/**
 * The index from a key to log positions, one map for all versions of a log: a version asks which position is its own.
 */

import { work } from './work.ts'

/** The positions of a part of the log that was there before the map, all of them before those of the map. */
export interface IndexBase {
  /** The position after the last that it knows. */
  readonly length: number
  readonly find: (key: string, accept: (seq: number) => boolean, from?: number) => number
}

/**
 * Positions by key, shared by every version of one log (design D6). Two versions that went on differently may have put
 * the same key at different positions, so a position is a hit only when the asking version confirms it.
 */
export class IndexMap {
  readonly #positions = new Map<string, number | number[]>()
  readonly #base: IndexBase | null
  /** The key that was asked for last and is not there: mostly it is added next, and need not be looked for again. */
  #missed: string | null = null

  constructor(base: IndexBase | null = null) {
    this.#base = base
  }

  /**
   * Adds a position under a key. O(1) for the latest position, as in one version only; O(positions of the key)
   * otherwise.
   */
  add(key: string, seq: number): void {
    const found = key === this.#missed ? undefined : this.#positions.get(key)
    work.probes += 1
    if (found === undefined) {
      this.#missed = null
      this.#positions.set(key, seq)
    } else if (typeof found === 'number') {
      if (found !== seq) this.#positions.set(key, found < seq ? [found, seq] : [seq, found])
    } else insert(found, seq)
  }

  /** The latest position under a key, none before `from`, that `accept` confirms, or -1. O(positions tried). */
  find(key: string, accept: (seq: number) => boolean, from = 0): number {
    const found = this.#positions.get(key)
    work.probes += 1
    if (found === undefined) this.#missed = key
    if (typeof found === 'number') {
      if (found >= from && accept(found)) return found
    } else if (found !== undefined) {
      for (let at = found.length - 1; at >= 0; at -= 1) {
        const seq = found[at] as number
        if (seq < from) break
        work.probes += 1
        if (accept(seq)) return seq
      }
    }
    return this.#base === null || from >= this.#base.length ? -1 : this.#base.find(key, accept, from)
  }
}

/** Puts a position into an ascending list, once. */
function insert(list: number[], seq: number): void {
  let at = list.length
  while (at > 0 && (list[at - 1] as number) > seq) at -= 1
  if (list[at - 1] !== seq) list.splice(at, 0, seq)
}
