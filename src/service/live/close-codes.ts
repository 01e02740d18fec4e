/** Why a socket is closed: the codes, and what each asks the client to do. */

/** Codes of RFC 6455 where one fits, else of the range for applications. */
export const CLOSE = {
  /** The server goes away: connect again, to the process that serves then, and go on after the last position. */
  away: 1001,
  /** A frame was too large; sent by the transport itself. */
  tooLarge: 1009,
  /** The stream failed: go on after the last position, later. */
  failed: 1011,
  /** There are too many streams: try again later. */
  busy: 1013,
  /** No key, a wrong one, or one in the URL: do not try again with it. */
  unauthorized: 4001,
  /** There is no such conversation, or it was deleted: do not try again. */
  unknown: 4004,
  /** The reader was too slow: go on after the last position, and read faster. */
  slow: 4008,
  /** Nothing came from the client, not even the response to a ping: go on after the last position. */
  idle: 4009,
  /** The query is wrong: do not try again with it. */
  badRequest: 4400,
} as const
