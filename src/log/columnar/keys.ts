/** A column of keys, each with the position it stands at, and an index over the columns of all chunks. */

import { bytesOf, Texts, wordsIn, writeTexts } from './texts.ts'

/** A key and the position that it stands at. */
export interface Key {
  readonly seq: number
  readonly text: string
}

/** How many sections a column of keys takes. */
export const KEY_SECTIONS = 4

/**
 * The column as sections: positions, hashes, and the texts. The keys come in the order of their positions. O(length).
 */
export function writeKeys(keys: readonly Key[]): Uint8Array[] {
  const texts = keys.map((key) => key.text)
  const positions = new Int32Array(keys.length)
  const hashes = new Int32Array(keys.length)
  keys.forEach(({ seq, text }, at) => {
    positions[at] = seq
    hashes[at] = hashKey(text)
  })
  return [bytesOf(positions), bytesOf(hashes), ...writeTexts(texts)]
}

/** The keys of one chunk. */
export interface KeyColumn {
  readonly positions: Int32Array
  readonly hashes: Int32Array
  readonly texts: Texts
}

/** Opens the sections that `writeKeys` made. O(1). */
export function readKeys([positions, hashes, ends, bytes]: readonly Uint8Array[]): KeyColumn {
  const none = new Uint8Array(0)
  return {
    positions: wordsIn(positions ?? none),
    hashes: wordsIn(hashes ?? none),
    texts: new Texts(ends ?? none, bytes ?? none),
  }
}

/** The key at a position, or null. O(log keys). */
export function keyAt({ positions, texts }: KeyColumn, seq: number): string | null {
  let low = 0
  for (let high = positions.length; low < high;) {
    const middle = (low + high) >>> 1
    if ((positions[middle] as number) < seq) low = middle + 1
    else high = middle
  }
  return positions[low] === seq ? texts.at(low) : null
}

/** An index from keys to positions, built when it is first asked. Chained, so that any number of equal keys is fine. */
export class KeyIndex {
  /** How many positions of the log it knows of. */
  readonly length: number
  readonly #columns: readonly KeyColumn[]
  #built: { readonly heads: Int32Array; readonly next: Int32Array; readonly firsts: Int32Array } | null = null

  constructor(columns: readonly KeyColumn[], length: number) {
    this.#columns = columns
    this.length = length
  }

  /**
   * The latest position under a key, none before `from`, that `accept` confirms, or -1. O(positions tried + chunks),
   * the first time O(keys).
   */
  find(key: string, accept: (seq: number) => boolean, from = 0): number {
    if (from >= this.length) return -1
    this.#built ??= this.#build()
    const { heads, next, firsts } = this.#built
    const hash = hashKey(key)
    let column = this.#columns.length - 1
    for (let at = heads[slotOf(hash, heads)] as number; at >= 0; at = next[at] as number) {
      // A chain goes down, and the columns with it.
      while (at < (firsts[column] as number)) column -= 1
      const { positions, hashes, texts } = this.#columns[column] as KeyColumn
      const local = at - (firsts[column] as number)
      if (hashes[local] !== hash) continue
      const seq = positions[local] as number
      if (seq < from) return -1
      if (texts.at(local) === key && accept(seq)) return seq
    }
    return -1
  }

  #build() {
    const firsts = new Int32Array(this.#columns.length)
    let count = 0
    for (const [column, { hashes }] of this.#columns.entries()) {
      firsts[column] = count
      count += hashes.length
    }
    const heads = new Int32Array(2 ** (33 - Math.clz32(count))).fill(-1)
    const next = new Int32Array(count)
    let at = 0
    for (const { hashes } of this.#columns) {
      for (let local = 0; local < hashes.length; local += 1, at += 1) {
        const slot = slotOf(hashes[local] as number, heads)
        next[at] = heads[slot] as number
        heads[slot] = at
      }
    }
    return { heads, next, firsts }
  }
}

const slotOf = (hash: number, heads: Int32Array): number => hash & (heads.length - 1)

/** A 32-bit hash of a key's code units. O(length). */
function hashKey(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
  return hash ^ (hash >>> 13)
}
