/** Puts calls and answers into the view: a call joins its batch or opens one (U2), an answer goes to its call (U3). */

import { hasText } from '../event/text.ts'
import type { ActionEvent, AnswerEvent } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import { hasCall, type Log } from '../log/log.ts'
import type { OpenCall } from '../log/open-calls.ts'
import { Vector } from '../log/vector.ts'
import { type BatchUnit, isPending, type Unit } from './unit.ts'
import { findBatch, type View, withUnit, withUnitAt } from './view.ts'

/** A view with a call in it, and the rank of the batch that holds the call. */
export interface WithCall {
  readonly view: View
  readonly batch: number
}

/** The view with one more call, in the last batch when it belongs to the same LLM response, else in a new one (U2). */
export function withCall(view: View, call: EventEntry<ActionEvent>, log: Log): WithCall {
  const last = view.units.last()
  const thinking = (call.event.thinking_blocks?.length ?? 0) > 0
  if (last?.type === 'batch' && takes(last, call, log)) {
    const joined: BatchUnit = {
      ...last,
      calls: last.calls.push(call),
      thinking: last.thinking || thinking,
    }
    return { view: withUnitAt(view, view.units.length - 1, last, joined), batch: last.rank }
  }
  const unit: Unit = {
    type: 'batch',
    rank: call.seq,
    responseId: call.event.llm_response_id,
    calls: Vector.of(call),
    answers: Vector.empty(),
    thinking,
    onlyErrors: true,
  }
  return { view: withUnit(view, unit), batch: unit.rank }
}

/** Whether a batch takes in a call: the same response, not this call already, and the batch is still open (U2). */
function takes(batch: BatchUnit, call: EventEntry<ActionEvent>, log: Log): boolean {
  const { llm_response_id, tool_call_id } = call.event
  if (llm_response_id === '' || batch.responseId !== llm_response_id) return false
  if (!isPending(batch) && !(batch.onlyErrors && !bringsThought(call.event))) return false
  // Ids repeat from reply to reply: only the calls since the batch began are of interest.
  return !hasCall(log, tool_call_id, batch.rank, (seq) => holds(batch.calls, seq))
}

/** Whether an action brings words of its own, as only the first action of a response does. */
function bringsThought(event: ActionEvent): boolean {
  return (
    event.thought.some((part) => hasText(part.text)) ||
    hasText(event.reasoning_content) ||
    (event.responses_reasoning_item ?? null) !== null ||
    (event.thinking_blocks?.length ?? 0) > 0
  )
}

/** Whether calls in log order hold the one at a position. O(log n). */
function holds(calls: BatchUnit['calls'], seq: number): boolean {
  let low = 0
  for (let high = calls.length - 1; low < high;) {
    const middle = (low + high) >>> 1
    if ((calls.get(middle)?.seq ?? 0) < seq) low = middle + 1
    else high = middle
  }
  return calls.get(low)?.seq === seq
}

/** The view with the answer to an open call, or undefined when that call is no longer in the view (U3, U6). O(log n). */
export function withAnswer(view: View, call: OpenCall, answer: EventEntry<AnswerEvent>): View | undefined {
  const index = findBatch(view, call.batch)
  const batch = view.units.get(index)
  if (batch?.type !== 'batch') return undefined
  const answered: BatchUnit = {
    ...batch,
    answers: batch.answers.push({ entry: answer, call: call.entry }),
    onlyErrors: batch.onlyErrors && answer.event.kind === 'AgentErrorEvent',
  }
  return withUnitAt(view, index, batch, answered)
}
