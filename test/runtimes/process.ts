/** Runs the tests in a runtime that runs programs: Node, Bun, Deno. */

import process from 'node:process'
import { runTests } from './tests.ts'

for await (const line of runTests()) console.log(line)
// Leftovers of tests, such as a lease timer, must not keep the process alive.
process.exit()
