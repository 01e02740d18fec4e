/** The view: the units that the model may see, in order, and how to read them as events (design section 4). */

import { Vector } from '../log/vector.ts'
import { work } from '../log/work.ts'
import { eventCount, isPending, type Unit, unitItems, type ViewItem } from './unit.ts'

/** What the model may see of a branch. Every version stays valid. */
export interface View {
  /** All units, the pending ones at the places they come back to. */
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

/**
 * The events of the view in order (U9). Lazy; O(events read).
 * @example
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user', content: [{ text: 'hi' }] } }])
 * [...viewEvents(state.branch.view)].map((item) => item.id) // ['m']
 */
export function* viewEvents(view: View): IterableIterator<ViewItem> {
  for (const unit of view.units) {
    if (!isPending(unit)) yield* unitItems(unit)
  }
}

/**
 * The batches that wait for an answer, in order, for those who want to show them (U4).
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], tool_name: 'ls', tool_call_id: 'c', tool_call: call, llm_response_id: 'r' }
 * pendingUnits(replay([action]).branch.view).length // 1
 */
export function pendingUnits(view: View): Unit[] {
  return [...view.units].filter(isPending)
}

/** The view with one more unit at its end. O(1) amortised. */
export function withUnit(view: View, unit: Unit): View {
  return { ...view, units: view.units.push(unit), length: view.length + eventCount(unit) }
}

/** The view with the unit at an index replaced. O(log32 n). */
export function withUnitAt(view: View, index: number, before: Unit, after: Unit): View {
  const length = view.length - eventCount(before) + eventCount(after)
  return { ...view, units: view.units.set(index, after), length }
}

/** Index of the batch with this rank, or -1 when it is not in the view. O(log n): ranks never fall along a view. */
export function findBatch(view: View, rank: number): number {
  const last = view.units.length - 1
  const isIt = (unit: Unit | undefined) => unit?.type === 'batch' && unit.rank === rank
  work.units += 1
  if (isIt(view.units.last())) return last
  let low = 0
  for (let high = last; low < high;) {
    work.units += 1
    const middle = (low + high) >>> 1
    if ((view.units.get(middle)?.rank ?? 0) < rank) low = middle + 1
    else high = middle
  }
  return isIt(view.units.get(low)) ? low : -1
}
