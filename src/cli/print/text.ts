/** Text that is safe on a terminal and of known width, wherever it came from. */

// Characters that move the cursor, change colours, hide or reorder what follows: none of them may reach a terminal.
const UNSAFE =
  /[\p{Cc}\p{Cs}\p{Co}\u00ad\u061c\u200b-\u200c\u200e-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu
const SPACE = /[\t\n\v\f\r\u0085\u2028\u2029 ]+/g
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u
const ELLIPSIS = '…'

// The core masks the field wherever it is one, and in texts that are JSON; what a person sees may quote it anywhere.
const SECRET = /(encrypted_content\\*["']?\s*[:=]\s*)(\\*["'])(?:(?!\2)[^])*(?:\2|$)/g

/** The text with null in place of every encrypted content that it quotes. */
export function hideSecrets(text: string): string {
  return text.includes('encrypted_content') ? text.replace(SECRET, '$1null') : text
}

/** A control character as the picture that stands for it. */
function picture(char: string): string {
  const code = char.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\ufffd'
}

/**
 * The text with every character that could drive a terminal replaced by a picture of it; line ends are controls too.
 */
export function safe(text: string): string {
  return PRINTABLE_ASCII.test(text) ? text : text.replace(UNSAFE, picture)
}

/** The text on one line: runs of white space become one space, and nothing drives the terminal. */
export function plain(text: string): string {
  return safe(text.replace(SPACE, ' ').trim())
}

/** The beginning of a text on one line, without reading more of it than could be shown. */
export function glimpse(text: string): string {
  const start = hideSecrets(text.slice(0, 2000)).replace(SPACE, ' ').trim()
  return safe(text.length > 2000 ? start + ELLIPSIS : start)
}

const columnsOf = (char: string): number => {
  if (char <= '~') return 1
  return ZERO_WIDTH.test(char) ? 0 : WIDE.test(char) ? 2 : 1
}

/** How many columns a text takes on a terminal. */
export function width(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length
  let columns = 0
  for (const char of text) columns += columnsOf(char)
  return columns
}

/** The text cut to so many columns, with … where something is missing. */
export function fit(text: string, columns: number): string {
  if (columns <= 0) return ''
  // The second condition stops letters under a tower of marks that take no column.
  if (text.length <= columns * 4 && width(text) <= columns) return text
  let used = 0
  let end = 0
  for (const char of text) {
    used += columnsOf(char)
    if (used >= columns || end >= columns * 4) break
    end += char.length
  }
  return text.slice(0, end).trimEnd() + ELLIPSIS
}

/** The text filled up with spaces to so many columns. */
export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)))
}

/** The text filled up in front. */
export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - width(text))) + text
}

/** A text of unknown origin in quotes, short enough for a message; what prints the message makes it safe. */
export function quoted(text: string): string {
  const shown = JSON.stringify(text)
  return shown.length > 80 ? `${shown.slice(0, 76)}…"` : shown
}

/** A number with its noun: `1 event`, `2,048 events`. */
export function counted(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
}
