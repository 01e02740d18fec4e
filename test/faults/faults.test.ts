/** The short form of `npm run test:faults`: each fault once. */

import { expect, it } from 'vitest'
import { isClean, type Outcome, runAll } from './run.ts'

it('24 writers lose and double nothing, and wait for no call without end, whatever fails', async () => {
  const outcomes: Outcome[] = []
  await runAll(0, (outcome) => void outcomes.push(outcome))
  expect(outcomes).toHaveLength(11)
  expect(outcomes.filter((outcome) => !isClean(outcome))).toEqual([])
})
