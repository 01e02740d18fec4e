import { styleText } from 'node:util'
import { hideSecrets, onOneLine, safe, type Tone } from '../../inspector/index.ts'

export { counted, glimpse, hideSecrets, safe, type Tone } from '../../inspector/index.ts'

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u
const ELLIPSIS = '…'

export const plain = (text: string): string => safe(onOneLine(text))

const columnsOf = (char: string): number => {
  if (char <= '~') return 1
  return ZERO_WIDTH.test(char) ? 0 : WIDE.test(char) ? 2 : 1
}

export function width(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length
  let columns = 0
  for (const char of text) columns += columnsOf(char)
  return columns
}

export const widest = (texts: readonly string[]): number =>
  texts.reduce((max, text) => Math.max(max, width(text)), 0)

/** Cuts a text to a width, with … for the missing part. */
export function fit(text: string, columns: number): string {
  if (columns <= 0) return ''
  // The second condition stops letters with many combining marks, which have no width.
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

export const pad = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - width(text)))

/** Wraps words into lines. The first begins with `lead`, which is `indent` wide; the others, with `indent` spaces. */
export function* wrapWords(
  words: readonly string[],
  columns: number,
  lead = '',
  indent = 0,
): IterableIterator<string> {
  let line = ''
  let before = lead
  for (const word of words) {
    if (line !== '' && indent + line.length + 1 + word.length > columns) {
      yield before + line
      before = ' '.repeat(indent)
      line = ''
    }
    line += line === '' ? word : ` ${word}`
  }
  yield (before + line).trimEnd()
}

/** Quotes and shortens a text of unknown origin. The text is made safe for a terminal when it is printed. */
export function quoted(text: string): string {
  const shown = JSON.stringify(text)
  return shown.length > 80 ? `${shown.slice(0, 76)}…"` : shown
}

// Characters that a terminal or a line reader may act upon, and that JSON.stringify does not escape.
const ACTIVE = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** Returns the JSON of an already masked value. Also masks each `encrypted_content` inside its strings. */
export function toJson(value: unknown, indent = 0): string {
  const json = JSON.stringify(value, null, indent) ?? 'null'
  return escapeActive(hideSecrets(json) === json ? json : JSON.stringify(value, hide, indent))
}

/** Escapes characters of JSON that may control a terminal. They occur only inside strings. */
export const escapeActive = (json: string): string =>
  json.replace(ACTIVE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

const hide = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? hideSecrets(value) : value

const POSITION = /\\[^]|"|(the event|already exists|is later in the log,) at position (\d{1,15})/g

/** Replaces positions of events in a Colloquy error by line numbers, except in quotes. O(length). */
export function inLines(text: string, lines: readonly number[]): string {
  let isQuoted = false
  return text.replaceAll(POSITION, (all, event: string | undefined, seq: string) => {
    if (all === '"') isQuoted = !isQuoted
    const line = event === undefined || isQuoted ? undefined : lines[Number(seq)]
    return line === undefined ? all : `${event} on line ${line}`
  })
}

export type Paint = (tone: Tone, text: string) => string

const LOOKS = {
  user: 'green',
  agent: 'cyan',
  system: 'magenta',
  tool: 'blue',
  good: 'green',
  bad: 'red',
  warn: 'yellow',
  dim: 'dim',
  strong: 'bold',
  text: 'reset',
} as const satisfies Record<Tone, string>

const unpainted: Paint = (_tone, text) => text

const painted: Paint = (tone, text) =>
  tone === 'text' || text === '' ? text : styleText(LOOKS[tone], text, { validateStream: false })

export function paintFor(isTTY: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  if ((env['NO_COLOR'] ?? '') !== '') return unpainted
  const force = env['FORCE_COLOR']
  if (force !== undefined) return force === '0' || force === 'false' ? unpainted : painted
  return isTTY && env['TERM'] !== 'dumb' ? painted : unpainted
}
