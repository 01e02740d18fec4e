/** The bounds of a socket, apart from the connection: whoever gives them needs no types of the library below. */

/** Bounds of one socket. */
export interface ConnectionOptions {
  /** Bytes that may wait for the client. Default: 1 MiB. */
  readonly queue: number
  /** Milliseconds in which the key must come. Default: 10,000. */
  readonly auth: number
  /** Milliseconds that a client has to close its side. Default: 5,000. */
  readonly grace: number
}
