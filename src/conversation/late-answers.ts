/** Answers that come late: a state and events to append go in, the same events come out, with those to calls on other branches put there. */

import { isAnswer } from '../event/kinds.ts'
import type { AnswerEvent, Event } from '../event/types.ts'
import { isOnPath } from '../log/ancestry.ts'
import { anchorOf, callIdOf, type Entry } from '../log/entry.ts'
import { findEntry } from '../log/log.ts'
import { latestOpenCall, openCallOf } from '../log/open-calls.ts'
import { leaves } from '../state/at.ts'
import { GRANT_KEYS, type Grant } from '../state/grants.ts'
import type { Header } from '../state/header.ts'
import { reduce } from '../state/reduce.ts'
import { branchOf, type State } from '../state/state.ts'
import { grantUpdate, headUpdate, statusUpdate } from './updates.ts'

/** Whether events hold an answer that may belong to another branch, so that where HEAD is matters. O(events). */
export const mayBeLate = (events: readonly Event[]): boolean => events.some(isUnplaced)

const isUnplaced = (event: Event): event is AnswerEvent =>
  isAnswer(event) && (event.parent_id ?? null) === null

/**
 * Events with late answers in their place: an answer without a parent, to a call that is not on HEAD's branch, hangs on the latest branch on
 * which that call is open, and HEAD goes back to where it stood, and status, error and grants to what they were, since nothing has happened
 * on this branch. Where an answer is put elsewhere, the events beside it get the ids that the fold derives for them, as HEAD may be sent
 * back to one of them.
 * O(log n) for each event, for a late answer O(n).
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], action: { kind: 'ls' }, tool_name: 'ls', tool_call_id: 'c', tool_call: call, llm_response_id: 'r' }
 * const away = { kind: 'ConversationStateUpdateEvent', key: 'leaf_event_id', value: null }
 * const answer = { kind: 'AgentErrorEvent', id: 'e', tool_name: 'ls', tool_call_id: 'c', error: 'gone' }
 * const [placed, back] = placeLateAnswers(replay([action, away]), [answer])
 * placed.parent_id // 'a'
 * back.value // null
 */
export function placeLateAnswers(state: State, events: readonly Event[]): Event[] {
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
    // Only an error event sets an error, so it is said again, beside the answer that would have ended it.
    if (error !== null && now.header.error === null) {
      add({ kind: 'ConversationErrorEvent', source: 'environment', code: error.code, detail: error.detail })
    }
    add(headUpdate(log.head?.id ?? null))
    if (now.header.status !== header.status) add(statusUpdate(header.status))
    for (const event of lostGrants(header, now.header)) add(event)
  }
  return late ? placed : [...events]
}

/** The grants of one header that another has not, as the events that give them again. */
function lostGrants({ grants }: Header, now: Header): Event[] {
  if (grants === now.grants) return []
  const kept = new Set(now.grants.map(({ action_id, grant }) => `${grant} ${action_id}`))
  return (Object.keys(GRANT_KEYS) as Grant[]).flatMap((grant): Event[] => {
    const lost = grants.filter((each) => each.grant === grant && !kept.has(`${grant} ${each.action_id}`))
    return lost.length === 0
      ? []
      : [
          grantUpdate(
            grant,
            lost.map(({ action_id }) => action_id),
          ),
        ]
  })
}

/** The end of the branch that an answer belongs to; null when that is HEAD's, or there is no such call. */
function tipFor(state: State, answer: AnswerEvent): Entry | null {
  const { log, branch } = state
  // Said again, it changes nothing.
  if (answer.id !== undefined && findEntry(log, answer.id) !== undefined) return null
  const actionId = answer.kind === 'AgentErrorEvent' ? undefined : answer.action_id
  const named = actionId === undefined ? undefined : findEntry(log, actionId)
  if (named === undefined) {
    if (latestOpenCall(branch.openCalls, answer.tool_call_id) !== undefined) return null
    return latest(
      leaves(log),
      (tip) => latestOpenCall(branchOf(tip).openCalls, answer.tool_call_id) !== undefined,
    )
  }
  if (isOnPath(named, log.head)) return null
  const call = callIdOf(named) ?? answer.tool_call_id
  const tips = leaves(log).filter((tip) => isOnPath(named, tip))
  const open = latest(tips, (tip) => openCallOf(branchOf(tip).openCalls, call, named.seq) !== undefined)
  return open ?? tips.at(-1) ?? anchorOf(named)
}

const latest = (tips: readonly Entry[], fits: (tip: Entry) => boolean): Entry | null =>
  tips.findLast(fits) ?? null
