/** The naive unit: plain arrays of positions, and the predicates of U2 to U5 and U9. */

import type { Event } from '../../src/event/types.ts'

/** An event of a view. `position` is its position in the log, null for a condensation's derived summary. */
export interface Item {
  readonly id: string
  readonly position: number | null
  readonly event: Event
}

/** A result in a batch, and the position of its call. */
export interface Answer extends Item {
  readonly call: number
}

/**
 * A message, or one LLM response with its calls and results. `rank` is its position in the log or, if it was
 * moved or derived, the `rank` of the unit before it.
 */
export type Unit =
  | {
      readonly type: 'message'
      readonly rank: number
      readonly item: Item
      /** The position of the working call that it completes. */
      readonly completes?: number
    }
  | {
      readonly type: 'batch'
      readonly rank: number
      readonly response: string
      readonly calls: readonly Item[]
      readonly results: readonly Answer[]
    }

/** Every event of a unit (U9): the calls, then the results. */
export const itemsOf = (unit: Unit): readonly Item[] =>
  unit.type === 'message' ? [unit.item] : [...unit.calls, ...unit.results]

/** Whether a call of the batch has no result (U4). */
export const hasPendingCall = (unit: Unit): boolean =>
  unit.type === 'batch' &&
  unit.calls.some((call) => !unit.results.some((answer) => answer.call === call.position))

/** The events that a unit adds to the view (U4, U9). */
export const visibleItems = (unit: Unit): readonly Item[] => (hasPendingCall(unit) ? [] : itemsOf(unit))

/** Whether a batch has thinking blocks (U5). */
export const hasThinking = (unit: Unit): boolean =>
  unit.type === 'batch' &&
  unit.calls.some(({ event }) => event.kind === 'ActionEvent' && (event.thinking_blocks ?? []).length > 0)

/** The record of the unit's reply, empty when missing; null for any other unit (U5). */
function replyRecordOf(unit: Unit): { readonly outcome?: unknown; readonly waits?: unknown } | null {
  const event = itemsOf(unit)[0]?.event
  const holder =
    event?.kind === 'ActionEvent'
      ? event.tool_call
      : event?.kind === 'MessageEvent' && event.source === 'agent'
        ? event.llm_message
        : null
  if (holder === null) return null
  const { reply } = holder as { readonly reply?: unknown }
  return typeof reply === 'object' && reply !== null && !Array.isArray(reply) ? reply : {}
}

const isPausedReply = (unit: Unit): boolean =>
  !hasPendingCall(unit) && replyRecordOf(unit)?.outcome === 'paused'

/** Number of calls of the provider's own tools without a result after these units (U5). */
const pendingProviderCalls = (units: readonly Unit[]): number =>
  units.reduce((count, unit) => {
    const waits = replyRecordOf(unit)?.waits
    if (
      replyRecordOf(unit) === null ||
      hasPendingCall(unit) ||
      (unit.type === 'message' && !isPausedReply(unit))
    )
      return 0
    return Math.max(0, count + (Number.isSafeInteger(waits) ? Number(waits) : 0))
  }, 0)

/** Whether the unit at an index is in a thinking loop (U5). */
function inLoop(units: readonly Unit[], index: number): boolean {
  const unit = units[index]
  if (unit?.type !== 'batch' || hasPendingCall(unit)) return false
  return hasThinking(unit) || inLoop(units, index - 1)
}

/** Why the unit at an index is in one stretch with the unit before: a loop or a continued reply (U5). */
export function joinReason(units: readonly Unit[], index: number): 'loop' | 'reply' | null {
  const [before, unit] = [units[index - 1], units[index]]
  if (before === undefined || unit === undefined || replyRecordOf(unit) === null) return null
  if (isPausedReply(before) || pendingProviderCalls(units.slice(0, index)) > 0) return 'reply'
  return !hasThinking(unit) && inLoop(units, index) ? 'loop' : null
}

/** For each unit, its stretch, identified by the index of the stretch's first unit (U5). */
export function stretchesOf(units: readonly Unit[]): number[] {
  const stretches: number[] = []
  for (const index of units.keys())
    stretches.push(joinReason(units, index) === null ? index : (stretches[index - 1] ?? index))
  return stretches
}
