/** The naive reading of a state: nodes, a length and a place go in, everything a state says comes out as plain data. */

import type { Node } from './tree.ts'
import { type Item, pending, shown, type Unit, wholes } from './unit.ts'

/** HEAD after the first `length` facts. */
export const headAt = (nodes: readonly Node[], length: number): number | null =>
  nodes[length - 1]?.head ?? null

/** The events of the view in order (U9). */
export const viewOf = (units: readonly Unit[]): Item[] => units.flatMap((unit) => shown(unit))

/** The batches that wait for an answer (U4). */
export const pendingOf = (units: readonly Unit[]): Unit[] => units.filter(pending)

/** U8: every index that has different wholes on its two sides, and both ends. */
export function cutPointsOf(units: readonly Unit[]): number[] {
  const names = wholes(units)
  const sides = units.flatMap((unit, index) => shown(unit).map(() => names[index]))
  const points: number[] = []
  for (let index = 0; index <= sides.length; index += 1) {
    const border = index === 0 || index === sides.length || sides[index - 1] !== sides[index]
    if (border) points.push(index)
  }
  return points
}
