/** What providers ask of a text: that it says something, ends a request in no white space, and has bytes. */

import { SPACES } from '../event/text.ts'

export { isWhitespace } from '../event/text.ts'

const SPACE = new RegExp(`[${SPACES}]`, 'u')

/** The text without the white space at its end. O(length); a regular expression would be quadratic. */
export function trimTrailing(text: string): string {
  let end = text.length
  while (end > 0 && SPACE.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

/**
 * The text with U+FFFD for each lone surrogate: such text has no bytes, and providers refuse the whole request.
 * O(length).
 */
export function wellFormed(text: string): string {
  return text.toWellFormed()
}

/** Whether a text can be sent byte for byte. O(length). */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed()
}

/** The text with its middle taken out: what `limit` allows of head and tail, and between them a notice that says so. */
export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text
  if (limit <= CLIPPED.length) return CLIPPED.slice(0, Math.max(0, limit))
  const left = limit - CLIPPED.length
  const head = Math.ceil(left / 2)
  return text.slice(0, head) + CLIPPED + text.slice(text.length - (left - head))
}

const CLIPPED =
  '\n<response clipped> The middle of this result was left out: it is longer than the limit set for results.\n'
