/** Detects when an agent goes round in circles, and what proves it. */

import type { State } from '../../state/state.ts'
import { nudgeOf } from './nudge.ts'
import { type StuckOptions, type StuckThresholds, thresholdsOf, windowOf } from './thresholds.ts'
import { type StuckVerdict, verdictOf } from './verdict.ts'
import { readWindow } from './window.ts'

/** Looks at states by fixed thresholds. Pure: it remembers nothing, so that one serves any number of conversations. */
export interface StuckDetector {
  readonly thresholds: StuckThresholds
  /** How the branch under HEAD is stuck, or null. */
  readonly verdict: (state: State) => StuckVerdict | null
  /**
   * What to send the model before it is stuck: a text once the same calls have failed `action_error` times, null before
   * and after that, and when it was sent in this streak. `nudgeMessage` makes it the event to append.
   */
  readonly nudge: (state: State) => string | null
  /** The verdict as one sentence, or null: the option `stuck` of a run. */
  readonly reason: (state: State) => string | null
}

/**
 * A detector of loops over HEAD's branch since the last message of a user, as the view has it: a step is one reply with
 * all its calls and their results. Thoughts do not count, nor pauses, hooks and state updates; calls that never ran are
 * told apart by their arguments; what was refused again counts as the same result. What a condensation took out proves
 * nothing any more.
 *
 * O(content of the latest steps) for each question, at any length of the log.
 *
 * @throws ColloquyError `invalid_argument` for a threshold that is no whole number from 1, nor Infinity.
 * @example
 * const llm_message = { role: 'assistant', content: [{ text: 'Let me see.' }] }
 * const say = (id) => ({ kind: 'MessageEvent', id, source: 'agent', llm_message })
 * const { verdict } = stuckDetector({ monologue: 2 })
 * verdict(replay([say('a')])) // null
 * verdict(replay([say('a'), say('b')])).eventIds // ['a', 'b']
 */
export function stuckDetector(options: StuckOptions = {}): StuckDetector {
  const thresholds = thresholdsOf(options)
  const size = windowOf(thresholds)
  const verdict = ({ branch }: State): StuckVerdict | null => verdictOf(readWindow(branch, size), thresholds)
  return Object.freeze({
    thresholds,
    verdict,
    nudge: (state: State): string | null => {
      const window = readWindow(state.branch, size)
      return verdictOf(window, thresholds) === null ? nudgeOf(window, thresholds.action_error) : null
    },
    reason: (state: State): string | null => verdict(state)?.reason ?? null,
  })
}
