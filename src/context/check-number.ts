import { ColloquyError } from '../event/errors.ts'
import { invalidArgument } from '../event/check-value.ts'

interface NumberRange {
  readonly least: number
  readonly max?: number
  /** Whether the number must be an integer. Default: true. */
  readonly whole?: boolean
}

export function checkNumber(
  name: string,
  value: number,
  { least, max: limit = Infinity, whole = true }: NumberRange,
): number {
  const fine = value >= least && value <= limit && (!whole || Number.isInteger(value))
  if (fine) return value
  const range = limit === Infinity ? `of ${least} or more` : `from ${least} to ${limit}`
  throw invalid(`${name} must be ${whole ? 'an integer' : 'a number'} ${range}, not ${String(value)}.`, {
    [name]: value,
  })
}

/** Returns an integer from `least`, or Infinity. @throws ColloquyError `invalid_argument`. */
export function checkBound(name: string, value: unknown, least: number): number {
  const fine = value === Infinity || (Number.isSafeInteger(value) && (value as number) >= least)
  return fine
    ? (value as number)
    : invalidArgument(name, `must be an integer of ${least} or more, or Infinity`)
}

export const invalid = (message: string, data: Readonly<Record<string, unknown>>): ColloquyError =>
  new ColloquyError('invalid_argument', message, data)
