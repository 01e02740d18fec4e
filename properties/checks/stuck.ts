/** L1 to L4: loop detection agrees with the naive reading. */

import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { nudgeMessage, stuckDetector, type StuckOptions } from '../../src/context/stuck.ts'
import { reduce } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
import type { State } from '../../src/state/state.ts'
import { readLoops } from '../../test/model/stuck.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { statesOf } from './replay.ts'

/** The defaults, the minimum, and some that tell patterns apart. */
export const THRESHOLDS: readonly StuckOptions[] = [
  {},
  { action_observation: 1, action_error: 1, monologue: 1, alternating_pattern: 1 },
  { action_observation: 2, action_error: 2, monologue: 2, alternating_pattern: 3 },
  { action_observation: 6, action_error: 4, monologue: 4, alternating_pattern: 4 },
]

const DETECTORS = THRESHOLDS.map((options) => stuckDetector(options))

/** L1, L2 after every prefix. Returns the patterns found. */
export function checkLoops(facts: readonly Fact[]): Set<string> {
  const result = new Set<string>()
  for (const [length, state] of statesOf(facts).entries()) {
    for (const { verdict, nudge, reason, thresholds } of DETECTORS) {
      const about = `after ${length} facts by ${JSON.stringify(thresholds)}`
      const naive = readLoops(facts.slice(0, length), thresholds)
      const is = total('L1', 'verdict', () => verdict(state))
      same('L1', `verdict ${about}`, [is?.pattern ?? null, is?.eventIds ?? []], [naive.pattern, naive.ids])
      same('L1', `reason ${about}`, reason(state), is?.reason ?? null)
      const text = total('L1', 'nudge', () => nudge(state))
      same('L1', `nudge ${about}`, text !== null, naive.nudge)
      if (is !== null) result.add(is.pattern)
      if (text !== null) checkNudge(state, text, nudge)
      if (text !== null) result.add('nudge')
    }
    const { verdict, nudge } = DETECTORS[0] as (typeof DETECTORS)[0]
    const small = evict(state)
    same(
      'L2',
      `compacted after ${length} facts`,
      [verdict(small), nudge(small)],
      [verdict(state), nudge(state)],
    )
  }
  return result
}

/** L3: a nudge in the log is not repeated. */
function checkNudge(state: State, text: string, nudge: (state: State) => string | null): void {
  const report = reduce(state, { ...nudgeMessage(text), id: 'nudge!' })
  hold('L3', nudge(report) === null, `a nudge is repeated: ${text}`)
}

const verdicts = (log: readonly Event[]) =>
  statesOf(log).map((state) => DETECTORS.map(({ verdict }) => verdict(state)))

/** L4: thoughts, summaries and reasons do not matter. Requires a unique id for each reply. */
export function checkThoughtless(facts: readonly Event[]): void {
  const other = facts.map((event) => {
    if (event.kind === 'UserRejectObservation') return { ...event, rejection_reason: 'no' }
    return event.kind === 'ActionEvent' ? { ...event, thought: [], summary: 'other' } : event
  })
  same('L4', 'verdicts without thinking', verdicts(other), verdicts(facts))
}
