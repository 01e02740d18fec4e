/** The view: the units that the model may see, in order, and how to read them as events (design section 4). */

import type { UnitOrder } from '../log/entry.ts'
import { work } from '../log/work.ts'
import { type BatchUnit, eventCount, isPending, type Unit, unitEvents, type ViewItem } from './unit.ts'
import { stretchStarts } from './stretches.ts'
import { Units } from './units.ts'

/** The units that a model may see on a branch. Immutable: a change returns a new view. */
export interface View {
  /** All units. Pending ones are at the positions where they reappear. */
  readonly units: Units
  /** Number of events in the view; those of pending batches do not count (U4). */
  readonly length: number
  /** Whether a CondensationRequest waits for its Condensation (U7). */
  readonly unhandledCondensationRequest: boolean
}

const EMPTY: View = Object.freeze({
  units: Units.empty(),
  length: 0,
  unhandledCondensationRequest: false,
})

export const emptyView = (): View => EMPTY

/** The events of the view in order (U9). Lazy; O(events read). */
export function* viewEventsIn(view: View): IterableIterator<ViewItem> {
  for (const unit of view.units) {
    if (!isPending(unit)) yield* unitEvents(unit)
  }
}

/** Batches with a pending call, in order (U4). */
export function listPendingBatchesIn(view: View): BatchUnit[] {
  return [...view.units].filter((unit): unit is BatchUnit => isPending(unit))
}

/** Returns the view with one more unit before an index. O(log n), at the end O(1) amortised. */
export function withUnit(view: View, unit: Unit, index: number): View {
  const { units } = view
  const isLast = index === units.length
  const added = isLast ? units.push(unit) : units.range(0, index).push(unit).concat(units.range(index))
  return { ...view, units: added, length: view.length + eventCount(unit) }
}

/** Returns the view with the unit at an index replaced. O(log n). */
export function withUnitAt(view: View, index: number, before: Unit, after: Unit): View {
  const length = view.length - eventCount(before) + eventCount(after)
  return { ...view, units: view.units.set(index, after), length }
}

/** Index of the batch with this order, or -1 when it is not in the view. O(log n). */
export function findBatch({ units }: View, { rank, first }: UnitOrder): number {
  const last = units.length - 1
  const matches = (unit: Unit | undefined) =>
    unit?.type === 'batch' && unit.rank === rank && unit.first === first
  work.units += 1
  if (matches(units.last())) return last
  const index = units.indexOf({ rank, first })
  return matches(units.get(index)) ? index : -1
}

/**
 * Indices into the view's events where a condensation may begin or end, ascending: stretch borders, always
 * including 0 and the length. Never throws. O(units).
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
