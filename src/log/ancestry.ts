/**
 * Ancestry in the tree in O(log depth), by jump pointers: paths are compared at every event, so walking them would
 * turn a fold quadratic.
 */

import type { Entry } from './entry.ts'

/** The jump pointer of a new child: skew-binary, so that any ancestor is O(log depth) hops away. */
export function jumpFrom(parent: Entry | null): Entry | null {
  if (parent === null) return null
  const near = parent.jump
  if (near === null) return parent
  const far = near.jump
  const even = far !== null && parent.depth - near.depth === near.depth - far.depth
  return even ? far : parent
}

/**
 * Whether `above` lies on the path from `entry` to its root; an entry lies on its own path. O(log depth).
 */
export function isOnPathIn(above: Entry, entry: Entry | null): boolean {
  let at = entry
  while (at !== null && at.depth > above.depth) {
    at = at.jump !== null && at.jump.depth >= above.depth ? at.jump : at.parent
  }
  return at === above
}

/**
 * The entries from the root down to `entry`, both included; empty for null. O(depth), law T.
 */
export function pathToEntry(entry: Entry | null): Entry[] {
  const path: Entry[] = []
  for (let at = entry; at !== null; at = at.parent) path.push(at)
  return path.toReversed()
}
