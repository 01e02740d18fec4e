/** What providers ask of a text: that it says something, ends a request in no white space, and has bytes. */

import { isWhitespace, SPACES } from '../event/text.ts'
import { isObject } from '../event/json.ts'
import type { JsonObject } from '../event/shapes.ts'

/** Objects nested deeper than this cannot be written by every JSON writer (design D17). */
const MAX_DEPTH = 512

/**
 * The arguments as the JSON text of an object: as they are, byte for byte, when they are one; `{}` where there are
 * none, as many servers write a call without arguments; else wrapped. O(length).
 *
 * @example
 * argumentText('{"a": 1}') // '{"a": 1}'
 * argumentText('ls') // '{"_raw":"ls"}'
 */
export function argumentText(given: string): string {
  const text = unwrap(wellFormed(given))
  if (isWhitespace(text)) return '{}'
  return parseObject(text) === null ? JSON.stringify({ _raw: text }) : text
}

/**
 * The arguments as an object, wrapped when they are none, or one that is nested too deep to be written again.
 * O(length).
 *
 * @example
 * argumentObject('[1]') // { _raw: '[1]' }
 */
export function argumentObject(given: string): JsonObject {
  const text = unwrap(wellFormed(given))
  if (isWhitespace(text)) return {}
  const parsed = parseObject(text)
  if (parsed === null || isDeep(parsed)) return { _raw: text }
  return mayEscapeSurrogate(text) ? repaired(parsed) : parsed
}

/**
 * The arguments as a tool may be given them: `{}` where there are none; null where they are no JSON object, or one that
 * is nested too deep to be written again. `object` is what the text was written from, where that is known. O(length).
 *
 * @example
 * readArguments('{"a": 1}') // { a: 1 }
 * readArguments('[1]') // null
 */
export function readArguments(given: string, object: JsonObject | null = null): JsonObject | null {
  if (object === null && isWhitespace(given)) return {}
  const parsed = object ?? parseObject(unwrap(given))
  // What is short has no room for it.
  return parsed === null || (given.length > MAX_DEPTH && isDeep(parsed)) ? null : parsed
}

function parseObject(text: string): JsonObject | null {
  const value = parse(text)
  return isObject(value) ? value : null
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The arguments without the JSON string that some servers wrap around them. */
function unwrap(text: string): string {
  const inner = text.startsWith('"') ? parse(text) : null
  return typeof inner === 'string' && parseObject(inner) !== null ? inner : text
}

/** Whether a value is nested too deep; no deeper than that is it walked. O(values). */
function isDeep(value: unknown, room = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (room === 0) return true
  // A list has its items as its values.
  for (const item of Object.values(value)) if (isDeep(item, room - 1)) return true
  return false
}

const mayEscapeSurrogate = (json: string): boolean => /\\u[dD][89a-fA-F]/.test(json)

/**
 * The object with U+FFFD for each lone surrogate that was written as an escape; `JSON.stringify` escapes only the lone
 * ones.
 */
function repaired(value: JsonObject): JsonObject {
  const json = JSON.stringify(value).replace(/\\(?:ud[89a-f]..|.)/gs, (escape) =>
    escape.length > 2 ? '\\ufffd' : escape,
  )
  return JSON.parse(json) as JsonObject
}

/**
 * The name with an underscore for every other character, cut to `maxLength`; `tool` for one that is empty. O(length).
 */
export function toolName(given: string, maxLength: number): string {
  return given.replace(/[^a-zA-Z0-9_-]/gu, '_').slice(0, maxLength) || 'tool'
}

/** The name of a function where dots and colons are legal, and the first character is a letter or an underscore. */
export function functionName(given: string, maxLength: number): string {
  const legal = given.replace(/[^a-zA-Z0-9_.:-]/gu, '_') || 'tool'
  return (/^[a-zA-Z_]/.test(legal) ? legal : `_${legal}`).slice(0, maxLength)
}

/** The kind of a tool's actions, made from its name: `file_editor` gives `FileEditorAction`. */
export function actionKind(name: string): string {
  const known = ACTION_KINDS.get(name)
  if (known !== undefined) return known
  const kind = `${name.replace(/(?:^[^a-zA-Z0-9]*|[^a-zA-Z0-9]+)([a-zA-Z0-9]?)/g, (_, first: string) => first.toUpperCase())}Action`
  // A conversation has few tools; who names more gains nothing by it.
  if (ACTION_KINDS.size < 256) ACTION_KINDS.set(name, kind)
  return kind
}

/** Those of tools seen before. */
const ACTION_KINDS = new Map<string, string>()

export { isWhitespace }

const SPACE = new RegExp(`[${SPACES}]`, 'u')

/** The text without the white space at its end. O(length); a regular expression would be quadratic. */
export function trimTrailing(text: string): string {
  let end = text.length
  while (end > 0 && SPACE.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

/**
 * The text with U+FFFD for each lone surrogate: such text has no bytes, and providers refuse the whole request.
 * O(length).
 */
export function wellFormed(text: string): string {
  return text.toWellFormed()
}

/** Whether a text can be sent byte for byte. O(length). */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed()
}

/** The text with its middle taken out: what `limit` allows of head and tail, and between them a notice that says so. */
export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text
  if (limit <= CLIPPED.length) return CLIPPED.slice(0, Math.max(0, limit))
  const left = limit - CLIPPED.length
  const head = Math.ceil(left / 2)
  return text.slice(0, head) + CLIPPED + text.slice(text.length - (left - head))
}

const CLIPPED =
  '\n<response clipped> The middle of this result was left out: it is longer than the limit set for results.\n'

/** An object of which nothing is known. */
export type Found = Readonly<Record<string, unknown>>

const NOTHING: Found = Object.freeze({})

/** The value where it is an object, else an empty one. */
export const objectOf = (value: unknown): Found => (isObject(value) ? value : NOTHING)

/** The value where it is a text, else an empty one. */
export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The values of a list, an empty object for each that is none; nothing where it is no list. */
export const objectsOf = (value: unknown): readonly Found[] =>
  !Array.isArray(value) ? NONE : value.every(isObject) ? value : value.map(objectOf)

const NONE: readonly Found[] = Object.freeze([])

/**
 * A value as JSON text; as it is where it is a text already. Empty where it is nested too deep for any writer. O(size).
 */
export function textOfInput(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value ?? {})
  } catch {
    return TOO_DEEP
  }
}

/** No JSON, so that a call with it is not executed. */
const TOO_DEEP = '(nested too deep to be written)'
