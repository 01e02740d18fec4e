/** V: the view. */

import { describe, it } from 'vitest'
import { hostileLog, legalLog } from '../src/testing/index.ts'
import type { Situation } from '../test/model/notes.ts'
import { situationsOf } from '../test/model/situations.ts'
import { checkPrefix } from './checks/messages.ts'
import { checkUnits, checkViews } from './checks/view.ts'
import { always } from './run.ts'
import { Tally } from './tally.ts'

/** What must really have occurred while V1 held. */
const HOSTILE: readonly Situation[] = [
  'open_batch',
  'open_batch_inside',
  'batch_of_many',
  'interleaved_batch',
  'rejoined_after_errors',
  'not_rejoined_for_thought',
  'reused_call_id',
  'two_open_calls_of_one_id',
  'reused_response_id',
  'empty_response_id',
  'duplicate_answer',
  'orphan_answer',
  'foreign_answer',
  'answer_by_call_id',
  'late_answer',
  'batch_cut',
  'loop_cut',
  'pending_forgotten',
  'summary_forgotten',
  'offset_inside',
  'offset_beyond',
  'offset_at_pending',
  'unhandled_request',
  'thinking_loop',
  'pending_thinking',
  'unknown_parent',
  'duplicate_id',
  'quarantined_stands',
  'head_moved',
  'fork',
]

describe('V, view', () => {
  it('V1 incremental = rebuilt = naive, for every prefix of every branch of hostile logs', () => {
    const tally = new Tally<Situation>()
    always(hostileLog(), (facts) => {
      tally.count(situationsOf(facts))
      checkViews(facts)
    })
    tally.require(HOSTILE)
  })

  it('V1 incremental = rebuilt = naive, for every prefix of every branch of legal logs', () => {
    always(legalLog(), checkViews)
  })

  it('V2 to V4 hold for every event of hostile logs', () => {
    always(hostileLog(), checkUnits)
  })

  it('V2 to V4 hold for every event of legal logs', () => {
    always(legalLog(), checkUnits)
  })

  it('V5 what is sent only grows at its end, on hostile logs', () => {
    always(hostileLog(), checkPrefix)
  })

  it('V5 what is sent only grows at its end, on legal logs', () => {
    always(legalLog(), checkPrefix)
  })
})
