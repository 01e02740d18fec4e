/** JSON that may hold secrets goes in, and comes out with a mask in place of each; or whether there is any. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { decoded } from '../decoded.ts'

/** In place of a secret. */
export const MASK = '**********'

/** Fields that hold one, by the words of their names. */
const NAMES =
  /api[-_]?key|access[-_]?key|secret|token(?!s)|passw|credential|private[-_]?key|authorization|cookie/i

/** The user of a URL, with the password. */
const USER = /^([a-z][\w+.-]*:\/\/)[^/?#]*@/i
/** Values in the query of a URL, by the words of their names. */
const QUERY = /([?&;][^=&;#]*(?:key|token|secret|sig|passw|auth|cred)[^=&;#]*=)([^&;#]+)/gi
const URL_LIKE = /^[a-z][\w+.-]*:\/\//i

/** Whether a field with this name holds a secret. Numbers and flags are none: `max_output_tokens` is 4096. */
const isSecret = (name: string, value: JsonValue | undefined): boolean =>
  NAMES.test(name) &&
  value !== null &&
  value !== undefined &&
  typeof value !== 'number' &&
  typeof value !== 'boolean' &&
  value !== ''

/** A text as it is shown: of a URL without its user, and without the keys in its query. */
export function shownText(text: string): string {
  if (!URL_LIKE.test(text)) return text
  return text.replace(USER, '$1').replaceAll(QUERY, `$1${MASK}`)
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
  const values = [...text.matchAll(QUERY)].map((match) => match[2] ?? '')
  return [...user.split(':'), ...values]
    .filter((part) => part !== '')
    .flatMap((part) => [part, decoded(part)])
}

const textsIn = (value: JsonValue): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap((inner) => textsIn(inner as JsonValue))
      : []
