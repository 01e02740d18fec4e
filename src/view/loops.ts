/** Thinking loops: batches that providers sign together are forgotten together (U5). */

import { isPending, type Unit } from './unit.ts'

/**
 * For each unit the index of the unit that starts its thinking loop, or -1 outside one. A loop starts at a batch with
 * thinking blocks and takes in the batches without them that follow directly; a pending batch ends it. O(units).
 */
export function loopStarts(units: readonly Unit[]): Int32Array {
  const starts = new Int32Array(units.length).fill(-1)
  let start = -1
  for (const [index, unit] of units.entries()) {
    if (unit.type !== 'batch' || isPending(unit)) start = -1
    else if (unit.thinking) start = index
    starts[index] = start
  }
  return starts
}
