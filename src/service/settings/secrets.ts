/** JSON that may hold secrets goes in, and comes out with a mask in place of each; or whether there is any. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'

/** In place of a secret. */
export const MASK = '**********'

/** Fields that hold one, by the words of their names. */
const NAMES =
  /api[-_]?key|access[-_]?key|secret|token(?!s)|passw|credential|private[-_]?key|authorization|cookie/i

/** Whether a field with this name holds a secret. Numbers and flags are none: `max_output_tokens` is 4096. */
const isSecret = (name: string, value: JsonValue | undefined): boolean =>
  NAMES.test(name) &&
  value !== null &&
  value !== undefined &&
  typeof value !== 'number' &&
  typeof value !== 'boolean' &&
  value !== ''

/** Whether there is a secret at any depth. O(size). */
export const hasSecret = (value: JsonValue): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([name, inner]) => isSecret(name, inner) || hasSecret(inner as JsonValue))

/** The same, each secret masked. O(size). */
export function masked(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(masked)
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, inner]) => [
      name,
      inner === undefined ? null : isSecret(name, inner) ? MASK : masked(inner),
    ]),
  )
}

/** The texts of all secrets in a value. O(size). */
export function secretsIn(value: JsonValue): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    isSecret(name, inner as JsonValue) ? textsIn(inner as JsonValue) : secretsIn(inner as JsonValue),
  )
}

const textsIn = (value: JsonValue): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap((inner) => textsIn(inner as JsonValue))
      : []

/** A text without these secrets, also where they stand in it as they would in a URL, in JSON or in base64. */
export function without(text: string, secrets: readonly string[]): string {
  let clean = text
  const forms = secrets
    .filter((secret) => secret.length > 0)
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      ...base64Of(secret),
    ])
  for (const form of forms.toSorted((a, b) => b.length - a.length)) clean = clean.replaceAll(form, MASK)
  return clean
}

/** Text beyond Latin letters is not sent as base64 by anybody. */
function base64Of(text: string): string[] {
  try {
    return [btoa(text).replace(/=+$/, '')]
  } catch {
    return []
  }
}
