/**
 * Readers of a streamed reply, in any process, see each character once and in order, even if readers and
 * writers start, leave and crash (law B5).
 */

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { streamCommands } from '../../properties/checks/stream-commands.ts'
import { checkStreams, streamsSeen } from '../../properties/checks/streamed.ts'
import { RUNS } from '../../properties/run.ts'

it('each reader gets each character once, in order, before the reply is in the log (law B5)', async () => {
  await fc.assert(fc.asyncProperty(streamCommands, checkStreams), { numRuns: RUNS * 2.5 })
  for (const [what, count] of Object.entries(streamsSeen))
    expect([what, count > RUNS / 20]).toEqual([what, true])
})
