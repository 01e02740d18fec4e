/** Whether a run that died has left something to do: what a look for lost runs and a look at a conversation go by. */

import { hasNoPrompt, isTurnOver } from '../../conversation/turn.ts'
import { findEventIn } from '../../log/log.ts'
import { granted } from '../../state/call-status.ts'
import type { State } from '../../state/state.ts'

/**
 * How often a run is begun again after its process died, until a user says something: it may be the run that kills
 * processes.
 */
const MOST_LOST = 2

/**
 * Whether a run that died has left something to do that it was asked for. O(events since the last message of a user).
 */
export function hasWork(state: State): boolean {
  const { header, branch, log } = state
  const said = branch.lastUserMessage
  if (said === null) return false
  const { status } = header
  if (status === 'waiting_for_confirmation') return granted(header.callStatuses, 'approved').size > 0
  // What was said after an error is yet to be looked at.
  const failedAt = header.error === null ? -1 : (findEventIn(log, header.error.event_id)?.seq ?? -1)
  const isOpen = status === 'running' || status === 'idle' || (status === 'error' && failedAt < said.seq)
  if (!isOpen || isTurnOver(branch) || hasNoPrompt(branch)) return false
  let lost = 0
  for (let seq = said.seq + 1; seq < log.entries.length; seq += 1) {
    const event = log.entries.get(seq)?.event
    if (event?.kind === 'ConversationErrorEvent' && event.code === 'RunLost') lost += 1
  }
  return lost < MOST_LOST
}
