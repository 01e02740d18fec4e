/** Runs in a copy of the project: checks a corpus file and prints the first broken law of loops. */

import { checkLoops, checkThoughtless } from '../checks/stuck.ts'
import { sayVerdict } from './say-verdict.ts'

sayVerdict('L1', ({ loops }) => {
  for (const log of loops) {
    checkLoops(log)
    checkThoughtless(log)
  }
})
