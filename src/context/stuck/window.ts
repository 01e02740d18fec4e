/** The units that a look for loops reads, the newest first, so that it costs the same at any length. */

import type { MessageEvent } from '../../event/types.ts'
import type { Branch } from '../../state/branch.ts'
import { isPending, type Unit } from '../../view/unit.ts'
import { type Turn, turnOf } from './turn.ts'

/** The latest units of a view, back to where they stop showing what the agent does now; the newest first. */
export interface Window {
  readonly units: readonly Unit[]
  /** The steps among them. */
  readonly turns: readonly Turn[]
}

/**
 * The window of a branch: at most `size` units, after the last message of a user and after the last pending batch. What
 * is not in the view (pauses, state updates, hooks) takes no place, and words of the environment are no user's.
 * O(size).
 */
export function readWindow({ view, lastUserMessage }: Branch, size: number): Window {
  // The message may be forgotten; what came before it is known by its place all the same.
  const since = lastUserMessage?.seq ?? -1
  const latest = view.units.slice(Math.max(0, view.units.length - size)).toReversed()
  const end = latest.findIndex((unit) => unit.rank < since || isUsers(unit) || isPending(unit))
  const units = end < 0 ? latest : latest.slice(0, end)
  return { units, turns: units.filter((unit) => unit.type === 'batch').map(turnOf) }
}

const isUsers = (unit: Unit): boolean => messageOf(unit)?.source === 'user'

/** The message that a unit holds, or null for a batch, a system prompt and a summary. */
export function messageOf(unit: Unit): MessageEvent | null {
  return unit.type === 'message' && unit.item.event.kind === 'MessageEvent' ? unit.item.event : null
}
