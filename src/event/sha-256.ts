/** Incremental SHA-256: the runtime's hash function if it has a synchronous one, else a function in JavaScript. */

import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

interface Hash {
  update(bytes: Uint8Array): unknown
  digest(encoding: 'hex'): string
}

/** `process` of Node, Bun and Deno. Its hash function is several times faster than one in JavaScript. */
interface NativeProcess {
  getBuiltinModule?(name: string): { createHash(algorithm: string): Hash } | undefined
}

const native = (globalThis as { readonly process?: NativeProcess }).process?.getBuiltinModule?.('crypto')

export const newHash = (): Hash => native?.createHash('sha256') ?? portableHash()

const PIECE = 2 ** 18

/**
 * Yields a text in UTF-8, in pieces of whole characters. `start`: number of bytes before a piece. O(length).
 * @example
 * [...utf8Pieces('hi')].map(({ start, bytes }) => [start, bytes.length]) // [[0, 2]]
 */
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

/** Returns the SHA-256 and the number of bytes of a text in UTF-8. O(length). */
export function digestOf(text: string): { readonly hash: string; readonly bytes: number } {
  const hash = newHash()
  let length = 0
  for (const { bytes } of utf8Pieces(text)) {
    hash.update(bytes)
    length += bytes.length
  }
  return { hash: hash.digest('hex'), bytes: length }
}

/** @internal exported for its test */
export function portableHash(): Hash {
  const hash = sha256.create()
  return { update: (bytes) => hash.update(bytes), digest: () => bytesToHex(hash.digest()) }
}
