export function quote(text: string | null): string {
  const shown = JSON.stringify(text ?? '')
  return shown.length > 80 ? `${shown.slice(0, 76)}…"` : shown
}

/**
 * White space in JavaScript or Python, for a character class. Python adds U+001C to U+001F and U+0085, and
 * most servers that reject blank text run Python.
 */
const SPACES = '\\s\\u0085\\u001c-\\u001f'

const INK = new RegExp(`[^${SPACES}]`, 'u')

export const isWhitespace = (text: string): boolean => !INK.test(text)

export const hasText = (text: unknown): text is string => typeof text === 'string' && !isWhitespace(text)

/** Returns a fast 64-bit hash as 16 hexadecimal digits. Use it for names, not for security. */
export const hashText = (text: string): string => digitsOf(hashLanes(text))

/** A 64-bit hash as two numbers of 32 bits, which can be combined faster than hexadecimal digits. */
export interface Lanes {
  readonly high: number
  readonly low: number
}

export function hashLanes(text: string): Lanes {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    high = Math.imul(high ^ unit, 0x9e3779b1)
    low = Math.imul(low ^ unit, 0x5f356495)
  }
  const mixedHigh = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
  const mixedLow =
    Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(mixedHigh ^ (mixedHigh >>> 13), 0xc2b2ae35)
  return { high: mixedHigh, low: mixedLow }
}

export const digitsOf = ({ high, low }: Lanes): string =>
  (high >>> 0).toString(16).padStart(8, '0') + (low >>> 0).toString(16).padStart(8, '0')

/**
 * Returns the reference that replaces a long string in a stored body. A message may contain such a text by
 * chance, so only the texts in `blobs` of the stored event are references. O(1).
 */
export const blobText = (hash: string): string => `colloquy:blob/${hash}`

export const BLOB_TEXT = /colloquy:blob\/([0-9a-f]{64})/g

/** Maximum length of a string in a stored body, in UTF-16 units. A longer string is stored as a blob. */
export const LARGE_STRING = 65_536
