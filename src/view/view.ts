import { requestHeadOf } from '../event/reply.ts'
import type { Entry, UnitOrder } from '../log/entry.ts'
import { findEventIn, type Log } from '../log/log.ts'
import { Vector } from '../log/vector.ts'
import { work } from '../log/work.ts'
import type { BatchUnit, MessageUnit, Unit, Units, ViewItem } from './units.ts'
import { eventCount, indexOfUnit, isDerived, isPending, stretchStarts, unitEvents } from './units.ts'

/**
 * The units of a branch, in order. The model may see all units except pending batches. Immutable: a change
 * returns a new view.
 */
export interface View {
  /** All units, including pending batches. A pending batch is at the index where the model will see it later. */
  readonly units: Units
  /** Number of events in the view. Events of pending batches are not counted (U4). */
  readonly length: number
  /** Whether a CondensationRequest waits for its Condensation (U7). */
  readonly unhandledCondensationRequest: boolean
}

const EMPTY: View = Object.freeze({
  units: Vector.empty<Unit>(),
  length: 0,
  unhandledCondensationRequest: false,
})

export const emptyView = (): View => EMPTY

export function* viewEventsIn(view: View): IterableIterator<ViewItem> {
  for (const unit of view.units) {
    if (!isPending(unit)) yield* unitEvents(unit)
  }
}

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

export function withUnitAt(view: View, index: number, before: Unit, after: Unit): View {
  const length = view.length - eventCount(before) + eventCount(after)
  return { ...view, units: view.units.set(index, after), length }
}

/** Returns the index of the batch with this order, or -1 if the batch is not in the view. O(log n). */
export function findBatch({ units }: View, { rank, first }: UnitOrder): number {
  const last = units.length - 1
  const matches = (unit: Unit | undefined) =>
    unit?.type === 'batch' && unit.rank === rank && unit.first === first
  work.units += 1
  if (matches(units.last())) return last
  const index = indexOfUnit(units, { rank, first })
  return matches(units.get(index)) ? index : -1
}

export function cutPointsIn(view: View): number[] {
  const units = [...view.units]
  const starts = stretchStarts(units)
  const points = [0]
  let length = 0
  for (const [index, unit] of units.entries()) {
    const count = eventCount(unit)
    const inside = starts[index] !== index
    // A pending batch has no events, so its border equals the previous border.
    if (count > 0 && length > 0 && !inside) points.push(length)
    length += count
  }
  if (length > 0) points.push(length)
  return points
}

/** Maximum number of units that may follow an inserted reply. Bounds the cost of hostile logs. */
export const MAX_PASSED = 1_024

/**
 * Returns the index at which an event's unit is inserted into the view, usually the end. If a reply's record
 * names the HEAD of its request, the reply is inserted before the messages that were logged after this HEAD
 * and are at the end of the view. Returns null if more than 1,024 units would follow: the caller then appends
 * the unit, with a warning. O(units passed + log n).
 */
export function replyPlace({ units }: View, { event }: Entry, log: Log): number | null {
  const end = units.length
  const after = event === null ? undefined : requestHeadOf(event)
  const last = units.last()
  // Usually the reply was requested after the last unit, and there is nothing to search.
  if (after === undefined || after === true || last === undefined || !isPassable(last)) return end
  const requestedAt = seqOf(log, after)
  if (requestedAt === null) return end
  let index = end
  for (let position = end - 1; position >= 0; position -= 1) {
    const unit = units.get(position) as Unit
    work.units += 1
    if (!isPassable(unit)) break
    // A derived summary has no position in the log. It stays next to the messages before it.
    const isSummary = isDerived(unit)
    if (!isSummary && unit.first <= requestedAt) break
    if (end - position > MAX_PASSED) return null
    if (!isSummary) index = position
  }
  return index
}

/** Whether a reply may be inserted before a unit: the unit must be a message that has no `reply.after`. */
const isPassable = (unit: Unit): unit is MessageUnit =>
  unit.type === 'message' && requestHeadOf(unit.item.event) === undefined

/** Returns the position of the event `after`, or -1 if `after` is null; null for an event that cannot be HEAD. */
function seqOf(log: Log, after: string | null): number | null {
  if (after === null) return -1
  const entry = log.head?.id === after ? log.head : findEventIn(log, after)
  return entry?.canBeHead === true ? entry.seq : null
}
