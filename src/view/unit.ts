/** The unit: the smallest thing that can be shown or forgotten whole (U1, U2). */

import type { EventWith } from '../event/kinds.ts'
import type { ActionEvent, ToolResultEvent, Event } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import type { PendingCallIndex } from '../log/open-calls.ts'
import type { Vector } from '../log/vector.ts'

/** One event of the view; a derived summary is an item without a place in the log. */
export interface ViewItem<E extends Event = Event> {
  readonly id: string
  readonly event: E
}

/**
 * Where a unit stands in the order of its view. Along a view neither the rank falls nor, within a rank, `first`, so
 * that a batch is found by the two.
 */
export interface UnitOrder {
  /** Position in the log of the unit's first event; where it was put before messages that were there, and for a derived
   * summary, the rank of the unit before it. */
  readonly rank: number
  /** Position in the log of the unit's first event; a derived summary takes that of the unit before it. */
  readonly first: number
}

/** The order of a unit whose first event is at this position, when it is put before the unit at an index. O(log n). */
export const orderAt = (units: Vector<Unit>, index: number, first: number): UnitOrder => ({
  rank: index === units.length ? first : (units.get(index - 1)?.rank ?? -1),
  first,
})

/** A system prompt, a message or a summary (U1). */
export interface MessageUnit extends UnitOrder {
  readonly type: 'message'
  readonly item: ViewItem<EventWith<'unit', 'message'>>
  /** The working call that the message completes. */
  readonly completes?: EventEntry<ActionEvent>
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
  /** The calls once more, those with a result too, to be found by their tool call ids. */
  readonly byCallId: PendingCallIndex
  readonly results: Vector<CallResult>
  /** Whether a call carries thinking blocks, so that the batch starts a thinking loop (U5). */
  readonly thinking: boolean
  /** Whether no result so far is anything but an AgentErrorEvent. */
  readonly onlyErrors: boolean
}

export type Unit = MessageUnit | BatchUnit

/** Whether a unit is the summary that a condensation put there, which is no event of the log. */
export const isDerived = (unit: MessageUnit): boolean => !('seq' in unit.item)

/**
 * Whether a unit is a batch with a pending call; such a batch is out of the view for the time (U4).
 * @example
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * isPending(state.branch.view.units.get(0)) // false
 */
export const isPending = (unit: Unit): boolean =>
  unit.type === 'batch' && unit.results.length < unit.calls.length

/** How many events of the view a unit brings: none while it is pending. O(1). */
export function eventCount(unit: Unit): number {
  if (unit.type === 'message') return 1
  return isPending(unit) ? 0 : unit.calls.length + unit.results.length
}

/**
 * The events of a unit, pending or not: the calls first, then the results, both in log order (U9).
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
