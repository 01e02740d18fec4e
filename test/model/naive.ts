/** Computes HEAD, view, pending batches and cut points as plain data. */

import type { Node } from './tree.ts'
import { type Item, hasPendingCall, visibleItems, type Unit, stretchesOf } from './unit.ts'

/** HEAD after the first `length` facts. */
export const headAt = (nodes: readonly Node[], length: number): number | null =>
  nodes[length - 1]?.head ?? null

/** The events of the view in order (U9). */
export const viewOf = (units: readonly Unit[]): Item[] => units.flatMap((unit) => visibleItems(unit))

/** The batches that wait for results (U4). */
export const pendingOf = (units: readonly Unit[]): Unit[] => units.filter(hasPendingCall)

/** U8: both ends, and every index between two stretches. */
export function cutPointsOf(units: readonly Unit[]): number[] {
  const stretches = stretchesOf(units)
  const sides = units.flatMap((unit, index) => visibleItems(unit).map(() => stretches[index]))
  const points: number[] = []
  for (let index = 0; index <= sides.length; index += 1) {
    const border = index === 0 || index === sides.length || sides[index - 1] !== sides[index]
    if (border) points.push(index)
  }
  return points
}
