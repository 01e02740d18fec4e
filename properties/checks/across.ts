/** What happens across the cut at which a snapshot was taken: the states of a log and a cut go in, the situations that really occurred come out. */

import { hasResponse, findEntry } from '../../src/log/log.ts'
import { openCount } from '../../src/log/open-calls.ts'
import { droppedAnswers } from '../../src/state/dropped.ts'
import type { Moment, State } from '../../src/state/state.ts'
import { loopStarts } from '../../src/view/loops.ts'
import type { Unit } from '../../src/view/unit.ts'

/** What a fact after the cut does to what stood before it. */
export type Across =
  | 'not_held'
  | 'folded_on'
  | 'batch_answered'
  | 'batch_joined'
  | 'condensed'
  | 'late_answer'
  | 'second_answer'
  | 'second_answer_by_call_id'
  | 'duplicate_id'
  | 'thinking_loop'
  | 'known_response_while_paused'
  | 'head_moved'
  | 'hung_on_update'

/** The situations of the facts from a cut up to a length, read from the states after each fact. */
export function across(states: readonly State[], cut: number, length: number): Set<Across> {
  const found = new Set<Across>()
  for (let at = cut; at < length; at += 1) {
    noteFact(states[at] as State, states[at + 1] as State, cut, (situation) => found.add(situation))
  }
  return found
}

function noteFact(before: State, after: State, cut: number, note: (situation: Across) => void): void {
  const entry = after.log.entries.last() as Moment
  const { event, branch } = entry
  const isOld = (seq: number | undefined) => seq !== undefined && seq < cut
  if (!entry.stands) {
    if (entry.id !== null && isOld(findEntry(before.log, entry.id)?.seq)) note('duplicate_id')
    return
  }
  const { parent } = entry
  if (parent !== null && isOld(parent.seq) && !parent.canBeHead) note('hung_on_update')
  if (after.log.head !== before.log.head && isOld(after.log.head?.seq)) note('head_moved')
  const units = [...branch.view.units]
  if (units.some((unit) => takes(unit, entry, isOld)))
    note(event?.kind === 'ActionEvent' ? 'batch_joined' : 'batch_answered')
  const starts = [...loopStarts(units).entries()]
  if (starts.some(([index, start]) => isOld(units[start]?.rank) && !isOld(units[index]?.rank)))
    note('thinking_loop')
  const was = (parent as Moment | null)?.branch
  if (was === undefined) return
  if (event?.kind === 'Condensation') {
    const left = new Set(units.map((unit) => unit.rank))
    if ([...was.view.units].some((unit) => isOld(unit.rank) && !left.has(unit.rank))) note('condensed')
  }
  const last = branch.dropped.last()
  if (last?.entry === entry) {
    if (openCount(branch.openCalls) < openCount(was.openCalls)) note('late_answer')
    const isSecond = droppedAnswers(branch).at(-1)?.reason === 'duplicate_answer'
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

/** Whether an entry went into a batch that began before the cut. */
function takes(unit: Unit, entry: Moment, isOld: (seq: number) => boolean): boolean {
  if (unit.type !== 'batch' || !isOld(unit.rank)) return false
  if (unit.calls.last() === entry) return true
  const last = unit.answers.last()
  return last?.entry === entry && isOld(last.call.seq)
}
