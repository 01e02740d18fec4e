/** V: the view. */

import { describe, it } from 'vitest'
import { hostileLog } from '../src/testing/index.ts'
import type { Fact } from '../src/event/quarantine.ts'
import type { Situation } from '../test/model/notes.ts'
import { situationsOf } from '../test/model/situations.ts'
import { checkPrefix } from './checks/grows.ts'
import { checkUnits, checkViews } from './checks/view.ts'
import { always, alwaysOnLegal, COSTLY_RUNS } from './run.ts'
import { Tally } from './tally.ts'

/** Must have occurred while V1 was checked. */
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
  'duplicate_result',
  'orphan_result',
  'foreign_answer',
  'answer_by_call_id',
  'late_answer',
  'reply_placed',
  'reply_before_summary',
  'rejoined_before_messages',
  'requested_at_forgotten',
  'requested_on_another_branch',
  'requested_at_later',
  'requested_at_nothing',
  'requested_at_parent',
  'batch_cut',
  'loop_cut',
  'paused_cut',
  'pending_forgotten',
  'summary_forgotten',
  'offset_inside',
  'offset_beyond',
  'offset_at_pending',
  'unhandled_request',
  'second_prompt',
  'prompt_forgotten',
  'units_share_id',
  'thinking_loop',
  'reply_continued',
  'reply_continued_twice',
  'reply_awaited',
  'pending_thinking',
  'unknown_parent',
  'duplicate_id',
  'quarantined_in_tree',
  'head_moved',
  'fork',
]

function checkChanges(facts: readonly Fact[]): void {
  checkUnits(facts)
  checkPrefix(facts)
}

describe('V, view', () => {
  it('V1 to V5 hold on hostile logs', () => {
    const tally = new Tally<Situation>()
    always(hostileLog(), (facts) => {
      tally.count(situationsOf(facts))
      checkViews(facts)
    })
    tally.require(HOSTILE)
    always(hostileLog(), checkChanges, COSTLY_RUNS)
  })

  it('V1 to V5 hold on legal logs', () => {
    const tally = new Tally<Situation>()
    alwaysOnLegal((facts) => {
      tally.count(situationsOf(facts))
      checkViews(facts)
      checkChanges(facts)
    })
    tally.require(['reply_placed'])
  })
})
