/** Finds secrets in JSON by the names of fields and the forms of values, and masks them. */

import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { decoded } from '../http/parameters.ts'

/** In place of a secret. */
export const MASK = '**********'

/** Fields that hold one, by the words of their names. */
const NAMES =
  /api[-_]?key|access[-_]?key|secret|token(?!s)|passw|credential|private[-_]?key|authorization|cookie/i

/** The user of a URL, with the password. */
const USER = /^([a-z][\w+.-]*:\/\/)[^/?#]*@/i
/** The words in the names of a URL's parameters that hold secrets. */
const PARAMETER = /key|token|secret|sig|passw|auth|cred/i
const URL_LIKE = /^[a-z][\w+.-]*:\/\//i

/** Whether a field with this name holds a secret. Numbers and flags are none: `max_output_tokens` is 4096. */
export const isSecret = (name: string, value: JsonValue | undefined): boolean =>
  NAMES.test(name) &&
  value !== null &&
  value !== undefined &&
  typeof value !== 'number' &&
  typeof value !== 'boolean' &&
  value !== ''

/** A text as it is shown: of a URL without its user, and without the keys in its query. */
export function shownText(text: string): string {
  if (!URL_LIKE.test(text)) return text
  let shown = ''
  let last = 0
  for (const [start, end] of secretParameters(text)) {
    shown += text.slice(last, start) + MASK
    last = end
  }
  return (shown + text.slice(last)).replace(USER, '$1')
}

/**
 * Where the values of secrets stand in the query of a URL, or in that of a URL within it. By hand, since a pattern is
 * quadratic. O(length).
 */
function* secretParameters(url: string): Generator<readonly [start: number, end: number]> {
  for (const { 0: part, index } of url.matchAll(/[&;#]?[^&;#]*/g)) {
    let name = /^[&;]/.test(part) ? 0 : part.indexOf('?')
    while (name >= 0) {
      const equals = part.indexOf('=', name)
      if (equals < 0) break
      if (PARAMETER.test(part.slice(name, equals))) {
        if (equals + 1 < part.length) yield [index + equals + 1, index + part.length]
        break
      }
      name = part.indexOf('?', equals)
    }
  }
}

/** Whether there is a secret at any depth. O(size). */
export function hasSecret(value: JsonValue): boolean {
  if (typeof value === 'string') return shownText(value) !== value
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([name, inner]) => isSecret(name, inner as JsonValue) || hasSecret(inner as JsonValue),
  )
}

/** The same, each secret masked. O(size). */
export function masked(value: JsonValue): JsonValue {
  if (typeof value === 'string') return shownText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(masked)
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, inner]) => [name, maskedField(name, inner ?? null)]),
  )
}

/** The value of a field, masked. O(size). */
export const maskedField = (name: string, value: JsonValue): JsonValue =>
  isSecret(name, value) ? MASK : masked(value)

/** The same without its secrets, and without what would be shown with a mask in it. O(size). */
export function withoutSecrets(value: JsonObject): JsonObject {
  const open = Object.entries(value as Readonly<Record<string, JsonValue>>).flatMap(
    ([name, inner]): [string, JsonValue][] => {
      if (isSecret(name, inner)) return []
      if (isObject(inner)) return [[name, withoutSecrets(inner)]]
      return hasSecret(inner) ? [] : [[name, inner]]
    },
  )
  return Object.fromEntries(open)
}

/** The texts of all secrets in a value. O(size). */
export function secretsIn(value: JsonValue): string[] {
  if (typeof value === 'string') return secretsOfUrl(value)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    isSecret(name, inner as JsonValue) ? textsIn(inner as JsonValue) : secretsIn(inner as JsonValue),
  )
}

function secretsOfUrl(text: string): string[] {
  if (!URL_LIKE.test(text)) return []
  const user = /^[^/]*\/\/([^/?#]*)@/.exec(text)?.[1] ?? ''
  const values = Array.from(secretParameters(text), ([start, end]) => text.slice(start, end))
  return [...user.split(':'), ...values]
    .filter((part) => part !== '')
    .flatMap((part) => [part, decoded(part)])
}

/** All texts in a value, at any depth. O(size). */
export const textsIn = (value: JsonValue): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap((inner) => textsIn(inner as JsonValue))
      : []
