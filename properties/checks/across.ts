/** Finds which situations occur across the cut at which a snapshot is taken. */

import { hasResponse, findEventIn } from '../../src/log/log.ts'
import { pendingCallCount } from '../../src/log/open-calls.ts'
import { listDroppedResultsIn } from '../../src/state/dropped.ts'
import type { Checkpoint, State } from '../../src/state/state.ts'
import { stretchStarts, type Unit } from '../../src/view/units.ts'

export type Across =
  | 'evicted'
  | 'folded_on'
  | 'batch_answered'
  | 'batch_joined'
  | 'condensed'
  | 'late_answer'
  | 'second_answer'
  | 'second_answer_by_call_id'
  | 'duplicate_id'
  | 'thinking_loop'
  | 'reply_continued'
  | 'known_response_while_paused'
  | 'head_moved'
  | 'child_of_update'

/** Requires the state after each fact. */
export function across(states: readonly State[], cut: number, length: number): Set<Across> {
  const result = new Set<Across>()
  for (let index = cut; index < length; index += 1) {
    noteFact(states[index] as State, states[index + 1] as State, cut, (situation) => result.add(situation))
  }
  return result
}

function noteFact(before: State, after: State, cut: number, note: (situation: Across) => void): void {
  const entry = after.log.entries.last() as Checkpoint
  const { event, branch } = entry
  const isOld = (seq: number | undefined) => seq !== undefined && seq < cut
  if (!entry.inTree) {
    if (entry.id !== null && isOld(findEventIn(before.log, entry.id)?.seq)) note('duplicate_id')
    return
  }
  const { parent } = entry
  if (parent !== null && isOld(parent.seq) && !parent.canBeHead) note('child_of_update')
  if (after.log.head !== before.log.head && isOld(after.log.head?.seq)) note('head_moved')
  const units = [...branch.view.units]
  if (units.some((unit) => receives(unit, entry, isOld)))
    note(event?.kind === 'ActionEvent' ? 'batch_joined' : 'batch_answered')
  for (const [index, start] of stretchStarts(units).entries()) {
    const [unit, first] = [units[index], units[start]]
    if (!isOld(first?.first) || isOld(unit?.first)) continue
    note(first?.type === 'batch' && first.thinking ? 'thinking_loop' : 'reply_continued')
  }
  const was = (parent as Checkpoint | null)?.branch
  if (was === undefined) return
  if (event?.kind === 'Condensation') {
    const remaining = new Set(units.map((unit) => unit.first))
    if ([...was.view.units].some((unit) => isOld(unit.first) && !remaining.has(unit.first))) note('condensed')
  }
  const last = branch.dropped.last()
  if (last?.entry === entry) {
    if (pendingCallCount(branch.pendingCalls) < pendingCallCount(was.pendingCalls)) note('late_answer')
    const isSecond = listDroppedResultsIn(branch).at(-1)?.reason === 'duplicate_result'
    if (isSecond) note(last.reason === null ? 'second_answer_by_call_id' : 'second_answer')
  }
  if (
    event?.kind === 'ActionEvent' &&
    before.header.status === 'paused' &&
    hasResponse(before.log, event.llm_response_id)
  ) {
    if (!hasResponse(before.log, event.llm_response_id, cut)) note('known_response_while_paused')
  }
}

/** Whether a batch that began before the cut contains the entry. */
function receives(unit: Unit, entry: Checkpoint, isOld: (seq: number) => boolean): boolean {
  if (unit.type !== 'batch' || !isOld(unit.first)) return false
  if (unit.calls.last() === entry) return true
  const last = unit.results.last()
  return last?.entry === entry && isOld(last.call.seq)
}
