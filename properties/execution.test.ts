/** P6 to P10 and I1 to I6: runs, beside everything that can happen to them. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { checkStory } from './checks/execution.ts'
import { plan } from './execution/plan.ts'
import { play } from './execution/play.ts'
import { ALL_SITUATIONS, type Situation, situationsOf } from './execution/situations.ts'
import { RUNS } from './run.ts'
import { Tally } from './tally.ts'

describe('P and I, execution', () => {
  it('P6 to P10 and I1 to I6 hold, whatever happens in whatever order', async () => {
    const tally = new Tally<Situation>()
    const property = fc.asyncProperty(fc.scheduler(), plan, async (scheduler, plan) => {
      const story = await play(scheduler, plan)
      tally.count(situationsOf(story))
      checkStory(story, plan)
    })
    await fc.assert(property, { numRuns: RUNS })
    tally.require(ALL_SITUATIONS)
  })
})
