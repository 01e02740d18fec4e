/** Stretches: units that are forgotten together, since a provider takes them back together or not at all (U5). */

import { eventCount, isPending, type Unit } from './unit.ts'
import type { View } from './view.ts'
import { earlyEndOf, waitsOf } from '../event/reply.ts'
import type { Event } from '../event/types.ts'

/**
 * For each unit the index of the unit that starts its stretch, mostly its own. In one stretch are a batch with thinking
 * blocks and the batches without them that follow directly, and a reply that another one goes on with and the reply
 * directly behind it: one that was paused, or behind which calls of the provider's own tools wait for their results. A
 * pending batch may go on with a reply, is in no loop, and nothing goes on with it; a message that is no reply stands
 * alone. O(units).
 */
export function stretchStarts(units: readonly Unit[]): Int32Array {
  const starts = new Int32Array(units.length)
  let start = 0
  /** What the unit before leaves behind: a thinking loop, a reply that is gone on with, calls that wait. */
  let thinks = false
  let goesOn = false
  let waits = 0
  for (const [index, unit] of units.entries()) {
    const reply = replyIn(unit)
    const isBatch = reply !== null && unit.type === 'batch'
    const thinking = isBatch && unit.thinking
    const isOfLoop = thinks && isBatch && !thinking && !isPending(unit)
    if (reply === null || !(goesOn || isOfLoop)) start = index
    starts[index] = start
    if (isPending(unit)) {
      // No model is asked behind it.
      thinks = false
      goesOn = false
      waits = 0
      continue
    }
    thinks = isBatch && (thinking || thinks)
    const isPaused = reply !== null && earlyEndOf(reply) === 'paused'
    // Words alone are gone on with only where they were paused.
    waits = reply !== null && (isBatch || isPaused) ? Math.max(0, waits + waitsOf(reply)) : 0
    goesOn = isPaused || waits > 0
  }
  return starts
}

/** Whether a unit is no reply, so that it is a stretch of its own and nothing before it bears on what follows. */
export const standsAlone = (unit: Unit): boolean => replyIn(unit) === null

/** The event that holds the record of the reply that a unit is; null for what is no reply. */
function replyIn(unit: Unit): Event | null {
  if (unit.type === 'batch') return unit.calls.get(0)?.event ?? null
  const { event } = unit.item
  return event.kind === 'MessageEvent' && event.source === 'agent' ? event : null
}

/**
 * The indices into the view's events at which a condensation may begin or end, ascending: the borders of
 * stretches, always with 0 and the length. Total on every view. O(units).
 */
export function cutPointsIn(view: View): number[] {
  const units = [...view.units]
  const starts = stretchStarts(units)
  const points = [0]
  let at = 0
  for (const [index, unit] of units.entries()) {
    const count = eventCount(unit)
    const inside = starts[index] !== index
    // A pending batch brings no events: its border is the one that was just noted.
    if (count > 0 && at > 0 && !inside) points.push(at)
    at += count
  }
  if (at > 0) points.push(at)
  return points
}
