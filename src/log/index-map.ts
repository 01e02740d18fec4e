/** The index from a key to log positions, one map for all versions of a log: a version asks which position is its own. */

import { work } from './work.ts'

/**
 * Positions by key, shared by every version of one log (design D6). Two versions that went on differently may have put
 * the same key at different positions, so a position is a hit only when the asking version confirms it.
 */
export class IndexMap {
  readonly #positions = new Map<string, number | number[]>()

  /** Adds a position under a key. O(1) amortised. */
  add(key: string, seq: number): void {
    const found = this.#positions.get(key)
    work.probes += 1
    if (found === undefined) this.#positions.set(key, seq)
    else if (typeof found === 'number') {
      if (found !== seq) this.#positions.set(key, [found, seq])
    } else if (found[found.length - 1] !== seq) found.push(seq)
  }

  /** The latest added position under a key that `accept` confirms, or -1. O(positions tried). */
  find(key: string, accept: (seq: number) => boolean): number {
    const found = this.#positions.get(key)
    work.probes += 1
    if (found === undefined) return -1
    if (typeof found === 'number') return accept(found) ? found : -1
    for (let at = found.length - 1; at >= 0; at -= 1) {
      work.probes += 1
      const seq = found[at] as number
      if (accept(seq)) return seq
    }
    return -1
  }
}
