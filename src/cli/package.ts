/** The package's own version, and the oldest Node that it runs on. */

import { readFile } from 'node:fs/promises'

/** What the command knows of its package. */
export interface Package {
  readonly version: string
  /** As in 22.13. */
  readonly node: string
}

export async function readPackage(): Promise<Package> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  const { version, engines } = JSON.parse(text) as {
    readonly version: string
    readonly engines: { readonly node: string }
  }
  return { version, node: engines.node.replace(/^\D+/, '') }
}
