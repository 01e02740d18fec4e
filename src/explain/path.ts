/** Looks along the path from an event to HEAD, by what the fold kept at each step. */

import { isOnPathIn } from '../log/ancestry.ts'
import type { Entry } from '../log/entry.ts'
import { headAfter } from '../log/head.ts'
import { logPrefix } from '../log/log.ts'
import type { Checkpoint, State } from '../state/state.ts'

/** The entries from one above, or the root, to one below on the same path, both included. O(distance). */
export function pathBetween(above: Entry | null, below: Entry | null): Checkpoint[] {
  const path: Checkpoint[] = []
  // Every entry of a state's log is a checkpoint.
  for (let at: Entry | null = below; at !== null; at = at === above ? null : at.parent)
    path.push(at as Checkpoint)
  return path.toReversed()
}

/**
 * The first entry of a path of which something holds that, once so, stays so; undefined where it never does. O(log
 * path) questions.
 */
export function firstWhere(
  path: readonly Checkpoint[],
  isSo: (entry: Checkpoint) => boolean,
): Checkpoint | undefined {
  let low = 0
  for (let high = path.length; low < high;) {
    const middle = (low + high) >>> 1
    if (isSo(path[middle] as Checkpoint)) high = middle
    else low = middle + 1
  }
  return path[low]
}

/**
 * The entry with which HEAD left the branch of an event for good; null where no entry did so, as where the state is
 * looked at from elsewhere. O(entries since · log n).
 */
export function whereHeadLeft({ log }: State, event: Entry): Entry | null {
  let head: Entry | null = null
  let isOn = false
  let left: Entry | null = null
  for (let seq = event.seq; seq < log.entries.length; seq += 1) {
    const entry = log.entries.get(seq) as Checkpoint
    head =
      seq === event.seq || entry.canBeHead
        ? entry
        : headAfter(logPrefix(log, seq, head as Checkpoint), entry).head
    const was = isOn
    isOn = head !== null && isOnPathIn(event, head)
    if (was && !isOn) left = entry
  }
  return isOn ? null : left
}
