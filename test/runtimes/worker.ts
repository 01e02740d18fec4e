/** Runs the suite in a worker: a response with a line of JSON for each part. */

import { runSuite } from './suite.ts'

export async function outcomes(): Promise<string> {
  const lines: string[] = []
  for await (const outcome of runSuite()) lines.push(JSON.stringify(outcome))
  return lines.join('\n')
}
