/** What is wrong with a request, in the interface's own shape: a place, a sentence and a type go in, a ValidationError comes out. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'

/** One thing that is wrong with a request (interface section 7). */
export interface ValidationError {
  /** Where it is: the part of the request, then names and positions in it. */
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: string
  readonly input?: JsonValue
  readonly ctx?: JsonObject
}

/** The body of a 422. */
export interface HTTPValidationError {
  readonly detail: readonly ValidationError[]
}

/** A request that cannot be answered; thrown by operations, and written as its status and `{"detail": …}`. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem'
  readonly status: number
  readonly detail: JsonValue | readonly ValidationError[]

  constructor(status: number, detail: JsonValue | readonly ValidationError[]) {
    super(typeof detail === 'string' ? detail : `HTTP ${status}`)
    this.status = status
    this.detail = detail
  }
}

/** A 422. */
export const invalid = (...errors: readonly ValidationError[]): HttpProblem => new HttpProblem(422, errors)
