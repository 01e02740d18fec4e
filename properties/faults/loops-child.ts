/** Runs in a copy of the project: a corpus file goes in, the first law of loops that does not hold comes out on standard output. */

import { checkLoops, checkThoughtless } from '../checks/stuck.ts'
import { sayVerdict } from './say-verdict.ts'

sayVerdict('L1', ({ loops }) => {
  for (const log of loops) {
    checkLoops(log)
    checkThoughtless(log)
  }
})
