/** Runs the tests in a runtime that runs programs: Node, Bun, Deno. */

import process from 'node:process'
import { runTests } from './tests.ts'

for await (const line of runTests()) console.log(line)
// What tests leave behind, like a lease that is still to run out, must not hold it.
process.exit()
