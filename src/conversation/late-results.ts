/** Attaches tool results that come late to their calls on other branches; HEAD stays where it was. */

import { isToolResult } from '../event/kinds.ts'
import type { ToolResultEvent, Event } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import { anchorOf, callIdOf, type Entry } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { latestOpenCall, listPendingCallsIn, openCallOf } from '../log/open-calls.ts'
import { listLeavesIn } from '../state/at.ts'
import { granted, GRANTS } from '../state/call-status.ts'
import type { Header } from '../state/header.ts'
import { reduce } from '../state/reduce.ts'
import { branchOf, type State } from '../state/state.ts'
import { grantUpdate, headUpdate, statusUpdate } from './decide.ts'

/** Whether events hold a result that may belong to another branch, so that where HEAD is matters. O(events). */
export const mayBeLate = (events: readonly Event[]): boolean => events.some(isUnplaced)

const isUnplaced = (event: Event): event is ToolResultEvent =>
  isToolResult(event) && (event.parent_id ?? null) === null

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
function tipFor(state: State, result: ToolResultEvent): Entry | null {
  const { log, branch } = state
  // Said again, it changes nothing.
  if (result.id !== undefined && findEventIn(log, result.id) !== undefined) return null
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

const latest = (tips: readonly Entry[], fits: (tip: Entry) => boolean): Entry | null =>
  tips.findLast(fits) ?? null
