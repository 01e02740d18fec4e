/** The naive unit: plain arrays of positions, and what U2 to U5 and U9 ask of them. */

import type { Event } from '../../src/event/types.ts'

/** One event of a view; `at` is its position in the log, null for the derived summary of a condensation. */
export interface Item {
  readonly id: string
  readonly at: number | null
  readonly event: Event
}

/** An answer in a batch, and the position of the call that it answers. */
export interface Answer extends Item {
  readonly call: number
}

/** A message, or one LLM response with its calls and answers; `rank` is its position, or that of what it was put behind. */
export type Unit =
  | { readonly type: 'message'; readonly rank: number; readonly item: Item }
  | {
      readonly type: 'batch'
      readonly rank: number
      readonly response: string
      readonly calls: readonly Item[]
      readonly results: readonly Answer[]
    }

/** Every event that a unit holds (U9): the calls first, then the answers. */
export const held = (unit: Unit): readonly Item[] =>
  unit.type === 'message' ? [unit.item] : [...unit.calls, ...unit.results]

/** Whether a call of the batch has no answer (U4). */
export const pending = (unit: Unit): boolean =>
  unit.type === 'batch' && unit.calls.some((call) => !unit.results.some((answer) => answer.call === call.at))

/** What a unit brings to the view's events (U4, U9). */
export const shown = (unit: Unit): readonly Item[] => (pending(unit) ? [] : held(unit))

/** Whether a batch carries thinking blocks (U5). */
export const thinks = (unit: Unit): boolean =>
  unit.type === 'batch' &&
  unit.calls.some(({ event }) => event.kind === 'ActionEvent' && (event.thinking_blocks ?? []).length > 0)

/**
 * For each unit the name of the whole it belongs to (U5): the units of one thinking loop share one, any other unit has
 * its own. A pending batch is never part of a loop.
 */
export function wholes(units: readonly Unit[]): number[] {
  const names: number[] = []
  let loop: number | null = null
  for (const [index, unit] of units.entries()) {
    if (unit.type === 'message' || pending(unit)) loop = null
    else if (thinks(unit)) loop = index
    names.push(loop ?? index)
  }
  return names
}
