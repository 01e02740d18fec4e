import { attempt } from './json.ts'

/** Stable name of an error; its meaning never changes between versions. */
export type ErrorCode =
  | 'unknown_event'
  | 'evicted'
  | 'empty_view'
  | 'pending_calls'
  | 'invalid_argument'
  | 'invalid_query'
  | 'invalid_rules'
  | 'invalid_cursor'
  | 'invalid_id'
  | 'unknown_conversation'
  | 'conversation_exists'
  | 'version_conflict'
  | 'id_conflict'
  | 'unknown_parent'
  | 'transient_event'
  | 'lease_lost'
  | 'invalid_event'
  | 'unknown_call'
  | 'already_running'
  | 'context_too_long'
  | 'closed'
  | 'store_busy'
  | 'store_full'
  | 'store_read_only'
  | 'store_unavailable'
  | 'store_newer'
  | 'store_closed'

/**
 * An error that Colloquy throws on purpose. Check its `code` with `hasCode`, not its class: `instanceof`
 * fails when two copies of the package are installed.
 */
export class ColloquyError extends Error {
  override readonly name = 'ColloquyError'
  readonly code: ErrorCode
  /** Data about the error, such as an `id`, `field` or `version`. The field names depend on `code`. */
  readonly data: Readonly<Record<string, unknown>>

  constructor(
    code: ErrorCode,
    message: string,
    data: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.code = code
    this.data = data
  }
}

export const unknownEvent = (event: string, data: Readonly<Record<string, unknown>>): ColloquyError =>
  new ColloquyError(
    'unknown_event',
    `No event ${event} in this conversation. Check the id and the conversation.`,
    data,
  )

/**
 * Whether a caught value is a ColloquyError, from any copy of the package. O(1).
 * @example
 * isColloquyError(new ColloquyError('closed', 'The engine is closed.')) // true
 * isColloquyError(new Error('Disk full')) // false
 */
export function isColloquyError(error: unknown): error is ColloquyError {
  if (typeof error !== 'object' || error === null) return false
  // Other fields of a foreign value are not read: they may be getters with side effects.
  const value = error as { readonly [field in 'name' | 'code' | 'data']?: unknown }
  if (value.name !== 'ColloquyError' || typeof value.code !== 'string') return false
  return typeof value.data === 'object' && value.data !== null
}

/**
 * Whether a caught value is a ColloquyError with this code.
 * @example
 * try { stateAt(initialState(), "nope"); } catch (error) { console.assert(hasCode(error, "unknown_event")); }
 */
export const hasCode = (error: unknown, code: ErrorCode): error is ColloquyError =>
  isColloquyError(error) && error.code === code

export const nullOn =
  (code: ErrorCode) =>
  (error: unknown): null => {
    if (hasCode(error, code)) return null
    throw error
  }

const MAX_CAUSES = 5
const NO_TEXT = 'An error without a message.'

/**
 * Returns an error's message and the messages of its causes as text. Never throws.
 * @param textOf returns the text of an object that is not an error and has no message
 */
export function errorMessages(
  error: unknown,
  textOf: typeof JSON.stringify = JSON.stringify,
  path: readonly unknown[] = [error],
): string {
  const read = (): string => {
    const { message, name, cause, errors } = Object(error) as AggregateError
    if (!isError(error)) {
      if (typeof message === 'string' && message !== '') return message
      return typeof error === 'object' && error !== null ? textOf(error) : String(error)
    }
    const inner = [...(Array.isArray(errors) ? errors : []), cause ?? error].slice(0, MAX_CAUSES)
    const causes = path.length > MAX_CAUSES ? [] : inner.filter((each) => !path.includes(each))
    const lines = causes.map((each) => `Caused by: ${errorMessages(each, textOf, [...path, each])}`)
    return [message || name || NO_TEXT, ...lines].join('\n')
  }
  return attempt(() => read().toWellFormed(), '') || NO_TEXT
}

export const isError = (value: unknown): boolean =>
  attempt(() => value instanceof Error || Object.prototype.toString.call(value) === '[object Error]', false)

export function unreachable(value: never, what: string): never {
  throw new TypeError(`unknown ${what} ${JSON.stringify(value)}`)
}
