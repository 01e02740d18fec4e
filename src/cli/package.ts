/** The package's own version, and the oldest Node that it runs on. */

import { readFile } from 'node:fs/promises'

export async function readPackage(): Promise<{ readonly version: string; readonly node: string }> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  const { version, engines } = JSON.parse(text) as {
    readonly version: string
    readonly engines: { readonly node: string }
  }
  return { version, node: engines.node.replace(/^\D+/, '') }
}

/**
 * Whether a version is older than another, number by number.
 * @example
 * isOlder('22.9.1', '22.13') // true
 */
export function isOlder(version: string, least: string): boolean {
  const numbers = version.split('.').map(Number)
  for (const [index, required] of least.split('.').map(Number).entries()) {
    const actual = numbers[index] ?? 0
    if (actual !== required) return actual < required
  }
  return false
}
