/** P6 to P11, I1 to I7, M12, M13, M15: runs under interference. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { checkStory } from './checks/execution.ts'
import { plan, builtInPlan } from './execution/plan.ts'
import { play } from './execution/play.ts'
import { ALL_SITUATIONS, type Situation, situationsOf } from './execution/situations.ts'
import {
  BUILT_IN_SITUATIONS,
  type BuiltInSituation,
  builtInSituationsOf,
} from './execution/built-in-situations.ts'
import { count } from './counts.ts'
import { RUNS } from './run.ts'
import { Tally } from './tally.ts'
import type { SentOccurrence } from './wire/sent.ts'

describe('P and I, execution', () => {
  it('P6 to P11, I1 to I7, M12, M13 and M15 hold for any interleaving', async () => {
    const tally = new Tally<Situation | SentOccurrence>()
    const property = fc.asyncProperty(fc.scheduler(), plan, async (scheduler, plan) => {
      const story = await play(scheduler, plan)
      count({ plans: 1, events: story.facts.length })
      tally.count([...situationsOf(story), ...checkStory(story, plan)])
    })
    await fc.assert(property, { numRuns: Math.ceil(RUNS * 0.75) })
    tally.require(ALL_SITUATIONS)
    tally.require(['signed_parts_sent', 'signed_parts_omitted', 'signed_again_after_a_change'])
  })

  it('P6 to P11, I1 to I7, M12, M13 and M15 hold for built-in steps and failing tools', async () => {
    const tally = new Tally<BuiltInSituation | SentOccurrence>()
    const property = fc.asyncProperty(fc.scheduler(), builtInPlan, async (scheduler, plan) => {
      const story = await play(scheduler, plan)
      count({ plans: 1, events: story.facts.length })
      tally.count([...builtInSituationsOf(story, plan), ...checkStory(story, plan)])
    })
    await fc.assert(property, { numRuns: Math.ceil(RUNS * 0.75) })
    tally.require(BUILT_IN_SITUATIONS)
    tally.require(['signed_parts_sent', 'signed_parts_omitted', 'signed_again_after_a_change'])
  })
})
