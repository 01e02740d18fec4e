/** An error response in the interface's own shape (422 with place, sentence and type). */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { tellable, tellableErrors } from './tellable.ts'

/** One thing that is wrong with a request (interface section 7). */
export interface ValidationError {
  /** Where it is: the part of the request, then names and positions in it. */
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: string
  readonly input?: JsonValue
  readonly ctx?: JsonObject
}

/** A request that cannot be served; thrown by operations, and written as its status and `{"detail": …}`. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem'
  readonly status: number
  /** Fit to be sent: bounded, and without what looks like a secret (law W6). */
  readonly detail: string | readonly ValidationError[]

  constructor(status: number, detail: string | readonly ValidationError[]) {
    super(typeof detail === 'string' ? detail : `HTTP ${status}`)
    this.status = status
    this.detail = typeof detail === 'string' ? tellable(detail) : tellableErrors(detail)
  }
}

/** A 422. */
export const invalid = (...errors: readonly ValidationError[]): HttpProblem => new HttpProblem(422, errors)
