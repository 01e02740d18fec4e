/** Text that is safe on a terminal and of known width, wherever it came from. */

import { onOneLine, safe } from '../../inspector/index.ts'

export { counted, glimpse, hideSecrets, safe } from '../../inspector/index.ts'

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u
const ELLIPSIS = '…'

/** The text on one line: runs of white space become one space, and nothing drives the terminal. */
export function plain(text: string): string {
  return safe(onOneLine(text))
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
