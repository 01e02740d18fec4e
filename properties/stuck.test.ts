/** L: loops. */

import { describe, it } from 'vitest'
import { hostileLog } from '../src/testing/index.ts'
import { loopyLog } from '../test/context/loopy-log.ts'
import { checkLoops, checkThoughtless } from './checks/stuck.ts'
import { always, alwaysOnLegal, RUNS } from './run.ts'
import { Tally } from './tally.ts'

describe('L, loops', () => {
  it('L1 to L4 hold for every prefix of logs with many loops', () => {
    const tally = new Tally<string>()
    always(
      loopyLog(),
      (facts) => {
        tally.count(checkLoops(facts))
        checkThoughtless(facts)
      },
      RUNS / 2,
    )
    tally.require(['action_observation', 'action_error', 'monologue', 'alternating_pattern', 'nudge'])
  })

  it('L1 to L3 hold on hostile logs', () => {
    always(hostileLog(), (facts) => void checkLoops(facts), RUNS / 4)
  })

  it('L1 to L3 hold on legal logs', () => {
    alwaysOnLegal((facts) => void checkLoops(facts))
  })
})
