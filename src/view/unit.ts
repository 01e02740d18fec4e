/** The unit: the smallest part of a view that is shown or forgotten as a whole (U1, U2). */

import type { EventWith } from '../event/kinds.ts'
import type { ActionEvent, ToolResultEvent, Event } from '../event/types.ts'
import type { EventEntry, UnitOrder } from '../log/entry.ts'
import type { PendingCallIndex } from '../log/open-calls.ts'
import type { Vector } from '../log/vector.ts'

/** One event of the view. A derived summary is an item without a position in the log. */
export interface ViewItem<E extends Event = Event> {
  readonly id: string
  readonly event: E
}

/** A system prompt, a message or a summary (U1). */
export interface MessageUnit extends UnitOrder {
  readonly type: 'message'
  readonly item: ViewItem<EventWith<'unit', 'message'>>
  readonly completes?: EventEntry<ActionEvent>
  readonly summaryOf?: number
}

/** A tool result and the call it ends. */
export interface CallResult {
  readonly entry: EventEntry<ToolResultEvent>
  readonly call: EventEntry<ActionEvent>
}

/** One LLM response that calls tools: its calls and their results, both in log order (U2). */
export interface BatchUnit extends UnitOrder {
  readonly type: 'batch'
  readonly responseId: string
  readonly calls: Vector<EventEntry<ActionEvent>>
  readonly byCallId: PendingCallIndex
  readonly results: Vector<CallResult>
  /** Whether a call has thinking blocks, so that the batch starts a thinking loop (U5). */
  readonly thinking: boolean
  readonly onlyErrors: boolean
}

export type Unit = MessageUnit | BatchUnit

export const isDerived = (unit: MessageUnit): boolean => !('seq' in unit.item)

/**
 * Whether a unit is a batch with a pending call. Such a batch is out of the view meanwhile (U4).
 * @example
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * isPending(state.branch.view.units.get(0)) // false
 */
export const isPending = (unit: Unit): boolean =>
  unit.type === 'batch' && unit.results.length < unit.calls.length

/** Number of view events of a unit: none while it is pending. O(1). */
export function eventCount(unit: Unit): number {
  if (unit.type === 'message') return 1
  return isPending(unit) ? 0 : unit.calls.length + unit.results.length
}

/**
 * Yields the events of a unit, pending or not: the calls first, then the results, both in log order (U9).
 * @example
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * [...unitEvents(state.branch.view.units.get(0))].map((item) => item.id) // ['m']
 */
export function* unitEvents(unit: Unit): IterableIterator<ViewItem> {
  if (unit.type === 'message') {
    yield unit.item
    return
  }
  yield* unit.calls
  for (const result of unit.results) yield result.entry
}
