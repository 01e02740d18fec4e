/** The unit: the smallest thing that can be shown or forgotten whole (U1, U2). */

import type { ActionEvent, AnswerEvent, Event } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import type { Vector } from '../log/vector.ts'

/** One event of the view; a derived summary is an item without a place in the log. */
export interface ViewItem {
  readonly id: string
  readonly event: Event
}

/** A system prompt, a message or a summary (U1). */
export interface MessageUnit {
  readonly type: 'message'
  /** Position of the event in the log; a derived summary takes the rank of the unit before it. Never falls along a view. */
  readonly rank: number
  readonly item: ViewItem
}

/** An answer and the call it answers. */
export interface Answered {
  readonly entry: EventEntry<AnswerEvent>
  readonly call: EventEntry<ActionEvent>
}

/** One LLM response that calls tools: its calls and their answers, both in log order (U2). */
export interface BatchUnit {
  readonly type: 'batch'
  /** Position of the first call in the log; it names the batch within its view. */
  readonly rank: number
  readonly responseId: string
  readonly calls: Vector<EventEntry<ActionEvent>>
  readonly answers: Vector<Answered>
  /** Whether a call carries thinking blocks, so that the batch starts a thinking loop (U5). */
  readonly thinking: boolean
  /** Whether no answer so far is anything but an AgentErrorEvent. */
  readonly onlyErrors: boolean
}

export type Unit = MessageUnit | BatchUnit

/**
 * Whether a unit is a batch with a call that has no answer; such a batch is out of the view for the time (U4).
 * @example
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user', content: [{ text: 'hi' }] } }])
 * isPending(state.branch.view.units.get(0)) // false
 */
export const isPending = (unit: Unit): boolean =>
  unit.type === 'batch' && unit.answers.length < unit.calls.length

/** How many events of the view a unit brings: none while it is pending. O(1). */
export function eventCount(unit: Unit): number {
  if (unit.type === 'message') return 1
  return isPending(unit) ? 0 : unit.calls.length + unit.answers.length
}

/**
 * The events of a unit, pending or not: the calls first, then the answers, both in log order (U9).
 * @example
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user', content: [{ text: 'hi' }] } }])
 * [...unitItems(state.branch.view.units.get(0))].map((item) => item.id) // ['m']
 */
export function* unitItems(unit: Unit): IterableIterator<ViewItem> {
  if (unit.type === 'message') {
    yield unit.item
    return
  }
  yield* unit.calls
  for (const answer of unit.answers) yield answer.entry
}
