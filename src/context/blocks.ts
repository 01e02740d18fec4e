import { eventCount, isDerived, isPending, stretchStarts, type Unit, unitEvents } from '../view/units.ts'
import { vectorOf } from '../log/vector.ts'
import type { State } from '../state/state.ts'

/** Parts of the view that may be forgotten, although they are kept by default. */
export interface Permissions {
  /** Whether the latest system prompt may leave the view. Requests still contain it. Default: no. */
  readonly forgetSystemPrompt?: boolean
  /** Whether the last user message may leave the view. Default: no. */
  readonly forgetLastUserMessage?: boolean
}

/** A whole stretch of the view, usually a message or a batch. Its ends are cut points. */
export interface Block {
  /** Index of the block's first event in the view. */
  readonly position: number
  readonly count: number
  readonly units: readonly Unit[]
  /**
   * Whether the block contains a unit that always stays: the system prompt, the last user message or a
   * pending batch.
   */
  readonly stays: boolean
}

/** Returns the blocks of the view. No permission allows a pending batch to leave the view. */
export function blocksOf({ branch }: State, permissions: Permissions = {}): Block[] {
  const units = branch.view.units.slice()
  const starts = stretchStarts(units)
  const fixed = fixedUnits(units, branch.systemPrompt?.id ?? null, permissions)
  const blocks: Block[] = []
  let position = 0
  for (let index = 0; index < units.length;) {
    let end = index + 1
    while (starts[end] === index) end += 1
    const stretch = units.slice(index, end)
    const count = stretch.reduce((sum, unit) => sum + eventCount(unit), 0)
    if (count > 0)
      blocks.push({
        position,
        count,
        units: stretch,
        stays: stretch.some((unit) => fixed.has(unit) || isPending(unit)),
      })
    position += count
    index = end
  }
  return blocks
}

export const blocksBefore = (blocks: readonly Block[], position: number): number =>
  blocks.filter((block) => block.position < position).length

/** Returns the units that always stay, except pending batches. O(units), or O(view) with a summary. */
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
      // A stored event may have the same id as a summary. Forgetting this id would remove both.
      const other = derived.get(id)
      if (other !== undefined && other !== unit) fixed.add(unit).add(other)
    }
  }
  return fixed
}

export function withUnits(state: State, isIncluded: (unit: Unit) => boolean): State {
  const { view } = state.branch
  const units = [...view.units].filter((unit) => isPending(unit) || isIncluded(unit))
  const length = units.reduce((sum, unit) => sum + eventCount(unit), 0)
  return { ...state, branch: { ...state.branch, view: { ...view, units: vectorOf(units), length } } }
}
