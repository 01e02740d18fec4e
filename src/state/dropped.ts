/** Answers that answer nothing: a branch goes in, their ids and reasons come out (U3). */

import { isOnPath } from '../log/ancestry.ts'
import { type DropReason, callIdOf, type Entry } from '../log/entry.ts'
import { hasCall, type Log } from '../log/log.ts'
import type { Branch, DroppedEntry } from './branch.ts'

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
  const dropped = [...branch.dropped]
  const asking = dropped.filter(({ reason }) => reason === null).map(({ entry }) => entry)
  const firsts = firstCalls(asking)
  return dropped.map(({ entry, reason }) => {
    // The answer names no action: it is a second one when a call above it on the path has its id.
    const isSecond = (firsts.get(answeredId(entry)) ?? Infinity) < entry.seq
    return { id: entry.id ?? '', reason: reason ?? (isSecond ? 'duplicate_answer' : 'orphan_answer') }
  })
}

/** The reason for one answer, which only the whole path tells where the fold left it open. O(calls of the same id · log n). */
export function whyDropped(log: Log, { entry, reason }: DroppedEntry): DropReason {
  const isAbove = (seq: number) => {
    const call = log.entries.get(seq)
    return call !== undefined && isOnPath(call, entry.parent)
  }
  return reason ?? (hasCall(log, answeredId(entry), 0, isAbove) ? 'duplicate_answer' : 'orphan_answer')
}

/** The tool call id that an answer gives. */
const answeredId = ({ event }: Entry): string =>
  event !== null && 'tool_call_id' in event ? event.tool_call_id : ''

/** The position of the first call on the path with each of the tool call ids that the answers give; they are on one path. */
function firstCalls(answers: readonly Entry[]): Map<string, number> {
  const firsts = new Map<string, number>()
  const wanted = new Set(answers.map(answeredId))
  const note = (seq: number, toolCallId: string) => {
    if (wanted.has(toolCallId)) firsts.set(toolCallId, seq)
  }
  for (let at: Entry | null = answers.at(-1) ?? null; at !== null; at = at.parent) {
    // From here up only a skeleton is known, which needs no entries to be walked.
    if (at.remains !== undefined) {
      at.remains.eachCall(note)
      break
    }
    const toolCallId = callIdOf(at)
    if (toolCallId !== null) note(at.seq, toolCallId)
  }
  return firsts
}
