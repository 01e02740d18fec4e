/**
 * Readers of a reply that is streamed, in the process that makes it and in others, who come and go at any time: each
 * character once and in order, whatever is written when, and whoever dies (law B5).
 */

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { streamDeeds } from '../../properties/checks/stream-deeds.ts'
import { checkStreams, streamsSeen } from '../../properties/checks/streamed.ts'
import { RUNS } from '../../properties/run.ts'

it('give each character once and in order, and all of them before the reply stands in the log (law B5)', async () => {
  await fc.assert(fc.asyncProperty(streamDeeds, checkStreams), { numRuns: RUNS * 2.5 })
  for (const [what, count] of Object.entries(streamsSeen))
    expect([what, count > RUNS / 20]).toEqual([what, true])
})
