/** Compares versions of Node. */

/**
 * Whether a version comes before another, number by number.
 * @example
 * isOlder('22.9.1', '22.13') // true
 */
export function isOlder(version: string, least: string): boolean {
  const numbers = version.split('.').map(Number)
  for (const [at, wanted] of least.split('.').map(Number).entries()) {
    const is = numbers[at] ?? 0
    if (is !== wanted) return is < wanted
  }
  return false
}
