/** P: calls and their results. */

import { describe, it } from 'vitest'
import { listDroppedResultsIn } from '../src/state/dropped.ts'
import { replay } from '../src/state/reduce.ts'
import { hostileLog } from '../src/testing/index.ts'
import type { Situation } from '../test/model/notes.ts'
import { situationsOf } from '../test/model/situations.ts'
import { same } from '../src/testing/failure.ts'
import { checkPairing } from './checks/pairing.ts'
import { always, alwaysOnLegal } from './run.ts'
import { Tally } from './tally.ts'

describe('P, pairing', () => {
  it('P1 to P5 hold on hostile logs', () => {
    const tally = new Tally<Situation>()
    always(hostileLog(), (facts) => {
      tally.count(situationsOf(facts))
      checkPairing(facts)
    })
    tally.require([
      'open_batch',
      'batch_of_many',
      'interleaved_batch',
      'rejoined_after_errors',
      'not_rejoined_for_thought',
      'reused_call_id',
      'two_open_calls_of_one_id',
      'reused_response_id',
      'empty_response_id',
      'duplicate_result',
      'orphan_result',
      'foreign_answer',
      'answer_by_call_id',
      'late_answer',
    ])
  })

  it('P1 to P5 hold on legal logs, and no result is dropped', () => {
    alwaysOnLegal((events) => {
      checkPairing(events)
      const state = replay(events)
      for (const entry of state.log.entries)
        same('P4', 'dropped results', listDroppedResultsIn(entry.branch), [])
    })
  })
})
