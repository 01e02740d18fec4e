/** Single values of a query go in, checked values come out, or `invalid_query` with the name of the field. */

import { ColloquyError } from '../event/errors.ts'
import { isLegalId } from '../event/ids.ts'
import { parseInstant } from '../event/time.ts'

/** A value that nobody has looked at yet; null counts as left out. */
export type Given = unknown

/** Refuses a query for one of its fields. */
export function refuse(field: string, rule: string): never {
  throw new ColloquyError('invalid_query', `${field} ${rule}.`, { field })
}

/** A text, or null when it was left out. */
export function checkText(field: string, value: Given): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : refuse(field, 'must be a string')
}

/** An id that something could have, or null when it was left out. */
export function checkId(field: string, value: Given): string | null {
  const text = checkText(field, value)
  if (text === null || isLegalId(text)) return text
  return refuse(
    field,
    'must be an id: 1 to 200 characters of well-formed Unicode, without control characters, not "__root__"',
  )
}

/** True, false, or null when it was left out. */
export function checkBoolean(field: string, value: Given): boolean | null {
  if (value === undefined || value === null) return null
  return typeof value === 'boolean' ? value : refuse(field, 'must be true or false')
}

/** An instant in microseconds, or null when it was left out. */
export function checkInstant(field: string, value: Given): bigint | null {
  const text = checkText(field, value)
  if (text === null) return null
  return (
    parseInstant(text) ??
    refuse(field, 'must be a date and time in ISO 8601, as in 2026-01-31T10:00:00.5+01:00')
  )
}

/** A whole number within bounds, or what stands for it when it was left out. */
export function checkInteger<T>(
  field: string,
  value: Given,
  min: number,
  max: number,
  otherwise: T,
): number | T {
  if (value === undefined || value === null) return otherwise
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value
  return refuse(
    field,
    max === Number.MAX_SAFE_INTEGER
      ? `must be an integer from ${min} on`
      : `must be an integer from ${min} to ${max}`,
  )
}

/** One of some texts, or null when it was left out. */
export function checkOneOf<T extends string>(field: string, value: Given, choices: readonly T[]): T | null {
  if (value === undefined || value === null) return null
  const found = choices.find((choice) => choice === value)
  return found ?? refuse(field, `must be one of ${choices.join(', ')}`)
}
