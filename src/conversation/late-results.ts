/**
 * Attaches tool results and completions that arrive late to their calls on other branches; HEAD stays where it was.
 */

import { completionId, completionMessage, completionOf, type CompletionOutcome } from '../event/completion.ts'
import { ColloquyError } from '../event/errors.ts'
import { isToolResult } from '../event/kinds.ts'
import type { Content } from '../event/shapes.ts'
import { quote } from '../event/text.ts'
import type { ActionEvent, Event, MessageEvent, ToolResultEvent } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import { anchorOf, callIdOf, type Entry, type EventEntry, loadedEvent } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { latestOpenCall, listPendingCallsIn, openCallOf } from '../log/open-calls.ts'
import { listLeavesIn } from '../state/at.ts'
import type { Branch } from '../state/branch.ts'
import { granted, GRANTS } from '../state/call-status.ts'
import type { Header } from '../state/header.ts'
import { reduce } from '../state/reduce.ts'
import { branchOf, type State } from '../state/state.ts'
import { grantUpdate, headUpdate, statusUpdate } from './decide.ts'

/** Whether events contain a result or a completion that may belong to another branch. O(events). */
export const mayBeLate = (events: readonly Event[]): boolean => events.some(isUnplaced)

const isUnplaced = (event: Event): event is ToolResultEvent | MessageEvent =>
  (isToolResult(event) || completionOf(event) !== null) && (event.parent_id ?? null) === null

/**
 * Events with late results in their place: a result without a parent, of a call that is not on HEAD's branch, hangs on
 * the latest branch on which that call is pending, and HEAD goes back to where it was, and status, error and call
 * statuses to what they were, since nothing has happened on this branch. Where a result is put elsewhere, the events
 * beside it get the ids that the fold derives for them, as HEAD may be sent back to one of them. O(log n) for each
 * event, for a late result O(n).
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
export function attachLateResults(state: State, events: readonly Event[]): Event[] {
  if (!mayBeLate(events)) return [...events]
  const placed: Event[] = []
  let now = state
  let late = false
  const add = (event: Event): void => {
    now = reduce(now, event)
    const { id } = now.log.entries.last() ?? {}
    placed.push(event.id !== undefined || typeof id !== 'string' ? event : { ...event, id })
  }
  for (const event of events) {
    const tip = isUnplaced(event) ? tipFor(now, event) : null
    if (tip === null || tip.id === null) {
      add(event)
      continue
    }
    late = true
    const { header, log } = now
    add({ ...event, parent_id: tip.id })
    const { error } = header
    // Only an error event sets an error, so it is appended again, beside the result that would have ended it.
    if (error !== null && now.header.error === null) {
      add({ kind: 'ConversationErrorEvent', source: 'environment', code: error.code, detail: error.detail })
    }
    add(headUpdate(log.head?.id ?? null))
    if (now.header.status !== header.status) add(statusUpdate(header.status))
    for (const event of lostGrants(header, now)) add(event)
  }
  return late ? placed : [...events]
}

/**
 * The call statuses that a header had and a state has not, as the events that give them again: of pending calls, since
 * a call that got its result has none.
 */
function lostGrants({ callStatuses }: Header, { header, branch }: State): Event[] {
  const pending = listPendingCallsIn(branch.pendingCalls)
  const lost = callStatuses.filter(
    ({ action_id, grant }) =>
      pending.some(({ entry }) => entry.id === action_id) &&
      !granted(header.callStatuses, grant).has(action_id),
  )
  return GRANTS.flatMap((grant): Event[] => {
    const ids = granted(lost, grant)
    return ids.size === 0 ? [] : [grantUpdate(grant, [...ids])]
  })
}

/** The end of the branch that a result belongs to; null when that is HEAD's, or there is no such call. */
function tipFor(state: State, result: ToolResultEvent | MessageEvent): Entry | null {
  const { log, branch } = state
  // Appended again, it changes nothing.
  if (result.id !== undefined && findEventIn(log, result.id) !== undefined) return null
  if (result.kind === 'MessageEvent') return workingTip(state, completionOf(result)?.action_id ?? '') ?? null
  const actionId = result.kind === 'AgentErrorEvent' ? undefined : result.action_id
  const named = actionId === undefined ? undefined : findEventIn(log, actionId)
  if (named === undefined) {
    if (latestOpenCall(branch.pendingCalls, result.tool_call_id) !== undefined) return null
    return latest(
      listLeavesIn(log),
      (tip) => latestOpenCall(branchOf(tip).pendingCalls, result.tool_call_id) !== undefined,
    )
  }
  if (isOnPathIn(named, log.head)) return null
  const call = callIdOf(named) ?? result.tool_call_id
  const tips = listLeavesIn(log).filter((tip) => isOnPathIn(named, tip))
  const open = latest(tips, (tip) => openCallOf(branchOf(tip).pendingCalls, call, named.seq) !== undefined)
  return open ?? tips.at(-1) ?? anchorOf(named)
}

/**
 * The end of the latest branch on which a call works; null when that is HEAD's, undefined when it works on none. O(log
 * n), where HEAD's branch is another one O(n).
 */
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
 * Completing a call that works: the message that does, on HEAD's branch where it works there, else on the latest branch
 * on which it does. Nothing when the call was completed already.
 * @param id the id of the message; null for a new one, where the call was completed on another branch
 * @throws ColloquyError `unknown_call` for an id that names no working call; `evicted` when a snapshot or `evict`
 * dropped the branches.
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
): Event[] {
  const { log } = state
  if (id !== null && findEventIn(log, id) !== undefined) return []
  const action = findEventIn(log, actionId)
  if (action === undefined || workingTip(state, actionId) === undefined)
    throw new ColloquyError('unknown_call', `${quote(actionId)} is no working call of this conversation.`, {
      action_id: actionId,
    })
  const parts: readonly Content[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const { event } = loadedCall(state, action)
  const { id: derived, ...message } = completionMessage({ id: actionId, event }, parts, outcome)
  return attachLateResults(state, [id === null ? message : { ...message, id: derived as string }])
}

/** The call with its body, which a working call keeps on its branch. */
function loadedCall({ log, branch }: State, action: Entry): EventEntry<ActionEvent> {
  const callId = callIdOf(action) ?? ''
  const working = openCallOf(branch.workingCalls, callId, action.seq)?.entry
  if (working !== undefined) return working
  loadedEvent(log.entries.get(action.seq) as Entry, ['ActionEvent'])
  return action as EventEntry<ActionEvent>
}

const latest = (tips: readonly Entry[], fits: (tip: Entry) => boolean): Entry | null =>
  tips.findLast(fits) ?? null
