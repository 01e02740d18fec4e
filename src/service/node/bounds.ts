/** The bounds of a socket, apart from the connection: code that gives them needs no types of the library below. */

/** Bounds of one socket. */
export interface ConnectionOptions {
  /** Bytes that may wait for the client. Default: 1 MiB. */
  readonly maxBufferedBytes: number
  /** Milliseconds in which the key must come. Default: 10,000. */
  readonly authTimeout: number
  /** Milliseconds that a client has to close its side. Default: 5,000. */
  readonly closeTimeout: number
}
