import { redactText } from '../../context/redaction/redact-text.ts'
import { redactionRules } from '../../context/redaction/rules.ts'
import { ellipsize } from '../../context/text.ts'
import { type ErrorCode, isColloquyError } from '../../event/errors.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { Operation } from './operation.ts'
import type { ValidationError } from './parameters.ts'

export class HttpProblem extends Error {
  override readonly name = 'HttpProblem'
  readonly status: number
  /** Text of limited length, without anything that looks like a secret (law W6). */
  readonly detail: string | readonly ValidationError[]

  constructor(status: number, detail: string | readonly ValidationError[]) {
    super(typeof detail === 'string' ? detail : `HTTP ${status}`)
    this.status = status
    this.detail = typeof detail === 'string' ? redactForClient(detail) : redactErrors(detail)
  }
}

export const invalid = (...errors: readonly ValidationError[]): HttpProblem => new HttpProblem(422, errors)

export const valueError = (loc: ValidationError['loc'], why: string, input?: JsonValue): ValidationError => ({
  type: 'value_error',
  loc,
  msg: `Value error, ${why}`,
  ...(input !== undefined && { input }),
})

export const invalidValue = (...error: Parameters<typeof valueError>): HttpProblem =>
  invalid(valueError(...error))

const RULES = redactionRules()
const encoder = new TextEncoder()

const MAX_ERRORS = 20
/** Maximum bytes of a response's errors, counted as JSON. The first error is always kept. */
const MAX_ERROR_BYTES = 2 ** 14
const MAX_PARTS = 12

const MAX_PART = 64
const MAX_VALUE = 100
const MAX_MESSAGE = 1_000

/**
 * Redacts and shortens a text, which may quote secrets or megabytes of a request. Reads only the start of the
 * text.
 */
export const redactForClient = (text: string, limit = MAX_MESSAGE): string =>
  ellipsize(redactText(text.slice(0, 8 * limit), RULES), limit)

/** Removes each error's `input` if it is a list, an object or the value of a field such as `password`. */
function redactErrors(errors: readonly ValidationError[]): ValidationError[] {
  const redacted = errors.slice(0, MAX_ERRORS).map(({ loc, msg, type, input, ctx }) => ({
    loc: redactLocation(loc),
    msg: redactForClient(msg),
    type,
    ...(isQuotable(loc, input) && {
      input: typeof input === 'string' ? redactForClient(input, MAX_VALUE) : input,
    }),
    ...(ctx !== undefined && { ctx }),
  }))
  let bytes = 0
  return redacted.filter((error, index) => {
    bytes += encoder.encode(JSON.stringify(error)).length
    return index === 0 || bytes <= MAX_ERROR_BYTES
  })
}

function redactLocation(loc: ValidationError['loc']): ValidationError['loc'] {
  const parts = loc.length > MAX_PARTS ? [...loc.slice(0, MAX_PARTS - 1), '…'] : loc
  return parts.map((part) => (typeof part === 'string' ? redactForClient(part, MAX_PART) : part))
}

const isQuotable = (
  loc: ValidationError['loc'],
  input: JsonValue | undefined,
): input is string | number | boolean | null =>
  input !== undefined &&
  (typeof input !== 'object' || input === null) &&
  !loc.some((part) => typeof part === 'string' && RULES.isSecretField(part))

const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  invalid_argument: 422,
  invalid_query: 422,
  invalid_cursor: 422,
  invalid_id: 422,
  invalid_event: 422,
  transient_event: 422,
  unknown_parent: 422,
  unknown_call: 409,
  unknown_event: 404,
  unknown_conversation: 404,
  conversation_exists: 409,
  id_conflict: 409,
  version_conflict: 409,
  already_running: 409,
  lease_lost: 409,
  store_busy: 503,
  store_unavailable: 503,
  store_full: 507,
  store_read_only: 503,
  store_closed: 503,
  closed: 503,
}

const PARAMETER_NAMES: Readonly<Record<string, string>> = {
  cursor: 'page_id',
  conversationId: 'conversation_id',
  conversation: 'conversation_id',
  kinds: 'kind__eq',
  timestampGte: 'timestamp__gte',
  timestampLt: 'timestamp__lt',
  order: 'sort_order',
  titleContains: 'title__contains',
  text: 'body',
}

/** Returns the response to an error; null for an internal failure, which has no status. */
export function toProblem(
  error: unknown,
  { params = {}, query = {}, body }: Partial<Pick<Operation, 'params' | 'query' | 'body'>>,
): HttpProblem | null {
  if (!isColloquyError(error)) return null
  const status = STATUS[error.code]
  if (status === undefined) return null
  if (status !== 422) return new HttpProblem(status, error.message)
  const field = error.code === 'invalid_cursor' ? 'cursor' : String(error.data['field'] ?? '')
  const name = PARAMETER_NAMES[field] ?? field
  const isBody = body !== undefined && !Object.hasOwn(query, name)
  const part = Object.hasOwn(params, name) ? 'path' : isBody ? 'body' : 'query'
  const { message } = error
  const named = message.replace(/^`?[\w.]+/, (first) => first.replace(field, name))
  return invalidValue(name === '' ? [part] : [part, name], named)
}

export interface FailureText {
  readonly code: string
  readonly detail: string
}

/** Returns the redacted message of a library error or HttpProblem, and a fixed text for any other error. */
export function describeFailure(error: unknown): FailureText {
  if (isColloquyError(error)) return { code: error.code, detail: redactForClient(error.message) }
  if (error instanceof HttpProblem) return { code: `HTTP${error.status}`, detail: problemText(error) }
  return { code: 'InternalError', detail: 'Internal server error. Everything written so far is stored.' }
}

export function problemText({ detail }: HttpProblem): string {
  if (typeof detail === 'string') return detail
  return detail
    .slice(0, 3)
    .map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
    .join('; ')
}
