/**
 * Ancestry in O(log depth), by jump pointers: every event compares paths; walking would make folds quadratic.
 */

import type { Entry } from './entry.ts'

/** Jump pointer of a new child: skew-binary, so that any ancestor is O(log depth) hops away. */
export function jumpFrom(parent: Entry | null): Entry | null {
  if (parent === null) return null
  const near = parent.jump
  if (near === null) return parent
  const far = near.jump
  const even = far !== null && parent.depth - near.depth === near.depth - far.depth
  return even ? far : parent
}

/** Whether `above` is on the path from `entry` to its root. An entry is on its own path. O(log depth). */
export function isOnPathIn(above: Entry, entry: Entry | null): boolean {
  let current = entry
  while (current !== null && current.depth > above.depth) {
    current = current.jump !== null && current.jump.depth >= above.depth ? current.jump : current.parent
  }
  return current === above
}

/** Entries from the root to `entry`, both included. Empty for null. O(depth), law T. */
export function pathToEntry(entry: Entry | null): Entry[] {
  const path: Entry[] = []
  for (let current = entry; current !== null; current = current.parent) path.push(current)
  return path.toReversed()
}
