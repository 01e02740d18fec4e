/** R: the fold. */

import { describe, it } from 'vitest'
import { hostileLog, legalLog } from '../src/testing/index.ts'
import { checkLongReplay, checkReplay } from './checks/replay.ts'
import { always, alwaysOnLegal, COSTLY_RUNS, RUNS } from './run.ts'

describe('R, replay', () => {
  it('R1 to R6 hold on hostile and legal logs', () => {
    always(hostileLog(), checkReplay, COSTLY_RUNS)
    alwaysOnLegal(checkReplay)
  })

  it('R1, R3 and R6 hold on logs that add a level to the persistent vectors', () => {
    always(legalLog({ minCommands: 1700, maxCommands: 2200 }), checkLongReplay, RUNS / 50)
  })
})
