/** Pairs answers with calls: an answer and the open calls of its branch go in, the call it answers comes out (U3). */

import type { AnswerEvent } from '../event/types.ts'
import { isOnPath } from './ancestry.ts'
import type { EventEntry } from './entry.ts'
import { findCall, findEntry, type Log } from './log.ts'
import { latestOpenCall, openCallOf, type OpenCall, type OpenCalls } from './open-calls.ts'

/** Why an answer stays out of the view. */
export type DropReason = 'duplicate_answer' | 'orphan_answer'

/**
 * The open call that an answer goes to, or why it goes to none. The action id decides when it names an entry of the
 * log; otherwise the latest open call with the answer's tool call id. O(log n); a search for the reason among calls
 * that share one tool call id takes a step for each of them.
 */
export function matchAnswer(
  log: Log,
  open: OpenCalls,
  answer: EventEntry<AnswerEvent>,
): OpenCall | DropReason {
  const { event } = answer
  const actionId = event.kind === 'AgentErrorEvent' ? undefined : event.action_id
  const named = actionId === undefined ? undefined : findEntry(log, actionId)
  if (named !== undefined) {
    if (named.event?.kind !== 'ActionEvent') return 'orphan_answer'
    const call = openCallOf(open, named.event.tool_call_id, named.seq)
    return call ?? (isOnPath(named, answer.parent) ? 'duplicate_answer' : 'orphan_answer')
  }
  const call = latestOpenCall(open, event.tool_call_id)
  if (call !== undefined) return call
  const answered = findCall(log, event.tool_call_id, (entry) => isOnPath(entry, answer.parent))
  return answered < 0 ? 'orphan_answer' : 'duplicate_answer'
}
