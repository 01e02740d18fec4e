/** O4, O5: explanations agree with the view, and findings are real. */

import { describe, it } from 'vitest'
import type { VerdictCode } from '../src/explain/explanation.ts'
import type { FindingKind } from '../src/explain/finding.ts'
import { hostileLog, legalLog } from '../src/testing/index.ts'
import { backgroundLog } from './background-log.ts'
import { checkExplained, checkFindings, checkFoundOfLegal } from './checks/explain.ts'
import { always, RUNS } from './run.ts'
import { Tally } from './tally.ts'

describe('O, explanations', () => {
  it('O4: every explanation of an event agrees with the view, and its cause is real', () => {
    const tally = new Tally<VerdictCode>()
    always(hostileLog(), (facts) => tally.count(checkExplained(facts)))
    tally.require([
      'unit',
      'batch',
      'pending',
      'no_unit',
      'condensed',
      'condensed_with_batch',
      'condensed_with_stretch',
      'late_result',
      'orphan_result',
      'duplicate_result',
      'other_branch',
      'quarantined',
      'repeated_id',
    ])
  })

  it('O5: `findings` names only events of the log, and reports no mistake in a legal log', () => {
    const tally = new Tally<FindingKind>()
    always(hostileLog(), (facts) => tally.count(checkFindings(facts)), RUNS / 8)
    tally.require([
      'quarantined',
      'doubled_result',
      'orphan_result',
      'split_batch',
      'repaired',
      'lost_branch',
    ])
    always(legalLog(), checkFoundOfLegal, RUNS / 10)
    always(
      backgroundLog(),
      (facts) => tally.count([...checkFindings(facts), ...checkExplained(facts)] as FindingKind[]),
      RUNS / 4,
    )
    tally.require(['idle_completion', 'idle_progress'])
  })
})
