import { unitEvents } from '../src/view/units.ts'
import type { View } from '../src/view/view.ts'

/** Reads the length of the view and the events of its last unit, as an agent loop does after each append. */
export function readTail(view: View): number {
  const last = view.units.last()
  return view.length + (last === undefined ? 0 : [...unitEvents(last)].length)
}
