/** Runs the tests in a process of Node, Bun or Deno. */

import process from 'node:process'
import { runTests } from './run-tests.ts'

for await (const line of runTests()) console.log(line)
// Leftovers of tests, such as a lease timer, must not keep the process alive.
process.exit()
