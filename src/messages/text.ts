import { isWhitespace } from '../event/text.ts'
import { attempt, isObject, parseJson } from '../event/json.ts'
import type { JsonObject } from '../event/shapes.ts'

/** Maximum nesting depth of arguments. Every JSON writer can write this depth (design D17). */
const MAX_DEPTH = 512

/**
 * Returns arguments as the JSON text of an object: unchanged if valid, `{}` if blank or `null` (many servers
 * send these for no arguments), otherwise wrapped in `_raw`. Replaces lone surrogates. O(length).
 * @example
 * argumentText('{"a": 1}') // '{"a": 1}'
 * argumentText('ls') // '{"_raw":"ls"}'
 */
export function argumentText(written: string): string {
  const text = unwrap(written.toWellFormed())
  return parseObject(text) === null ? JSON.stringify({ _raw: text }) : text
}

/**
 * Returns arguments as an object: `{}` if blank or `null`, wrapped in `_raw` if they are not an object or are
 * nested more than 512 levels deep. O(length).
 * @example
 * argumentObject('[1]') // { _raw: '[1]' }
 */
export function argumentObject(written: string): JsonObject {
  const text = unwrap(written.toWellFormed())
  const parsed = parseObject(text)
  if (parsed === null || isDeep(parsed)) return { _raw: text }
  return /\\u[dD][89a-fA-F]/.test(text) ? repaired(parsed) : parsed
}

/**
 * Returns arguments for a tool: `{}` if blank or `null`; null if they are not a JSON object, are nested too
 * deeply to write again, or have a number that is read as infinite (`1e999`). `object` is the object from
 * which the text was written, if known. O(length).
 * @example
 * readArguments('{"a": 1}') // { a: 1 }
 * readArguments('[1]') // null
 */
export function readArguments(text: string, object: JsonObject | null = null): JsonObject | null {
  const parsed = object ?? parseObject(unwrap(text))
  // A short text cannot be nested too deeply.
  if (parsed === null || (text.length > MAX_DEPTH && isDeep(parsed))) return null
  return /\de|\d{309}/i.test(text) && isLossy(parsed) ? null : parsed
}

/**
 * Joins the pieces of a call's arguments. Some servers repeat the whole text so far in each piece or in the
 * last one. O(length), or O(received bytes) if the text is repeated.
 */
export function joinArguments(pieces: readonly string[]): string {
  const joined = pieces.join('')
  if (readArguments(joined) !== null) return joined
  const half = joined.slice(joined.length / 2)
  let text = ''
  for (const piece of pieces)
    text = piece.length >= text.length && piece.startsWith(text) ? piece : text + piece
  const candidates = joined === half + half ? [half, text] : [text]
  return candidates.find((each) => readArguments(each) !== null) ?? joined
}

function parseObject(text: string): JsonObject | null {
  const value = parseJson(text)
  return isObject(value) ? value : null
}

/**
 * Decodes arguments that a server encoded twice, so that their JSON is inside a JSON string. Returns `{}` for
 * blank text and `null`.
 */
function unwrap(text: string): string {
  if (isWhitespace(text.replace('null', ''))) return '{}'
  const inner = text.startsWith('"') ? parseJson(text) : null
  return typeof inner === 'string' && parseObject(inner) !== null ? inner : text
}

const isDeep = (value: unknown, depth = MAX_DEPTH): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (depth === 0 || Object.values(value).some((item) => isDeep(item, depth - 1)))

/** Replaces each lone surrogate with U+FFFD. `JSON.stringify` escapes no other surrogates. */
function repaired(value: JsonObject): JsonObject {
  const json = JSON.stringify(value).replace(/\\(?:ud[89a-f]..|.)/gs, (escape) =>
    escape.length > 2 ? '\\ufffd' : escape,
  )
  return JSON.parse(json) as JsonObject
}

export function toolName(name: string, maxLength = 64): string {
  return name.replace(/[^\w-]/gu, '_').slice(0, maxLength) || 'tool'
}

/**
 * Returns a legal name of at most 64 characters, for grammars that accept dots and colons, and require a
 * letter or an underscore first.
 */
export function functionName(name: string): string {
  const legal = name.replace(/[^a-zA-Z0-9_.:-]/gu, '_') || 'tool'
  return (/^[a-zA-Z_]/.test(legal) ? legal : `_${legal}`).slice(0, 64)
}

export const actionKind = (name: string): string =>
  `${name.replace(/(?:^[^a-zA-Z0-9]*|[^a-zA-Z0-9]+)([a-zA-Z0-9]?)/g, (_, first: string) => first.toUpperCase())}Action`

export { isWhitespace }

/** Removes white space at the end. O(length); a regular expression would be quadratic. */
export function trimTrailing(text: string): string {
  let end = text.length
  while (end > 0 && isWhitespace(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text
  if (limit <= CLIPPED.length) return CLIPPED.slice(0, Math.max(0, limit))
  const available = limit - CLIPPED.length
  const head = Math.ceil(available / 2)
  return text.slice(0, head) + CLIPPED + text.slice(text.length - (available - head))
}

const CLIPPED = '\n<response clipped> The middle of this result was left out.\n'

export type RawObject = Readonly<Record<string, unknown>>

const NOTHING: RawObject = Object.freeze({})

export const objectOf = (value: unknown): RawObject => (isObject(value) ? value : NOTHING)

export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export const objectsOf = (value: unknown): readonly RawObject[] =>
  !Array.isArray(value) ? [] : value.every(isObject) ? value : value.map(objectOf)

export const textOfContents = (items: readonly RawObject[]): string =>
  items.flatMap(({ content }) => objectsOf(content).map(({ text }) => stringOf(text))).join('')

export function textOfInput(value: unknown): string {
  if (typeof value === 'string') return value
  return attempt(() => JSON.stringify(value ?? {}), TOO_DEEP)
}

/** Replaces a call's input that is nested too deeply. It is invalid JSON, so the call is not executed. */
const TOO_DEEP = '(nested too deep to be written)'

/**
 * Returns a call's input as text: text unchanged, except that JSON sent twice is read once. If JSON cannot express
 * a value of the input, such as `NaN`, the text is not JSON, so the call is not executed. O(size).
 */
export function textOfArguments(input: unknown): string {
  if (typeof input === 'string') return joinArguments([input])
  const isLost = attempt(() => isLossy(input ?? null), false)
  return `${textOfInput(input)}${isLost ? ' (with values that JSON cannot express)' : ''}`
}

/** Whether JSON would replace a value with null or an error. It leaves out undefined fields. O(size). */
function isLossy(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  if (typeof value !== 'object' || value === null)
    return !['string', 'boolean', 'object'].includes(typeof value)
  const json = 'toJSON' in value && typeof value.toJSON === 'function' ? (value.toJSON() as unknown) : value
  if (json !== value) return json === null || isLossy(json)
  const fields = Array.isArray(value)
    ? Array.from(value)
    : Object.values(value).filter((field) => field !== undefined)
  return fields.some(isLossy)
}

/** Removes null fields and empty texts, which could overwrite values of earlier stream events. */
export const withoutEmpty = (value: RawObject): RawObject =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => (field ?? '') !== ''))

export function runsOf<T>(items: readonly T[], joins: (one: T, next: T) => boolean): T[][] {
  const runs: T[][] = []
  for (const [index, item] of items.entries())
    if (index > 0 && joins(items[index - 1] as T, item)) runs.at(-1)?.push(item)
    else runs.push([item])
  return runs
}
