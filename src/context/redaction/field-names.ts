/** Names of fields that hold secrets, found as keys and inside text that holds JSON. */

import { quoteEnd } from '../../event/json.ts'
import type { Finder, OnHit } from './hit.ts'
import { unmasked } from './mask.ts'
import { unescapeJson } from './views.ts'

/** The fields whose values are masked when a caller names none. */
export const SECRET_FIELDS: readonly string[] = Object.freeze([
  'password',
  'passwd',
  'passphrase',
  'secret',
  'token',
  'api_key',
  'access_key',
  'private_key',
  'authorization',
  'cookie',
])

/** Longer keys are no names. */
const MAX_NAME = 100

/** How many keys are remembered. */
const REMEMBERED = 10_000

/** Whether a key names a secret. */
export type IsSecretField = (key: string) => boolean

/**
 * Whether words of a key, side by side, are one of the names: `api_key` is in `apiKey`, `APIKEY` and `X-Api-Key-2`,
 * `token` is in `access_token`, and neither in `tokens` nor `tokenizer`, nor is it the one of `nextPageToken`, which
 * names a place in a list. Letter case does not matter. O(length), and O(1) for a key that came before.
 *
 * @example
 * secretFields(['token'])('github_token') // true
 * secretFields(['token'])('max_tokens') // false
 */
export function secretFields(names: readonly string[]): IsSecretField {
  const wanted = new Set(names.map((name) => wordsOf(name).join('')))
  const known = new Map<string, boolean>()
  return (key) => {
    if (key.length > MAX_NAME) return false
    let is = known.get(key)
    if (is === undefined) {
      is = holdsName(wordsOf(key), wanted)
      if (known.size === REMEMBERED) known.clear()
      known.set(key, is)
    }
    return is
  }
}

/** A mask in a key is a word that no name has. */
const wordsOf = (key: string): string[] =>
  (unmasked(key).match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[\p{Lo}\p{Lm}]+|\d+/gu) ?? []).map((word) =>
    word.toLowerCase(),
  )

/** Of what a token is that tools are given to go on with, and that an agent has to give back. */
const PLACES: ReadonlySet<string> = new Set(['page', 'next', 'continuation', 'pagination', 'sync'])

function holdsName(words: readonly string[], wanted: ReadonlySet<string>): boolean {
  for (let from = 0; from < words.length; from += 1) {
    let run = ''
    for (let to = from; to < words.length; to += 1) {
      run += words[to]
      if (wanted.has(run) && !(run === 'token' && PLACES.has(words[from - 1] ?? ''))) return true
    }
  }
  return false
}

/** A key in quotes before a colon and a text or a list; it may spell its letters as escapes. */
const keyOf = (letter: string): string =>
  String.raw`(?:"((?:[^"\\\n]${letter}){1,${MAX_NAME}})"|'((?:[^'\\\n]${letter}){1,${MAX_NAME}})')\s{0,32}:\s{0,32}(?=["'[])`

const PLAIN_KEY = keyOf('')
const SPELT_KEY = keyOf(String.raw`|\\u00[0-7][0-9a-fA-F]`)

/** Finds the values of such fields where text holds JSON, whole or not, or something like it. O(length). */
export function fieldFinder(isSecret: IsSecretField): Finder {
  return (text, report) => {
    const key = new RegExp(text.includes(String.raw`\u00`) ? SPELT_KEY : PLAIN_KEY, 'g')
    for (let match = key.exec(text); match !== null; match = key.exec(text)) {
      const name = unescapeJson(match[1] ?? match[2] ?? '')
      if (isSecret(name)) key.lastIndex = findValues(text, key.lastIndex, report)
    }
  }
}

/** Gives the text at a position, or each in the list there. Returns where they end. */
function findValues(text: string, from: number, report: OnHit): number {
  if (text[from] !== '[') return findValue(text, from, report)
  const space = /[\s,[\]]{0,64}/y
  let at = from
  for (;;) {
    space.lastIndex = at
    at += space.exec(text)?.[0].length ?? 0
    if (text[at] !== '"' && text[at] !== "'") return at
    at = findValue(text, at, report)
  }
}

function findValue(text: string, from: number, report: OnHit): number {
  const end = quoteEnd(text, from)
  const value = text.slice(from + 1, end)
  if (value.trim() !== '') report(from + 1, end, unescapeJson(value), 'field')
  return end + 1
}
