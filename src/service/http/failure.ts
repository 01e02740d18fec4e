/** The HTTP problem for each error of the library. */

import { type ErrorCode, isColloquyError } from '../../event/errors.ts'
import type { Operation } from './operation.ts'
import { HttpProblem } from './problem.ts'

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

/** Fields of a query as the library calls them, and as a request does. */
const FIELDS: Readonly<Record<string, string>> = {
  cursor: 'page_id',
  conversationId: 'conversation_id',
  kinds: 'kind__eq',
  timestampGte: 'timestamp__gte',
  timestampLt: 'timestamp__lt',
  order: 'sort_order',
  titleContains: 'title__contains',
  text: 'body',
}

/** What says where a request has a field. */
type Places = Pick<Operation, 'params' | 'query' | 'body'>

/**
 * The problem that an error of the library is to such an operation; null for any other error, which is the service's
 * own failure.
 */
export function toProblem(error: unknown, { params = {}, query = {}, body }: Places): HttpProblem | null {
  if (!isColloquyError(error)) return null
  const status = STATUS[error.code]
  if (status === undefined) return null
  if (status !== 422) return new HttpProblem(status, error.message)
  const field = error.code === 'invalid_cursor' ? 'cursor' : String(error.data['field'] ?? '')
  const name = FIELDS[field] ?? field
  const own = Object.hasOwn(params, name) ? 'path' : Object.hasOwn(query, name) ? 'query' : null
  const place = [own ?? (body === undefined ? 'query' : 'body')]
  return new HttpProblem(422, [
    {
      type: 'value_error',
      loc: name === '' ? place : [...place, name],
      msg: `Value error, ${error.message}`,
    },
  ])
}
