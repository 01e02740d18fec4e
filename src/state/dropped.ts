/** Tool results that stay out of the view, and why (U3). */

import { isOnPathIn } from '../log/ancestry.ts'
import { type DropReason, callIdOf, type Entry } from '../log/entry.ts'
import { hasCall, type Log } from '../log/log.ts'
import type { Branch, DroppedEntry } from './branch.ts'

/** A tool result that stays out of the view. */
export interface DroppedResult {
  readonly id: string
  readonly reason: DropReason
}

/**
 * The results on a branch that stay out of the view, in log order, and why: `duplicate_result` when the call has one
 * already, `orphan_result` when there is no such call on the branch or it was forgotten. O(path) when there are any.
 */
export function listDroppedResultsIn(branch: Branch): DroppedResult[] {
  const dropped = [...branch.dropped]
  const asking = dropped.filter(({ reason }) => reason === null).map(({ entry }) => entry)
  const firsts = firstCalls(asking)
  return dropped.map(({ entry, reason }) => {
    // The result names no action: it is a second one when a call above it on the path has its id.
    const isSecond = (firsts.get(answeredId(entry)) ?? Infinity) < entry.seq
    return { id: entry.id ?? '', reason: reason ?? (isSecond ? 'duplicate_result' : 'orphan_result') }
  })
}

/**
 * The reason for one result, which only the whole path tells where the fold left it open. O(calls of the same id · log
 * n).
 */
export function whyDropped(log: Log, { entry, reason }: DroppedEntry): DropReason {
  const isAbove = (seq: number) => {
    const call = log.entries.get(seq)
    return call !== undefined && isOnPathIn(call, entry.parent)
  }
  return reason ?? (hasCall(log, answeredId(entry), isAbove) ? 'duplicate_result' : 'orphan_result')
}

/** The tool call id that a result gives. */
const answeredId = ({ event }: Entry): string =>
  event !== null && 'tool_call_id' in event ? event.tool_call_id : ''

/**
 * The position of the first call on the path with each of the tool call ids that the results give; they are on one
 * path.
 */
function firstCalls(results: readonly Entry[]): Map<string, number> {
  const firsts = new Map<string, number>()
  const wanted = new Set(results.map(answeredId))
  const note = (seq: number, toolCallId: string) => {
    if (wanted.has(toolCallId)) firsts.set(toolCallId, seq)
  }
  for (let at: Entry | null = results.at(-1) ?? null; at !== null; at = at.parent) {
    // From here up only the columnar log is known, which needs no entries to be walked.
    if (at.evicted !== undefined) {
      at.evicted.eachCall(note)
      break
    }
    const toolCallId = callIdOf(at)
    if (toolCallId !== null) note(at.seq, toolCallId)
  }
  return firsts
}
