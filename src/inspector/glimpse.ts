// Characters that move the cursor, change colours, hide or reorder text are never shown as they are.
const UNSAFE =
  /[\p{Cc}\p{Cs}\p{Co}\u00ad\u061c\u200b-\u200c\u200e-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu
// A single space does not match, because most white space is a single space.
const SPACE =
  /(?: [\t\n\v\f\r\u0085\u2028\u2029 ]|[\t\n\v\f\r\u0085\u2028\u2029])[\t\n\v\f\r\u0085\u2028\u2029 ]*/g
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const ELLIPSIS = '…'

// `maskSecrets` masks the field in JSON. Text for people may quote the field anywhere.
const SECRET = /(encrypted_content\\*["']?\s*[:=]\s*)(\\*["'])[^]*?(?:\2|$)/g

/** Replaces each quoted `encrypted_content` with null. O(length). */
export function hideSecrets(text: string): string {
  return text.includes('encrypted_content') ? text.replace(SECRET, '$1null') : text
}

function picture(char: string): string {
  const code = char.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\ufffd'
}

/**
 * Replaces every character that could control a terminal or hide text, including line ends, with a visible
 * character. O(length).
 */
export function safe(text: string): string {
  return PRINTABLE_ASCII.test(text) ? text : text.replace(UNSAFE, picture)
}

/** Collapses white space to single spaces, and trims. O(length). */
export const onOneLine = (text: string): string => text.replace(SPACE, ' ').trim()

/**
 * Returns the first 2,000 UTF-16 units of a text as one line that lacks `encrypted_content` and is safe to
 * print. O(1).
 * @example
 * glimpse('a\n\tb') // 'a b'
 * onOneLine(' a  b ') // 'a b'
 * safe('\u001b[1m') // '␛[1m'
 * hideSecrets('{"encrypted_content":"gAAA"}') // '{"encrypted_content":null}'
 */
export function glimpse(text: string): string {
  const start = onOneLine(hideSecrets(text.slice(0, 2000)))
  return safe(text.length > 2000 ? start + ELLIPSIS : start)
}
