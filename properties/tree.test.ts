/** T: the tree, HEAD, status, and the state at an event. */

import { describe, it } from 'vitest'
import { replay } from '../src/state/reduce.ts'
import { listWarningsIn } from '../src/log/log.ts'
import { hostileLog } from '../src/testing/index.ts'
import type { Situation } from '../test/model/notes.ts'
import { situationsOf } from '../test/model/situations.ts'
import { same } from '../src/testing/failure.ts'
import { checkTree } from './checks/tree.ts'
import { always, alwaysOnLegal } from './run.ts'
import { Tally } from './tally.ts'

describe('T, tree', () => {
  it('T1 to T8 hold on hostile logs', () => {
    const tally = new Tally<Situation>()
    always(hostileLog(), (facts) => {
      tally.count(situationsOf(facts))
      checkTree(facts)
    })
    tally.require([
      'unknown_parent',
      'self_parent',
      'later_parent',
      'second_root',
      'fork',
      'parent_is_not_head',
      'parent_is_update',
      'head_moved',
      'head_emptied',
      'head_ignored',
      'head_to_update',
      'duplicate_id',
      'failed_finish',
      'absent_id',
      'quarantined_in_tree',
      'quarantined_outside_tree',
      'unreadable_timestamp',
      'reply_in_flight',
      'second_reply',
      'confirmation_answered',
      'error_remains',
      'cut_off',
      'ended_early',
      'finished',
    ])
  })

  it('T1 to T8 hold on legal logs, and their replay gives no warning', () => {
    alwaysOnLegal((events) => {
      checkTree(events)
      same('T6', 'warnings', listWarningsIn(replay(events).log), [])
    })
  })
})
