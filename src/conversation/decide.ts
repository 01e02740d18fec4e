/**
 * Deciders: each command as a pure function from a state to the events that carry it out, none where there is nothing
 * to do.
 */

import type { JsonObject, JsonValue, Message } from '../event/shapes.ts'
import type {
  ConversationStateUpdateEvent,
  ActionEvent,
  AgentErrorEvent,
  Event,
  MessageEvent,
} from '../event/types.ts'
import { type CallStatus, GRANT_KEYS, granted } from '../state/call-status.ts'
import type { Status } from '../state/status.ts'
import { type EventEntry, eventKindOf, anchorOf, type Entry } from '../log/entry.ts'
import { listPendingCallsIn } from '../log/open-calls.ts'
import { INTERRUPTED, NEVER_STARTED, NOT_EXECUTABLE } from '../messages/phrases.ts'
import type { State } from '../state/state.ts'
import { isExecutable, hasNoPrompt, isTurnOver } from './turn.ts'
import { canonicalJson } from '../event/encode.ts'
import { ColloquyError } from '../event/errors.ts'
import { replyOf } from '../event/reply.ts'
import { entryOf } from '../state/at.ts'

/** The pending calls of HEAD's branch, in log order. O(k log k). */
export const openCallsOf = (state: State): EventEntry<ActionEvent>[] =>
  listPendingCallsIn(state.branch.pendingCalls).map(({ entry }) => entry)

/**
 * Pausing: a PauseEvent where something could run on, else nothing (design section 3). What is paused is paused anew
 * where something was said since, or where a run is `live`: a run that was asked for behind the pause may have yet to
 * begin.
 * @example
 * decidePause(initialState()) // [{ kind: 'PauseEvent', source: 'user' }]
 */
export function decidePause({ header: { status }, log: { head } }: State, live = false): Event[] {
  const isSaidSince = head !== null && eventKindOf(head) === 'MessageEvent' && !isInterrupted(head)
  const mayBegin = status === 'paused' && (live || isSaidSince)
  return status === 'idle' || status === 'running' || mayBegin ? [{ kind: 'PauseEvent', source: 'user' }] : []
}

/**
 * Interrupting: one AgentErrorEvent for each pending call of HEAD's branch, in log order, and the InterruptEvent, in
 * one batch. Nothing where nothing runs: calls of a conversation that waits or is paused stay pending, unless a run is
 * `live` beside the pause; one that has given its final reply may still be at work.
 * @example
 * decideInterrupt(initialState()) // [{ kind: 'InterruptEvent', source: 'user' }]
 */
export function decideInterrupt(state: State, live = false): Event[] {
  const { header, log } = state
  const { status } = header
  const runs =
    status === 'running' || status === 'idle' || (live && (status === 'paused' || status === 'finished'))
  if (!runs) return []
  const calls = status === 'idle' && !live ? [] : openCallsOf(state)
  // A run that is interrupted already may take some time to end.
  if (
    (status === 'paused' || status === 'finished') &&
    calls.length === 0 &&
    log.head !== null &&
    isInterrupted(log.head)
  )
    return []
  return [...lostAnswers(state, calls), { kind: 'InterruptEvent', source: 'user' }]
}

/** Whether the last that happened on a branch is an interrupt, or the text that had come by then. */
const isInterrupted = (head: Entry): boolean =>
  eventKindOf(head) === 'InterruptEvent' || (head.event !== null && replyOf(head.event)?.interrupted === true)

/**
 * Resuming: from paused to idle, or to finished when the reply that was in flight came in meanwhile and nothing is left
 * to ask.
 * @example
 * decideResume(replay([{ kind: 'PauseEvent' }]))[0].value // 'idle'
 */
export function decideResume({ header, branch }: State): Event[] {
  return header.status === 'paused'
    ? [statusUpdate(isTurnOver(branch) || hasNoPrompt(branch) ? 'finished' : 'idle')]
    : []
}

/**
 * Approving pending calls by the ids of their actions: the approval is recorded, and when no call is left that needs
 * one, the conversation waits no longer. A call that nothing can run needs none.
 * @throws ColloquyError `unknown_call` for an id that names no pending call of HEAD's branch, or one that nothing can
 * run.
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], action: { kind: 'ls' }, tool_name: 'ls',
 *   tool_call_id: 'c', tool_call: call, llm_response_id: 'r' }
 * decideApprove(replay([action]), ['a'])[0].value // ['a']
 */
export function decideApprove(state: State, actionIds: readonly string[]): Event[] {
  const open = openCallsOf(state)
  const asked = checkCalls(open, actionIds)
  for (const call of asked) {
    if (!isExecutable(call.event)) {
      throw unknownCall(call.id, 'was never executable, so it cannot be approved; reject it')
    }
  }
  const agreed = granted(state.header.callStatuses, 'approved')
  const fresh = asked.filter(({ id }) => !agreed.has(id)).map(({ id }) => id)
  for (const id of fresh) agreed.add(id)
  const waits = state.header.status === 'waiting_for_confirmation'
  const settled = waits && asked.length > 0 && isSettled(open, agreed)
  return [
    ...(fresh.length > 0 ? [grantUpdate('approved', fresh)] : []),
    ...(settled ? [statusUpdate('idle')] : []),
  ]
}

/**
 * Rejecting pending calls by the ids of their actions, all of HEAD's branch by default: one UserRejectObservation each,
 * in log order.
 * @throws ColloquyError `unknown_call` for an id that names no pending call of HEAD's branch.
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], action: { kind: 'ls' }, tool_name: 'ls',
 *   tool_call_id: 'c', tool_call: call, llm_response_id: 'r' }
 * decideReject(replay([action]), ['a'], 'no')[0].rejection_reason // 'no'
 */
export function decideReject(
  state: State,
  actionIds?: readonly string[],
  reason = 'User rejected the action.',
): Event[] {
  const open = openCallsOf(state)
  const rejected = actionIds === undefined ? open : checkCalls(open, actionIds)
  const events = rejected.map(({ id, event }): Event => ({
    kind: 'UserRejectObservation',
    source: 'user',
    tool_name: event.tool_name,
    tool_call_id: event.tool_call_id,
    action_id: id,
    rejection_reason: reason,
    rejection_source: 'user',
  }))
  const agreed = granted(state.header.callStatuses, 'approved')
  const gone = new Set(rejected)
  const left = open.filter((call) => !gone.has(call))
  const waits = state.header.status === 'waiting_for_confirmation'
  // The fold itself ends the waiting when nothing is left open.
  const settled = waits && events.length > 0 && left.length > 0 && isSettled(left, agreed)
  return settled ? [...events, statusUpdate('idle')] : events
}

/**
 * Moving HEAD to an event, or to the bare empty HEAD for null; to where it is already: nothing.
 * @throws ColloquyError `unknown_event` when no event of the tree has this id (design D7).
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'a' }, { kind: 'InterruptEvent', id: 'b' }])
 * decideNavigate(state, 'a')[0].value // 'a'
 * decideNavigate(state, 'b') // []
 */
export function decideNavigate(state: State, eventId: string | null): Event[] {
  const { log } = state
  const target = eventId === null ? null : anchorOf(entryOf(log, eventId))
  return target === log.head ? [] : [headUpdate(eventId)]
}

/**
 * Starting anew: HEAD to the branch's system prompt, or to the empty HEAD where the branch has none.
 * @example
 * decideRestart(replay([{ kind: 'PauseEvent', id: 'p' }]))[0].value // null
 */
export const decideRestart = (state: State): Event[] =>
  decideNavigate(state, state.branch.systemPrompt?.id ?? null)

/**
 * Saying a message in other words: HEAD to what stood before it, and the new message there; the old one stays on its
 * branch.
 * @throws ColloquyError `unknown_event` when no user message has this id; `evicted` when a snapshot or `evict` dropped
 * its body.
 * @example
 * const message = { kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: [{ text: 'Hi' }] } }
 * decideEdit(replay([{ ...message, id: 'm' }]), 'm', message).map(({ kind }) => kind) // ['ConversationStateUpdateEvent', 'MessageEvent']
 */
export function decideEdit(state: State, messageId: string, message: MessageEvent): Event[] {
  const entry = entryOf(state.log, messageId)
  if (entry.event === null && eventKindOf(entry) === 'MessageEvent') {
    throw new ColloquyError(
      'evicted',
      `message ${JSON.stringify(messageId)} was evicted; replay the whole log to edit it`,
      {
        event_id: messageId,
      },
    )
  }
  if (entry.event?.kind !== 'MessageEvent' || entry.event.source !== 'user') {
    throw new ColloquyError('unknown_event', `event ${JSON.stringify(messageId)} is no message of a user`, {
      event_id: messageId,
    })
  }
  const before = anchorOf(entry.parent)
  return [...(before === state.log.head ? [] : [headUpdate(before?.id ?? null)]), message]
}

/**
 * Changing which calls need a user's consent, for all runs to come; null for the default of each run. The same policy
 * again: nothing.
 * @example
 * decidePolicy(initialState(), { kind: 'AlwaysConfirm' })[0].key // 'confirmation_policy'
 * decidePolicy(initialState(), null) // []
 */
export const decidePolicy = (state: State, policy: JsonObject | null): Event[] =>
  canonicalJson(state.header.confirmationPolicy) === canonicalJson(policy) ? [] : [policyUpdate(policy)]

/**
 * Recovering from a run that died: a tool result for every pending call of HEAD's branch, in log order, and the error,
 * in one batch. Nothing unless the status is running: calls of waiting or paused conversations stay pending. Whether a
 * run is live is the caller's to know.
 * @param unstarted ids of calls that were begun only if the log says so; the model then reads that they had no effect
 * @example
 * decideRecover(replay([{ kind: 'PauseEvent' }])) // []
 */
export function decideRecover(state: State, unstarted?: ReadonlySet<string>): Event[] {
  const lost = decideRunLost(state)
  return lost.length === 0 ? [] : [...lostAnswers(state, openCallsOf(state), unstarted), ...lost]
}

/** The error alone, for a run that takes over from one that died, and settles its calls itself. */
export function decideRunLost(state: State): Event[] {
  if (state.header.status !== 'running') return []
  const { length } = openCallsOf(state)
  const detail =
    length === 0
      ? 'The run ended without saying so.'
      : `The run ended without saying so, with ${length} open ${length === 1 ? 'call' : 'calls'}.`
  return [{ kind: 'ConversationErrorEvent', source: 'environment', code: 'RunLost', detail }]
}

/** A user's message, from a text or a whole message. */
export function userMessage(content: string | Message): MessageEvent {
  const llm_message: Message =
    typeof content === 'string' ? { role: 'user', content: [{ type: 'text', text: content }] } : content
  return { kind: 'MessageEvent', source: 'user', llm_message }
}

/** Whether no call is left that a user would have to agree to. */
const isSettled = (open: readonly EventEntry<ActionEvent>[], agreed: ReadonlySet<string>): boolean =>
  open.every(({ id, event }) => agreed.has(id) || !isExecutable(event))

/** The pending calls with these ids, in log order. */
function checkCalls(
  open: readonly EventEntry<ActionEvent>[],
  actionIds: readonly string[],
): EventEntry<ActionEvent>[] {
  const asked = new Set(actionIds)
  const known = new Set(open.map(({ id }) => id))
  for (const id of asked) if (!known.has(id)) throw unknownCall(id, 'is no pending call of this branch')
  return open.filter(({ id }) => asked.has(id))
}

const unknownCall = (id: string, why: string): ColloquyError =>
  new ColloquyError('unknown_call', `${JSON.stringify(id)} ${why}.`, { action_id: id })

/**
 * A tool result of the engine's own. It names the call by its id, and the latest pending one with that id gets it (U3).
 */
export const errorResult = (call: ActionEvent, error: string): AgentErrorEvent => ({
  kind: 'AgentErrorEvent',
  source: 'environment',
  tool_name: call.tool_name,
  tool_call_id: call.tool_call_id,
  error,
})

/**
 * Tool results for calls in log order. Where one id was given to several pending calls, a result that names no action
 * goes to the latest (U3); so each gets one, and that one is its own. O(k).
 */
export function errorAnswers(
  calls: readonly EventEntry<ActionEvent>[],
  error: string | ((call: EventEntry<ActionEvent>) => string),
): AgentErrorEvent[] {
  const alike = Map.groupBy(calls, ({ event }) => event.tool_call_id)
  return calls.flatMap(({ event }) => {
    const call = alike.get(event.tool_call_id)?.pop()
    return call === undefined ? [] : errorResult(call.event, typeof error === 'string' ? error : error(call))
  })
}

const NONE: ReadonlySet<string> = new Set()

/**
 * Tool results for calls that are not waited for any longer. A call counts as never started when a pause came before it
 * was, or when it is one of `unstarted` and the log does not say that it was begun, or approved since.
 * @param unstarted ids of calls that nothing but a record in the log can have begun
 */
export function lostAnswers(
  { header }: State,
  calls: readonly EventEntry<ActionEvent>[],
  unstarted = NONE,
): AgentErrorEvent[] {
  const callStatuses = new Map(header.callStatuses.map(({ action_id, grant }) => [action_id, grant]))
  return errorAnswers(calls, ({ id, event }) => {
    if (!isExecutable(event)) return NOT_EXECUTABLE
    const grant = callStatuses.get(id)
    const isFresh = grant === undefined ? unstarted.has(id) : grant === 'held'
    return isFresh ? NEVER_STARTED : INTERRUPTED
  })
}

/**
 * The calls that a run which died has made since it said last that it runs, by the ids of their actions. It records in
 * the log which of them it begins (law P6), so all others were never started. Only for logs whose run held a lease:
 * another writer may execute calls without a word in the log. O(events since the run began).
 */
export function callsOfLostRun(state: State): ReadonlySet<string> {
  const { entries } = state.log
  let from = entries.length - 1
  for (; from >= 0; from -= 1) {
    const entry = entries.get(from)
    if (entry === undefined || eventKindOf(entry) !== 'ConversationStateUpdateEvent') continue
    const { event } = entry
    // An update whose body was evicted may be any.
    if (event?.kind !== 'ConversationStateUpdateEvent') return NONE
    if (event.key !== 'execution_status') continue
    if (event.value !== 'running') return NONE
    break
  }
  if (from < 0 || state.header.status !== 'running') return NONE
  return new Set(
    listPendingCallsIn(state.branch.pendingCalls).flatMap(({ entry }) => (entry.seq > from ? entry.id : [])),
  )
}

const update = (key: string, value: JsonValue): ConversationStateUpdateEvent => ({
  kind: 'ConversationStateUpdateEvent',
  source: 'environment',
  key,
  value,
})

/** The status is this from now on. */
export const statusUpdate = (status: Status): ConversationStateUpdateEvent =>
  update('execution_status', status)

/** HEAD is this event from now on, or the empty HEAD for null (design D7). */
export const headUpdate = (eventId: string | null): ConversationStateUpdateEvent =>
  update('leaf_event_id', eventId)

/** These pending calls have this status from now on. */
export const grantUpdate = (grant: CallStatus, actionIds: readonly string[]): ConversationStateUpdateEvent =>
  update(GRANT_KEYS[grant], actionIds)

/** These calls need a user's consent from now on. */
export const policyUpdate = (policy: JsonObject | null): ConversationStateUpdateEvent =>
  update('confirmation_policy', policy)

/** Why a run is stuck. */
export const stuckUpdate = (reason: string): ConversationStateUpdateEvent => update('stuck_reason', reason)
