/** I1 to I7, P6 to P11: checks the story of a run. */

import type { Fact } from '../../src/event/quarantine.ts'
import { checkLog } from '../../src/laws/check-log.ts'
import type { State } from '../../src/state/state.ts'
import { replay } from '../../src/state/reduce.ts'
import type { Plan } from '../execution/plan.ts'
import type { Story } from '../execution/story.ts'
import type { SentOccurrence } from '../wire/sent.ts'
import { hold } from '../../src/testing/failure.ts'
import { checkPairing } from './pairing.ts'
import { checkReplyEnds } from './reply-ends.ts'
import { checkRequests } from './requests.ts'
import { checkTree } from './tree.ts'
import { checkOnce, checkConsent, checkWords, checkAsks } from './calls.ts'
import {
  checkSettled,
  checkFailures,
  checkLastWord,
  checkHooks,
  checkRecoveries,
  checkEnd,
} from './endings.ts'
import { checkPauses, checkInterrupts, checkTextSoFar, checkHeard, checkLeases } from './stops.ts'

export function checkStory(story: Story, plan: Plan): SentOccurrence[] {
  hold('I1', !story.endless, 'the runs do not end')
  for (const error of story.broken) throw error
  const now = replay(story.facts, { conversationId: 'c' })
  checkSettled(story)
  checkFailures(now)
  checkOnce(story, plan, now)
  checkConsent(story, plan, now)
  checkWords(story, now)
  checkAsks(story)
  checkPauses(story)
  checkInterrupts(story, now)
  checkTextSoFar(story, now)
  checkHeard(story)
  checkLeases(story, now)
  checkLastWord(story, now)
  checkHooks(story, plan, now)
  checkRecoveries(story, now)
  checkEnd(story, now)
  checkReplyEnds(story, now)
  checkTree(story.facts)
  checkPairing(story.facts)
  checkWritten(story, now)
  return checkRequests(story, plan, now)
}

/** Checks that checkLog has no findings in logs of the engine. */
function checkWritten({ facts }: Story, { header }: State): void {
  const allowed = new Set([...INVALID_PLANS, ...RACES])
  const ended = header.status === 'finished'
  for (const { law, id, message } of checkLog(facts, { conversationId: 'c', ended }))
    hold(law, allowed.has(law), () => [`${id}: ${message}`, ...facts.map(lineOf)].join('\n'))
}

const lineOf = (fact: Fact): string => JSON.stringify(fact)

/** Plans have actions with fields missing, and users condense arbitrary events. */
const INVALID_PLANS = ['E7', 'K1', 'V3']

/** Rejecting a call while it executes, or while its reply still arrives, yields two results. */
const RACES = ['P4', 'M7']
