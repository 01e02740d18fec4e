/** The request id that ties a response to its log lines; a client's own is taken where it is harmless. */

const LEGAL = /^[\w.:-]{1,128}$/

/** What was given where that can stand in a header and a log, else a new one. */
export const requestIdOf = (given: string | null): string =>
  given !== null && LEGAL.test(given) ? given : crypto.randomUUID()
