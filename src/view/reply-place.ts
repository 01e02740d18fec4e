/**
 * Finds the position of a reply: before the messages that arrived after its request, which the model never
 * saw (U10).
 */

import { requestHeadOf } from '../event/reply.ts'
import type { Entry } from '../log/entry.ts'
import { findEventIn, type Log } from '../log/log.ts'
import { work } from '../log/work.ts'
import { isDerived, type MessageUnit, type Unit } from './unit.ts'
import type { View } from './view.ts'

/** Units at the end that a reply may be inserted before; bounds hostile logs' cost. */
export const MAX_PASSED = 1_024

/**
 * Index of an event's unit in the view: the end. A reply with an id or null in `reply.after` precedes the
 * trailing messages logged after that event. Null, also the end, when more than 1,024 units would follow.
 * O(units passed + log n).
 */
export function replyPlace({ units }: View, { event }: Entry, log: Log): number | null {
  const end = units.length
  const after = event === null ? undefined : requestHeadOf(event)
  const last = units.last()
  // Usually the reply was requested after the last unit, and there is nothing to search.
  if (after === undefined || after === true || last === undefined || !isPassable(last)) return end
  const requestedAt = positionOf(log, after)
  if (requestedAt === null) return end
  let index = end
  for (let position = end - 1; position >= 0; position -= 1) {
    const unit = units.get(position) as Unit
    work.units += 1
    if (!isPassable(unit)) break
    // A derived summary has no position in the log. It is passed with the messages before it.
    const isSummary = isDerived(unit)
    if (!isSummary && unit.first <= requestedAt) break
    if (end - position > MAX_PASSED) return null
    if (!isSummary) index = position
  }
  return index
}

/** Parts of a reply keep their order, and replies never overtake each other. */
const isPassable = (unit: Unit): unit is MessageUnit =>
  unit.type === 'message' && requestHeadOf(unit.item.event) === undefined

/** Position of the event under HEAD. -1 for none, null for no earlier possible HEAD. */
function positionOf(log: Log, after: string | null): number | null {
  if (after === null) return -1
  const entry = log.head?.id === after ? log.head : findEventIn(log, after)
  return entry?.canBeHead === true ? entry.seq : null
}
