/** Calls the caller's step once. */

import type { Event } from '../../event/types.ts'
import { toMessages } from '../../messages/neutral.ts'
import type { ReplyOutcome } from '../../messages/reply-events.ts'
import type { State } from '../../state/state.ts'
import { requestAfter } from './condense.ts'
import { add, type RunContext } from './context.ts'
import { errorAfter, errorAfterSilence, isSilence } from './reply-end.ts'
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
  const events: Event[] = []
  let outcome: ReplyOutcome | null = null
  let isOver = false
  const publish = (delta: Event): void => {
    // A step that was left behind may be at work still, beside the next one.
    if (isOver || signal.aborted) return
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
    for await (const said of readStep(step, input)) {
      const taken = await take({ ...run, publish }, said.events, after)
      after = taken.after
      for (const event of taken.events) hear(streamed, event)
      events.push(...taken.events)
      outcome = said.outcome ?? outcome
    }
  } finally {
    isOver = true
    // A step that is stopped often throws; what it had streamed was read all the same.
    if (signal.aborted) await keepTextSoFar(run, streamed, { after, since: state.log.entries.length })
  }
  if (approved.length === 0) {
    // A step may append what it has to say by itself, and yield nothing.
    const came = run.replica.state.log.entries.length - state.log.entries.length
    run.silences = came <= events.length && isSilence(events) ? run.silences + 1 : 0
  }
  const said = { events, outcome }
  const error = errorAfter(said) ?? errorAfterSilence(run.silences)
  if (error === null) return
  await add(run, (state) => {
    const request = requestAfter(run, said, state)
    return request.length > 0 ? request : [error]
  })
}
