/** Blocks of bytes with a checksum. A damaged block does not open, and the log is replayed instead. */

/** Type of a block, stored in the block's first words. A block of another kind or version does not open. */
export interface Label {
  readonly kind: number
  readonly version: number
}

/** Checksum of a block, which identifies its content. */
export type Seal = readonly [number, number]

/** First word of a block. It is read as a number, so a block in another byte order does not open. */
const MAGIC = 0x51_4c_4f_43

const HEAD = 4
const TAIL = 2
const MAX_SECTIONS = 64

const wordCount = (bytes: number): number => (bytes + 3) >>> 2

/** Joins sections into one block. O(bytes). */
export function seal({ kind, version }: Label, sections: readonly Uint8Array[]): Uint8Array {
  const lengths = sections.map((section) => section.byteLength)
  const total = lengths.reduce((sum, length) => sum + wordCount(length), HEAD + lengths.length + TAIL)
  const words = new Int32Array(total)
  const bytes = new Uint8Array(words.buffer)
  words.set([MAGIC, kind, version, lengths.length, ...lengths])
  let position = HEAD + lengths.length
  for (const section of sections) {
    bytes.set(section, position * 4)
    position += wordCount(section.byteLength)
  }
  words.set(checksum(words.subarray(0, position)), position)
  return bytes
}

/**
 * Returns a block's sections, which begin at multiples of four bytes, without copying them; null if the block
 * is damaged, invalid, or of another kind or version. Does not throw for bytes from `aligned`. O(bytes).
 */
export function unseal({ kind, version }: Label, bytes: Uint8Array): Uint8Array[] | null {
  const { buffer, byteOffset, byteLength } = bytes
  if (byteLength % 4 !== 0 || byteLength < (HEAD + TAIL) * 4) return null
  const words = new Int32Array(buffer, byteOffset, byteLength / 4)
  const [magic, isKind, isVersion, count = 0] = words
  if (magic !== MAGIC || isKind !== kind || isVersion !== version) return null
  if (count < 0 || count > MAX_SECTIONS || HEAD + count + TAIL > words.length) return null
  const end = words.length - TAIL
  const sections: Uint8Array[] = []
  let position = HEAD + count
  for (const length of words.subarray(HEAD, HEAD + count)) {
    if (length < 0 || wordCount(length) > end - position) return null
    sections.push(new Uint8Array(buffer, byteOffset + position * 4, length))
    position += wordCount(length)
  }
  const [one, other] = checksum(words.subarray(0, end))
  return position === end && words[end] === one && words[end + 1] === other ? sections : null
}

/** Returns the seal of a block that `seal` made or `unseal` opened. O(1). */
export function sealOf(bytes: Uint8Array): Seal {
  const [one = 0, other = 0] = new Int32Array(new Uint8Array(bytes.subarray(-8)).buffer)
  return [one, other]
}

/**
 * Returns bytes from which numbers can be read in place. Copies unaligned bytes and shared memory. Also copies
 * a small part of a large buffer, so that the buffer can be freed. O(bytes).
 */
export function aligned(bytes: Uint8Array): Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes
  const isUsable =
    byteOffset % 4 === 0 && buffer instanceof ArrayBuffer && buffer.byteLength <= byteLength + 64
  return isUsable ? bytes : new Uint8Array(bytes)
}

/**
 * Returns a 64-bit checksum of all words, in four lanes. Its steps are invertible, so it detects every change
 * of a single word. It detects damage, not tampering.
 */
function checksum(words: Int32Array): Seal {
  const whole = words.length & ~3
  let a = 0x2c1b3c6d ^ words.length
  let b = 0x297a2d39 ^ words.length
  let c = 0x5bd1e995
  let d = 0x1b873593
  for (let index = 0; index < whole; index += 4) {
    a = step(a, words[index] as number)
    b = step(b, words[index + 1] as number)
    c = step(c, words[index + 2] as number)
    d = step(d, words[index + 3] as number)
  }
  for (let index = whole; index < words.length; index += 1) a = step(a, words[index] as number)
  return [step(step(a, c), 1), step(step(b, d), 2)]
}

function step(lane: number, word: number): number {
  const mixed = Math.imul(lane ^ word, 0x9e3779b1)
  return (mixed << 15) | (mixed >>> 17)
}
