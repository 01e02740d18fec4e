/** A short run of `npm run test:faults`, with each fault once. */

import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { isClean, type Outcome, runAll } from './run.ts'

it('24 writers lose and duplicate no write during each fault, and no call exceeds its timeout', async () => {
  const outcomes: Outcome[] = []
  const program = join(inject('built'), 'test/fault-writer.js')
  await runAll(0, (outcome) => void outcomes.push(outcome), program)
  expect(outcomes).toHaveLength(11)
  expect(outcomes.filter((outcome) => !isClean(outcome))).toEqual([])
  // A fault that fails no call tests nothing. A killed or stopped process reports no failed call.
  const effects = outcomes.filter(({ fault }) => !/killed writers|stopped lease holders/.test(fault))
  expect(effects.filter(({ failed }) => failed === 0)).toEqual([])
})
