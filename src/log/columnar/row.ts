/** What a columnar log keeps of one position, as plain values. */

import { type DropReason, type Entry, eventKindOf, kindOf, type LogWarning } from '../entry.ts'

/** One position of a log without its body. Other positions are named by number, -1 for none. */
export interface Row {
  readonly id: string | null
  readonly timestamp: string | null
  readonly kind: string | null
  /** Whether it holds an event; a line that could not be decoded otherwise. */
  readonly isEvent: boolean
  readonly inTree: boolean
  readonly canBeHead: boolean
  readonly parent: number
  readonly depth: number
  readonly jump: number
  readonly above: number
  /** The tool call id of an action that is in the tree, and the LLM response it belongs to. */
  readonly callId: string | null
  readonly responseId: string | null
  /** Why a tool result stays out of the view. */
  readonly dropped: DropReason | null
  readonly warnings: readonly LogWarning[]
}

/** The row of an entry whose body is at hand. O(1). */
export function rowOf(entry: Entry, dropped: DropReason | null): Row {
  const action = entry.inTree && entry.event?.kind === 'ActionEvent' ? entry.event : null
  return {
    id: entry.id,
    timestamp: entry.timestamp,
    kind: kindOf(entry),
    isEvent: eventKindOf(entry) !== null,
    inTree: entry.inTree,
    canBeHead: entry.canBeHead,
    parent: entry.parent?.seq ?? -1,
    depth: entry.depth,
    jump: entry.jump?.seq ?? -1,
    above: entry.above?.seq ?? -1,
    callId: action?.tool_call_id ?? null,
    responseId: action?.llm_response_id ?? null,
    dropped,
    warnings: entry.warnings,
  }
}
