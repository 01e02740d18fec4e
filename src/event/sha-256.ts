/** SHA-256 of bytes that arrive in pieces, wherever it runs: by the runtime where it has a synchronous hash. */

interface Hash {
  update(bytes: Uint8Array): unknown
  digest(encoding: 'hex'): string
}

/** What Node, Bun and Deno have, which is some times faster than a hash in JavaScript. */
interface NativeProcess {
  getBuiltinModule?(name: string): { createHash(algorithm: string): Hash } | undefined
}

const native = (globalThis as { readonly process?: NativeProcess }).process?.getBuiltinModule?.('crypto')

export const newHash = (): Hash => native?.createHash('sha256') ?? portableHash()

/** Characters that are encoded at once: at most three times as many bytes. */
const PIECE = 2 ** 18

/** UTF-8 pieces of whole characters, each with the preceding number of bytes. Holds one piece. O(length). */
export function* utf8Pieces(text: string): Generator<{ readonly start: number; readonly bytes: Uint8Array }> {
  const encoder = new TextEncoder()
  let start = 0
  for (let from = 0; from < text.length;) {
    let to = Math.min(from + PIECE, text.length)
    if ((text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to += 1
    const bytes = encoder.encode(text.slice(from, to))
    yield { start, bytes }
    start += bytes.length
    from = to
  }
}

/** The SHA-256 and the length of a text in UTF-8. O(length), one piece at a time. */
export function digestOf(text: string): { readonly hash: string; readonly bytes: number } {
  const hash = newHash()
  let length = 0
  for (const { bytes } of utf8Pieces(text)) {
    hash.update(bytes)
    length += bytes.length
  }
  return { hash: hash.digest('hex'), bytes: length }
}

function rootFraction(prime: bigint, power: bigint): number {
  const wanted = prime << (32n * power)
  let root = 0n
  for (let bit = 1n << 40n; bit > 0n; bit >>= 1n) if ((root + bit) ** power <= wanted) root += bit
  return Number(BigInt.asIntN(32, root))
}

const PRIMES: bigint[] = []
for (let n = 2n; PRIMES.length < 64; n += 1n) if (PRIMES.every((prime) => n % prime !== 0n)) PRIMES.push(n)

const K = Int32Array.from(PRIMES, (prime) => rootFraction(prime, 3n))
const INITIAL = Int32Array.from(PRIMES.slice(0, 8), (prime) => rootFraction(prime, 2n))

/** SHA-256 in JavaScript. @internal exported for its test */
export function portableHash(): Hash {
  const state = Int32Array.from(INITIAL)
  const words = new Int32Array(64)
  const block = new Uint8Array(64)
  const view = new DataView(block.buffer)
  let length = 0
  const update = (bytes: Uint8Array): void => {
    for (let from = 0; from < bytes.length;) {
      const filled = length % 64
      const part = bytes.subarray(from, from + 64 - filled)
      block.set(part, filled)
      length += part.length
      from += part.length
      if (length % 64 === 0) compress(state, words, view)
    }
  }
  return {
    update,
    digest() {
      const bits = BigInt(length) * 8n
      update(Uint8Array.of(0x80))
      update(new Uint8Array((120 - (length % 64)) % 64))
      const end = new Uint8Array(8)
      new DataView(end.buffer).setBigUint64(0, bits)
      update(end)
      return [...state].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
    },
  }
}

function compress(state: Int32Array, words: Int32Array, block: DataView): void {
  for (let i = 0; i < 64; i += 1)
    words[i] =
      i < 16
        ? block.getInt32(4 * i)
        : position(words, i - 16) +
          (turned(position(words, i - 15), 7) ^
            turned(position(words, i - 15), 18) ^
            (position(words, i - 15) >>> 3)) +
          position(words, i - 7) +
          (turned(position(words, i - 2), 17) ^
            turned(position(words, i - 2), 19) ^
            (position(words, i - 2) >>> 10))
  let [a, b, c, d, e, f, g, h] = state as unknown as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  for (let i = 0; i < 64; i += 1) {
    const sum = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
    const one = (h + sum + ((e & f) ^ (~e & g)) + position(K, i) + position(words, i)) | 0
    const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
    h = g
    g = f
    f = e
    e = (d + one) | 0
    d = c
    c = b
    b = a
    a = (one + two) | 0
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] as number) + word
}

const position = (list: Int32Array, index: number): number => list[index] as number

const turned = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))
