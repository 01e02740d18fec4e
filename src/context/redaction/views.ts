/**
 * The other readings of a text: JSON escapes, percent signs and wrapped lines decoded, so that no encoding hides a
 * secret.
 */

/** How many decodings are undone one after the other. */
export const MAX_DECODINGS = 8

/** A text, and where in the text that it was decoded from each part of it stands. */
export interface Reading {
  readonly text: string
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
  /** What a text still holds after the last decoding when it is hidden deeper than anybody writes. */
  readonly tooDeep: RegExp | null
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
  tooDeep: /\\(?:u[0-9a-fA-F]{4}|["/bfnrt])/,
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
  tooDeep: /%(?!25)[0-7][\da-f]/i,
}

const LINE_BREAK = /(?<=[A-Za-z0-9+/_-]{32})[ \t]{0,8}\r?\n[ \t]{0,8}(?=[A-Za-z0-9+/=_-])/g

/** Base64 that was broken into lines. */
const WRAPPED: Decoding = {
  read: (text, tell) => {
    if (!text.includes('\n')) return
    for (const { 0: found, index } of text.matchAll(LINE_BREAK)) tell(index, found.length, '')
  },
  tooDeep: null,
}

const DECODINGS: readonly Decoding[] = [JSON_ESCAPES, PERCENT, WRAPPED]

/**
 * The text itself first, then all that it says by up to {@link MAX_DECODINGS} decodings, each once; null in the end
 * when it is encoded more often than that. O(length), for text that is encoded again and again times the number of ways
 * to decode it, at most some dozens.
 */
export function* viewsOf(text: string): Generator<Reading | null> {
  const seen = new Set([text])
  const views: { readonly view: Reading; readonly depth: number; readonly by: Decoding | null }[] = [
    { view: { text, sourceOf: (start, end) => [start, end] }, depth: 0, by: null },
  ]
  for (const { view, depth, by } of views) {
    yield view
    for (const decoding of DECODINGS) {
      // Lines that were joined are not joined with what follows them.
      if (decoding === WRAPPED && by === WRAPPED) continue
      const decoded = depth < MAX_DECODINGS ? decode(view, decoding) : null
      if (decoded !== null && !seen.has(decoded.text)) {
        seen.add(decoded.text)
        views.push({ view: decoded, depth: depth + 1, by: decoding })
      }
      if (depth === MAX_DECODINGS && decoding.tooDeep?.test(view.text) === true) return yield null
    }
  }
}

/** One JSON string's escapes undone. O(length). */
export function unescapeJson(text: string): string {
  if (!text.includes('\\')) return text
  return decode({ text, sourceOf: (start, end) => [start, end] }, JSON_ESCAPES)?.text ?? text
}

function decode(view: Reading, { read }: Decoding): Reading | null {
  const { text } = view
  // Of each place: where it stands in the decoded text and how long, and the same in the text before.
  const places: number[] = []
  let out = ''
  let last = 0
  read(text, (start, length, said) => {
    out += text.slice(last, start)
    places.push(out.length, said.length, start, length)
    out += said
    last = start + length
  })
  if (places.length === 0) return null
  return {
    text: out + text.slice(last),
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
