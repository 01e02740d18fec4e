/** The view as rows: units with their cut points, a window of them at a time, so that no view is too long to show. */

import type { Entry } from '../../log/entry.ts'
import { branchOf, type State } from '../../state/state.ts'
import { stretchStarts } from '../../view/stretches.ts'
import { eventCount, isDerived, isPending, type Unit, unitEvents } from '../../view/unit.ts'
import type { View } from '../../view/view.ts'

/** One unit where it stands. */
export interface UnitRow {
  readonly unit: Unit
  /** Its index among the units. */
  readonly index: number
  /** The index of its first event in the view. */
  readonly at: number
  /** Whether the view may be cut before it. */
  readonly isCut: boolean
  readonly isPending: boolean
  /** The id of the Condensation whose summary it is; null for any other. */
  readonly summaryOf: string | null
}

/**
 * The units of a view from an index on, some of them at most, in order. O(units behind the first), plus the stretch
 * that it stands in.
 */
export function unitRows({ units, length }: View, from: number, most: number): UnitRow[] {
  const begin = Math.max(0, from)
  let known = begin
  // A message that is no reply begins a stretch, whatever stands before it.
  while (known > 0 && !beginsAnew(units.get(known) as Unit)) known -= 1
  const slice = units.slice(known)
  const starts = stretchStarts(slice)
  let at = length - slice.reduce((sum, unit) => sum + eventCount(unit), 0)
  const rows: UnitRow[] = []
  for (const [offset, unit] of slice.entries()) {
    const index = known + offset
    if (index >= begin + most) break
    if (index >= begin)
      rows.push({
        unit,
        index,
        at,
        isCut: starts[offset] === offset,
        isPending: isPending(unit),
        summaryOf: summaryOf(unit),
      })
    at += eventCount(unit)
  }
  return rows
}

const beginsAnew = (unit: Unit): boolean =>
  unit.type === 'message' && !(unit.item.event.kind === 'MessageEvent' && unit.item.event.source === 'agent')

const SUMMARY = '-summary'

function summaryOf(unit: Unit): string | null {
  if (unit.type === 'batch' || !isDerived(unit) || !unit.item.id.endsWith(SUMMARY)) return null
  return unit.item.id.slice(0, -SUMMARY.length)
}

/** The index of the unit that holds an event; -1 for none. O(view). */
export function unitWith({ units }: View, id: string): number {
  let index = 0
  for (const unit of units) {
    for (const item of unitEvents(unit)) if (item.id === id) return index
    index += 1
  }
  return -1
}

/** What a Condensation took out of the view: units that were there before it and are not behind it. O(view). */
export function takenOut(entry: Entry): Unit[] {
  const after = new Set(branchOf(entry).view.units)
  return [...branchOf(entry.parent).view.units].filter((unit) => !after.has(unit))
}

/** The ids of everything in the view, pending or not. O(view). */
export function idsInView({ branch }: State): Set<string> {
  const ids = new Set<string>()
  for (const unit of branch.view.units) for (const { id } of unitEvents(unit)) ids.add(id)
  return ids
}
