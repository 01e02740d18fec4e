import { attempt, firstIndex } from '../../event/json.ts'
import { splits } from '../text.ts'
import { masksIn, type Masker } from './mask.ts'

/** How sure a finder is that a hit is a secret. Of overlapping hits, the surest determines the mask. */
export type Rank = 'literal' | 'pattern' | 'field'

export interface Hit {
  readonly start: number
  readonly end: number
  readonly secret: string
  readonly rank: Rank
}

export type ReportHit = (start: number, end: number, secret: string, rank: Rank) => void

/** Reports every hit in a text. O(length). */
export type Finder = (text: string, report: ReportHit) => void

/**
 * Returns ascending, disjoint ranges of secrets outside of masks. Also finds secrets that are encoded once.
 * O(length).
 */
export function findSecrets(text: string, finders: readonly Finder[]): Hit[] {
  const hits: Hit[] = []
  if (finders.length === 0) return hits
  for (const reading of readingsOf(text)) {
    for (const find of finders) {
      find(reading.text, (start, end, secret, rank) => {
        const [from] = reading.sourceOf(start)
        const [, to] = reading.sourceOf(end - 1)
        hits.push({ start: from, end: to, secret, rank })
      })
    }
  }
  return hits.length === 0 ? hits : mergeHits(hits, masksIn(text), text)
}

export function maskHits(text: string, hits: readonly Hit[], mask: Masker): string {
  // A text may contain the same secret in each line, and a keyed hash costs as much as a thousand look-ups.
  const masks = new Map<string, string>()
  let out = ''
  let last = 0
  for (const { start, end, secret } of hits) {
    let masked = masks.get(secret)
    if (masked === undefined) masks.set(secret, (masked = mask(secret)))
    out += text.slice(last, start) + masked
    last = end
  }
  return out + text.slice(last)
}

const RANKS: readonly Rank[] = ['literal', 'pattern', 'field']

const isSurer = (a: Hit, b: Hit): boolean =>
  a.rank === b.rank ? a.end - a.start > b.end - b.start : RANKS.indexOf(a.rank) < RANKS.indexOf(b.rank)

/**
 * Joins overlapping hits, because separate masks would leave part of a secret readable. The surest hit
 * determines the mask; of equally sure hits, the longest. `masks` are the ranges of masks that are already in
 * the text. A hit inside a mask is dropped. A hit that overlaps masks is widened to include these masks.
 */
function mergeHits(hits: readonly Hit[], masks: readonly (readonly [number, number])[], text: string): Hit[] {
  const merged: { start: number; end: number; surest: Hit }[] = []
  let firstMask = 0
  for (const hit of hits.toSorted((a, b) => a.start - b.start)) {
    while ((masks[firstMask]?.[1] ?? Infinity) <= hit.start) firstMask += 1
    // A hit must not split a surrogate pair.
    let start = splits(text, hit.start) ? hit.start - 1 : hit.start
    let end = splits(text, hit.end) ? hit.end + 1 : hit.end
    const mask = masks[firstMask]
    if (mask !== undefined && mask[0] <= start && end <= mask[1]) continue
    for (let i = firstMask; (masks[i]?.[0] ?? Infinity) < end; i += 1) {
      const [from, to] = masks[i] as readonly [number, number]
      start = Math.min(start, from)
      end = Math.max(end, to)
    }
    const last = merged.at(-1)
    if (last === undefined || start >= last.end) merged.push({ start, end, surest: hit })
    else {
      last.end = Math.max(last.end, end)
      if (isSurer(hit, last.surest)) last.surest = hit
    }
  }
  return merged.map(({ start, end, surest }) => ({ ...surest, start, end }))
}

/** Minimum length of a literal secret. A shorter secret would match ordinary text, and is easy to guess. */
export const MIN_SECRET = 8

const BASE64_CHARACTER = /[A-Za-z0-9+/_-]/
const BASE64_REST = /[A-Za-z0-9+/_-]*={0,2}/y

/**
 * Returns a finder of the secrets, or null without secrets. It finds each secret unchanged, with other line
 * endings, with `+` for spaces, and in base64. A hit in base64 is the whole encoded text.
 */
export function literalFinder(secrets: readonly string[]): Finder | null {
  const forms = new Map<string, { readonly secret: string; readonly isBase64: boolean }>()
  for (const secret of secrets)
    for (const form of base64Forms(secret)) forms.set(form, { secret, isBase64: true })
  for (const secret of secrets)
    for (const lineEnd of ['\n', '\r\n'])
      forms.set(secret.replaceAll(/\r?\n/g, lineEnd), { secret, isBase64: false })
  for (const secret of secrets) forms.set(secret.replaceAll(' ', '+'), { secret, isBase64: false })
  for (const secret of secrets) forms.set(secret, { secret, isBase64: false })
  if (forms.size === 0) return null
  // The longest form is first: a shorter form at the same index is a part of it.
  const longestFirst = [...forms.keys()].toSorted((a, b) => b.length - a.length)
  const pattern = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g')

  return (text, report) => {
    pattern.lastIndex = 0
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const { index: start, 0: form } = match
      const { secret, isBase64 } = forms.get(form) ?? { secret: form, isBase64: false }
      if (isBase64) {
        const [from, to] = base64Run(text, start, start + form.length)
        report(from, to, secret, 'literal')
        // Resuming inside a long base64 text would read the whole text again for each secret in it.
        pattern.lastIndex = to
      } else {
        report(start, start + form.length, secret, 'literal')
        pattern.lastIndex = start + 1
      }
    }
  }
}

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

function base64Run(text: string, from: number, to: number): [start: number, end: number] {
  let start = from
  while (start > 0 && BASE64_CHARACTER.test(text.charAt(start - 1))) start -= 1
  BASE64_REST.lastIndex = to
  return [start, to + (BASE64_REST.exec(text)?.[0].length ?? 0)]
}

/** Returns, for each alignment, the base64 digits that depend only on the secret's bytes. */
function base64Forms(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret)
  return [0, 1, 2].flatMap((offset) => {
    const encoded = btoa(
      '\0'.repeat(offset) + Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''),
    )
    const form = encoded.slice(Math.ceil((offset * 4) / 3), Math.floor(((offset + bytes.length) * 4) / 3))
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

/** A decoded text. `sourceOf` returns the range of the original from which a character was decoded. */
interface Reading {
  readonly text: string
  readonly sourceOf: (index: number) => readonly [start: number, end: number]
}

/** An encoding: `pattern` matches encoded parts, and `decode` returns null if a match is not encoded. */
interface Encoding {
  readonly pattern: RegExp
  readonly decode: (match: string) => string | null
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

const JSON_ESCAPES: Encoding = {
  pattern: /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/g,
  decode: (escape) =>
    escape.length > 2
      ? String.fromCharCode(Number.parseInt(escape.slice(2), 16))
      : (SHORT_ESCAPES[escape.charAt(1)] ?? escape.charAt(1)),
}

const ENCODINGS: readonly Encoding[] = [
  JSON_ESCAPES,
  {
    // The UTF-8 bytes of one character.
    pattern:
      /%(?:[0-7][\da-f]|[cd][\da-f](?:%[89ab][\da-f])|e[\da-f](?:%[89ab][\da-f]){2}|f[0-4](?:%[89ab][\da-f]){3})/gi,
    decode: (bytes) => attempt(() => decodeURIComponent(bytes), null),
  },
  {
    // Base64 broken into lines.
    pattern: /(?<=[A-Za-z0-9+/_-]{32})[ \t]{0,8}\r?\n[ \t]{0,8}(?=[A-Za-z0-9+/=_-])/g,
    decode: () => '',
  },
]

function readingsOf(text: string): readonly Reading[] {
  const plain: Reading = { text, sourceOf: (index) => [index, index + 1] }
  return [plain, ...ENCODINGS.map((encoding) => decode(text, encoding)).filter((reading) => reading !== null)]
}

export const unescapeJson = (text: string): string => decode(text, JSON_ESCAPES)?.text ?? text

function decode(text: string, { pattern, decode: decodePart }: Encoding): Reading | null {
  const parts: (readonly [start: number, end: number, sourceStart: number, sourceEnd: number])[] = []
  let out = ''
  let last = 0
  for (const { 0: encoded, index } of text.matchAll(pattern)) {
    const decoded = decodePart(encoded)
    if (decoded === null) continue
    out += text.slice(last, index)
    last = index + encoded.length
    parts.push([out.length, out.length + decoded.length, index, last])
    out += decoded
  }
  if (parts.length === 0) return null
  return { text: out + text.slice(last), sourceOf: (index) => sourceRange(parts, index) }
}

function sourceRange(
  parts: readonly (readonly [start: number, end: number, sourceStart: number, sourceEnd: number])[],
  index: number,
): readonly [number, number] {
  const next = firstIndex(0, parts.length, (nth) => (parts[nth]?.[0] ?? Infinity) > index)
  const [, end, sourceStart, sourceEnd] = parts[next - 1] ?? [0, 0, 0, 0]
  if (index < end) return [sourceStart, sourceEnd]
  const source = sourceEnd + index - end
  return [source, source + 1]
}
