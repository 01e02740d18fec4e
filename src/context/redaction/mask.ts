/** Makes masks. Equal secrets have equal masks. A mask does not show the secret, nor its length. */

import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** A mask. `#2`, `#3` and so on distinguish masked property names of one object. */
const SHAPE = String.raw`\[redacted(?::[0-9a-f]{16})?(?:#[1-9]\d{0,8})?\]`

const ANY_MASK = new RegExp(SHAPE, 'g')
const WHOLE = new RegExp(String.raw`^(?:${SHAPE}|\{"redacted":"${SHAPE}"\})$`)
const OPENING = '[redacted'

export type Masker = (secret: string) => string

/**
 * Returns a function that masks a secret as `[redacted]` or, with a key, as `[redacted:0123456789abcdef]`.
 * The digits are 64 bits of the secret's HMAC-SHA-256. Without the key, nobody can check a guess of the
 * secret. Different keys produce different masks. Precomputes masks of `secrets`. O(length).
 */
export function masker(key: Uint8Array | null, secrets: readonly string[] = []): Masker {
  if (key === null) return () => `${OPENING}]`
  // Synchronous, unlike the Web Crypto API; the key is hashed once for all texts.
  const keyed = hmac.create(sha256, key)
  const hash = (text: string): string => bytesToHex(keyed.clone().update(utf8ToBytes(text)).digest())
  const maskOf: Masker = (secret) => `${OPENING}:${hash(secret).slice(0, 16)}]`
  const known = new Map(secrets.map((secret) => [secret, maskOf(secret)]))
  return (secret) => known.get(secret) ?? maskOf(secret)
}

/** Whether a text is one mask, or the JSON text of {@link maskObject}. */
export const isMask = (text: string): boolean => text.length < 64 && WHOLE.test(text)

export function masksIn(text: string): (readonly [start: number, end: number])[] {
  if (!text.includes(OPENING)) return []
  return Array.from(text.matchAll(ANY_MASK), ({ index, 0: mask }) => [index, index + mask.length] as const)
}

export const unmasked = (text: string): string =>
  text.includes(OPENING) ? text.replace(ANY_MASK, '0') : text

export const maskObject = (mask: string): string => JSON.stringify({ redacted: mask })

/** Whether a text, such as `redacted`, is in the fixed text of masks. A mask would not hide a secret with this text. */
export const isPartOfMasks = (text: string): boolean =>
  `${OPENING}]`.includes(text) || `${OPENING}:`.includes(text)

/**
 * Returns a function that makes the masked property names of one object unique. It adds a number to a masked
 * name that equals another masked name or an original name of the object.
 */
export function keyNumbers(wasKey: (key: string) => boolean): (masked: string) => string {
  const used = new Set<string>()
  const nextNumbers = new Map<string, number>()
  const isTaken = (key: string): boolean => used.has(key) || wasKey(key)
  return (masked) => {
    let key = masked
    if (isTaken(key)) {
      // Names that differ only in the number of their last mask share a counter.
      const [start, end] = masksIn(masked).at(-1) ?? [masked.length, masked.length]
      const stem = masked.slice(0, start) + masked.slice(start, end).replace(/(?:#\d+)?\]$/, '')
      const rest = masked.slice(end)
      const counter = `${stem}#]${rest}`
      let n = nextNumbers.get(counter) ?? 2
      for (; isTaken(key); n += 1) key = `${stem}#${n}]${rest}`
      nextNumbers.set(counter, n)
    }
    used.add(key)
    return key
  }
}
