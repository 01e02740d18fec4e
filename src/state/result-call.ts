/** Finds the calls that the tool results of a branch ended, in the view or forgotten since. */

import type { ToolResultEvent } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import { logPrefix } from '../log/log.ts'
import { matchResult } from '../log/pairing.ts'
import { branchOf, type State } from './state.ts'

/**
 * A function from a result on HEAD's branch to the position of the call that it ended, as the fold has it; null for one
 * that ended none. O(view), and O(log n) for each result. That throws ColloquyError `evicted` where a snapshot or
 * `evict` dropped what tells.
 */
export function callsEnded({ log, branch }: State): (result: EventEntry<ToolResultEvent>) => number | null {
  const calls = new Map<number, number>()
  for (const unit of branch.view.units) {
    if (unit.type === 'batch') for (const { entry, call } of unit.results) calls.set(entry.seq, call.seq)
  }
  return (result) => {
    const known = calls.get(result.seq)
    if (known !== undefined) return known
    // It was forgotten, or ends no call: asked as the fold asked, of the log as it was.
    const found = matchResult(logPrefix(log, result.seq, null), branchOf(result.parent).pendingCalls, result)
    return found === null || typeof found === 'string' ? null : found.entry.seq
  }
}
