/** What is read off a whole view: its tokens, its events, where it may be cut. A piece at a time where it is long. */

import type { State } from '../../state/state.ts'
import { stretchStarts } from '../../view/stretches.ts'
import type { Unit } from '../../view/unit.ts'
import { frontTokens, NONE, PARTS, type Tokens, tokensOfUnit } from './tokens.ts'

/** What is read off a view. */
export interface Reading {
  readonly state: State
  readonly tokens: Tokens
  /** 1 for each position of which the event is in the view, pending or not. */
  readonly marks: Uint8Array
  /** For each unit the index of the one that its stretch starts with. */
  readonly starts: Int32Array
}

/** How many units are read at a time. */
const SLICE = 64

/** Reads a view. O(units), and O(content) of the units that were in no view before. */
export function* reading(state: State): Generator<undefined, Reading> {
  const { branch, log } = state
  const tokens = { ...NONE }
  const marks = new Uint8Array(log.entries.length)
  const units = branch.view.units.slice()
  for (const [at, unit] of units.entries()) {
    const own = tokensOfUnit(unit)
    for (const part of PARTS) tokens[part] += own[part]
    mark(unit, marks)
    if (at % SLICE === SLICE - 1) yield
  }
  const front = frontTokens(state)
  tokens.system += front.system
  tokens.tools += front.tools
  yield
  return { state, tokens, marks, starts: stretchStarts(units) }
}

/** Reads a view at once. */
export function readAtOnce(state: State): Reading {
  const steps = reading(state)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

function mark(unit: Unit, marks: Uint8Array): void {
  if (unit.type === 'message') {
    // A derived summary has no place in the log.
    if ('seq' in unit.item) marks[(unit.item as { readonly seq: number }).seq] = 1
    return
  }
  for (const { seq } of unit.calls) marks[seq] = 1
  for (const { entry } of unit.results) marks[entry.seq] = 1
}
