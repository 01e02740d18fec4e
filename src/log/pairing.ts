/** Pairs answers with calls: an answer and the open calls of its branch go in, the call it answers comes out (U3). */

import type { AnswerEvent } from '../event/types.ts'
import { isOnPath } from './ancestry.ts'
import { callIdOf, type DropReason, type EventEntry } from './entry.ts'
import { findEntry, type Log } from './log.ts'
import { latestOpenCall, openCallOf, type OpenCall, type OpenCalls } from './open-calls.ts'

/**
 * The open call that an answer goes to, or why it goes to none; null when that is a question to the whole path, which
 * the fold leaves to whoever asks (`droppedAnswers`). The action id decides when it names an entry of the log;
 * otherwise it is the latest open call with the answer's tool call id. O(log n).
 */
export function matchAnswer(
  log: Log,
  open: OpenCalls,
  answer: EventEntry<AnswerEvent>,
): OpenCall | DropReason | null {
  const { event } = answer
  const actionId = event.kind === 'AgentErrorEvent' ? undefined : event.action_id
  const latest = latestOpenCall(open, event.tool_call_id)
  // Mostly this is the one that is named, and the log need not be searched.
  if (latest !== undefined && latest.entry.id === actionId) return latest
  const named = actionId === undefined ? undefined : findEntry(log, actionId)
  if (named === undefined) return latest ?? null
  const toolCallId = callIdOf(named)
  if (toolCallId === null) return 'orphan_answer'
  const call = openCallOf(open, toolCallId, named.seq)
  return call ?? (isOnPath(named, answer.parent) ? 'duplicate_answer' : 'orphan_answer')
}
