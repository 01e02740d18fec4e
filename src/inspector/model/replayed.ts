/** A log with its state at every event: what all that the page shows is read from. */

import type { Loaded } from '../../event/load.ts'
import type { Fact } from '../../event/quarantine.ts'
import { initialState, type State } from '../../state/state.ts'
import { reduce } from '../../state/reduce.ts'
import type { LogDocument } from '../log-document.ts'

/** A log that was folded. */
export interface Replayed {
  readonly document: LogDocument
  /** The state before anything, then the one after each fact: one more than there are facts. */
  readonly states: readonly State[]
  /** The facts with what is wrong with them, for the laws. */
  readonly loaded: readonly Loaded[]
}

/** How many facts are folded before others get their turn. */
const SLICE = 4096

/**
 * Folds a log, some thousand events at a time: yields how many are done. Each state is kept, since they share all but
 * a few slots (design D6). O(n log n).
 */
export function* replaying(document: LogDocument): Generator<number, Replayed> {
  const { conversation, issues } = document
  const warnings = Map.groupBy(issues, ({ seq }) => seq)
  let state = initialState({ conversationId: conversation })
  const states = [state]
  const loaded: Loaded[] = []
  for (const fact of document.facts) {
    state = reduce(state, fact)
    states.push(state)
    const odd = warnings.get(loaded.length)?.map(({ issue }) => issue) ?? []
    // Frozen as what was decoded is: it was, where it came from.
    loaded.push({ fact: Object.freeze(fact), upcasts: [], warnings: odd })
    if (states.length % SLICE === 0) yield loaded.length
  }
  return { document, states, loaded }
}

/** Folds a log at once. */
export function replayed(document: LogDocument): Replayed {
  const steps = replaying(document)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** The log with more facts behind it. O(facts + length of the list). */
export function extended({ document, states, loaded }: Replayed, facts: readonly Fact[]): Replayed {
  let state = states.at(-1) as State
  const more = facts.map((fact) => (state = reduce(state, fact)))
  return {
    document: { ...document, facts: [...document.facts, ...facts] },
    states: [...states, ...more],
    loaded: [...loaded, ...facts.map((fact): Loaded => ({ fact, upcasts: [], warnings: [] }))],
  }
}

/** The state after so many facts; of none at least, and of all at most. */
export const stateOf = ({ states }: Replayed, place: number): State =>
  states[Math.min(Math.max(place, 0), states.length - 1)] as State

/** The line of the file at a position, from 1. */
export const lineOf = ({ document }: Replayed, seq: number): number => document.lines?.[seq] ?? seq + 1
