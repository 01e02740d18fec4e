/** A key and a text go in, their HMAC-SHA-256 comes out at once: what the Web Crypto API gives a moment later only. */

// oxfmt-ignore
const ROUND_KEYS = Uint32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
)

// oxfmt-ignore
const START = Uint32Array.of(
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
)

const BLOCK = 64

/**
 * HMAC-SHA-256 (RFC 2104, FIPS 180-4) under a key of any length, as 64 hexadecimal digits of the text's UTF-8 bytes. O(length).
 *
 * @example
 * hmacSha256(new TextEncoder().encode('key'))('text').slice(0, 8) // '6afa9046'
 */
export function hmacSha256(key: Uint8Array): (text: string) => string {
  const block = new Uint8Array(BLOCK)
  block.set(key.length > BLOCK ? sha256(START, 0, key) : key)
  const inner = absorbed(block.map((byte) => byte ^ 0x36))
  const outer = absorbed(block.map((byte) => byte ^ 0x5c))
  return (text) => {
    const digest = sha256(outer, BLOCK, sha256(inner, BLOCK, new TextEncoder().encode(text)))
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
  }
}

/** The state after one whole block. */
function absorbed(block: Uint8Array): Uint32Array {
  const state = START.slice()
  compress(state, new DataView(block.buffer), 0, new Int32Array(BLOCK))
  return state
}

/** The digest of a message of which `before` bytes, whole blocks, are in the state already. */
function sha256(from: Uint32Array, before: number, message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / BLOCK) * BLOCK)
  padded.set(message)
  padded[message.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(padded.length - 8, BigInt(before + message.length) * 8n)
  const state = from.slice()
  const words = new Int32Array(BLOCK)
  for (let at = 0; at < padded.length; at += BLOCK) compress(state, view, at, words)
  const digest = new DataView(new ArrayBuffer(32))
  for (const [i, word] of state.entries()) digest.setUint32(i * 4, word)
  return new Uint8Array(digest.buffer)
}

const turn = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

function compress(state: Uint32Array, view: DataView, at: number, words: Int32Array): void {
  for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(at + i * 4)
  for (let i = 16; i < BLOCK; i += 1) {
    const a = words[i - 15] as number
    const b = words[i - 2] as number
    const low = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)
    const high = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10)
    words[i] = ((words[i - 16] as number) + low + (words[i - 7] as number) + high) | 0
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as Eight
  for (let i = 0; i < BLOCK; i += 1) {
    const choice = (e & f) ^ (~e & g)
    const most = (a & b) ^ (a & c) ^ (b & c)
    const first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + (ROUND_KEYS[i] as number)
    const one = (first + (words[i] as number)) | 0
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + most) | 0
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

type Eight = [number, number, number, number, number, number, number, number]
