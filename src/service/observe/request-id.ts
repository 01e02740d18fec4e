/** The id that a client gave its request goes in; the id that ties the request's lines and its answer together comes out. */

const LEGAL = /^[\w.:-]{1,128}$/

/** What was given where that can stand in a header and a log, else a new one. */
export const requestIdOf = (given: string | null): string =>
  given !== null && LEGAL.test(given) ? given : crypto.randomUUID()
