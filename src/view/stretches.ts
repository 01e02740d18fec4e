/** Stretches: units that are forgotten together, because a provider accepts them back only together (U5). */

import { eventCount, isPending, type Unit } from './unit.ts'
import type { View } from './view.ts'
import { earlyEndOf, waitsOf } from '../event/reply.ts'
import type { Event } from '../event/types.ts'

/**
 * Returns, for each unit, the index of the first unit of its stretch, usually its own. A stretch contains a
 * batch with thinking blocks and the batches without them that follow directly; and a reply that the next one
 * continues, with that next reply: a paused reply, or one whose calls of the provider's own tools wait for
 * results. A pending batch may continue a reply, but it belongs to no thinking loop and nothing continues it.
 * A message that is not a reply is its own stretch. O(units).
 */
export function stretchStarts(units: readonly Unit[]): Int32Array {
  const starts = new Int32Array(units.length)
  let start = 0
  /** Left open by the unit before: a thinking loop, a reply to continue, calls that wait for results. */
  let isThinkingLoop = false
  let isContinued = false
  let waits = 0
  for (const [index, unit] of units.entries()) {
    const reply = replyIn(unit)
    const isBatch = reply !== null && unit.type === 'batch'
    const thinking = isBatch && unit.thinking
    const isOfLoop = isThinkingLoop && isBatch && !thinking && !isPending(unit)
    if (reply === null || !(isContinued || isOfLoop)) start = index
    starts[index] = start
    if (isPending(unit)) {
      // No model is called after it.
      isThinkingLoop = false
      isContinued = false
      waits = 0
      continue
    }
    isThinkingLoop = isBatch && (thinking || isThinkingLoop)
    const isPaused = reply !== null && earlyEndOf(reply) === 'paused'
    // Text alone is only continued when it was paused.
    waits = reply !== null && (isBatch || isPaused) ? Math.max(0, waits + waitsOf(reply)) : 0
    isContinued = isPaused || waits > 0
  }
  return starts
}

/**
 * Whether a unit is not a reply, so that it is its own stretch, and nothing before it affects what follows.
 */
export const isNoReply = (unit: Unit): boolean => replyIn(unit) === null

/** The event with the record of the reply in a unit. Null when the unit is not a reply. */
function replyIn(unit: Unit): Event | null {
  if (unit.type === 'batch') return unit.calls.get(0)?.event ?? null
  const { event } = unit.item
  return event.kind === 'MessageEvent' && event.source === 'agent' ? event : null
}

/**
 * Indices into the view's events at which a condensation may begin or end, ascending: the borders of
 * stretches, always including 0 and the length. Total on every view. O(units).
 */
export function cutPointsIn(view: View): number[] {
  const units = [...view.units]
  const starts = stretchStarts(units)
  const points = [0]
  let length = 0
  for (const [index, unit] of units.entries()) {
    const count = eventCount(unit)
    const inside = starts[index] !== index
    // A pending batch has no events: its border is the previous one.
    if (count > 0 && length > 0 && !inside) points.push(length)
    length += count
  }
  if (length > 0) points.push(length)
  return points
}
