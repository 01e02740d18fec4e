/** Runs in a copy of the project: a corpus file goes in, the first law that does not hold comes out on standard output. */

import { LOG_CHECKS } from '../checks/all.ts'
import { checkBadLines, checkLine, checkRoundTrip, checkTotal } from '../checks/events.ts'
import { checkIssues, checkMasking } from '../checks/secrets.ts'
import type { Corpus } from './corpus.ts'
import { sayVerdict } from './say-verdict.ts'

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

sayVerdict('R2', checkAll)
