import type { ActionEvent } from '../../event/types.ts'
import type { Entry, EventEntry } from '../../log/entry.ts'
import { listPendingCallsIn, type PendingCall } from '../../log/open-calls.ts'
import type { State } from '../../state/state.ts'
import { isExecutable, isFinishCall } from '../turn.ts'
import type { RunContext } from './context.ts'
import { type Policy, toPolicy } from './policy.ts'

/**
 * The pending calls, grouped by what the run does with them. Each call is in exactly one list, in log order.
 */
export interface CallPlan {
  readonly execute: readonly CallEntry[]
  readonly confirm: readonly CallEntry[]
  /** Calls after a `finish` call in the same reply. */
  readonly skip: readonly CallEntry[]
  readonly interrupt: readonly CallEntry[]
}

type CallEntry = EventEntry<ActionEvent>

export function planOf({ policy, newCallIds, step }: RunContext, state: State): CallPlan {
  const lasting = toPolicy(state.header.confirmationPolicy)
  const either: Policy = (call, reply) => {
    if (lasting(call, reply)) return true
    const answer: unknown = policy(call, reply)
    // A promise would count as true, whatever it resolves to.
    if (typeof answer === 'object' && answer !== null)
      throw new TypeError('`policy` must return true or false, not a promise or another object.')
    return Boolean(answer)
  }
  return planCalls(state, either, newCallIds, step.repeats)
}

/**
 * Decides which pending calls of HEAD's branch to execute, confirm, skip or interrupt. A started call is
 * interrupted, unless it was approved after its start, or is repeated. It is repeated if `repeats` allows this
 * (default: never), and fewer than two runs were lost since the call. Otherwise the first matching rule applies:
 * a call after a `finish` call of its reply is skipped; an approved call is executed; a call for which the
 * policy requires confirmation waits; a call that is new in this run (`newCallIds`), held by a pause or
 * repeated is executed; else the call is interrupted. O(k log k + e) for k pending calls and e events since
 * the reply of the first call, plus O(e) for each started call that `repeats` allows.
 * @example
 * planCalls(initialState(), () => false, new Set()).execute // []
 */
export function planCalls(
  state: State,
  policy: Policy,
  newCallIds: ReadonlySet<string>,
  repeats: (call: ActionEvent) => boolean = () => false,
): CallPlan {
  const open = listPendingCallsIn(state.branch.pendingCalls)
  const callStatuses = new Map(state.header.callStatuses.map(({ action_id, grant }) => [action_id, grant]))
  const replies = repliesOf(state, open)
  const finishes = new Map<string, number>()
  // In reverse order, so that the first finish call of each reply is stored last.
  for (const { entry } of open.toReversed())
    if (isFinishCall(entry.event)) finishes.set(entry.event.llm_response_id, entry.seq)
  const plan = {
    execute: [] as CallEntry[],
    confirm: [] as CallEntry[],
    skip: [] as CallEntry[],
    interrupt: [] as CallEntry[],
  }
  for (const { entry: call } of open) {
    const { event, id, seq } = call
    const grant = callStatuses.get(id)
    const isRepeated = grant === 'started' && repeats(event) && !isLostTwice(state, seq)
    const isNew = isRepeated || (grant === undefined ? newCallIds.has(id) : grant === 'held')
    if (!isExecutable(event) || (grant === 'started' && !isRepeated)) plan.interrupt.push(call)
    else if (seq > (finishes.get(event.llm_response_id) ?? Infinity)) plan.skip.push(call)
    else if (grant === 'approved') plan.execute.push(call)
    else if (policy(event, replies.get(event.llm_response_id) ?? [event])) plan.confirm.push(call)
    else if (isNew) plan.execute.push(call)
    else plan.interrupt.push(call)
  }
  return plan
}

const MAX_LOST = 2

/** Whether two runs or more were lost after a position. A third run could crash, too. O(events since). */
export function isLostTwice({ log: { entries } }: State, seq: number): boolean {
  const lost = entries
    .slice(seq + 1)
    .filter(({ event }) => event?.kind === 'ConversationErrorEvent' && event.code === 'RunLost')
  return lost.length >= MAX_LOST
}

/**
 * Returns all calls of each reply that has a pending call, by LLM response id. Searches backwards from HEAD.
 * Past the first pending call, the search ends at an observation or another reply, because in real logs, an
 * older reply can have the same id. O(events since the first pending call).
 */
function repliesOf({ log }: State, open: readonly PendingCall[]): Map<string, ActionEvent[]> {
  const replies = new Map(open.map(({ entry }) => [entry.event.llm_response_id, [] as ActionEvent[]]))
  const first = open[0]?.entry.seq ?? Infinity
  let entry: Entry | null = open.length === 0 ? null : log.head
  for (; entry !== null; entry = entry.parent) {
    const { event, quarantined } = entry
    const isOther = event?.kind === 'ActionEvent' && !replies.has(event.llm_response_id)
    const isAgentMessage = event?.kind === 'MessageEvent' && event.source === 'agent'
    if (
      entry.seq < first &&
      (isOther || isAgentMessage || event?.kind === 'ObservationEvent' || (event ?? quarantined) === null)
    )
      break
    if (event?.kind === 'ActionEvent') replies.get(event.llm_response_id)?.push(event)
  }
  for (const reply of replies.values()) reply.reverse()
  return replies
}
