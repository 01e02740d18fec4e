/** The view as rows: units with their cut points, the last of them at first, so that no view is too long. */

import { eventCount, isDerived, isPending, type Unit } from '../../view/unit.ts'
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
 * The units of a view from an index on, in order. O(units behind the first).
 * @param starts the starts of the stretches; null while they are not known, and no cut point is told
 */
export function unitRows({ units, length }: View, from: number, starts: Int32Array | null): UnitRow[] {
  const slice = units.slice(from)
  let at = length - slice.reduce((sum, unit) => sum + eventCount(unit), 0)
  return slice.map((unit, offset) => {
    const index = from + offset
    const row = {
      unit,
      index,
      at,
      isCut: starts?.[index] === index,
      isPending: isPending(unit),
      summaryOf: summaryOf(unit),
    }
    at += eventCount(unit)
    return row
  })
}

const SUMMARY = '-summary'

function summaryOf(unit: Unit): string | null {
  if (unit.type === 'batch' || !isDerived(unit) || !unit.item.id.endsWith(SUMMARY)) return null
  return unit.item.id.slice(0, -SUMMARY.length)
}
