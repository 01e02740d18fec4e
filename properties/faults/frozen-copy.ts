/** Freezes JSON to the bottom without the code under test: whoever writes to a fact then throws. */

/** The same value, frozen. */
export function frozenCopy<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value)) frozenCopy((value as Readonly<Record<string, unknown>>)[key])
    Object.freeze(value)
  }
  return value
}
