/** Stretches: units that are forgotten together, because a provider accepts them back only together (U5). */

import { isPending, type Unit } from './unit.ts'
import { earlyEndOf, waitsOf } from '../event/reply.ts'
import type { Event } from '../event/types.ts'

export interface Stretch {
  readonly loop: boolean
  readonly paused: boolean
  readonly waits: number
}

export const NO_STRETCH: Stretch = { loop: false, paused: false, waits: 0 }

/**
 * Effect of units on the stretch open before them. Flows add up: a few sums yield the stretch at any index.
 */
export interface Flow {
  /** Whether a thinking loop is open after them; null when they do not change that. */
  readonly loop: boolean | null
  readonly paused: boolean | null
  /** Waiting calls after them: at least `floor`, else those before plus `added`. */
  readonly floor: number
  readonly added: number
  /** Minimum waiting calls without a new stretch: `plain`, while a loop is open, after a pause, and both. */
  readonly joins: readonly [plain: number, loop: number, paused: number, both: number]
}

const NEVER = Infinity
/** Maximum change of the waiting calls by one reply, so that sums are exact in any order. */
const MAX_WAITS = 2 ** 31
const NO_FLOW: Flow = { loop: null, paused: null, floor: 0, added: 0, joins: [0, 0, 0, 0] }

const keyOf = (loop: boolean, paused: boolean): number => (loop ? 1 : 0) + (paused ? 2 : 0)

/**
 * A stretch contains a batch with thinking blocks and directly following ones without; and a paused reply, or
 * one with pending provider calls, with the next reply. A pending batch may continue a reply, but belongs to
 * no thinking loop and nothing continues it. Each non-reply message is its own stretch.
 */
export function flowOf(unit: Unit): Flow {
  const reply = replyIn(unit)
  if (reply === null) return { ...ENDS, joins: [NEVER, NEVER, NEVER, NEVER] }
  if (isPending(unit)) return { ...ENDS, joins: [1, 1, 0, 0] }
  const isBatch = unit.type === 'batch'
  const thinking = isBatch && unit.thinking
  const isOfLoop = isBatch && !thinking
  const paused = earlyEndOf(reply) === 'paused'
  // Text alone is only continued when it was paused.
  const added = isBatch || paused ? Math.max(-MAX_WAITS, Math.min(waitsOf(reply), MAX_WAITS)) : -Infinity
  const loop = thinking ? true : isBatch ? null : false
  return { loop, paused, floor: 0, added, joins: [1, isOfLoop ? 0 : 1, 0, 0] }
}

/** No model is called after it. */
const ENDS = { loop: false, paused: false, floor: 0, added: -Infinity }

export const afterFlow = ({ loop, paused, waits }: Stretch, flow: Flow): Stretch => ({
  loop: flow.loop ?? loop,
  paused: flow.paused ?? paused,
  waits: Math.max(flow.floor, waits + flow.added),
})

export const hasStart = ({ loop, paused, waits }: Stretch, { joins }: Flow): boolean =>
  waits < (joins[keyOf(loop, paused)] as number)

export const sumFlows = (flows: readonly Flow[]): Flow => flows.reduce(sum, NO_FLOW)

function sum(one: Flow, other: Flow): Flow {
  if (one === NO_FLOW) return other
  const joinsAt = (loop: boolean, paused: boolean): number => {
    const ownValue = one.joins[keyOf(loop, paused)] as number
    const needed = other.joins[keyOf(one.loop ?? loop, one.paused ?? paused)] as number
    return Math.max(ownValue, needed <= one.floor ? 0 : needed - one.added)
  }
  return {
    loop: other.loop ?? one.loop,
    paused: other.paused ?? one.paused,
    floor: Math.max(other.floor, one.floor + other.added),
    added: one.added + other.added,
    joins: [joinsAt(false, false), joinsAt(true, false), joinsAt(false, true), joinsAt(true, true)],
  }
}

/** Returns, for each unit, the index of the first unit of its stretch, usually its own. O(units). */
export function stretchStarts(units: readonly Unit[]): Int32Array {
  const starts = new Int32Array(units.length)
  let start = 0
  let stretch = NO_STRETCH
  for (const [index, unit] of units.entries()) {
    const flow = flowOf(unit)
    if (hasStart(stretch, flow)) start = index
    starts[index] = start
    stretch = afterFlow(stretch, flow)
  }
  return starts
}

/** Whether it is its own stretch, and nothing before it affects what follows. */
export const isNoReply = (unit: Unit): boolean => replyIn(unit) === null

function replyIn(unit: Unit): Event | null {
  if (unit.type === 'batch') return unit.calls.get(0)?.event ?? null
  const { event } = unit.item
  return event.kind === 'MessageEvent' && event.source === 'agent' ? event : null
}
