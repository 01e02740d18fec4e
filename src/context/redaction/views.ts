/**
 * The other readings of a text: JSON escapes, percent signs, wrapped lines and base64 decoded, so that no encoding
 * hides a secret.
 */

import { readBase64 } from './base64.ts'

/** How many decodings are undone one after the other. */
export const MAX_DECODINGS = 8

/** How many readings a text may have: only one that was made to cost much has more. */
export const MAX_VIEWS = 256

/** A text, and where in the text that it was decoded from each part of it stands. */
export interface Reading {
  readonly text: string
  /** Whether any of it stood in base64. */
  readonly fromBase64: boolean
  /**
   * The range of the original that holds what stands from `start` to `end`, with every escape whole. O(log escapes).
   */
  readonly sourceOf: (start: number, end: number) => readonly [start: number, end: number]
}

/** Is given what the part of a text from `start` on, so many characters of it, stands for. */
type Tell = (start: number, length: number, said: string) => void

interface Decoding {
  /** Gives every part that stands for something else than it is. */
  readonly read: (text: string, tell: Tell) => void
  /** Whether a text, after the last decoding, is still hidden deeper than anybody writes. */
  readonly isTooDeep: (text: string) => boolean
}

const SHORT: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

const JSON_ESCAPES: Decoding = {
  // By hand, as there may be one in every line of what an agent writes, and patterns make an object of each.
  read: (text, tell) => {
    for (let at = text.indexOf('\\'); at >= 0;) {
      const letter = text[at + 1] ?? ''
      const code = letter === 'u' ? text.slice(at + 2, at + 6) : ''
      const said = /^[0-9a-fA-F]{4}$/.test(code)
        ? String.fromCharCode(Number.parseInt(code, 16))
        : SHORT[letter]
      if (said !== undefined) tell(at, 2 + code.length, said)
      at = text.indexOf('\\', at + (said === undefined ? 1 : 2 + code.length))
    }
  },
  isTooDeep: (text) => /\\(?:u[0-9a-fA-F]{4}|["/bfnrt])/.test(text),
}

/** The UTF-8 bytes of one character. */
const BYTES =
  /%(?:[0-7][\da-f]|[cd][\da-f](?:%[89ab][\da-f])|e[\da-f](?:%[89ab][\da-f]){2}|f[0-4](?:%[89ab][\da-f]){3})/gi

const PERCENT: Decoding = {
  read: (text, tell) => {
    if (!text.includes('%')) return
    for (const { 0: found, index } of text.matchAll(BYTES)) {
      const [lead = 0, ...rest] = found
        .slice(1)
        .split('%')
        .map((byte) => Number.parseInt(byte, 16))
      const point = rest.reduce((bits, byte) => (bits << 6) | (byte & 0x3f), lead & (0x7f >> rest.length))
      if (point <= 0x10ffff) tell(index, found.length, String.fromCodePoint(point))
    }
  },
  isTooDeep: (text) => /%(?!25)[0-7][\da-f]/i.test(text),
}

const LINE_BREAK = /(?<=[A-Za-z0-9+/_-]{32})[ \t]{0,8}\r?\n[ \t]{0,8}(?=[A-Za-z0-9+/=_-])/g

/** Base64 that was broken into lines. */
const WRAPPED: Decoding = {
  read: (text, tell) => {
    if (!text.includes('\n')) return
    for (const { 0: found, index } of text.matchAll(LINE_BREAK)) tell(index, found.length, '')
  },
  isTooDeep: () => false,
}

/** Much that is no secret is base64, so that a text is not masked for what may stand in it deeper. */
const BASE64: Decoding = { read: readBase64, isTooDeep: () => false }

const DECODINGS: readonly Decoding[] = [JSON_ESCAPES, PERCENT, WRAPPED]
const WITH_BASE64: readonly Decoding[] = [...DECODINGS, BASE64]

/** Readings to look at, each text once. */
interface Queue {
  readonly views: { readonly view: Reading; readonly depth: number; readonly by: Decoding | null }[]
  readonly seen: Set<string>
}

/**
 * The text itself first, then all that it says by up to {@link MAX_DECODINGS} decodings, each once, what stood in
 * base64 last if it is asked for; null in the end when it is escaped more often than that, or encoded in more than
 * {@link MAX_VIEWS} ways. O(length), for text that is encoded again and again times the number of ways to decode it, at
 * most some dozens but for texts that are made to have more.
 */
export function* viewsOf(text: string, withBase64 = false): Generator<Reading | null> {
  const decodings = withBase64 ? WITH_BASE64 : DECODINGS
  const view = unread(text)
  const open: Queue = { views: [{ view, depth: 0, by: null }], seen: new Set([text]) }
  const inBase64: Queue = { views: [], seen: new Set() }
  for (const queue of [open, inBase64]) {
    for (const { view, depth, by } of queue.views) {
      yield view
      for (const decoding of decodings) {
        // Lines that were joined are not joined with what follows them.
        if (decoding === WRAPPED && by === WRAPPED) continue
        if (depth === MAX_DECODINGS) {
          if (!view.fromBase64 && decoding.isTooDeep(view.text)) return yield null
          continue
        }
        const decoded = decode(view, decoding)
        const { views, seen } = decoding === BASE64 ? inBase64 : queue
        if (decoded === null || seen.has(decoded.text)) continue
        if (open.views.length + inBase64.views.length === MAX_VIEWS) return yield null
        seen.add(decoded.text)
        views.push({ view: decoded, depth: depth + 1, by: decoding })
      }
    }
  }
}

/** The text as it is. */
const unread = (text: string): Reading => ({
  text,
  fromBase64: false,
  sourceOf: (start, end) => [start, end],
})

/** One JSON string's escapes undone. O(length). */
export function unescapeJson(text: string): string {
  if (!text.includes('\\')) return text
  return decode(unread(text), JSON_ESCAPES)?.text ?? text
}

function decode(view: Reading, decoding: Decoding): Reading | null {
  const { text } = view
  // Of each place: where it stands in the decoded text and how long, and the same in the text before.
  const places: number[] = []
  let out = ''
  let last = 0
  decoding.read(text, (start, length, said) => {
    out += text.slice(last, start)
    places.push(out.length, said.length, start, length)
    out += said
    last = start + length
  })
  if (places.length === 0) return null
  return {
    text: out + text.slice(last),
    fromBase64: view.fromBase64 || decoding === BASE64,
    sourceOf: (start, end) => {
      const [from] = sourceAt(places, start)
      const [, to] = sourceAt(places, end - 1)
      return view.sourceOf(from, to)
    },
  }
}

/** The range that the character at a position was decoded from. */
function sourceAt(places: readonly number[], at: number): readonly [number, number] {
  let low = 0
  for (let high = places.length / 4; low < high;) {
    const middle = (low + high) >>> 1
    if ((places[middle * 4] as number) <= at) low = middle + 1
    else high = middle
  }
  if (low === 0) return [at, at + 1]
  const [start, length, source, sourceLength] = places.slice(low * 4 - 4, low * 4) as [
    number,
    number,
    number,
    number,
  ]
  if (at < start + length) return [source, source + sourceLength]
  const from = source + sourceLength + (at - start - length)
  return [from, from + 1]
}
