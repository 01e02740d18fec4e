/** The page of the inspector as the build made it. */

import { readFile } from 'node:fs/promises'
import { FileError } from './failure.ts'

/** Where it stands: beside the command in the package, in what was built for a command that runs from its sources. */
const PLACES = ['../inspector/page.html', '../../dist/inspector/page.html']

/** @throws FileError where it was not built. */
export async function readTemplate(): Promise<string> {
  for (const place of PLACES) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const text = await readFile(new URL(place, import.meta.url), 'utf8').catch(() => null)
    if (text !== null) return text
  }
  throw new FileError('not_built', 'the page of the inspector is not built: run npm run build')
}
