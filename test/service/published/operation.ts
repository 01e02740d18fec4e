/** A published operation of either server, as of August 2026: only the fields that clients send or read. */

export interface Published {
  /** The success status. */
  readonly status: number
  /** Query parameters, and the required ones. */
  readonly query?: readonly string[]
  readonly needed?: readonly string[]
  /** Required fields of the body. */
  readonly body?: readonly string[]
  /** Required fields of the response. */
  readonly gives?: readonly string[]
  /** Values of parameters, of body fields (`body.x`) and of response fields (`reply.x`). */
  readonly enums?: Readonly<Record<string, readonly string[]>>
  /** Whether invalid input returns 422. */
  readonly refuses?: boolean
}
