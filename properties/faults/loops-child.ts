/** Runs in a copy of the project: a corpus file goes in, the first law of loops that does not hold comes out on standard output. */

import { readFileSync } from 'node:fs'
import { checkLoops, checkThoughtless } from '../checks/stuck.ts'
import type { Corpus } from './corpus.ts'
import { frozenCopy } from './frozen-copy.ts'

try {
  const { loops } = frozenCopy(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Corpus)
  for (const log of loops) {
    checkLoops(log)
    checkThoughtless(log)
  }
  console.log('all laws hold')
} catch (error) {
  const isLaw = error instanceof Error && error.name === 'LawBroken'
  console.log(isLaw ? error.message.slice(0, 300) : `L1: ${String(error).slice(0, 300)}`)
}
