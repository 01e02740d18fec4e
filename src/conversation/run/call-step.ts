/** Calls the step: a state and the calls to execute go in, what the step yields is appended as it comes. */

import { toMessages } from '../../messages/neutral.ts'
import type { State } from '../../state/state.ts'
import type { RunContext } from './context.ts'
import { readStep, type StepInput } from './step.ts'
import { take } from './take.ts'

/** The step is called before anything else is waited for. @throws what the step throws. */
export async function callStep(
  run: RunContext,
  state: State,
  approved: StepInput['approved'],
): Promise<void> {
  const { step, publish, signal } = run
  const input = {
    state,
    get messages() {
      return toMessages(state)
    },
    approved,
    signal,
    publish,
  }
  for await (const yielded of readStep(step, input)) await take(run, yielded, state.log.entries.length)
}
