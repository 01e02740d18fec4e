/** Runs the tests in a page. Sends the server a line for each file, and an empty line at the end. */

import { runTests } from './run-tests.ts'

const send = (line: string): Promise<unknown> => fetch('/outcomes', { method: 'POST', body: line })

try {
  for await (const line of runTests()) await send(line)
} catch (error) {
  await send(`the page ends: ${error instanceof Error ? error.stack : String(error)}`)
}
await send('')
