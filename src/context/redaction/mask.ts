/** What stands for a secret: the same for the same secret, and nothing of it, not even its length. */

import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** A mask; `#2` and on tell keys of one object apart that would be the same otherwise. */
const SHAPE = String.raw`\[redacted(?::[0-9a-f]{16})?(?:#[1-9]\d{0,8})?\]`

const ANY = new RegExp(SHAPE, 'g')
const WHOLE = new RegExp(String.raw`^(?:${SHAPE}|\{"redacted":"${SHAPE}"\})$`)

/** What every mask begins with. */
const OPENING = '[redacted'

/** Gives the mask of a secret. */
export type Masker = (secret: string) => string

/**
 * Masks as `[redacted]`, and with a key as `[redacted:0123456789abcdef]`, 64 bits of the secret's HMAC-SHA-256: without
 * the key guesses cannot be tried, with another key the masks are others. The masks of `secrets` are made beforehand.
 * O(length).
 *
 * @example
 * masker(null)('hunter2') // '[redacted]'
 */
export function masker(key: Uint8Array | null, secrets: readonly string[] = []): Masker {
  if (key === null) return () => `${OPENING}]`
  // At once, where the Web Crypto API gives its result later only; the key is taken in once for all texts.
  const keyed = hmac.create(sha256, key)
  const hash = (text: string): string => bytesToHex(keyed.clone().update(utf8ToBytes(text)).digest())
  const maskOf: Masker = (secret) => `${OPENING}:${hash(secret).slice(0, 16)}]`
  // A text may hold the same secret in each line; others than these are not kept.
  const known = new Map(secrets.map((secret) => [secret, maskOf(secret)]))
  return (secret) => known.get(secret) ?? maskOf(secret)
}

/** Whether a text is a mask and nothing else, or the JSON text that stands for a whole one. O(1). */
export const isMask = (text: string): boolean => text.length < 64 && WHOLE.test(text)

/** Where masks stand in a text. O(length). */
export function masksIn(text: string): (readonly [start: number, end: number])[] {
  if (!text.includes(OPENING)) return []
  return Array.from(text.matchAll(ANY), (match) => [match.index, match.index + match[0].length] as const)
}

/** The text with a digit in place of each mask. */
export const unmasked = (text: string): string => (text.includes(OPENING) ? text.replace(ANY, '0') : text)

/** The mask as the JSON text of an object. */
export const maskObject = (mask: string): string => JSON.stringify({ redacted: mask })

/** The n-th key that would be this one, told apart by its last mask. */
function numberedMask(key: string, n: number): string {
  const [start, end] = masksIn(key).at(-1) ?? [key.length, key.length]
  const mask = key.slice(start, end).replace(/(?:#\d+)?\]$/, '')
  return `${key.slice(0, start)}${mask}#${n}]${key.slice(end)}`
}

/**
 * Tells the masked keys of one object apart: each as it is where no key was so before and none has become so, or with a
 * number. O(length of the key), on average over all keys of the object.
 * @param wasKey whether the object had such a key before
 */
export function keyNumbers(wasKey: (key: string) => boolean): (masked: string) => string {
  const given = new Set<string>()
  // Of keys that differ in nothing but their last mask's number: the next one to try, as all before it are taken.
  const next = new Map<string, number>()
  const isTaken = (key: string): boolean => given.has(key) || wasKey(key)
  return (masked) => {
    let own = masked
    if (isTaken(own)) {
      const stem = numberedMask(masked, 0)
      let n = next.get(stem) ?? 2
      for (; isTaken(own); n += 1) own = numberedMask(masked, n)
      next.set(stem, n)
    }
    given.add(own)
    return own
  }
}

/** Whether a text is part of every mask, so that it could never be taken out. */
export const isPartOfMasks = (text: string): boolean =>
  `${OPENING}]`.includes(text) || `${OPENING}:`.includes(text)
