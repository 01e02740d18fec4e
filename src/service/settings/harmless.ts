/**
 * Whether a text shows anything of a secret, in whatever encoding; what a model's server says is only repeated if not.
 */

import { MIN_SECRET } from '../../context/redaction/literals.ts'
import { redactionRules } from '../../context/redaction/rules.ts'
import { redactText } from '../../context/redaction/redact-text.ts'
import { viewsOf } from '../../context/redaction/views.ts'

/** How many characters in a row of a secret are a part of it that is never sent. */
const PART = 5

/**
 * How many encodings around each other are undone, beside those that redaction undoes, and how many readings are looked
 * at.
 */
const DEPTH = 3
const MOST = 2_000

const UTF8 = new TextDecoder()
/** Six or more, not counted (`x{6}x*`, not `x{6,}`): of a count an engine keeps each step, until its stack is full. */
const ENCODED = /[A-Za-z0-9+/_-]{6}[A-Za-z0-9+/_-]*/g
/** Digits with what is written between pairs of them. */
const HEX = /[0-9a-f][0-9a-f\s:,-]{5}[0-9a-f\s:,-]*/gi

/**
 * The text with the secrets taken out: as they are, percent-encoded, JSON-escaped, in base64, and in these around each
 * other. When any five characters in a row of one are still there to be read in it, in capitals or not, also in
 * hexadecimal or backwards, it is null: providers like to quote the first and last characters of a key. O(length ×
 * length of the secrets) for each reading, some 2,000 at most.
 */
export function harmless(text: string, secrets: readonly string[]): string | null {
  const known = secrets.map((secret) => secret.trim()).filter((secret) => secret !== '')
  let clean
  try {
    clean = redactText(text, redactionRules({ secrets: known.filter(({ length }) => length >= MIN_SECRET) }))
  } catch {
    // A secret that no rule can be made of.
    clean = text
  }
  const parts = known.flatMap(partsOf)
  const readings = readingsOf(clean)
  if (readings === null) return null
  return readings.some((reading) => parts.some((part) => reading.includes(part))) ? null : clean
}

/** The pieces of a secret of which none may be read, in both directions. */
function partsOf(secret: string): string[] {
  const text = secret.toLowerCase()
  const backwards = [...text].toReversed().join('')
  const size = Math.min(PART, text.length)
  return [text, backwards].flatMap((one) =>
    Array.from({ length: one.length - size + 1 }, (_, at) => one.slice(at, at + size)),
  )
}

/**
 * All that can be read in a text, in small letters; null when it is encoded more often, or in more ways, than is looked
 * into.
 */
function readingsOf(text: string): string[] | null {
  const readings = new Set<string>()
  let level = [text]
  for (let depth = 0; depth <= DEPTH; depth += 1) {
    const inner: string[] = []
    for (const view of level.flatMap((one) => [...viewsOf(one)])) {
      if (view === null || readings.size > MOST) return null
      if (readings.has(view.text)) continue
      readings.add(view.text)
      for (const [run] of view.text.matchAll(ENCODED)) inner.push(...fromBase64(run))
      for (const [run] of view.text.matchAll(HEX)) inner.push(...fromHex(run))
    }
    level = inner
  }
  return Array.from(readings, (reading) => reading.toLowerCase())
}

/** What a run of base64 says, from each place at which it may begin. */
function fromBase64(run: string): string[] {
  const plain = run.replaceAll('-', '+').replaceAll('_', '/')
  return [0, 1, 2, 3].map((skip) => {
    const whole = plain.slice(skip)
    const even = whole.length % 4 === 1 ? whole.slice(0, -1) : whole
    return UTF8.decode(Uint8Array.from(atob(even), (character) => character.charCodeAt(0)))
  })
}

/** What a run of hexadecimal digits says, from both places at which its pairs may begin. */
function fromHex(run: string): string[] {
  const digits = run.replaceAll(/[^0-9a-f]/gi, '')
  return [digits, digits.slice(1)].map((from) =>
    UTF8.decode(Uint8Array.from(from.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))),
  )
}
