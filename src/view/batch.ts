/** Adds calls and results to the view: calls join or open a batch (U2), results join their call (U3). */

import { hasText } from '../event/text.ts'
import type { ActionEvent, ToolResultEvent } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import { latestOpenCall, type PendingCall, withOpenCall } from '../log/open-calls.ts'
import { Vector } from '../log/vector.ts'
import { type BatchUnit, isPending, orderAt } from './units.ts'
import { findBatch, type View, withUnit, withUnitAt } from './view.ts'

interface WithCall {
  readonly view: View
  readonly open: PendingCall
}

/**
 * Adds a call before the unit at an index: to the directly preceding batch if it accepts the call, else to a
 * new batch (U2). O(log n).
 */
export function withCall(view: View, call: EventEntry<ActionEvent>, index: number): WithCall {
  const before = view.units.get(index - 1)
  const thinking = (call.event.thinking_blocks?.length ?? 0) > 0
  if (before?.type === 'batch' && accepts(before, call)) {
    const open = { entry: call, rank: before.rank, first: before.first }
    const joined: BatchUnit = {
      ...before,
      calls: before.calls.push(call),
      byCallId: withOpenCall(before.byCallId, open),
      thinking: before.thinking || thinking,
    }
    return { view: withUnitAt(view, index - 1, before, joined), open }
  }
  const { rank, first } = orderAt(view.units, index, call.seq)
  const open = { entry: call, rank, first }
  const unit: BatchUnit = {
    type: 'batch',
    rank,
    first,
    responseId: call.event.llm_response_id,
    calls: Vector.empty<EventEntry<ActionEvent>>().push(call),
    byCallId: withOpenCall(null, open),
    results: Vector.empty(),
    thinking,
    onlyErrors: true,
  }
  return { view: withUnit(view, unit, index), open }
}

/** Whether a call joins a batch (U2): the batch is open, of the same reply, and has no call with this id. */
function accepts(batch: BatchUnit, call: EventEntry<ActionEvent>): boolean {
  const { llm_response_id, tool_call_id } = call.event
  if (llm_response_id === '' || batch.responseId !== llm_response_id) return false
  if (!isPending(batch) && !(batch.onlyErrors && !hasThought(call.event))) return false
  // Ids repeat across replies and branches, so only the calls of this batch matter.
  return latestOpenCall(batch.byCallId, tool_call_id) === undefined
}

function hasThought(event: ActionEvent): boolean {
  return (
    event.thought.some((part) => hasText(part.text)) ||
    hasText(event.reasoning_content) ||
    (event.responses_reasoning_item ?? null) !== null ||
    (event.thinking_blocks?.length ?? 0) > 0
  )
}

/** Adds a pending call's result; undefined if the call is no longer in the view (U3, U6). O(log n). */
export function withResult(
  view: View,
  call: PendingCall,
  result: EventEntry<ToolResultEvent>,
): View | undefined {
  const index = findBatch(view, call)
  const batch = view.units.get(index)
  if (batch?.type !== 'batch') return undefined
  const ended: BatchUnit = {
    ...batch,
    results: batch.results.push({ entry: result, call: call.entry }),
    onlyErrors: batch.onlyErrors && result.event.kind === 'AgentErrorEvent',
  }
  return withUnitAt(view, index, batch, ended)
}
