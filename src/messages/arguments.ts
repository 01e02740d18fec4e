/** Reads the arguments of a call, which should be a JSON object and may be any text. */

import { isObject } from '../event/json.ts'
import type { JsonObject } from '../event/shapes.ts'
import { isWhitespace, wellFormed } from './text.ts'

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
  const text = wellFormed(given)
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
  const text = wellFormed(given)
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
  const parsed = object ?? parseObject(given)
  // What is short has no room for it.
  return parsed === null || (given.length > MAX_DEPTH && isDeep(parsed)) ? null : parsed
}

function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
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
