/** Calls the caller's step once. */

import type { Event } from '../../event/types.ts'
import { toMessages } from '../../messages/neutral.ts'
import type { State } from '../../state/state.ts'
import type { RunContext } from './context.ts'
import { readStep, type StepInput } from './step.ts'
import { take } from './append-output.ts'
import { hear, keepTextSoFar, type TextSoFar } from './text-so-far.ts'

/** The step is called before anything else is waited for. @throws what the step throws. */
export async function callStep(
  run: RunContext,
  state: State,
  approved: StepInput['approved'],
): Promise<void> {
  const { step, signal } = run
  const asked = state.log.head?.id ?? null
  let after = asked
  const streamed: TextSoFar = { text: '' }
  const publish = (delta: Event): void => {
    run.publish(delta)
    hear(streamed, delta)
  }
  const input = {
    state,
    get messages() {
      return toMessages(state)
    },
    after: asked,
    approved,
    signal,
    publish,
    onPrefix: run.onPrefix,
  }
  try {
    for await (const yielded of readStep(step, input)) {
      const taken = await take({ ...run, publish }, yielded, after)
      after = taken.after
      for (const event of taken.events) hear(streamed, event)
    }
  } finally {
    // A step that is stopped often throws; what it had streamed was read all the same.
    if (signal.aborted) await keepTextSoFar(run, streamed, { after, since: state.log.entries.length })
  }
}
