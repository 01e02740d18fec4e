/** Ends a switch of the command; it imports published entries alone, and this is no name to publish. */

export function unreachable(value: never): never {
  throw new TypeError(`unexpected ${JSON.stringify(value)}`)
}
