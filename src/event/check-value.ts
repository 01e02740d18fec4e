import { ColloquyError } from './errors.ts'
import { ID_RULE, isLegalId } from './ids.ts'
import { parseInstant } from './time.ts'

/** An unchecked value; null counts as omitted. */
export type Given = unknown

export type Refuse = (field: string, rule: string) => never

export const invalid = (message: string, data: Readonly<Record<string, unknown>> = {}): ColloquyError =>
  new ColloquyError('invalid_argument', message, data)

export function invalidArgument(field: string, rule: string): never {
  throw new ColloquyError('invalid_argument', `\`${field}\` ${rule}.`, { field })
}

type NamesIn<Text extends string> = Text extends `${infer Name} ${infer Rest}` ? Name | NamesIn<Rest> : Text

/**
 * Rejects unknown options, and a `signal` that is not an AbortSignal.
 * @param known names of all options, separated by spaces, in one or more strings
 */
export function checkOptionNames<T extends object, const Known extends string>(
  options: T | null | undefined,
  ...known: readonly (Known & (keyof NoInfer<T> extends NamesIn<Known> ? unknown : never))[]
): void {
  const names = known.join(' ').split(' ')
  for (const name of Object.keys(options ?? {})) {
    if (names.includes(name)) continue
    const shown = name.slice(0, 40)
    const [nearest = ''] = names.toSorted((a, b) => unlikeness(shown, a) - unlikeness(shown, b))
    const isLike = unlikeness(shown, nearest) <= shown.length / 4
    const hint = isLike ? `Did you mean ${nearest}?` : `Use one of ${names.join(', ')}.`
    throw invalid(`Unknown option ${JSON.stringify(shown)}. ${hint}`, { field: shown })
  }
  const signal = (options as { readonly signal?: Given } | null | undefined)?.signal
  if (signal !== undefined) checkSignal(signal)
}

export function checkSignal(signal: Given): void {
  if (signal !== undefined && !(signal instanceof AbortSignal))
    invalidArgument('signal', 'must be an AbortSignal, such as `controller.signal`')
}

/**
 * Returns the known name nearest to a mistyped name; null if no known name is within two edits, or if all
 * letters differ. O(names · log names · letters²).
 * @example
 * nearestName('serch', ['search', 'serve']) // 'search'
 */
export function nearestName(typed: string, known: readonly string[]): string | null {
  const [nearest] = known.toSorted((a, b) => editDistance(typed, a) - editDistance(typed, b))
  const limit = Math.min(2, typed.length - 1)
  return nearest !== undefined && editDistance(typed, nearest) <= limit ? nearest : null
}

function unlikeness(from: string, to: string): number {
  let common = 0
  while (common < from.length && from[common] === to[common]) common += 1
  return editDistance(from, to) - 2 * common
}

/** Returns the minimum number of edits: insertions, deletions, replacements and exchanges of adjacent letters. */
function editDistance(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1]
    for (let column = 0; column < to.length; column += 1) {
      const changed = (row[column] ?? 0) + (from[index] === to[column] ? 0 : 1)
      const isExchange = from[index] === to[column - 1] && from[index - 1] === to[column]
      const exchanged = isExchange ? (before[column - 1] ?? Infinity) + 1 : Infinity
      next.push(Math.min((row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1, changed, exchanged))
    }
    ;[before, row] = [row, next]
  }
  return row.at(-1) ?? 0
}

export function invalidQuery(field: string, rule: string): never {
  throw new ColloquyError('invalid_query', `\`${field}\` ${rule}.`, { field })
}

export function checkText(field: string, value: Given, refuse: Refuse = invalidQuery): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : refuse(field, 'must be a string')
}

export function checkId(field: string, value: Given, refuse: Refuse = invalidQuery): string | null {
  const text = checkText(field, value, refuse)
  if (text === null || isLegalId(text)) return text
  return refuse(field, `must be an id: ${ID_RULE}`)
}

export function checkBoolean(field: string, value: Given, refuse: Refuse = invalidQuery): boolean | null {
  if (value === undefined || value === null) return null
  return typeof value === 'boolean' ? value : refuse(field, 'must be true or false')
}

export function checkFunction(field: string, value: Given): void {
  if (value !== undefined && typeof value !== 'function') invalidArgument(field, 'must be a function')
}

export function checkInstant(field: string, value: Given): bigint | null {
  const text = checkText(field, value)
  if (text === null) return null
  return (
    parseInstant(text) ??
    invalidQuery(field, 'must be a date and time in ISO 8601, such as 2026-01-31T10:00:00.5+01:00')
  )
}

export function checkInteger<T>(
  field: string,
  value: Given,
  min: number,
  max: number,
  otherwise: T,
  refuse: Refuse = invalidQuery,
): number | T {
  if (value === undefined || value === null) return otherwise
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value
  return refuse(
    field,
    max === Number.MAX_SAFE_INTEGER
      ? `must be an integer of ${min} or more`
      : `must be an integer from ${min} to ${max}`,
  )
}

export function checkNumber(
  name: string,
  value: number,
  { least, whole = true }: { readonly least: number; readonly whole?: boolean },
): number {
  if (typeof value === 'number' && value >= least && (!whole || Number.isInteger(value))) return value
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return invalidArgument(
    name,
    `must be ${whole ? 'an integer' : 'a number'} of ${least} or more, not ${shown}`,
  )
}

export function checkBound(name: string, value: unknown, least: number): number {
  return value === Infinity || (Number.isSafeInteger(value) && (value as number) >= least)
    ? (value as number)
    : invalidArgument(name, `must be an integer of ${least} or more, or Infinity`)
}

/** Maximum delay of a timer in milliseconds. A timer with a longer delay fires at once. */
export const MAX_DELAY = 2 ** 31 - 1

export function checkPollInterval(value: Given, otherwise: number): number {
  if (value === undefined) return otherwise
  if (typeof value === 'number' && value > 0 && value <= MAX_DELAY) return value
  return invalidArgument('pollInterval', `must be more than 0 and at most ${MAX_DELAY} milliseconds`)
}

export function checkOneOf<T extends string>(
  field: string,
  value: Given,
  choices: readonly T[],
  refuse: Refuse = invalidQuery,
): T | null {
  if (value === undefined || value === null) return null
  return choices.find((choice) => choice === value) ?? refuse(field, `must be one of ${choices.join(', ')}`)
}
