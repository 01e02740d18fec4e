/** Terms as stores index them: without case and accents, in one line, each after a space. So phrases are substrings. */

import { isQuarantined, type Fact } from '../../../event/quarantine.ts'
import type { Content } from '../../../event/shapes.ts'
import { partsText } from './message-text.ts'
import type { TextRole } from '../../contract/text.ts'

/** A term of a text, and the range of its word in UTF-16 units. */
export interface Token {
  readonly term: string
  readonly start: number
  readonly end: number
}

/** Maximum number of indexed characters of a text, because a `tsvector` has at most 1 MB. */
const MAX_INDEXED = 300_000

/** Maximum number of characters to read of a text. Limits the time that regular expressions take. */
const MAX_READ = 2 ** 20

/** Maximum UTF-16 units of a term; a longer word is split. PostgreSQL limits a lexeme to 2 kB. */
const MAX_TERM = 32

/** Letters of scripts without spaces between words, and of Korean, which attaches particles to words. */
const UNSPACED =
  '[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Mymr}]'

const PIECES = new RegExp(
  `((?:(?=[\\p{L}\\p{M}\\p{N}])${UNSPACED})+)|(?:(?!${UNSPACED})[\\p{L}\\p{M}\\p{N}_])+|\\p{RI}{2}|\\p{ExtPict}`,
  'gu',
)

/** A combining mark, or a mark of half-width kana. Some Burmese vowels are letters for readers, and so are not marks here. */
const MARK =
  '(?:(?![\\u102b\\u102c\\u1038\\u1062-\\u1064\\u1067-\\u106d\\u1083\\u1087-\\u108c\\u108f\\u109a-\\u109c\\uaa7b\\uaa7d])[\\p{M}\\uff9e\\uff9f])'

const LETTERS = new RegExp(`[\\u1100-\\u115f][\\u1160-\\u11a7]?[\\u11a8-\\u11ff]?|[^]${MARK}*`, 'gu')

/** Matches word borders in an identifier. Looks ahead first: looking back from each combining mark is quadratic. */
const WORD_BORDER = /_+|(?=\p{Lu})(?<=[\p{Ll}\p{N}]\p{M}*)|(?=\p{Lu}\p{M}*\p{Ll})(?<=\p{Lu}\p{M}*)/u

const SIMPLE = /^(?:[A-Z]?[a-z0-9]*|[A-Z0-9]*)$/

const ACCENTS = /[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+/g

const LIKE: Readonly<Record<string, string>> = { ł: 'l', ø: 'o', đ: 'd', æ: 'ae', œ: 'oe', ς: 'σ' }

/** Characters that no term contains: spaces, and ASCII that is neither a letter nor a digit. */
const NOT_IN_TERMS = /(?![a-z0-9])\p{ASCII}|\s/gu

const PLAIN = /^[a-z0-9]*$/

/** Letters of Thai, Kana, Han and Hangul that are compared as they are. */
const UNFOLDED = /^[\u0e34-\u0e59\u0e01-\u0e32\u3041-\u3094\u30a1-\u30fe\u4e00-\u9fff\uac00-\ud7a3]*$/

/** Folds a word for comparison: ignores case, accents and character width. */
function foldTerm(word: string): string {
  if (PLAIN.test(word) || UNFOLDED.test(word)) return word
  const lower = word.toLowerCase()
  if (PLAIN.test(lower)) return lower
  return word
    .normalize('NFKD')
    .replace(ACCENTS, '')
    .normalize('NFC')
    .toUpperCase()
    .toLowerCase()
    .replace(/[łøđæœς]/g, (letter) => LIKE[letter] ?? letter)
    .replace(NOT_IN_TERMS, '')
}

const ASCII = /^\p{ASCII}*$/u

/** Whether each ASCII character is a letter, a digit or `_`. */
const WORD_UNITS = Uint8Array.from({ length: 128 }, (_, unit) => Number(/\w/.test(String.fromCharCode(unit))))

/** Whether a UTF-16 unit is an ASCII letter, a digit or `_`. */
export const isWordUnit = (unit: number): boolean => WORD_UNITS[unit] === 1

/** Adds the terms of a word. `end` defaults to `start` plus the length of `word`. */
type Add = (word: string, start: number, end?: number) => void

/**
 * Returns the terms of a text in order. Text in a script without spaces becomes its overlapping pairs of
 * letters, then its last letter alone. An identifier becomes its parts, then the whole identifier. All terms
 * together have at most {@link MAX_INDEXED} characters, counting one space for each term. O(length).
 */
export function tokensOf(wholeText: string): Token[] {
  const text = wholeText.slice(0, MAX_READ)
  const tokens: Token[] = []
  let room = MAX_INDEXED
  const add: Add = (word, start, end = start + word.length) => {
    const folded = foldTerm(word)
    for (let from = 0; from < folded.length && room > 0;) {
      let to = from + MAX_TERM
      if (isLowSurrogate(folded, to)) to += 1
      const term = folded.slice(from, to)
      room -= term.length + 1
      if (room >= 0) tokens.push({ term, start, end })
      from = to
    }
  }
  if (ASCII.test(text)) {
    for (let start = 0, end = 0; start < text.length && room >= 0; start = end + 1) {
      end = start
      while (isWordUnit(text.charCodeAt(end))) end += 1
      if (end === start) continue
      const word = text.slice(start, end)
      if (word.length > MAX_TERM || !PLAIN.test(word)) addWord(word, start, add)
      else {
        room -= word.length + 1
        if (room >= 0) tokens.push({ term: word, start, end })
      }
    }
    return tokens
  }
  for (const { 0: piece, 1: unspaced, index } of text.matchAll(PIECES)) {
    if (room < 0) break
    if (unspaced === undefined) addWord(piece, index, add)
    else {
      const letters = [...unspaced.matchAll(LETTERS)]
      for (const [position, { 0: letter, index: offset }] of letters.entries())
        add(letter + (letters[position + 1]?.[0] ?? ''), index + offset)
    }
  }
  return tokens
}

function addWord(word: string, start: number, add: Add): void {
  if (SIMPLE.test(word)) return add(word, start)
  const parts = word.split(WORD_BORDER).filter((part) => part !== '')
  if (parts.length > 1) {
    let offset = 0
    for (const part of parts) {
      offset = word.indexOf(part, offset)
      add(part, start + offset)
      offset += part.length
    }
  }
  // The whole identifier without `_`, so that `foo_bar` and `fooBar` are one term.
  add(parts.join(''), start, start + word.length)
}

/** Maximum length of a text whose terms are always indexed completely: they never exceed {@link MAX_INDEXED}. */
export const MAX_PLAIN = 2 ** 16

/** Matches an ASCII word that does not become one term by lower-casing alone. */
const COMPLEX = /\b(?![A-Z]?[a-z0-9]{1,31}\b|[A-Z0-9]{1,32}\b)\w+/g

const termsOf = (text: string): string =>
  tokensOf(text)
    .map(({ term }) => term)
    .join(' ')

/** Returns the terms of a text as a line of the index, with a space before and after each term. O(length). */
export function lineOf(text: string): string {
  const isPlain = text.length <= MAX_PLAIN && ASCII.test(text)
  const terms = isPlain
    ? text.replace(COMPLEX, termsOf).replace(/\W+/g, ' ').trim().toLowerCase()
    : termsOf(text)
  return terms === '' ? '' : ` ${terms} `
}

/** Returns the number of terms in a line. O(length). */
export function sizeOfLine(line: string): number {
  let spaces = 0
  for (let index = 0; index < line.length; index += 1) if (line.charCodeAt(index) === 32) spaces += 1
  return Math.max(0, spaces - 1)
}

/**
 * Returns an event's searchable text and role; null for an event without such text. O(length).
 * @example
 * eventText({ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: [{ text: 'Hi' }] } }) // { role: 'user', text: 'Hi' }
 */
export function eventText(fact: Fact): { readonly role: TextRole; readonly text: string } | null {
  if (isQuarantined(fact)) return null
  // A store checks only the texts of messages: other events may lack content.
  switch (fact.kind) {
    case 'MessageEvent':
      return textIn(fact.llm_message.role, fact.llm_message.content, fact.extended_content)
    case 'ObservationEvent':
      return textIn('tool', fact.observation?.content, fact.extended_content)
    case 'AgentErrorEvent':
      return typeof fact.error === 'string' ? { role: 'tool', text: fact.error } : null
    default:
      return null
  }
}

function textIn(
  role: TextRole,
  ...lists: readonly (readonly Content[] | null | undefined)[]
): { readonly role: TextRole; readonly text: string } | null {
  const text = partsText(...lists)
  return text === '' ? null : { role, text }
}

export const isLowSurrogate = (text: string, index: number): boolean => {
  const unit = text.charCodeAt(index)
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** Whether a text begins with a letter of a script without spaces. */
export const isUnspaced = (text: string): boolean => UNSPACED_START.test(text)

const UNSPACED_START = new RegExp(`^${UNSPACED}`, 'u')
