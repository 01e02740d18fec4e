/** Reads a view as an agent loop does after each append: how long it is, and what its last unit holds. */

import { unitEvents } from '../src/view/unit.ts'
import type { View } from '../src/view/view.ts'

/** Number of events in the view and in its last unit. */
export function readTail(view: View): number {
  const last = view.units.last()
  return view.length + (last === undefined ? 0 : [...unitEvents(last)].length)
}
