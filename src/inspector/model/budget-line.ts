/** Where a budget of tokens would cut a view, read off what was read off it. */

import { speaks } from '../../context/budget.ts'
import { fixedUnits } from '../../context/blocks.ts'
import { eventCount, isPending, type Unit } from '../../view/unit.ts'
import type { Reading } from './reading.ts'
import { frontTokens, totalOf } from './tokens.ts'

/** What a budget leaves out. */
export interface BudgetLine {
  /** The events of the view before it are left out, but for those that stay; 0 where all of it fits. */
  readonly cut: number
  /** What is left of the budget; below 0 where the least that may be sent is over it. */
  readonly left: number
  readonly refused: string | null
}

/**
 * Where `fitToBudget` would cut, if each unit counted by itself: a message that is joined to the next one counts its
 * frame once more. O(units).
 */
export function budgetLine({ state, units, sizes, starts, said }: Reading, budget: number): BudgetLine {
  const { system, tools } = frontTokens(state)
  const front = system + tools
  let tokens = totalOf(said) + front
  const most = Math.max(budget, front)
  if (tokens <= most) return { cut: 0, left: budget - tokens, refused: null }
  const fixed = fixedUnits(units, state.branch.systemPrompt?.id ?? null)
  const stays = (unit: Unit): boolean => fixed.has(unit) || isPending(unit)
  const last = lastCut(units, starts, stays)
  let at = 0
  for (let from = 0; from < last;) {
    let end = from + 1
    while (starts[end] === from) end += 1
    let [size, isKept] = [0, false]
    for (let index = from; index < end; index += 1) {
      const unit = units[index] as Unit
      at += eventCount(unit)
      size += sizes[index] ?? 0
      isKept ||= stays(unit)
    }
    if (!isKept) tokens -= size
    if (tokens <= most && at > 0) return { cut: at, left: budget - tokens, refused: null }
    from = end
  }
  return { cut: 0, left: budget - tokens, refused: `the least that may be sent takes ${tokens} tokens` }
}

/** The index of the unit before which the last cut may lie: behind the last, unless nothing would be left to send. */
function lastCut(units: readonly Unit[], starts: Int32Array, stays: (unit: Unit) => boolean): number {
  const kept = new Set<number>()
  for (const [index, unit] of units.entries()) if (stays(unit)) kept.add(starts[index] as number)
  let last = 0
  for (let index = units.length - 1; index >= 0; index -= 1) {
    if (!speaks(units[index] as Unit)) continue
    const start = starts[index] as number
    if (kept.has(start)) return units.length
    last = Math.max(last, start)
  }
  return last
}
