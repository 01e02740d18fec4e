import { checkOneOf, invalidArgument } from '../event/check-value.ts'
import type { CompletionOutcome } from '../event/completion.ts'
import { completionId, completionMessage, completionOf, OUTCOMES } from '../event/completion.ts'
import { ColloquyError } from '../event/errors.ts'
import { isToolResult } from '../event/kinds.ts'
import type { Content } from '../event/shapes.ts'
import { quote } from '../event/text.ts'
import type { ActionEvent, Event, MessageEvent, ToolResultEvent } from '../event/types.ts'
import { anchorOf, callIdOf, type Entry, type EventEntry, isOnPathIn, loadedEvent } from '../log/entry.ts'
import { findCall, findEventIn } from '../log/log.ts'
import { latestOpenCall, listPendingCallsIn, openCallOf } from '../log/open-calls.ts'
import { listLeavesIn } from '../state/at.ts'
import type { Branch } from '../state/branch.ts'
import { granted, GRANTS } from '../state/call-status.ts'
import type { Header } from '../state/header.ts'
import { reduce } from '../state/reduce.ts'
import { branchOf, type State } from '../state/state.ts'
import { errorEvent, grantUpdate, headUpdate, statusUpdate } from './decide.ts'

/** Whether an event is a result or completion without a parent: its call may be on another branch. O(1). */
export const isUnplaced = (event: Event): event is ToolResultEvent | MessageEvent =>
  (isToolResult(event) || completionOf(event) !== null) && (event.parent_id ?? null) === null

/**
 * Returns the events to append, with late results on the branches of their calls. A result whose call is not
 * on HEAD's branch is placed on the latest branch where the call is pending, or else on the call's latest
 * branch. HEAD, status, error and call statuses are restored afterwards, because nothing happened on HEAD's
 * branch. Other events keep their order. Events without an id get a derived id, because an update of HEAD may
 * refer to it. O(log n) per event, O(n) per late result.
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], action: { kind: 'ls' }, tool_name: 'ls',
 *   tool_call_id: 'c', tool_call: call, llm_response_id: 'r' }
 * const away = { kind: 'ConversationStateUpdateEvent', key: 'leaf_event_id', value: null }
 * const result = { kind: 'AgentErrorEvent', id: 'e', tool_name: 'ls', tool_call_id: 'c', error: 'gone' }
 * const [placed, back] = attachLateResults(replay([action, away]), [result])
 * placed.parent_id // 'a'
 * back.value // null
 */
export function attachLateResults(state: State, events: readonly Event[]): readonly Event[] {
  if (!events.some(isUnplaced)) return events
  const placed: Event[] = []
  let current = state
  let hasLateResults = false
  const add = (event: Event): void => {
    current = reduce(current, event)
    const { id } = current.log.entries.last() ?? {}
    placed.push(event.id !== undefined || typeof id !== 'string' ? event : { ...event, id })
  }
  for (const [index, event] of events.entries()) {
    const tip = isUnplaced(event) ? tipFor(current, event) : null
    if (tip === null || tip.id === null) {
      // The last event needs no fold: nothing follows it.
      if (hasLateResults || index < events.length - 1) add(event)
      continue
    }
    hasLateResults = true
    const { header, log } = current
    add({ ...event, parent_id: tip.id })
    const { error } = header
    // Only an error event sets an error, so an error event follows a result that cleared the error.
    if (error !== null && current.header.error === null) add(errorEvent(error.code, error.detail))
    add(headUpdate(log.head?.id ?? null))
    if (current.header.status !== header.status) add(statusUpdate(header.status))
    for (const event of lostGrants(header, current)) add(event)
  }
  return hasLateResults ? placed : events
}

function lostGrants({ callStatuses }: Header, { header, branch }: State): Event[] {
  const pending = new Set(listPendingCallsIn(branch.pendingCalls).map(({ entry }) => entry.id))
  const kept = new Map(header.callStatuses.map(({ action_id, grant }) => [action_id, grant]))
  const lost = callStatuses.filter(({ action_id: id, grant }) => pending.has(id) && kept.get(id) !== grant)
  return GRANTS.flatMap((grant): Event[] => {
    const ids = granted(lost, grant)
    return ids.size === 0 ? [] : [grantUpdate(grant, [...ids])]
  })
}

/** Returns the tip of the branch that a result belongs to; null for HEAD's branch, or if no call matches. */
function tipFor(state: State, result: ToolResultEvent | MessageEvent): Entry | null {
  const { log, branch } = state
  // An event with a known id is not appended again.
  if (result.id !== undefined && findEventIn(log, result.id) !== undefined) return null
  if (result.kind === 'MessageEvent') return workingTip(state, completionOf(result)?.action_id ?? '') ?? null
  const actionId = result.kind === 'AgentErrorEvent' ? undefined : result.action_id
  const named = actionId === undefined ? undefined : findEventIn(log, actionId)
  if (named === undefined) {
    const { tool_call_id: callId } = result
    const isKnown = findCall(log, callId, () => true) !== undefined
    if (!isKnown || latestOpenCall(branch.pendingCalls, callId) !== undefined) return null
    const isPending = (tip: Entry): boolean =>
      latestOpenCall(branchOf(tip).pendingCalls, callId) !== undefined
    return listLeavesIn(log).findLast(isPending) ?? null
  }
  if (isOnPathIn(named, log.head)) return null
  const call = callIdOf(named) ?? result.tool_call_id
  const tips = listLeavesIn(log).filter((tip) => isOnPathIn(named, tip))
  const open = tips.findLast((tip) => openCallOf(branchOf(tip).pendingCalls, call, named.seq) !== undefined)
  return open ?? tips.at(-1) ?? anchorOf(named)
}

/** Returns null if HEAD's branch has this working call, else the tip of the latest such branch, or undefined. O(n). */
export function workingTip({ log, branch }: State, actionId: string): Entry | null | undefined {
  const action = findEventIn(log, actionId)
  const callId = action === undefined ? null : callIdOf(action)
  if (action === undefined || callId === null) return undefined
  const isWorking = ({ workingCalls }: Branch): boolean =>
    openCallOf(workingCalls, callId, action.seq) !== undefined
  if (isWorking(branch)) return null
  return listLeavesIn(log).findLast((tip) => isOnPathIn(action, tip) && isWorking(branchOf(tip)))
}

/**
 * Returns the events that complete a working call: on HEAD's branch if the call is working there, else on the
 * latest branch where the call is working. Returns no events if the completion already exists. O(n).
 * @param outcome default: `done`
 * @param id id of the message (default: `completionId(actionId)`); null to complete a call that was already
 *   completed on another branch
 * @throws ColloquyError `unknown_call` if the call is not a working call; `invalid_argument` without content or
 *   for an unknown outcome; `evicted` when a snapshot or `evict` left out the branches.
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], action: { kind: 'ls' }, tool_name: 'ls',
 *   tool_call_id: 'c', tool_call: call, llm_response_id: 'r' }
 * const result = { kind: 'ObservationEvent', action_id: 'a', tool_name: 'ls', tool_call_id: 'c',
 *   observation: { kind: 'WorkingObservation' } }
 * decideComplete(replay([action, result]), 'a', 'Two files.').map(({ id }) => id) // ['a-completion']
 */
export function decideComplete(
  state: State,
  actionId: string,
  content: string | readonly Content[],
  outcome: CompletionOutcome = 'done',
  id: string | null = completionId(actionId),
): readonly Event[] {
  const { log } = state
  checkCompletion(content, outcome)
  if (id !== null && findEventIn(log, id) !== undefined) return []
  const action = findEventIn(log, actionId)
  if (action === undefined || workingTip(state, actionId) === undefined)
    throw new ColloquyError(
      'unknown_call',
      `${quote(actionId)} is not a working call of this conversation. Read the working calls again.`,
      { action_id: actionId },
    )
  const parts: readonly Content[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const { event } = loadedCall(state, action)
  const { id: derived, ...message } = completionMessage({ id: actionId, event }, parts, outcome)
  return attachLateResults(state, [id === null ? message : { ...message, id: derived as string }])
}

export function checkCompletion(content: unknown, outcome: unknown): void {
  if (typeof content !== 'string' && !Array.isArray(content))
    invalidArgument('content', 'must be a text or a list of parts')
  checkOneOf('outcome', outcome, OUTCOMES, invalidArgument)
}

function loadedCall({ log, branch }: State, action: Entry): EventEntry<ActionEvent> {
  const callId = callIdOf(action) ?? ''
  const working = openCallOf(branch.workingCalls, callId, action.seq)?.entry
  if (working !== undefined) return working
  loadedEvent(log.entries.get(action.seq) as Entry, ['ActionEvent'])
  return action as EventEntry<ActionEvent>
}
