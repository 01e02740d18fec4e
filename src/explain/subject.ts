/** Finds the subject of an explanation: a log entry, or a summary that a Condensation put into the view. */

import { unknownEvent } from '../event/errors.ts'
import { quote } from '../event/text.ts'
import { findEventIn } from '../log/log.ts'
import { branchOf, type Checkpoint, type State } from '../state/state.ts'
import { indexOfEvent, indexOfSummary, summaryId } from '../view/condense.ts'
import type { Unit } from '../view/units.ts'
import type { View } from '../view/view.ts'

export interface Subject {
  /** Entry of the event; for a summary, the entry of its Condensation. */
  readonly entry: Checkpoint
  readonly id: string | null
  readonly derived: boolean
}

/** Finds an event by id or position, or a summary by its id. @throws ColloquyError `unknown_event`. */
export function subjectOf(state: State, event: string | number): Subject {
  const { log } = state
  const entry = typeof event === 'number' ? log.entries.get(event) : findEventIn(log, event)
  if (entry !== undefined) return { entry, id: entry.id, derived: false }
  if (typeof event === 'string' && event.endsWith(SUFFIX)) {
    const condensation = findEventIn(log, event.slice(0, -SUFFIX.length))
    const subject = condensation && { entry: condensation, id: event, derived: true }
    if (subject && findUnit(branchOf(condensation).view, subject) !== undefined) return subject
  }
  const what = typeof event === 'number' ? `at position ${event}` : quote(event)
  throw unknownEvent(what, { event_id: event })
}

const SUFFIX = summaryId('')

export const findUnit = ({ units }: View, { entry, derived }: Subject): Unit | undefined =>
  units.get(derived ? indexOfSummary(units, entry) : indexOfEvent(units, entry))
