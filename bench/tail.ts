import { unitEvents } from '../src/view/units.ts'
import type { View } from '../src/view/view.ts'

/** Reads the view as an agent loop does after each append: its length, and the events of its last unit. */
export function readTail(view: View): number {
  const last = view.units.last()
  return view.length + (last === undefined ? 0 : [...unitEvents(last)].length)
}
