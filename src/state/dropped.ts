import { callIdOf, type DropReason, type Entry, isOnPathIn } from '../log/entry.ts'
import { findCall, type Log } from '../log/log.ts'
import type { Branch, DroppedEntry } from './branch.ts'

/** A dropped tool result: a second result, or a result whose call is not on the branch or was removed. */
export interface DroppedResult {
  readonly id: string
  readonly reason: DropReason
}

export function listDroppedResultsIn(branch: Branch): DroppedResult[] {
  const dropped = [...branch.dropped]
  const undecided = dropped.filter(({ reason }) => reason === null).map(({ entry }) => entry)
  const firsts = firstCalls(undecided)
  return dropped.map(({ entry, reason }) => {
    // The result has no action id. It is a duplicate if an earlier call on the path has its tool call id.
    const isSecond = (firsts.get(toolCallIdOf(entry)) ?? Infinity) < entry.seq
    return { id: entry.id ?? '', reason: reason ?? (isSecond ? 'duplicate_result' : 'orphan_result') }
  })
}

/** Returns why a result was dropped. O(1), or O(calls with the same tool call id · log n) if `reason` is null. */
export function whyDropped(log: Log, { entry, reason }: DroppedEntry): DropReason {
  const isAbove = (call: Entry): boolean => isOnPathIn(call, entry.parent)
  return reason ?? (findCall(log, toolCallIdOf(entry), isAbove) ? 'duplicate_result' : 'orphan_result')
}

const toolCallIdOf = ({ event }: Entry): string =>
  event !== null && 'tool_call_id' in event ? event.tool_call_id : ''

function firstCalls(results: readonly Entry[]): Map<string, number> {
  const firsts = new Map<string, number>()
  const wanted = new Set(results.map(toolCallIdOf))
  const record = (seq: number, toolCallId: string) => {
    if (wanted.has(toolCallId)) firsts.set(toolCallId, seq)
  }
  for (let entry: Entry | null = results.at(-1) ?? null; entry !== null; entry = entry.parent) {
    // The rest of the path is in the columnar log, which is read without creating entries.
    if (entry.evicted !== undefined) {
      entry.evicted.eachCall(record)
      break
    }
    const toolCallId = callIdOf(entry)
    if (toolCallId !== null) record(entry.seq, toolCallId)
  }
  return firsts
}
