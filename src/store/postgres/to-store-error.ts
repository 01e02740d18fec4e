/** One clear error of the library for whatever a driver throws. */

import { ColloquyError, type ErrorCode, isColloquyError } from '../../event/errors.ts'

/** SQLSTATE codes, whole or by their class, in the order they are looked at. */
const CODES: readonly (readonly [start: string, code: ErrorCode])[] = [
  ['40', 'store_busy'],
  ['55P03', 'store_busy'],
  ['57014', 'store_busy'],
  ['53300', 'store_busy'],
  ['53100', 'store_full'],
  ['53400', 'store_full'],
  ['25006', 'store_read_only'],
  ['42501', 'store_read_only'],
  ['54', 'invalid_argument'],
]

/** The code where an id is taken, and the database's own index said so. */
export const TAKEN: readonly string[] = ['23505']

const SENTENCES: Readonly<Partial<Record<ErrorCode, string>>> = {
  store_busy: 'PostgreSQL gave way to another transaction or to a time limit; make the call again',
  store_full:
    'PostgreSQL has no room left, on its disk or within its limits; make room, then make the call again',
  invalid_argument: 'PostgreSQL has no place for so much in one value, whenever it is given; give less',
  store_read_only: 'PostgreSQL does not let this user write here; connect as one who may, to a primary',
  store_unavailable: 'PostgreSQL cannot be reached or refused the call; make it again once the cause is gone',
}

/**
 * The SQLSTATE or system code of an error, or an empty text.
 *
 * @example
 * codeOf(Object.assign(new Error('no'), { code: '40001' })) // '40001'
 */
export function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

/** The library's error for one of the database or its driver, which stands in it as the cause. O(1). */
export function toStoreError(cause: unknown): ColloquyError {
  if (isColloquyError(cause)) return cause
  const sqlState = codeOf(cause)
  const code = CODES.find(([start]) => sqlState.startsWith(start))?.[1] ?? 'store_unavailable'
  return new ColloquyError(code, `${SENTENCES[code] ?? ''}: ${wordsOf(cause)}`, { sqlState }, { cause })
}

/** The first line of what was said; a host with several addresses says it once for each, and nothing for itself. */
function wordsOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '' && cause.errors.length > 0) {
    return cause.errors.map(wordsOf).join(', ')
  }
  return (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? ''
}
