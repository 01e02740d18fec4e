/** The stretches of a view that are forgotten whole or not at all, and those that something holds in place. */

import { vectorOf } from '../log/vector.ts'
import type { State } from '../state/state.ts'
import { stretchStarts } from '../view/stretches.ts'
import { eventCount, isDerived, isPending, type Unit, unitEvents } from '../view/unit.ts'

/** What may be forgotten that is kept by default. */
export interface Permissions {
  /** Whether the latest system prompt may leave the view. It is sent all the same. Default: no. */
  readonly forgetSystemPrompt?: boolean
  /** Whether the last user message may. Default: no. */
  readonly forgetLastUserMessage?: boolean
}

/**
 * A whole stretch of the view, mostly a message or a batch. Its ends are cut points, and between two cut points lie
 * whole blocks.
 */
export interface Block {
  /** Index of its first event in the view. */
  readonly at: number
  /** How many events of the view it holds. */
  readonly count: number
  readonly units: readonly Unit[]
  /**
   * Whether it stays whatever is cut: the system prompt, the last user message, what its ids do not tell from other
   * units, and a reply that a pending batch goes on with.
   */
  readonly stays: boolean
}

/**
 * The blocks of the view, in order. Pending batches are never forgotten here, nor what they are in one stretch with.
 * O(view).
 */
export function blocksOf({ branch }: State, permissions: Permissions = {}): Block[] {
  const units = branch.view.units.slice()
  const starts = stretchStarts(units)
  const fixed = fixedUnits(units, branch.systemPrompt?.id ?? null, permissions)
  const blocks: Block[] = []
  let at = 0
  for (let index = 0; index < units.length;) {
    let end = index + 1
    while (starts[end] === index) end += 1
    const own = units.slice(index, end)
    const count = own.reduce((sum, unit) => sum + eventCount(unit), 0)
    if (count > 0)
      blocks.push({ at, count, units: own, stays: own.some((unit) => fixed.has(unit) || isPending(unit)) })
    at += count
    index = end
  }
  return blocks
}

/** Number of blocks that begin before a place in the view. O(blocks). */
export const blocksBefore = (blocks: readonly Block[], at: number): number =>
  blocks.filter((block) => block.at < at).length

/** The units that always stay, without pending ones. O(units); O(view) with a derived summary. */
export function fixedUnits(
  units: readonly Unit[],
  systemPrompt: string | null,
  permissions: Permissions = {},
): Set<Unit> {
  const fixed = new Set<Unit>()
  const derived = new Map<string, Unit>()
  let lastUser: Unit | null = null
  for (const unit of units) {
    if (unit.type === 'batch') continue
    const { id, event } = unit.item
    if (isDerived(unit)) derived.set(id, unit)
    if (event.kind === 'MessageEvent' && event.source === 'user') lastUser = unit
    if (id === systemPrompt && permissions.forgetSystemPrompt !== true) fixed.add(unit)
  }
  if (lastUser !== null && permissions.forgetLastUserMessage !== true) fixed.add(lastUser)
  if (derived.size === 0) return fixed
  for (const unit of units) {
    for (const { id } of unitEvents(unit)) {
      // A stored event may have the id of a derived summary: a list of ids means both.
      const other = derived.get(id)
      if (other !== undefined && other !== unit) fixed.add(unit).add(other)
    }
  }
  return fixed
}

/** The state with only these units, and the pending ones, in its view. O(view). */
export function withUnits(state: State, kept: (unit: Unit) => boolean): State {
  const { view } = state.branch
  const units = [...view.units].filter((unit) => isPending(unit) || kept(unit))
  const length = units.reduce((sum, unit) => sum + eventCount(unit), 0)
  return { ...state, branch: { ...state.branch, view: { ...view, units: vectorOf(units), length } } }
}
