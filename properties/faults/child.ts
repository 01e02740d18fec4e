/** Runs in a copy of the project: a corpus file goes in, the first law that does not hold comes out on standard output. */

import { readFileSync } from 'node:fs'
import { LOG_CHECKS } from '../checks/all.ts'
import { checkBadLines, checkLine, checkRoundTrip, checkTotal } from '../checks/events.ts'
import { checkIssues, checkMasking } from '../checks/secrets.ts'
import { frozenCopy } from './frozen-copy.ts'
import type { Corpus } from './corpus.ts'

/** Every check on every value; throws at the first law that is broken. */
function checkAll({ logs, events, broken, lines }: Corpus): void {
  for (const line of lines) checkLine(line)
  for (const value of broken) {
    checkIssues(value)
    checkTotal(structuredClone(value))
  }
  for (const event of events) {
    checkRoundTrip(event)
    checkMasking(event)
    checkTotal(structuredClone(event))
  }
  for (const facts of logs) {
    for (const check of LOG_CHECKS) check(facts)
    checkBadLines(facts, lines.slice(0, 4))
  }
}

try {
  checkAll(frozenCopy(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Corpus))
  console.log('all laws hold')
} catch (error) {
  const isLaw = error instanceof Error && error.name === 'LawBroken'
  console.log(isLaw ? error.message.slice(0, 300) : `R2: ${String(error).slice(0, 300)}`)
}
