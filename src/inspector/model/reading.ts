/** What is read off a whole view: its tokens, its events, where it may be cut. A piece at a time where it is long. */

import type { State } from '../../state/state.ts'
import { standsAlone, stretchStarts } from '../../view/stretches.ts'
import type { Unit } from '../../view/unit.ts'
import { frontTokens, NONE, PARTS, type Tokens, tokensOfUnit, totalOf } from './tokens.ts'

/** What is read off a view. */
export interface Reading {
  readonly state: State
  readonly units: readonly Unit[]
  readonly tokens: Tokens
  /** Estimated tokens of each unit. */
  readonly sizes: Float64Array
  /** 1 for each position of which the event is in the view, pending or not. */
  readonly marks: Uint8Array
  /** For each unit the index of the one that its stretch starts with. */
  readonly starts: Int32Array
  /** The tokens of the units alone. */
  readonly said: Tokens
}

/** How many units are read at a time. */
const SLICE = 64

/**
 * Reads a view. O(units) words of memory, beside it O(units that are not at the start of the one before), and
 * O(content) of the units that were in no view before.
 * @param before another reading of the same log, mostly the last one
 */
export function* reading(state: State, before: Reading | null = null): Generator<undefined, Reading> {
  const units = state.branch.view.units.slice()
  const same = before === null ? 0 : sameUnits(before.units, units)
  const said = { ...(before?.said ?? NONE) }
  const marks = extended(new Uint8Array(state.log.entries.length), before?.marks)
  const sizes = extended(new Float64Array(units.length), before?.sizes.subarray(0, same))
  for (let at = same; at < (before?.units.length ?? 0); at += 1) {
    const unit = before?.units[at] as Unit
    add(said, unit, -1)
    mark(unit, marks, 0)
    if (at % SLICE === SLICE - 1) yield
  }
  for (let at = same; at < units.length; at += 1) {
    const unit = units[at] as Unit
    add(said, unit, 1)
    mark(unit, marks, 1)
    sizes[at] = totalOf(tokensOfUnit(unit))
    if (at % SLICE === SLICE - 1) yield
  }
  const front = frontTokens(state)
  const tokens = { ...said, system: said.system + front.system, tools: said.tools + front.tools }
  yield
  return { state, units, tokens, sizes, marks, starts: startsOf(units, same, before?.starts), said }
}

/** Reads a view at once. */
export function readAtOnce(state: State, before: Reading | null = null): Reading {
  const steps = reading(state, before)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** How many units at the start of one list are those of another. */
function sameUnits(some: readonly Unit[], others: readonly Unit[]): number {
  const most = Math.min(some.length, others.length)
  let same = 0
  while (same < most && some[same] === others[same]) same += 1
  return same
}

/** An array with another one at its start, as far as that has room. */
function extended<T extends Uint8Array | Int32Array | Float64Array>(array: T, start: T | undefined): T {
  if (start !== undefined) array.set(start.subarray(0, array.length))
  return array
}

function startsOf(units: readonly Unit[], same: number, known: Int32Array | undefined): Int32Array {
  // What is known holds up to where the units differ; behind it one begins with a unit that nothing before bears on.
  let from = Math.max(0, Math.min(same, units.length) - 1)
  while (from > 0 && !standsAlone(units[from] as Unit)) from -= 1
  const starts = extended(new Int32Array(units.length), known?.subarray(0, from))
  for (const [at, start] of stretchStarts(units.slice(from)).entries()) starts[from + at] = from + start
  return starts
}

function add(sums: Record<keyof Tokens, number>, unit: Unit, by: 1 | -1): void {
  const own = tokensOfUnit(unit)
  for (const part of PARTS) sums[part] += by * own[part]
}

function mark(unit: Unit, marks: Uint8Array, as: 0 | 1): void {
  if (unit.type === 'message') {
    // A derived summary has no place in the log.
    if ('seq' in unit.item) marks[(unit.item as { readonly seq: number }).seq] = as
    return
  }
  for (const { seq } of unit.calls) marks[seq] = as
  for (const { entry } of unit.results) marks[entry.seq] = as
}
