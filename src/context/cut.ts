/** Cuts texts to a length in UTF-16 units: a text goes in, as much of it as fits comes out, no character cut in two. */

const DOTS = '...'

/** The beginning of a text; where something is left out, three dots say so within the length. O(max). */
export function cutEnd(text: string, max: number): string {
  if (text.length <= max) return text
  if (max <= DOTS.length) return DOTS.slice(0, Math.max(0, max))
  return head(text, max - DOTS.length) + DOTS
}

/** The first units of a text, one fewer where the last would be half a character. */
export function head(text: string, max: number): string {
  return text.slice(0, splits(text, max) ? max - 1 : Math.max(0, max))
}

/** The last units of a text, one fewer where the first would be half a character. */
export function tail(text: string, max: number): string {
  const from = Math.max(0, text.length - Math.max(0, max))
  return text.slice(splits(text, from) ? from + 1 : from)
}

/** Whether a place in a text lies inside a surrogate pair. */
function splits(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false
  return isIn(text.charCodeAt(at - 1), 0xd800, 0xdbff) && isIn(text.charCodeAt(at), 0xdc00, 0xdfff)
}

const isIn = (code: number, from: number, to: number): boolean => code >= from && code <= to
