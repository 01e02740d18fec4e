/** Asks the model, and appends its reply as it comes. */

import { isAnswered } from '../../state/branch.ts'
import { statusUpdate } from '../state-updates.ts'
import { isReplied, isTurnOver } from '../turn.ts'
import { callStep } from './call-step.ts'
import { requestFor } from './condense.ts'
import { add, mustStop, type RunContext } from './context.ts'
import { nextPrompt } from './prompts.ts'

/**
 * Asks once; where the provider says that this was too long, a condensation is requested instead, if there is a
 * condenser. It asks not at all when something came meanwhile: a pause, a call, a message that hooks have not seen.
 * @throws what the step throws.
 */
export async function ask(run: RunContext): Promise<void> {
  await add(run, (state) =>
    state.header.status === 'running' || mustStop(run, state) ? [] : [statusUpdate('running')],
  )
  const { replica, signal } = run
  const { state } = replica
  // From here to the step there is no await: nothing that this process knows of comes between.
  const may = state.header.status === 'running' && !signal.aborted
  // Where a condenser takes requests, only what was said calls for the model.
  const isOver = run.condenser === null ? isTurnOver(state.branch) : isReplied(state.branch)
  if (!may || isOver || !isAnswered(state.branch) || nextPrompt(run, state) !== null) return
  run.iterations += 1
  try {
    await callStep(run, state, [])
  } catch (error) {
    const asked = await add(run, (now) => requestFor(run, error, now))
    if (asked.length === 0) throw error
  }
}
