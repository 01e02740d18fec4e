/** P6 to P8, P11: calls run once, with any required confirmation, and no model request is made meanwhile. */

import type { ActionEvent } from '../../src/event/types.ts'
import { NEVER_STARTED } from '../../src/messages/phrases.ts'
import { listPendingCallsIn, pendingCallCount } from '../../src/log/open-calls.ts'
import { renderMessage } from '../../src/messages/neutral.ts'
import { isAnswered } from '../../src/state/branch.ts'
import { isFinalReply } from '../../src/state/status.ts'
import type { State } from '../../src/state/state.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { isRepeatable } from '../execution/step-simulator.ts'
import type { Plan } from '../execution/plan.ts'
import { isCautious } from '../execution/run-options.ts'
import type { Begin, Story } from '../execution/story.ts'
import { hold, same } from '../../src/testing/failure.ts'
import { executions, lengthOf, entries, headerBefore, updates, names } from './story-facts.ts'

export function checkOnce(story: Story, plan: Plan, now: State): void {
  const approvals = updates(now, 'approved_actions')
  const last = new Map<string, Begin>()
  for (const begin of executions(story)) {
    same(
      'P6',
      `number of distinct calls executed by step ${begin.number}`,
      new Set(begin.executes).size,
      begin.executes.length,
    )
    for (const id of begin.executes) {
      const before = last.get(id)
      last.set(id, begin)
      if (before === undefined) continue
      const again =
        isRepeated(plan, now, id, before, begin) ||
        approvals.some(
          ({ seq, value }) =>
            seq < lengthOf(begin.state) && names(value, id) && seq >= startOf(now, id, before),
        )
      hold('P6', again, `call ${id} was executed by step ${before.number} and again by step ${begin.number}`)
    }
  }
}

/** Whether another run or branch may execute this call again. */
function isRepeated(plan: Plan, now: State, id: string, before: Begin, begin: Begin): boolean {
  const call = entries(now).find((entry) => entry.id === id)?.event
  if (!plan.builtIn || call?.kind !== 'ActionEvent' || !isRepeatable(call)) return false
  const isBack = updates(now, 'leaf_event_id').some(
    ({ seq }) => seq >= lengthOf(before.state) && seq < lengthOf(begin.state),
  )
  return isBack || before.run !== begin.run
}

function startOf(now: State, id: string, begin: Begin): number {
  const starts = updates(now, 'started_actions').filter(
    ({ seq, value }) => seq < lengthOf(begin.state) && names(value, id),
  )
  const last = starts.at(-1)
  hold(
    'P6',
    last !== undefined,
    `call ${id} was executed by step ${begin.number} without a record in the log`,
  )
  return last.seq
}

/** P7: reads the policy in force when the call began. */
export function checkConsent(story: Story, plan: Plan, now: State): void {
  for (const begin of executions(story)) {
    for (const id of begin.executes) {
      const seq = startOf(now, id, begin)
      const entry = entries(now).find((each) => each.id === id)
      const call = entry?.event as ActionEvent
      const reply = entries(now).flatMap(({ event, seq: index }) =>
        index < seq && event?.kind === 'ActionEvent' && event.llm_response_id === call.llm_response_id
          ? [event]
          : [],
      )
      if (!wantsConsent(plan, headerBefore(now, seq).confirmationPolicy, call, reply)) continue
      const waits = updates(now, 'execution_status').filter(
        ({ value, seq: index }) => value === 'waiting_for_confirmation' && index < seq,
      )
      const since = waits.at(-1)?.seq ?? -1
      const approved = updates(now, 'approved_actions').some(
        ({ seq: index, value }) => index > since && index < seq && names(value, id),
      )
      hold(
        'P7',
        approved,
        `call ${id} was executed by step ${begin.number} although the policy required an approval`,
      )
      const spent = updates(now, 'started_actions')
        .filter(({ seq: index, value }) => index < seq && names(value, id))
        .at(-1)
      const fresh = updates(now, 'approved_actions').some(
        ({ seq: index, value }) => index > (spent?.seq ?? -1) && index < seq && names(value, id),
      )
      hold('P7', fresh, `one approval was used twice for call ${id}`)
    }
  }
}

function wantsConsent(
  plan: Plan,
  policy: unknown,
  call: ActionEvent,
  reply: readonly ActionEvent[],
): boolean {
  if (plan.cautious && reply.some(({ tool_name }) => isCautious(tool_name))) return true
  const kind = (policy as { readonly kind?: string } | null)?.kind ?? 'NeverConfirm'
  if (kind === 'NeverConfirm') return false
  if (reply.length === 1 && call.tool_name === 'finish') return false
  return kind === 'AlwaysConfirm' || reply.some(({ security_risk }) => security_risk === 'HIGH')
}

/** P11: a call reported as having had no effect never began. */
export function checkWords(story: Story, now: State): void {
  for (const { seq, event, branch } of entries(now)) {
    if (event?.kind !== 'AgentErrorEvent' || event.error !== NEVER_STARTED) continue
    const open = new Set(listPendingCallsIn(branch.pendingCalls).map(({ entry }) => entry.id))
    const before = now.log.entries.get(seq - 1)?.branch.pendingCalls ?? null
    for (const { entry } of listPendingCallsIn(before)) {
      if (open.has(entry.id)) continue
      const begun = executions(story).find(
        ({ executes, state }) => executes.includes(entry.id) && lengthOf(state) <= seq,
      )
      hold(
        'P11',
        begun === undefined,
        `call ${entry.id} was executed by step ${begun?.number ?? 0}, but its result reports no effect`,
      )
    }
  }
}

/** P8: no step begins on a branch that does not allow it. */
export function checkAsks(story: Story): void {
  for (const { number, state, executes } of story.begins) {
    const { status } = state.header
    hold('I3', status === 'running', `step ${number} began in status ${status}`)
    if (executes.length === 0) {
      hold('P8', isAnswered(state.branch), `step ${number} called the model while calls were pending`)
      const messages = [...viewEventsIn(state.branch.view)].filter(
        ({ event }) => event.kind !== 'MessageEvent' || renderMessage(event) !== null,
      )
      const last = messages.findLast(({ event }) => event.kind !== 'SystemPromptEvent')
      const word = last !== undefined && isFinalReply(last.event)
      hold('P8', !word, `step ${number} called the model after the final reply ${last?.id ?? ''}`)
    } else
      hold(
        'P8',
        pendingCallCount(state.branch.pendingCalls) >= executes.length,
        `step ${number} executes a call with a result`,
      )
  }
}
