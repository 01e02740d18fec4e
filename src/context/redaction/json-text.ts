/** Edits the strings and numbers of JSON text and leaves every other character as it was. */

import { quoteEnd } from '../../event/json.ts'
import { keyNumbers } from './mask.ts'

/** A part of a text. */
export type Range = readonly [start: number, end: number]

/** What becomes of what stands in JSON text. */
export interface JsonEdits {
  readonly key: (key: string) => string
  /** A text, itself or in a list under a key: as it was and as it is now, none for one that stands under no key. */
  readonly text: (text: string, keys: readonly string[]) => string
  /** A number as it is written; a text to put in its place, or null to leave it. */
  readonly number: (digits: string) => string | null
  /** Whether a text that must be whole may stay; what may not becomes null. Null for any other text. */
  readonly stays: (text: string, keys: readonly string[]) => boolean | null
}

/** The text, and the parts of it that had to stay. */
export interface EditedJson {
  readonly text: string
  readonly kept: readonly Range[]
}

/** Whether a text is JSON. O(length). */
export function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

interface Level {
  readonly isList: boolean
  /**
   * The key whose value is there, before and after the edit; none before a key. Of a list the one that it stands under.
   */
  keys: readonly string[]
  /** Of an object the key to write for one that was masked. */
  readonly numbered: ((masked: string) => string) | null
}

const NONE: readonly string[] = []

/**
 * The beginning of what stands in JSON text; of a text its quote alone, as an engine runs out of stack on a pattern of
 * a long one.
 */
const TOKEN = /["{}[\],]|-?\d[\d.eE+-]*/g

/** Gives each token of a text but colons and words. O(length). */
function eachToken(text: string, give: (token: string, index: number) => void): void {
  // One of its own: an edit may edit the JSON inside a text.
  const tokens = new RegExp(TOKEN)
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    const { index } = match
    if (match[0] === '"') tokens.lastIndex = quoteEnd(text, index) + 1
    give(text.slice(index, tokens.lastIndex), index)
  }
}

/** The keys of each object of a text, in the order in which the objects begin. O(length). */
function keysOfObjects(text: string): ReadonlySet<string>[] {
  const objects: Set<string>[] = []
  const levels: { readonly keys: Set<string> | null; isAtKey: boolean }[] = []
  eachToken(text, (token) => {
    const level = levels.at(-1)
    if (token === '{') {
      const keys = new Set<string>()
      objects.push(keys)
      levels.push({ keys, isAtKey: true })
    } else if (token === '[') levels.push({ keys: null, isAtKey: false })
    else if (token === '}' || token === ']') levels.pop()
    else if (level?.keys) {
      if (level.isAtKey && token !== ',') level.keys.add(JSON.parse(token) as string)
      level.isAtKey = token === ','
    }
  })
  return objects
}

/**
 * Edits valid JSON text token by token; keys of one object that have become the same are numbered, so that no value is
 * lost. O(length).
 */
export function editJson(text: string, edits: JsonEdits): EditedJson {
  const levels: Level[] = []
  const kept: Range[] = []
  let out = ''
  let last = 0
  let objects = 0
  // Read only when a key is masked.
  let allKeys: ReadonlySet<string>[] | null = null
  const begin = (keys: readonly string[], isList: boolean): void => {
    const at = objects
    if (!isList) objects += 1
    const wasKey = (key: string): boolean => (allKeys ??= keysOfObjects(text))[at]?.has(key) === true
    levels.push({ isList, keys, numbered: isList ? null : keyNumbers(wasKey) })
  }
  eachToken(text, (token, index) => {
    const level = levels.at(-1)
    if (token === '{') begin(NONE, false)
    else if (token === '[') begin(level?.keys ?? NONE, true)
    else if (token === '}' || token === ']') levels.pop()
    else if (token === ',') {
      if (level?.isList === false) level.keys = NONE
    } else {
      const written = edit(token, level, edits)
      out += text.slice(last, index)
      if (written === null) kept.push([out.length, out.length + token.length])
      out += written ?? token
      last = index + token.length
    }
  })
  return { text: out + text.slice(last), kept }
}

/** What is written for a token; null for one that has to stay. */
function edit(token: string, level: Level | undefined, edits: JsonEdits): string | null {
  if (!token.startsWith('"')) {
    const number = edits.number(token)
    return number === null ? token : JSON.stringify(number)
  }
  const text = JSON.parse(token) as string
  if (level?.isList === false && level.keys.length === 0) {
    const key = edits.key(text)
    level.keys = [text, key]
    return same(token, text, key === text ? text : (level.numbered?.(key) ?? key))
  }
  const keys = level?.keys ?? NONE
  const stays = edits.stays(text, keys)
  if (stays !== null) return stays ? null : 'null'
  return same(token, text, edits.text(text, keys))
}

const same = (token: string, before: string, after: string): string =>
  after === before ? token : JSON.stringify(after)
