/** Columns of texts, of timestamps, and of keys with an index. */

/** Every so many texts one stands in full, so that a look-up reads no more than these. */
const RESTART = 16
/** In place of a length: there is no text. */
const NONE = 255

/**
 * The column as sections. A timestamp that can be read has at most 35 characters, all of them ASCII; any other text is
 * a mistake of the caller. O(length).
 */
export function writeTimes(times: readonly (string | null)[]): [Uint8Array, Uint8Array] {
  const count = times.length
  const starts = new Int32Array(Math.ceil(count / RESTART))
  const lengths = new Uint8Array(count * 2)
  const text = new Uint8Array(times.reduce((sum, time) => sum + (time?.length ?? 0), 0))
  let end = 0
  let before = ''
  times.forEach((time, at) => {
    if (at % RESTART === 0) starts[at / RESTART] = end
    const shared = time === null || at % RESTART === 0 ? 0 : sharedLength(before, time)
    const own = (time?.length ?? 0) - shared
    lengths[at * 2] = shared
    lengths[at * 2 + 1] = time === null ? NONE : own
    for (let i = 0; i < own; i += 1) text[end + i] = (time as string).charCodeAt(shared + i)
    end += own
    before = time ?? ''
  })
  const index = new Uint8Array(starts.byteLength + lengths.byteLength)
  index.set(bytesOf(starts))
  index.set(lengths, starts.byteLength)
  return [index, text.subarray(0, end)]
}

function sharedLength(one: string, other: string): number {
  let at = 0
  while (at < one.length && at < other.length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1
  return at
}

/** The timestamps of a chunk. */
export class Times {
  readonly #starts: Int32Array
  readonly #lengths: Uint8Array
  readonly #text: Uint8Array

  constructor(count: number, index: Uint8Array, text: Uint8Array) {
    const starts = Math.ceil(count / RESTART) * 4
    this.#starts = wordsIn(index.subarray(0, starts))
    this.#lengths = index.subarray(starts)
    this.#text = text
  }

  /** The timestamp at an index, or null. O(1). */
  at(index: number): string | null {
    const restart = Math.floor(index / RESTART)
    let start = this.#starts[restart] as number
    let text = ''
    for (let at = restart * RESTART; ; at += 1) {
      const shared = this.#lengths[at * 2] as number
      const length = this.#lengths[at * 2 + 1] as number
      const none = length === NONE
      if (at === index && none) return null
      const end = none ? start : start + length
      text = text.slice(0, shared) + String.fromCharCode(...this.#text.subarray(start, end))
      if (at === index) return text
      start = end
    }
  }
}

/** How the texts stand in the bytes: as UTF-8, or where that cannot hold them, as UTF-16. */
const UTF_8 = 0
const UTF_16 = 1

/** Code units that one call turns into text: beyond some 100,000 arguments engines give up. */
const AT_ONCE = 8_192

/** The bytes of a list or typed array of numbers. */
export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** The 32-bit numbers of a section. */
export const wordsIn = ({ buffer, byteOffset, byteLength }: Uint8Array): Int32Array =>
  new Int32Array(buffer, byteOffset, byteLength >>> 2)

/** The column as two sections: where each text ends, and all of them in a row. O(length). */
export function writeTexts(texts: readonly string[]): [Uint8Array, Uint8Array] {
  const ends = new Int32Array(texts.length + 1)
  let end = 0
  texts.forEach((text, at) => (ends[at + 1] = end += text.length))
  const all = texts.join('')
  ends[0] = all.isWellFormed() ? UTF_8 : UTF_16
  return [bytesOf(ends), ends[0] === UTF_8 ? new TextEncoder().encode(all) : utf16(all)]
}

function utf16(text: string): Uint8Array {
  const units = new Uint16Array(text.length)
  for (let at = 0; at < units.length; at += 1) units[at] = text.charCodeAt(at)
  return bytesOf(units)
}

/** The texts of a column; the bytes are read when the first is asked for. */
export class Texts {
  readonly #ends: Int32Array
  readonly #bytes: Uint8Array
  #all: string | null = null

  constructor(ends: Uint8Array, bytes: Uint8Array) {
    this.#ends = wordsIn(ends)
    this.#bytes = bytes
  }

  /** How many texts there are. */
  get count(): number {
    return this.#ends.length - 1
  }

  /** The text at an index. O(length), the first time O(column). */
  at(index: number): string {
    this.#all ??= this.#read()
    return this.#all.slice(index === 0 ? 0 : this.#ends[index], this.#ends[index + 1])
  }

  #read(): string {
    // A byte order mark at the beginning belongs to the text.
    if (this.#ends[0] === UTF_8) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.#bytes)
    const { buffer, byteOffset, byteLength } = this.#bytes
    const units = new Uint16Array(buffer, byteOffset, byteLength >>> 1)
    let text = ''
    for (let at = 0; at < units.length; at += AT_ONCE) {
      text += String.fromCharCode(...units.subarray(at, at + AT_ONCE))
    }
    return text
  }
}

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
