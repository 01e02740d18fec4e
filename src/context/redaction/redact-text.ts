/** Redacts a text; what was JSON stays JSON. */

import { hasText } from '../../event/text.ts'
import { findSecrets, maskHits } from './find.ts'
import type { Hit } from './hit.ts'
import { editJson, type JsonEdits, parses, type Range } from './json-text.ts'
import { isMask, maskObject } from './mask.ts'
import type { RedactionRules } from './rules.ts'

/** How often a text is looked through again for what its masks have brought about, before it is masked as a whole. */
export const MAX_ROUNDS = 4

/** The field that only its provider can read, wherever it stands. */
export const SEALED = 'encrypted_content'

/** Base64 is that of a file when it is longer than secrets are. */
const LONGEST_SECRET = 256

const isBase64 = (text: string): boolean => text.length > LONGEST_SECRET && text.search(/[^A-Za-z0-9+/=]/) < 0

/** What is to be kept in mind of a text. */
export interface TextOptions {
  /** Whether it must stay JSON even when it is a lone number. */
  readonly json?: boolean
  /** Whether base64 in it is the bytes of a file. */
  readonly bytes?: boolean
}

/**
 * The text with a mask for every secret; the very same text when it holds none, or nothing but white space. Doing it
 * again changes nothing: a text in which masks bring about new matches again and again is masked as a whole, and so is
 * one that is encoded too often to be read. O(length).
 */
export function redactText(text: string, rules: RedactionRules, options: TextOptions = {}): string {
  if (!hasText(text) || isMask(text)) return text
  // Patterns find things in what is noise; a literal secret is one wherever it stands.
  const isNoise = /^data:[^,]{0,100};base64,/i.test(text) || (options.bytes === true && isBase64(text))
  const finders = isNoise ? rules.literalFinders : rules.finders
  let now = text
  let json: boolean | null = null
  const isJson = (): boolean => (json ??= (options.json === true || /^\s*[[{"]/.test(text)) && parses(text))
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const hits = findSecrets(now, finders, rules.literalFinders)
    if (hits === null) break
    if (hits.length === 0) return now
    const edited = isJson() ? editJson(now, editsOf(rules)) : { text: now, kept: [] }
    if (edited.text !== now) {
      now = edited.text
      continue
    }
    const left = outside(hits, edited.kept)
    if (left.length === 0) return now
    const masked = maskHits(now, left, rules.mask)
    // What reaches over the borders of JSON's texts leaves no JSON behind.
    if (isJson() && !parses(masked)) break
    now = masked
  }
  const mask = rules.mask(text)
  return isJson() ? maskObject(mask) : mask
}

/** The hits that are not inside one of the ranges; both ascend. */
function outside(hits: readonly Hit[], ranges: readonly Range[]): readonly Hit[] {
  let at = 0
  return hits.filter(({ start, end }) => {
    while (at < ranges.length && (ranges[at]?.[1] ?? 0) < end) at += 1
    return (ranges[at]?.[0] ?? end) > start
  })
}

/** A text that must stay whole for those who can read it, or go: null when it holds a literal secret. O(length). */
export function redactSealed(text: string, { literalFinders }: RedactionRules): string | null {
  const hits = findSecrets(text, literalFinders, literalFinders)
  return hits === null || hits.length === 0 ? text : null
}

/** A text under a key that names a secret. O(length). */
export function redactField(text: string, rules: RedactionRules): string {
  if (!hasText(text) || isMask(text)) return text
  // Where a surer rule knows the secret in it, its mask is the one that stands elsewhere too.
  const hits = findSecrets(text, rules.finders, rules.literalFinders)
  return rules.mask(hits?.length === 1 && hits[0] !== undefined ? hits[0].secret : text)
}

/** The mask for a number that holds a secret, or null. O(1). */
export function redactNumber(digits: string, rules: RedactionRules): string | null {
  const hits = findSecrets(digits, rules.finders, rules.literalFinders)
  return hits === null || hits.length === 0 ? null : rules.mask(hits[0]?.secret ?? digits)
}

const editsOf = (rules: RedactionRules): JsonEdits => ({
  key: (key) => (key === SEALED ? key : redactText(key, rules)),
  text: (text, keys) => (keys.some(rules.isSecretField) ? redactField(text, rules) : redactText(text, rules)),
  number: (digits) => redactNumber(digits, rules),
  stays: (text, keys) => (keys.includes(SEALED) ? redactSealed(text, rules) !== null : null),
})
