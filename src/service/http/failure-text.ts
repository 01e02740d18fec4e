/** A failure in words for a client: the library's own errors are sent, of all else only that it happened. */

import { isColloquyError } from '../../event/errors.ts'
import { HttpProblem } from './problem.ts'
import { tellable } from './tellable.ts'

/** A failure in words for a client. */
export interface FailureText {
  readonly code: string
  readonly detail: string
}

/** What a client may read of a failure: the library's own errors, and of all else only that it happened. */
export function describeFailure(error: unknown): FailureText {
  if (isColloquyError(error)) return { code: error.code, detail: tellable(error.message) }
  if (error instanceof HttpProblem) return { code: `HTTP${error.status}`, detail: problemText(error) }
  return { code: 'InternalError', detail: 'The server failed; what it has written is kept.' }
}

/** A problem in one sentence. */
export function problemText({ detail }: HttpProblem): string {
  if (typeof detail === 'string') return detail
  return detail
    .slice(0, 3)
    .map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
    .join('; ')
}
