/** Answers that answer nothing: a branch goes in, their ids and reasons come out (U3). */

import { pathTo } from '../log/ancestry.ts'
import type { DropReason } from '../log/pairing.ts'
import type { Branch } from './branch.ts'

/** An answer that stays out of the view. */
export interface Dropped {
  readonly id: string
  readonly reason: DropReason
}

/**
 * The answers on a branch that stay out of the view, in log order, and why: `duplicate_answer` when the call has one
 * already, `orphan_answer` when there is no such call on the branch or it was forgotten. O(path) when there are any.
 * @example
 * const state = replay([{ kind: 'AgentErrorEvent', id: 'e', tool_name: 'ls', tool_call_id: 'c', error: 'no' }])
 * droppedAnswers(state.branch) // [{ id: 'e', reason: 'orphan_answer' }]
 */
export function droppedAnswers(branch: Branch): Dropped[] {
  const last = branch.dropped.last()
  if (last === undefined) return []
  const reasons = new Map([...branch.dropped].map(({ entry, reason }) => [entry.seq, reason]))
  const called = new Set<string>()
  const dropped: Dropped[] = []
  for (const entry of pathTo(last.entry)) {
    const { id, event, seq } = entry
    if (event?.kind === 'ActionEvent') called.add(event.tool_call_id)
    const reason = reasons.get(seq)
    if (id === null || event === null || reason === undefined) continue
    // The answer names no action: it is a second one when a call on the path has its id.
    const answered = 'tool_call_id' in event && called.has(event.tool_call_id)
    dropped.push({ id, reason: reason ?? (answered ? 'duplicate_answer' : 'orphan_answer') })
  }
  return dropped
}
