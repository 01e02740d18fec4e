/**
 * The lenient way in, for logs that exist already: upcasts old shapes and quarantines what does not decode, so that one
 * bad line never costs the rest.
 */

import { MAX_DEPTH, copyJson } from './freeze.ts'
import { type Issue, issue } from './issues.ts'
import { decodeOwn, parseLine } from './decode.ts'
import { type Fact, isQuarantined, quarantine } from './quarantine.ts'
import type { JsonValue } from './shapes.ts'
import { upcast } from './upcast.ts'

/** A fact, and what there is to say of it; nothing for a line in quarantine, which is as it was. */
export interface Loaded {
  readonly fact: Fact
  /** The names of the upcasters that made it what it is. */
  readonly upcasts: readonly string[]
  /**
   * What is wrong with an event that loads all the same: payloads that do not fit their kind, and what a line's JSON
   * loses.
   */
  readonly warnings: readonly Issue[]
}

/**
 * Loads a line of JSON text: upcast, then decoded, else kept in quarantine with its text as given (design D16).
 *
 * Never throws. O(length).
 *
 * @example
 * loadLine('{"kind":"PauseEvent","id":null}') // { fact: { kind: 'PauseEvent' }, upcasts: ['nulls.identity'], warnings: [] }
 * loadLine('{"kind":"PauseEvent","id":"a","id":"b"}').warnings[0].type // 'duplicate_key'
 */
export function loadLine(text: string): Loaded {
  const parsed = parseLine(text)
  if (!parsed.ok) return keep(text, [parsed.issue], undefined)
  const loaded = load(parsed.value, () => text)
  if (isQuarantined(loaded.fact)) return loaded
  const losses = lossesOf(text, parsed.value as object)
  return losses.length === 0 ? loaded : { ...loaded, warnings: [...loaded.warnings, ...losses] }
}

/**
 * Loads a value: upcast, then decoded, else kept in quarantine as JSON text, with null in place of what JSON cannot
 * say.
 *
 * Never throws and never touches its input. O(size).
 *
 * @example
 * loadValue({ kind: 'Nonsense', id: 'n1' }).fact.raw // '{"kind":"Nonsense","id":"n1"}'
 */
export function loadValue(value: unknown): Loaded {
  const copied = copyJson(value)
  const write = (): string => textOf(copied.value)
  return copied.issues.length > 0 ? keep(write(), copied.issues, copied.value) : load(copied.value, write)
}

function load(given: JsonValue, write: () => string): Loaded {
  const { value, applied } = upcast(given)
  const decoded = decodeOwn(value)
  if (!decoded.ok) return keep(write(), decoded.issues, given)
  return { fact: decoded.event, upcasts: applied, warnings: decoded.warnings }
}

function keep(raw: string, issues: readonly Issue[], value: JsonValue | undefined): Loaded {
  return { fact: quarantine(raw, issues, value), upcasts: [], warnings: [] }
}

function textOf(value: JsonValue): string {
  try {
    return JSON.stringify(value)
  } catch {
    return 'null' // longer than the engine's longest string
  }
}

/** A line of the wrong kind may have any number; these many are enough to see what is wrong with it. */
const MAX_WARNINGS = 100

/**
 * A number that may not come back: 16 digits, an exponent of three, or a minus before a zero. Or space before a colon,
 * where keys cannot be counted by what stands before it.
 */
const SUSPECT = /[:,[]\s*(?:-0|-?\d[\d.]{15}|-?[\d.]+[eE][-+]?\d{3})|(?<="\s+):/

/** An object or a list that the scan is inside of. */
interface Level {
  /** The keys of an object so far; null for a list. */
  readonly keys: Set<string> | null
  /** The key or index of the value that comes next. */
  at: string | number
}

/**
 * Warnings about JSON text whose parsed value says less than the text: a number that is written back as another one,
 * and a key that stands twice in its object, of which only the last value is kept. Takes the text beside its parsed
 * value, so that nearly every line costs a count of keys. O(length).
 */
function lossesOf(text: string, value: object): readonly Issue[] {
  return SUSPECT.test(text) || keysIn(text) !== keysOf(value) ? scan(text) : NONE
}

const NONE: readonly Issue[] = Object.freeze([])

/**
 * How many keys a text without space before its colons has: quotes before a colon; -1 where a backslash makes that
 * unsure.
 */
function keysIn(text: string): number {
  let count = 0
  for (let at = text.indexOf('":'); at >= 0; at = text.indexOf('":', at + 2)) {
    if (text.charCodeAt(at - 1) !== BACKSLASH) count += 1
    else if (text.charCodeAt(at - 2) === BACKSLASH) return -1
  }
  return count
}

/**
 * How many keys all objects in a value have. It is the value as it was parsed: what an upcaster takes out of it, and no
 * decoding ever sees, may be nested deeper than the stack is.
 */
function keysOf(value: object): number {
  let count = 0
  const left = [value]
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    for (const key in at) {
      count += 1
      const inner = (at as Readonly<Record<string, unknown>>)[key]
      if (typeof inner === 'object' && inner !== null) left.push(inner)
    }
    if (Array.isArray(at)) count -= at.length
  }
  return count
}

const BACKSLASH = 92

/** Walks text that is known to be JSON. */
function scan(text: string): readonly Issue[] {
  const found: Issue[] = []
  const levels: Level[] = []
  const tell = (type: string, msg: string, input?: string): void => {
    const told = issue(
      levels.map((level) => level.at),
      type,
      msg,
      input,
    )
    // Only what an upcaster takes out lies deeper; the whole path of it is of no use.
    found.push(levels.length > MAX_DEPTH ? { ...told, loc: told.loc.slice(0, 16) } : told)
  }
  for (let at = 0; at < text.length && found.length < MAX_WARNINGS;) {
    const level = levels.at(-1)
    const char = text[at] as string
    if (char === '{' || char === '[') {
      levels.push(char === '{' ? { keys: new Set(), at: '' } : { keys: null, at: 0 })
    } else if (char === '}' || char === ']') levels.pop()
    else if (char === ',' && typeof level?.at === 'number') level.at += 1
    else if (char === '"') {
      const end = endOfString(text, at)
      if (level?.keys && isBeforeColon(text, end)) {
        const key = JSON.parse(text.slice(at, end)) as string
        level.at = key
        if (level.keys.has(key)) tell('duplicate_key', TWICE)
        level.keys.add(key)
      }
      at = end
      continue
    } else if (char === '-' || (char >= '0' && char <= '9')) {
      NUMBER.lastIndex = at
      const number = NUMBER.exec(text)?.[0] ?? char
      if (!isExact(number)) tell('number_changed', CHANGED, number)
      at += number.length
      continue
    }
    at += 1
  }
  return Object.freeze(found)
}

const TWICE = 'Duplicate key; only the last value is kept.'

const CHANGED =
  'A number that JavaScript cannot hold: it is read and written again as another one; write it as a string to keep it.'

const NUMBER = /-?[\d.]+(?:[eE][-+]?\d+)?/y

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at + 1
}

function isBeforeColon(text: string, from: number): boolean {
  let at = from
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1
  return text[at] === ':'
}

/** Whether a number, read and written again, is the same number. */
function isExact(number: string): boolean {
  const read = Number(number)
  return Object.is(read, -0) ? false : digitsOf(JSON.stringify(read)) === digitsOf(number)
}

/**
 * A decimal number as its sign, its digits without zeros at either end, and the power of ten of the first: one text for
 * one number. Of a number that is neither 0 nor infinite when it is read, the power is one that a double holds exactly;
 * of any other the digits tell enough.
 */
function digitsOf(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = PARTS.exec(number) ?? []
  const digits = whole + fraction
  const first = digits.search(/[1-9]/)
  if (first < 0) return '0'
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return `${sign}${digits.slice(first, end)}e${Number(exponent) + whole.length - first}`
}

const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/
