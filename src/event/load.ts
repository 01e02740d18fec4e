import { MAX_DEPTH, copyJson } from './freeze.ts'
import { type Issue, issue } from './issues.ts'
import { attempt, eachJsonToken } from './json.ts'
import { decodeStored, parseLine } from './decode.ts'
import { type Fact, isQuarantined, quarantine } from './quarantine.ts'
import type { JsonValue } from './shapes.ts'
import { upcast } from './upcast.ts'

/** A fact, with its warnings and the upcasts that were applied to it. */
export interface Loaded {
  readonly fact: Fact
  readonly upcasts: readonly string[]
  /** Problems of a valid event: unknown fields, payloads of a wrong shape, data lost in JSON parsing. */
  readonly warnings: readonly Issue[]
}

/**
 * Decodes a line of JSON text, after upcasting it; a line that cannot be decoded is quarantined unchanged
 * (design D16). Keeps unknown fields and repeated ids, and warns of them. Never throws. O(length).
 * @example
 * loadLine('{"kind":"PauseEvent","id":null}') // { fact: { kind: 'PauseEvent' }, upcasts: ['nulls.identity'], warnings: [] }
 * loadLine('{"kind":"PauseEvent","id":"a","id":"b"}').warnings[0].type // 'duplicate_key'
 * loadLine('{"kind":"PauseEvent","of":"tomorrow"}').fact // { kind: 'PauseEvent', of: 'tomorrow' }
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
 * Decodes a value, after upcasting it; a value that cannot be decoded is quarantined as JSON text, with null
 * in place of values that are not JSON. Never throws, and never changes its input. O(size).
 * @example
 * loadValue({ kind: 'Nonsense', id: 'n1' }).fact.raw // '{"kind":"Nonsense","id":"n1"}'
 */
export function loadValue(value: unknown): Loaded {
  const copied = copyJson(value)
  // The text may exceed the maximum length of a JavaScript string.
  const write = (): string => attempt(() => JSON.stringify(copied.value), 'null')
  return copied.issues.length > 0 ? keep(write(), copied.issues, copied.value) : load(copied.value, write)
}

function load(input: JsonValue, write: () => string): Loaded {
  const { value, applied } = upcast(input)
  const decoded = decodeStored(value)
  if (!decoded.ok) return keep(write(), decoded.issues, input)
  return { fact: decoded.event, upcasts: applied, warnings: decoded.warnings }
}

function keep(raw: string, issues: readonly Issue[], value: JsonValue | undefined): Loaded {
  return { fact: quarantine(raw, issues, value), upcasts: [], warnings: [] }
}

const MAX_WARNINGS = 100

/**
 * Matches a number that JavaScript may change: 16 digits or more, an exponent of three digits, or minus zero.
 * Also matches a space between a property name and its colon, because `keysIn` would not count such a name.
 */
const SUSPECT = /[:,[]\s*(?:-0|-?\d[\d.]{15}|-?[\d.]+[eE][-+]?\d{3})|(?<="\s+):/

interface Level {
  /** The property names that were read in this object; null for a list. */
  readonly keys: Set<string> | null
  position: string | number
}

/** Reports duplicate keys and inexact numbers. For most lines, a pattern and a count of the names exclude both. */
export function lossesOf(text: string, value: object): readonly Issue[] {
  return SUSPECT.test(text) || keysIn(text) !== countKeys(value) ? scan(text) : NO_ISSUES
}

const NO_ISSUES: readonly Issue[] = Object.freeze([])

/** Counts the property names in JSON text that has no space before a colon; -1 if a backslash makes this uncertain. */
function keysIn(text: string): number {
  let count = 0
  for (let index = text.indexOf('":'); index >= 0; index = text.indexOf('":', index + 2)) {
    if (text.charCodeAt(index - 1) !== BACKSLASH) count += 1
    else if (text.charCodeAt(index - 2) === BACKSLASH) return -1
  }
  return count
}

/** Counts property names at all depths, without recursion: a deeply nested value would overflow the stack. */
function countKeys(value: object): number {
  let count = 0
  const pending = [value]
  for (let container = pending.pop(); container !== undefined; container = pending.pop()) {
    for (const key in container) {
      count += 1
      const inner = (container as Readonly<Record<string, unknown>>)[key]
      if (typeof inner === 'object' && inner !== null) pending.push(inner)
    }
    if (Array.isArray(container)) count -= container.length
  }
  return count
}

const BACKSLASH = 92

function scan(text: string): readonly Issue[] {
  const issues: Issue[] = []
  const levels: Level[] = []
  const report = (type: string, msg: string, input?: string): void => {
    const reported = issue(
      levels.map((level) => level.position),
      type,
      msg,
      input,
    )
    // In a valid event, only a field that an upcaster removed can be this deep. Its full path is of no use.
    issues.push(levels.length > MAX_DEPTH ? { ...reported, loc: reported.loc.slice(0, 16) } : reported)
  }
  let previous = ''
  eachJsonToken(text, (token) => {
    const level = levels.at(-1)
    if (token === '{') levels.push({ keys: new Set(), position: '' })
    else if (token === '[') levels.push({ keys: null, position: 0 })
    else if (token === '}' || token === ']') levels.pop()
    else if (token === ',') {
      if (typeof level?.position === 'number') level.position += 1
    } else if (token === ':' && level?.keys) {
      const key = JSON.parse(previous) as string
      level.position = key
      if (level.keys.has(key)) report('duplicate_key', TWICE)
      level.keys.add(key)
    } else if (!token.startsWith('"') && !isExact(token)) {
      report('number_changed', IMPRECISE_NUMBER, token)
    }
    previous = token
    return issues.length < MAX_WARNINGS
  })
  return Object.freeze(issues)
}

const TWICE = 'Duplicate key; only the last value is kept.'

const IMPRECISE_NUMBER =
  'JavaScript cannot represent this number and would write another one. Write it as a string to keep it.'

function isExact(number: string): boolean {
  const read = Number(number)
  return !Object.is(read, -0) && digitsOf(JSON.stringify(read)) === digitsOf(number)
}

/**
 * Returns the normal form of a number: sign, digits without outer zeros, and the first digit's power of ten.
 * Equal numbers have equal forms. The power is inexact only for numbers that JavaScript reads as 0 or
 * infinity, which `isExact` rejects anyway.
 */
function digitsOf(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER_PARTS.exec(number) ?? []
  const digits = whole + fraction
  const first = digits.search(/[1-9]/)
  if (first < 0) return '0'
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return `${sign}${digits.slice(first, end)}e${Number(exponent) + whole.length - first}`
}

const NUMBER_PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/
