/** Finds the result that ended a call, whether the view has the call or not, and calls that may be of one batch. */

import { callIdOf, type Entry, responseIdOf } from '../log/entry.ts'
import { openCallOf } from '../log/open-calls.ts'
import type { Checkpoint } from '../state/state.ts'
import type { Unit } from '../view/unit.ts'
import { firstWhere, pathBetween } from './path.ts'

/** The result that ended a call on the path down to an entry; null while it is pending there. O(path). */
export function resultOf(call: Entry, below: Entry): Checkpoint | null {
  const toolCallId = callIdOf(call)
  if (toolCallId === null) return null
  const isEnded = ({ branch }: Checkpoint): boolean =>
    openCallOf(branch.pendingCalls, toolCallId, call.seq) === undefined
  return firstWhere(pathBetween(call, below), isEnded) ?? null
}

/**
 * The calls of a path that are of some replies, and may come into their batches while these wait (U2), and their
 * results; null where one of them is pending at an entry. O(path) for each.
 */
export function callsOfReplies(
  replies: readonly (string | null)[],
  path: readonly Entry[],
  below: Entry,
): Entry[] | null {
  const found: Entry[] = []
  for (const call of path) {
    if (!isOfReplies(replies, call)) continue
    const result = resultOf(call, below)
    if (result === null) return null
    found.push(call, result)
  }
  return found
}

/** The replies that some units are of, where they are batches. O(units). */
export const repliesOf = (units: readonly Unit[]): string[] =>
  units.flatMap((unit) => (unit.type === 'batch' ? [unit.responseId] : []))

/** Whether an entry is a call of one of some replies. O(replies). */
export function isOfReplies(replies: readonly (string | null)[], entry: Entry): boolean {
  const reply = responseIdOf(entry)
  return reply !== null && reply !== '' && replies.includes(reply)
}
