/** Assertions that need no test runner. */

import { type ColloquyError, type ErrorCode, hasCode } from '../../event/errors.ts'

export function holds(condition: boolean, what: string): void {
  if (!condition) throw new Error(what)
}

/** Fails unless two values are deeply equal; the order of keys does not matter. */
export function equal(actual: unknown, expected: unknown, what: string): void {
  if (!isEqual(actual, expected)) throw new Error(`${what}: expected ${show(expected)}, got ${show(actual)}`)
}

export async function rejects(
  code: ErrorCode,
  what: string,
  call: () => Promise<unknown> | void,
): Promise<ColloquyError> {
  let outcome: string
  try {
    outcome = `the result ${show(await call())}`
  } catch (error) {
    if (hasCode(error, code)) return error
    outcome = `${error instanceof Error && 'code' in error ? `${String(error.code)}: ` : ''}${String(error)}`
  }
  throw new Error(`${what}: expected the error ${code}, got ${outcome}`)
}

export async function rejectsAll(
  calls: Readonly<Partial<Record<ErrorCode, () => Promise<unknown>>>>,
): Promise<void> {
  const entries = Object.entries(calls) as [ErrorCode, () => Promise<unknown>][]
  await Promise.all(entries.map(([code, call]) => rejects(code, 'the call', call)))
}

export async function rejectsEach<T>(
  code: ErrorCode,
  values: Iterable<T>,
  call: (value: T) => Promise<unknown> | void,
  dataOf: (value: T) => Readonly<Record<string, unknown>> = () => ({}),
): Promise<void> {
  for (const value of values) {
    const { data } = await rejects(code, `input ${show(value)}`, () => call(value))
    for (const [name, expected] of Object.entries(dataOf(value)))
      equal(
        (data as Readonly<Record<string, unknown>>)[name],
        expected,
        `${name} in the error for ${show(value)}`,
      )
  }
}

function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  const [left, right] = [a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>]
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(right, key) && isEqual(left[key], right[key]))
  )
}

function show(value: unknown): string {
  const text = JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? `${item}n` : item))
  return text === undefined ? String(value) : text.length > 400 ? `${text.slice(0, 400)}…` : text
}
