/** Runs in a copy of the project: a corpus file goes in, the first law of redaction that does not hold comes out on standard output. */

import { readFileSync } from 'node:fs'
import { redact } from '../../src/context/redaction/redact.ts'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import { checkGrammars, checkThinking } from '../checks/messages.ts'
import {
  checkGone,
  checkLeft,
  checkMaskStays,
  checkRedacted,
  checkSameShape,
  MAY_STAY,
  redacted,
} from '../checks/redaction.ts'
import { GREEDY } from '../greedy-rules.ts'
import type { Corpus } from './corpus.ts'
import { frozenCopy } from './frozen-copy.ts'

function checkAll({ logs, events, hidden }: Corpus): void {
  checkMaskStays()
  for (const [i, { hidden: each, event }] of hidden.entries()) {
    const { secret } = each
    checkLeft(each)
    const rules = redactionRules({ secrets: [secret], ...(i % 2 === 0 && { key: 'k' }) })
    checkRedacted(event, rules)
    checkGone(redact(event, rules), secret, MAY_STAY)
  }
  for (const event of events) for (const rules of GREEDY) checkRedacted(event, rules)
  for (const [i, facts] of logs.slice(0, 150).entries()) {
    const rules = GREEDY[i % GREEDY.length] ?? redactionRules()
    const after = redacted(facts, rules)
    for (const fact of facts) checkRedacted(fact, rules)
    checkSameShape(facts, after)
    checkThinking(after)
    checkGrammars(after)
  }
}

try {
  checkAll(frozenCopy(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Corpus))
  console.log('all laws hold')
} catch (error) {
  const isLaw = error instanceof Error && error.name === 'LawBroken'
  console.log(isLaw ? error.message.slice(0, 300) : `X6: ${String(error).slice(0, 300)}`)
}
