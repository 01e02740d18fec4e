/** The view: the units that the model may see, in order, and how to read them as events (design section 4). */

import { Vector } from '../log/vector.ts'
import { work } from '../log/work.ts'
import {
  type BatchUnit,
  eventCount,
  isPending,
  type Unit,
  unitEvents,
  type UnitOrder,
  type ViewItem,
} from './unit.ts'

/** The units that a model may see on a branch. Every version stays valid. */
export interface View {
  /** All units. Pending ones are at the positions where they reappear. */
  readonly units: Vector<Unit>
  /** Number of events in the view; those of pending batches do not count (U4). */
  readonly length: number
  /** Whether a CondensationRequest waits for its Condensation (U7). */
  readonly unhandledCondensationRequest: boolean
}

const EMPTY: View = Object.freeze({
  units: Vector.empty<Unit>(),
  length: 0,
  unhandledCondensationRequest: false,
})

/** The view of a branch without events. */
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

/** Returns the view with one more unit before an index. O(units after it), at the end O(1) amortised. */
export function withUnit(view: View, unit: Unit, index: number): View {
  const passed = view.units.slice(index)
  let units = view.units.prefix(index).push(unit)
  for (const each of passed) units = units.push(each)
  work.units += passed.length
  return { ...view, units, length: view.length + eventCount(unit) }
}

/** Returns the view with the unit at an index replaced. O(log32 n). */
export function withUnitAt(view: View, index: number, before: Unit, after: Unit): View {
  const length = view.length - eventCount(before) + eventCount(after)
  return { ...view, units: view.units.set(index, after), length }
}

/** Index of the batch with this order, or -1 when it is not in the view. O(log n). */
export function findBatch(view: View, { rank, first }: UnitOrder): number {
  const last = view.units.length - 1
  const matches = (unit: Unit | undefined) =>
    unit?.type === 'batch' && unit.rank === rank && unit.first === first
  const isBefore = (unit: Unit) => (unit.rank === rank ? unit.first < first : unit.rank < rank)
  work.units += 1
  if (matches(view.units.last())) return last
  let low = 0
  for (let high = last; low < high;) {
    work.units += 1
    const middle = (low + high) >>> 1
    if (isBefore(view.units.get(middle) as Unit)) low = middle + 1
    else high = middle
  }
  return matches(view.units.get(low)) ? low : -1
}
