/** Reads the arguments of a call, which should be a JSON object and may be any text. */

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
  if (parsed === null || isDeep(text)) return { _raw: text }
  return mayEscapeSurrogate(text) ? repaired(parsed) : parsed
}

/**
 * The arguments as a tool may be given them: `{}` where there are none; null where they are no JSON object, or one that
 * is nested too deep to be written again. O(length).
 *
 * @example
 * readArguments('{"a": 1}') // { a: 1 }
 * readArguments('[1]') // null
 */
export function readArguments(given: string): JsonObject | null {
  if (isWhitespace(given)) return {}
  const parsed = parseObject(given)
  return parsed === null || isDeep(given) ? null : parsed
}

function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
  } catch {
    return null
  }
}

/** Whether valid JSON is nested too deep. A loop, as a value this deep must not be walked by recursion. */
function isDeep(json: string): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < json.length; at += 1) {
    const char = json.charAt(at)
    if (char === '"') inString = !inString
    else if (inString) at += char === '\\' ? 1 : 0
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') depth -= 1
    if (depth > MAX_DEPTH) return true
  }
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
