/** Finds the result that ended a call, whether the view has the call or not. */

import { callIdOf, type Entry } from '../log/entry.ts'
import { openCallOf } from '../log/open-calls.ts'
import type { Checkpoint } from '../state/state.ts'
import { firstWhere, pathBetween } from './path.ts'

/** The result that ended a call on the path down to an entry; null while it is pending there. O(path). */
export function resultOf(call: Entry, below: Entry): Checkpoint | null {
  const toolCallId = callIdOf(call)
  if (toolCallId === null) return null
  const isEnded = ({ branch }: Checkpoint): boolean =>
    openCallOf(branch.pendingCalls, toolCallId, call.seq) === undefined
  return firstWhere(pathBetween(call, below), isEnded) ?? null
}
