/**
 * What the published documents of the agent server and of the application server say of the operations that the service
 * has, as of August 2026: what a client sends and relies on, and no more.
 */

/** What is published of an operation. */
export interface Published {
  /** The status of its success. */
  readonly status: number
  /** The names of its query, and those of them that must be there. */
  readonly query?: readonly string[]
  readonly needed?: readonly string[]
  /** The fields that a body must have. */
  readonly body?: readonly string[]
  /** The fields that a reply has in any case. */
  readonly gives?: readonly string[]
  /** The values of parameters, of fields of the body (`body.x`) and of the reply (`reply.x`). */
  readonly enums?: Readonly<Record<string, readonly string[]>>
  /** Whether bad input gets 422. */
  readonly refuses?: boolean
}
