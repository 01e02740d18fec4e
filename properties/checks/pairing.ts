/** P1 to P5, P12: every call in a view has exactly one result. */

import type { Fact } from '../../src/event/quarantine.ts'
import { isOnPathIn } from '../../src/log/entry.ts'
import { completionOf } from '../../src/event/completion.ts'
import { listPendingCallsIn, pendingCallCount } from '../../src/log/open-calls.ts'
import { replay } from '../../src/state/reduce.ts'
import { listDroppedResultsIn } from '../../src/state/dropped.ts'
import { branchOf, type State } from '../../src/state/state.ts'
import { type BatchUnit, isPending } from '../../src/view/units.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { readBranch } from '../../test/model/branch.ts'
import { headAt } from '../../test/model/naive.ts'
import { readTree } from '../../test/model/tree.ts'
import { hold, same } from '../../src/testing/failure.ts'
import { statesOf } from './replay.ts'

export function checkPairing(facts: readonly Fact[]): void {
  const nodes = readTree(facts)
  for (const [length, state] of statesOf(facts).entries()) {
    const { branch } = state
    const { open, dropped, working } = readBranch(nodes.slice(0, length), headAt(nodes, length))
    const seqs = listPendingCallsIn(branch.pendingCalls).map((call) => call.entry.seq)
    same('P3', `open calls after ${length} facts`, seqs, open)
    same('P4', `dropped results after ${length} facts`, listDroppedResultsIn(branch), dropped)
    const works = listPendingCallsIn(branch.workingCalls).map(({ entry, result }) => [entry.seq, result.seq])
    same('P12', `working calls after ${length} facts`, works, working)
    checkBatches(state, length)
  }
  checkCompletions(facts)
}

/** P12: a message that names a call completes it or is reported, once per branch. */
function checkCompletions(facts: readonly Fact[]): void {
  for (const entry of replay(facts).log.entries) {
    if (!entry.inTree || entry.event === null || completionOf(entry.event) === null) continue
    const reported = entry.warnings.some(({ code }) => code === 'nothing_completed')
    const before = pendingCallCount(branchOf(entry.parent).workingCalls)
    const after = pendingCallCount(entry.branch.workingCalls)
    hold(
      'P12',
      after === before - (reported ? 0 : 1),
      `message ${entry.seq} neither completes a call nor is reported`,
    )
  }
}

function checkBatches({ branch, log }: State, length: number): void {
  const batches = [...branch.view.units].filter((unit): unit is BatchUnit => unit.type === 'batch')
  const used = new Set<number>()
  const out = new Set(listDroppedResultsIn(branch).map((each) => each.id))
  const open = new Set(listPendingCallsIn(branch.pendingCalls).map((call) => call.entry.seq))
  for (const batch of batches) {
    const calls = new Set([...batch.calls].map((call) => call.seq))
    const answered = new Set<number>()
    for (const { entry, call } of batch.results) {
      hold('P2', !used.has(entry.seq), `result ${entry.seq} is used twice after ${length} facts`)
      hold('P2', !out.has(entry.id), `result ${entry.seq} is both used and dropped`)
      used.add(entry.seq)
      hold('P1', calls.has(call.seq), `result ${entry.seq} is in a batch without its call`)
      hold('P1', !answered.has(call.seq), `call ${call.seq} has two answers after ${length} facts`)
      answered.add(call.seq)
      hold(
        'P5',
        isOnPathIn(call, entry.parent),
        `answer ${entry.seq} is paired with a call on another branch`,
      )
      hold('P5', isOnPathIn(entry, log.head), `answer ${entry.seq} is on another branch`)
    }
    for (const seq of calls) {
      hold('P1', answered.has(seq) !== open.has(seq), `call ${seq} is not exactly one of answered and open`)
    }
    same('P1', 'whether the batch is pending', isPending(batch), answered.size < calls.size)
  }
  for (const item of viewEventsIn(branch.view)) {
    const isCall = item.event.kind === 'ActionEvent'
    hold(
      'P1',
      !isCall || !('seq' in item) || !open.has(item.seq as number),
      `open call ${item.id} is in the view`,
    )
  }
}
