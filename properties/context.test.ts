/** K1 to K8: decisions about the view. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Fact } from '../src/event/quarantine.ts'
import type { Event } from '../src/event/types.ts'
import { condenserDecisions, scriptedSummariser } from './checks/condensers.ts'
import { checkCondensing, checkFit, type Condensed } from './checks/context.ts'
import { checkMarks, checkMasked, checkStable, type Masked } from './checks/sent.ts'
import { hostileLog } from '../src/testing/index.ts'
import { always, alwaysOnLegal, COSTLY_RUNS, RUNS } from './run.ts'
import { Tally } from './tally.ts'

const CONDENSED: readonly Condensed[] = [
  'condensed',
  'request_condensed',
  'tokens_condensed',
  'nothing_to_forget',
  'over_budget',
  'around_last_user_message',
  'around_system_prompt',
  'pending_in_between',
  'loop_forgotten',
  'summary_forgotten',
  'several_times',
]

/** Random logs hardly ever forget a system prompt. */
const PROMPT: Event = {
  kind: 'SystemPromptEvent',
  id: 'prompt',
  system_prompt: { text: 'Be brief.' },
  tools: [],
}

describe('K, context', () => {
  it('K1 to K3 and K5 hold on hostile logs', () => {
    const tally = new Tally<Condensed>()
    always(
      fc.tuple(hostileLog(), fc.nat()),
      ([log, index]) => {
        const result = new Set<Condensed>()
        const facts = index % 2 === 0 ? log : log.toSpliced(index % (log.length + 1), 0, PROMPT)
        checkCondensing(facts, (situation) => result.add(situation))
        tally.count(result)
      },
      COSTLY_RUNS,
    )
    tally.require(CONDENSED)
  })

  it('K1 to K3 and K5 hold on legal logs', () => {
    alwaysOnLegal((facts) => checkCondensing(facts))
  })

  it('K2 to K4: with any summariser, a condenser stays within its limits or gives a reason', async () => {
    const property = fc.asyncProperty(
      hostileLog(),
      fc.array(scriptedSummariser(), { maxLength: 5 }),
      condenserDecisions,
    )
    await fc.assert(property, { numRuns: RUNS / 2 })
  })

  it('K4: a cut fits the token limit or is refused', () => {
    const tally = new Tally<Condensed>()
    always(hostileLog(), (facts) => {
      const result = new Set<Condensed>()
      checkFit(facts, (situation) => result.add(situation))
      tally.count(result)
    })
    tally.require(['cut', 'cut_refused'])
    alwaysOnLegal((facts) => checkFit(facts))
  })

  it('K6 to K8: request prefixes only grow, masking is stable, and cache breakpoints are valid', () => {
    const tally = new Tally<Masked>()
    const check = (facts: readonly Fact[]): void => {
      const result = new Set<Masked>()
      checkStable(facts)
      checkMasked(facts, (happened) => result.add(happened))
      checkMarks(facts)
      tally.count(result)
    }
    always(hostileLog(), check, COSTLY_RUNS)
    alwaysOnLegal(check)
    tally.require(['masked', 'waited', 'masked_again', 'kept_the_latest'])
  })
})
