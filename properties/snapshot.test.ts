/** R7 to R9: snapshots. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { hostileLog } from '../src/testing/index.ts'
import type { Across } from './checks/across.ts'
import { checkDamage, checkSnapshots, type Damage } from './checks/snapshot.ts'
import { staged } from './checks/staged.ts'
import { always, alwaysOnLegal, COSTLY_RUNS } from './run.ts'
import { Tally } from './tally.ts'

/** Must have occurred across a cut while R7 was checked. */
const HOSTILE: readonly Across[] = [
  'evicted',
  'folded_on',
  'batch_answered',
  'batch_joined',
  'condensed',
  'late_answer',
  'second_answer',
  'second_answer_by_call_id',
  'duplicate_id',
  'thinking_loop',
  'reply_continued',
  'known_response_while_paused',
  'head_moved',
  'child_of_update',
]

const damage = fc.record<Damage>({
  how: fc.constantFrom('flip', 'cut', 'grow', 'drop', 'swap', 'foreign', 'shift', 'zero'),
  part: fc.nat(100),
  position: fc.nat(100_000),
})

describe('R, snapshots', () => {
  it('R7 and R8 hold on hostile logs', () => {
    const tally = new Tally<Across>()
    always(
      fc.tuple(hostileLog(), fc.nat(120)),
      ([facts, index]) => {
        const result = new Set<Across>()
        const met = (situation: Across) => result.add(situation)
        checkSnapshots(facts, met)
        const { log, cut } = staged(facts, index % (facts.length + 1))
        checkSnapshots(log, met, [cut])
        tally.count(result)
      },
      COSTLY_RUNS,
    )
    tally.require(HOSTILE)
  })

  it('R7 and R8 hold on legal logs', () => {
    alwaysOnLegal((facts) => checkSnapshots(facts))
  })

  it('R9 holds on hostile logs', () => {
    const foreign = hostileLog().filter((facts) => facts.length > 0)
    const logs = fc.tuple(hostileLog(), foreign, fc.array(damage, { minLength: 8, maxLength: 16 }))
    always(logs, ([facts, foreign, damages]) => void checkDamage(facts, foreign, damages), COSTLY_RUNS)
  })
})
