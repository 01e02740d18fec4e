/** Finds where a reply stands: before the messages that came after its model was asked, which it never saw (U10). */

import { requestHeadOf } from '../event/reply.ts'
import type { Entry } from '../log/entry.ts'
import { findEventIn, type Log } from '../log/log.ts'
import { work } from '../log/work.ts'
import { isDerived, type MessageUnit, type Unit } from './unit.ts'
import type { View } from './view.ts'

/**
 * How many units at the view's end a reply may be put before; a hostile log makes each event pay for that many at most.
 */
export const MOST_PASSED = 1_024

/**
 * The index in the view's units at which the unit of an event stands: the end, or for a reply whose `reply.after` is an
 * id or null the first of the messages at the end whose events stand later in the log than the event it names. Null
 * when more than 1,024 units stand there; then it stands at the end as well. O(units passed + log n).
 */
export function replyPlace({ units }: View, { event }: Entry, log: Log): number | null {
  const end = units.length
  const after = event === null ? undefined : requestHeadOf(event)
  const last = units.last()
  // Mostly a reply is asked for by what stands last, and nothing need be looked for.
  if (after === undefined || after === true || last === undefined || !isPassable(last)) return end
  const asked = positionOf(log, after)
  if (asked === null) return end
  let place = end
  for (let at = end - 1; at >= 0; at -= 1) {
    const unit = units.get(at) as Unit
    work.units += 1
    if (!isPassable(unit)) break
    // A derived summary has no place in the log: it is passed with the messages before it.
    const isSummary = isDerived(unit)
    if (!isSummary && unit.first <= asked) break
    if (end - at > MOST_PASSED) return null
    if (!isSummary) place = at
  }
  return place
}

/** Whether a reply may pass a unit: pieces of a reply keep their order, and replies never overtake each other. */
const isPassable = (unit: Unit): unit is MessageUnit =>
  unit.type === 'message' && requestHeadOf(unit.item.event) === undefined

/**
 * The position of the event that was under HEAD; -1 for none, null for what names no earlier event that can be there.
 */
function positionOf(log: Log, after: string | null): number | null {
  if (after === null) return -1
  const entry = log.head?.id === after ? log.head : findEventIn(log, after)
  return entry?.canBeHead === true ? entry.seq : null
}
