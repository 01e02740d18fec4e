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
