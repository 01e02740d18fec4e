/** R: the fold. */

import { describe, it } from 'vitest'
import { hostileLog, legalLog } from '../src/testing/index.ts'
import { checkLongReplay, checkReplay } from './checks/replay.ts'
import { always, RUNS } from './run.ts'

describe('R, replay', () => {
  it('R1 to R6 hold on hostile logs', () => {
    always(hostileLog(), checkReplay)
  })

  it('R1 to R6 hold on legal logs', () => {
    always(legalLog(), checkReplay)
  })

  it('R1, R3 and R6 hold where persistent vectors grow a level', () => {
    always(legalLog({ minCommands: 1700, maxCommands: 2200 }), checkLongReplay, RUNS / 50)
  })
})
