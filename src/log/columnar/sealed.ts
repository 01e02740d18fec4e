/** Blocks of bytes with a checksum: one that was changed anywhere does not open, and the log is replayed instead. */

/** What a block is, as its first words say. A block of another kind or version does not open. */
export interface Label {
  readonly kind: number
  readonly version: number
}

/** The checksum of a block, which names its content. */
export type Seal = readonly [number, number]

/**
 * Written as a number and read as a number: on a machine of the other byte order it reads otherwise, and nothing opens.
 */
const MAGIC = 0x51_4c_4f_43

/** Words before the lengths of the sections: magic, kind, version, number of sections. */
const HEAD = 4
/** Words behind the sections: the seal. */
const TAIL = 2
const MAX_SECTIONS = 64

const wordsOf = (bytes: number): number => (bytes + 3) >>> 2

/** One block of all sections. O(bytes). */
export function seal({ kind, version }: Label, sections: readonly Uint8Array[]): Uint8Array {
  const lengths = sections.map((section) => section.byteLength)
  const total = lengths.reduce((sum, length) => sum + wordsOf(length), HEAD + lengths.length + TAIL)
  const words = new Int32Array(total)
  const bytes = new Uint8Array(words.buffer)
  words.set([MAGIC, kind, version, lengths.length, ...lengths])
  let at = HEAD + lengths.length
  for (const section of sections) {
    bytes.set(section, at * 4)
    at += wordsOf(section.byteLength)
  }
  words.set(checksum(words.subarray(0, at)), at)
  return bytes
}

/**
 * The sections of a block, each at a multiple of four bytes; null when it is damaged, of another kind or version, or no
 * block. The sections share the bytes, which must be `aligned`. Never throws. O(bytes).
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
  let at = HEAD + count
  for (const length of words.subarray(HEAD, HEAD + count)) {
    if (length < 0 || wordsOf(length) > end - at) return null
    sections.push(new Uint8Array(buffer, byteOffset + at * 4, length))
    at += wordsOf(length)
  }
  const [one, other] = checksum(words.subarray(0, end))
  return at === end && words[end] === one && words[end + 1] === other ? sections : null
}

/** The seal of a block that `seal` made or `unseal` opened. O(1). */
export function sealOf(bytes: Uint8Array): Seal {
  const [one = 0, other = 0] = new Int32Array(new Uint8Array(bytes.subarray(-8)).buffer)
  return [one, other]
}

/**
 * The same bytes where numbers can be read in place: as they are, or copied when they stand at an odd place, in memory
 * that is shared, or as a small part of a large buffer, which they would keep alive. O(bytes).
 */
export function aligned(bytes: Uint8Array): Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes
  const isFine = byteOffset % 4 === 0 && buffer instanceof ArrayBuffer && buffer.byteLength <= byteLength + 64
  return isFine ? bytes : new Uint8Array(bytes)
}

/**
 * Two words that depend on every bit before them. Four lanes side by side; each step can be undone, so that a change of
 * any one word always shows. For telling damage, not for security.
 */
function checksum(words: Int32Array): Seal {
  const whole = words.length & ~3
  let a = 0x2c1b3c6d ^ words.length
  let b = 0x297a2d39 ^ words.length
  let c = 0x5bd1e995
  let d = 0x1b873593
  for (let at = 0; at < whole; at += 4) {
    a = step(a, words[at] as number)
    b = step(b, words[at + 1] as number)
    c = step(c, words[at + 2] as number)
    d = step(d, words[at + 3] as number)
  }
  for (let at = whole; at < words.length; at += 1) a = step(a, words[at] as number)
  return [step(step(a, c), 1), step(step(b, d), 2)]
}

function step(lane: number, word: number): number {
  const mixed = Math.imul(lane ^ word, 0x9e3779b1)
  return (mixed << 15) | (mixed >>> 17)
}
