import { firstIndex } from '../../event/json.ts'

/** Every 16th timestamp is stored in full, so that a lookup reads at most 16 timestamps. */
const RESTART = 16
const NO_CODE = 255

/** Serializes valid timestamps (at most 35 ASCII characters each) as two sections. O(length). */
export function writeTimes(times: readonly (string | null)[]): [Uint8Array, Uint8Array] {
  const count = times.length
  const starts = new Int32Array(Math.ceil(count / RESTART))
  const lengths = new Uint8Array(count * 2)
  let text = ''
  let before = ''
  times.forEach((time, index) => {
    const isWhole = index % RESTART === 0
    if (isWhole) starts[index / RESTART] = text.length
    const current = time ?? ''
    const shared = isWhole ? 0 : sharedLength(before, current)
    lengths[index * 2] = shared
    lengths[index * 2 + 1] = time === null ? NO_CODE : current.length - shared
    text += current.slice(shared)
    before = current
  })
  const index = new Uint8Array(starts.byteLength + lengths.byteLength)
  index.set(bytesIn(starts))
  index.set(lengths, starts.byteLength)
  return [index, new TextEncoder().encode(text)]
}

function sharedLength(one: string, other: string): number {
  let length = 0
  while (length < one.length && length < other.length && one.charCodeAt(length) === other.charCodeAt(length))
    length += 1
  return length
}

export class Times {
  readonly #starts: Int32Array
  readonly #lengths: Uint8Array
  readonly #text: Uint8Array
  /** Where the last lookup ended. A lookup of a later timestamp in the same group of 16 continues there. */
  #last = { next: -1, start: 0, text: '' }

  constructor(count: number, index: Uint8Array, text: Uint8Array) {
    const starts = Math.ceil(count / RESTART) * 4
    this.#starts = int32sOf(index.subarray(0, starts))
    this.#lengths = index.subarray(starts)
    this.#text = text
  }

  at(index: number): string | null {
    const restart = Math.floor(index / RESTART)
    let { next, start, text } = this.#last
    if (next < restart * RESTART || next > index)
      [next, start, text] = [restart * RESTART, this.#starts[restart] as number, '']
    for (; next <= index; next += 1) {
      const length = this.#lengths[next * 2 + 1] as number
      const end = length === NO_CODE ? start : start + length
      text = text.slice(0, this.#lengths[next * 2]) + String.fromCharCode(...this.#text.subarray(start, end))
      start = end
    }
    this.#last = { next, start, text }
    return this.#lengths[index * 2 + 1] === NO_CODE ? null : text
  }
}

/** Encodings of a column. `UTF_16`: the column has a lone surrogate, which UTF-8 cannot represent. */
const UTF_8 = 0
const UTF_16 = 1

/** Code units per `String.fromCharCode` call, because JavaScript engines fail beyond some 100,000 arguments. */
const BLOCK = 8_192

export const bytesIn = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** Returns a section as 32-bit integers, without a copy. */
export const int32sOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Int32Array =>
  new Int32Array(buffer, byteOffset, byteLength >>> 2)

/**
 * Serializes texts as two sections. The first has a code of the encoding, then the end of each text in UTF-16
 * units. The second has the joined texts in this encoding. O(length).
 */
export function writeTexts(texts: readonly string[]): [Uint8Array, Uint8Array] {
  const ends = new Int32Array(texts.length + 1)
  let end = 0
  texts.forEach((text, index) => (ends[index + 1] = end += text.length))
  const all = texts.join('')
  ends[0] = all.isWellFormed() ? UTF_8 : UTF_16
  return [bytesIn(ends), ends[0] === UTF_8 ? new TextEncoder().encode(all) : utf16(all)]
}

function utf16(text: string): Uint8Array {
  const units = new Uint16Array(text.length)
  for (let index = 0; index < units.length; index += 1) units[index] = text.charCodeAt(index)
  return bytesIn(units)
}

/** A column of texts. Its bytes are decoded on first access. */
export class Texts {
  readonly #ends: Int32Array
  readonly #bytes: Uint8Array
  #all: string | null = null

  constructor(ends: Uint8Array, bytes: Uint8Array) {
    this.#ends = int32sOf(ends)
    this.#bytes = bytes
  }

  get count(): number {
    return this.#ends.length - 1
  }

  /** Returns the text at an index. O(length); O(column) the first time. */
  at(index: number): string {
    this.#all ??= this.#read()
    return this.#all.slice(index === 0 ? 0 : this.#ends[index], this.#ends[index + 1])
  }

  #read(): string {
    // A byte order mark at the start belongs to the text.
    if (this.#ends[0] === UTF_8) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.#bytes)
    const { buffer, byteOffset, byteLength } = this.#bytes
    const units = new Uint16Array(buffer, byteOffset, byteLength >>> 1)
    let text = ''
    for (let start = 0; start < units.length; start += BLOCK)
      text += String.fromCharCode(...units.subarray(start, start + BLOCK))
    return text
  }
}

export interface Key {
  readonly seq: number
  readonly text: string
}

export const KEY_SECTIONS = 4

/** Serializes keys as sections: positions, hashes, texts. Keys must be in order of position. O(length). */
export function writeKeys(keys: readonly Key[]): Uint8Array[] {
  const texts = keys.map((key) => key.text)
  const positions = new Int32Array(keys.length)
  const hashes = new Int32Array(keys.length)
  keys.forEach(({ seq, text }, index) => {
    positions[index] = seq
    hashes[index] = hashKey(text)
  })
  return [bytesIn(positions), bytesIn(hashes), ...writeTexts(texts)]
}

export interface KeyColumn {
  readonly positions: Int32Array
  readonly hashes: Int32Array
  readonly texts: Texts
}

export function readKeys([positions, hashes, ends, bytes]: readonly Uint8Array[]): KeyColumn {
  const none = new Uint8Array(0)
  return {
    positions: int32sOf(positions ?? none),
    hashes: int32sOf(hashes ?? none),
    texts: new Texts(ends ?? none, bytes ?? none),
  }
}

export function keyAt({ positions, texts }: KeyColumn, seq: number): string | null {
  const first = firstIndex(0, positions.length, (index) => (positions[index] as number) >= seq)
  return positions[first] === seq ? texts.at(first) : null
}

/** A hash index from keys to positions, built on first use. Equal keys are allowed. */
export class KeyIndex {
  readonly length: number
  readonly #columns: readonly KeyColumn[]
  #built: { readonly heads: Int32Array; readonly next: Int32Array; readonly firsts: Int32Array } | null = null

  constructor(columns: readonly KeyColumn[], length: number) {
    this.#columns = columns
    this.length = length
  }

  /** Returns a key's latest position >= `from` that `accept` confirms, or -1. The first call is O(keys). */
  find(key: string, accept: (seq: number) => boolean, from = 0): number {
    if (from >= this.length) return -1
    this.#built ??= this.#build()
    const { heads, next, firsts } = this.#built
    const hash = hashKey(key)
    let column = this.#columns.length - 1
    for (let index = heads[slotOf(hash, heads)] as number; index >= 0; index = next[index] as number) {
      // Indices in a chain descend, so the search never returns to a later column.
      while (index < (firsts[column] as number)) column -= 1
      const { positions, hashes, texts } = this.#columns[column] as KeyColumn
      const local = index - (firsts[column] as number)
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
    let index = 0
    for (const { hashes } of this.#columns) {
      for (let local = 0; local < hashes.length; local += 1, index += 1) {
        const slot = slotOf(hashes[local] as number, heads)
        next[index] = heads[slot] as number
        heads[slot] = index
      }
    }
    return { heads, next, firsts }
  }
}

const slotOf = (hash: number, heads: Int32Array): number => hash & (heads.length - 1)

function hashKey(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
  return hash ^ (hash >>> 13)
}
