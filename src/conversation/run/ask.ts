/** Asks the model: the branch goes in, its reply is appended as it comes. */

import { toMessages } from '../../messages/neutral.ts'
import { isAnswered } from '../../state/branch.ts'
import { statusUpdate } from '../updates.ts'
import { add, mustStop, type RunContext } from './context.ts'
import { nextPrompt } from './prompts.ts'
import { readStep } from './step.ts'
import { take } from './take.ts'

/**
 * Asks once; not at all when something came meanwhile: a pause, a call, a message that hooks have not seen.
 * @throws what the step throws.
 */
export async function ask(run: RunContext): Promise<void> {
  await add(run, (state) =>
    state.header.status === 'running' || mustStop(run, state) ? [] : [statusUpdate('running')],
  )
  const { replica, step, publish, signal } = run
  const { state } = replica
  // From here to the step there is no await: nothing that this process knows of comes between.
  const may = state.header.status === 'running' && !signal.aborted
  if (!may || !isAnswered(state.branch) || nextPrompt(run, state) !== null) return
  const input = {
    state,
    get messages() {
      return toMessages(state)
    },
    approved: [],
    signal,
    publish,
  }
  const since = state.log.entries.length
  run.iterations += 1
  for await (const yielded of readStep(step, input)) await take(run, yielded, since)
}
