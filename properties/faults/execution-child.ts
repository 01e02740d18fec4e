/** Runs in a copy of the project: plays plans and prints the first broken law. */

import * as fc from 'fast-check'
import { checkStory } from '../checks/execution.ts'
import { plan, builtInPlan } from '../execution/plan.ts'
import { play } from '../execution/play.ts'
import { lawOf, ONE_IN, SOUND } from './say-verdict.ts'

const PLANS = 1000

/** Faults in built-in steps only appear in plans that use them. */
const usesBuiltIn = /^steps\/|\/condense\.ts$/.test(process.argv[3] ?? '')

const property = fc.asyncProperty(
  fc.scheduler(),
  usesBuiltIn ? builtInPlan : plan,
  async (scheduler, plan) => {
    checkStory(await play(scheduler, plan), plan)
  },
)
const { failed, errorInstance: error } = await fc.check(property, {
  seed: 2026,
  numRuns: PLANS / ONE_IN,
  endOnFailure: true,
})
console.log(failed ? lawOf(error, 'I1') : SOUND)
// A story can leave promises pending forever.
process.exit(0)
