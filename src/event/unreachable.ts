/**
 * Ends a switch over a closed set: a member without a case does not compile, and a value from outside the types is an
 * error.
 */

/** @param what what kind of thing it is, for the message */
export function unreachable(value: never, what: string): never {
  throw new TypeError(`unknown ${what} ${JSON.stringify(value)}`)
}
