/** Deep-freezes without the code under test, so that writing to a fact throws. */

export function frozenCopy<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value)) frozenCopy((value as Readonly<Record<string, unknown>>)[key])
    Object.freeze(value)
  }
  return value
}
