/** Runs in a copy of the project: checks a corpus file and prints the first broken law of redaction. */

import { redactionRules } from '../../src/context/redaction/rules.ts'
import { checkGrammars, checkThinking } from '../checks/messages.ts'
import { checkHidden, checkMaskStays, checkRedacted, checkRedactedLog } from '../checks/redaction.ts'
import { checkRedactedParts } from '../checks/redacted-parts.ts'
import { GREEDY } from '../greedy-rules.ts'
import { sayVerdict } from './say-verdict.ts'

sayVerdict('X6', ({ logs, events, hidden }) => {
  checkMaskStays()
  checkRedactedParts()
  for (const [i, { hidden: each, event }] of hidden.entries()) checkHidden(each, event, i % 2 === 0)
  for (const event of events) for (const rules of GREEDY) checkRedacted(event, rules)
  for (const [i, facts] of logs.slice(0, 150).entries()) {
    const after = checkRedactedLog(facts, GREEDY[i % GREEDY.length] ?? redactionRules())
    checkThinking(after)
    checkGrammars(after)
  }
})
