/** Runs the tests in a page, which sends its server a line for each file, and an empty one at the end. */

import { runTests } from './tests.ts'

const send = (line: string): Promise<unknown> => fetch('/outcomes', { method: 'POST', body: line })

try {
  for await (const line of runTests()) await send(line)
} catch (error) {
  await send(`the page ends: ${error instanceof Error ? error.stack : String(error)}`)
}
await send('')
