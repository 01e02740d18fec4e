/** Deciders: commands as pure functions from a state to events; an empty list means nothing to do. */

import type { JsonObject, JsonValue, UserMessage } from '../event/shapes.ts'
import type {
  ConversationStateUpdateEvent,
  ActionEvent,
  AgentErrorEvent,
  ConversationErrorEvent,
  Event,
  MessageEvent,
} from '../event/types.ts'
import { type CallStatus, GRANT_KEYS, granted } from '../state/call-status.ts'
import type { EventKind } from '../event/kinds.ts'
import { hasNoPrompt, type Status } from '../state/status.ts'
import { type EventEntry, eventKindOf, anchorOf, type Entry, loadedEvent } from '../log/entry.ts'
import { listPendingCallsIn, pendingCallCount } from '../log/open-calls.ts'
import { INTERRUPTED, NEVER_STARTED, NOT_EXECUTABLE } from '../messages/phrases.ts'
import type { State } from '../state/state.ts'
import { isExecutable, isTurnOver } from './turn.ts'
import { canonicalJson } from '../event/encode.ts'
import { ColloquyError } from '../event/errors.ts'
import { replyOf } from '../event/reply.ts'
import { entryOf } from '../state/at.ts'
import { invalidArgument } from '../event/check-value.ts'

export const openCallsOf = ({ branch }: Pick<State, 'branch'>): EventEntry<ActionEvent>[] =>
  listPendingCallsIn(branch.pendingCalls).map(({ entry }) => entry)

/**
 * Returns a PauseEvent if the status is idle or running (design section 3). A paused conversation gets another
 * PauseEvent after a new message, or if a run is active (`live`), because that run may have been requested
 * after the first pause. A finished conversation with working calls is paused, too. Otherwise, returns no
 * events. O(1).
 * @example
 * decidePause(initialState()) // [{ kind: 'PauseEvent', source: 'user' }]
 */
export function decidePause(state: State, live = false): Event[] {
  const { status } = state.header
  const { head } = state.log
  const hasNewMessage = head !== null && eventKindOf(head) === 'MessageEvent' && !isInterrupted(head)
  const mayStillStart = status === 'paused' && (live || hasNewMessage)
  return status === 'idle' || status === 'running' || mayStillStart || isSettling(state)
    ? stopped(state, { kind: 'PauseEvent', source: 'user' })
    : []
}

/** Whether a run in any process may be waiting for working calls. A waiting run holds no lease. */
export const isSettling = ({ header, branch }: State): boolean =>
  header.status === 'finished' && pendingCallCount(branch.workingCalls) > 0

// Without the update, the status would stay `finished`, and the next completion would start the model again.
const stopped = (state: State, stop: Event): Event[] =>
  isSettling(state) ? [stop, statusUpdate('paused')] : [stop]

/**
 * Returns an error result for each pending call of HEAD's branch, in log order, followed by the InterruptEvent.
 * An idle conversation without an active run (`live`) gets only the InterruptEvent. A paused or finished
 * conversation is interrupted only once, and only if a run is active, because that run may still be working. A
 * finished conversation with working calls is interrupted even without an active run, and becomes paused. For
 * the status `waiting_for_confirmation`, `error`, `stuck` or `deleting`, returns no events, so calls that wait
 * for confirmation stay pending. O(k log k) for k calls.
 * @param unstarted as for {@link decideRecover}
 * @example
 * decideInterrupt(initialState()) // [{ kind: 'InterruptEvent', source: 'user' }]
 */
export function decideInterrupt(state: State, live = false, unstarted?: ReadonlySet<string>): Event[] {
  const { header, log } = state
  const { status } = header
  const interruptible = ['running', 'idle', ...(live ? ['paused', 'finished'] : [])]
  if (!interruptible.includes(status) && !isSettling(state)) return []
  const calls = status === 'idle' && !live ? [] : openCallsOf(state)
  // Already interrupted: nothing to append, even though the run may take some time to end.
  const hasEnded = (status === 'paused' || status === 'finished') && calls.length === 0
  if (hasEnded && log.head !== null && isInterrupted(log.head)) return []
  const interrupt: Event = { kind: 'InterruptEvent', source: 'user' }
  return [...lostCallResults(state, calls, unstarted), ...stopped(state, interrupt)]
}

const isInterrupted = (head: Entry): boolean =>
  eventKindOf(head) === 'InterruptEvent' || (head.event !== null && replyOf(head.event)?.interrupted === true)

/**
 * Returns the event that ends a pause. Returns no events if the status is not paused. The status becomes idle,
 * or finished if there is nothing to answer, for example because the final reply arrived during the pause.
 * @example
 * decideResume(replay([{ kind: 'PauseEvent' }]))[0].value // 'idle'
 */
export function decideResume({ header, branch }: State): Event[] {
  return header.status === 'paused'
    ? [statusUpdate(isTurnOver(branch) || hasNoPrompt(branch) ? 'finished' : 'idle')]
    : []
}

/**
 * Returns the approval of pending calls, by the ids of their actions. A conversation that waits for
 * confirmation becomes idle when every executable call (with an `action`) is approved. Returns no events if the
 * calls are already approved. O(k log k) for k pending calls.
 * @throws ColloquyError `unknown_call` for an id that is not a pending, executable call of HEAD's branch.
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], action: { kind: 'ls' }, tool_name: 'ls',
 *   tool_call_id: 'c', tool_call: call, llm_response_id: 'r' }
 * decideApprove(replay([action]), ['a'])[0].value // ['a']
 */
export function decideApprove(state: State, actionIds: readonly string[]): Event[] {
  const open = openCallsOf(state)
  const requested = checkCalls(open, actionIds)
  const inert = requested.find(({ event }) => !isExecutable(event))
  if (inert !== undefined)
    throw unknownCall(inert.id, 'cannot be executed, so it cannot be approved. Reject it')
  const approved = granted(state.header.callStatuses, 'approved')
  const added = requested.filter(({ id }) => !approved.has(id)).map(({ id }) => id)
  for (const id of added) approved.add(id)
  const waits = state.header.status === 'waiting_for_confirmation'
  const settled = waits && requested.length > 0 && isSettled(open, approved)
  return [
    ...(added.length > 0 ? [grantUpdate('approved', added)] : []),
    ...(settled ? [statusUpdate('idle')] : []),
  ]
}

/**
 * Returns the rejections of pending calls, in log order. A conversation that waits for confirmation becomes
 * idle if all other executable calls are approved. O(k log k) for k pending calls.
 * @param actionIds default: all pending calls of HEAD's branch
 * @param reason default: `User rejected the action.`
 * @throws ColloquyError `unknown_call` for an id that is not a pending call of HEAD's branch.
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
  const events = rejected.map((call) => rejection(call, reason, 'user'))
  const approved = granted(state.header.callStatuses, 'approved')
  const rejectedSet = new Set(rejected)
  const remaining = open.filter((call) => !rejectedSet.has(call))
  const waits = state.header.status === 'waiting_for_confirmation'
  // If no call is pending, the fold itself ends the wait.
  const settled = waits && events.length > 0 && remaining.length > 0 && isSettled(remaining, approved)
  return settled ? [...events, statusUpdate('idle')] : events
}

/** Whether a call has started and a run may be executing it, so that its own result follows. */
export const isExecuting = ({ header: { status, callStatuses } }: State, actionId: string): boolean =>
  (status === 'running' || status === 'paused') && granted(callStatuses, 'started').has(actionId)

export const rejection = (
  { id: action_id, event: { tool_name, tool_call_id } }: EventEntry<ActionEvent>,
  rejection_reason: string,
  rejection_source: 'user' | 'hook',
): Event => ({
  kind: 'UserRejectObservation',
  source: rejection_source === 'user' ? 'user' : 'environment',
  tool_name,
  tool_call_id,
  action_id,
  rejection_reason,
  rejection_source,
})

/**
 * Returns the event that moves HEAD to an event, or before the first event if `eventId` is null. No events if
 * HEAD is already there. O(log n).
 * @throws ColloquyError `unknown_event` when the event is not in the tree (design D7).
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
 * Returns the events after which the branch has its latest system prompt, but no message and no call. HEAD
 * moves to the prompt, or before the first event if there is no prompt. If a message or call precedes the
 * prompt, a copy of the prompt begins a new branch. O(depth of the prompt).
 * @example
 * decideRestart(replay([{ kind: 'PauseEvent', id: 'p' }]))[0].value // null
 */
export function decideRestart(state: State): Event[] {
  const prompt = state.branch.systemPrompt
  let entry: Entry | null = prompt
  // Other kinds of events need no new branch: a result follows its call, and the latest system prompt stays.
  while (entry !== null && !LEFT_BY_RESTART.has(eventKindOf(entry))) entry = entry.parent
  if (prompt === null || entry === null) return decideNavigate(state, prompt?.id ?? null)
  const { id: _id, timestamp: _time, parent_id: _parent, ...copy } = prompt.event
  return [headUpdate(null), copy]
}

const LEFT_BY_RESTART: ReadonlySet<string | null> = new Set<EventKind>([
  'MessageEvent',
  'ActionEvent',
  'Condensation',
  'CondensationSummaryEvent',
])

/**
 * Returns a move of HEAD to the event before a user's message, and the new message. The move is left out if
 * HEAD is already there. The old message stays on its branch. O(log n).
 * @throws ColloquyError `unknown_event` when no user's message has this id; `evicted` when a snapshot or
 *   `evict` left out the message's body.
 * @example
 * const message = { kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: [{ text: 'Hi' }] } }
 * decideEdit(replay([{ ...message, id: 'm' }]), 'm', message).map(({ kind }) => kind) // ['ConversationStateUpdateEvent', 'MessageEvent']
 */
export function decideEdit(state: State, messageId: string, message: MessageEvent): Event[] {
  const entry = entryOf(state.log, messageId)
  const event = loadedEvent(entry, ['MessageEvent'])
  if (event?.kind !== 'MessageEvent' || event.source !== 'user') {
    throw new ColloquyError(
      'unknown_event',
      `Event ${JSON.stringify(messageId)} is not a user message. Pass the id of a user message.`,
      { event_id: messageId },
    )
  }
  const before = anchorOf(entry.parent)
  return [...(before === state.log.head ? [] : [headUpdate(before?.id ?? null)]), message]
}

/**
 * Returns the event that sets the confirmation policy of all later runs; null removes it. Returns no events if
 * this policy is already set. O(size).
 * @example
 * decidePolicy(initialState(), { kind: 'AlwaysConfirm' })[0].key // 'confirmation_policy'
 * decidePolicy(initialState(), null) // []
 */
export const decidePolicy = (state: State, policy: JsonObject | null): Event[] =>
  canonicalJson(state.header.confirmationPolicy) === canonicalJson(policy) ? [] : [policyUpdate(policy)]

/**
 * Returns an error result for each pending call of HEAD's branch, in log order, followed by the run's error.
 * Empty unless the status is running: calls of waiting or paused conversations stay pending. Use this function
 * only when no run is live. O(k log k) for k pending calls.
 * @param unstarted ids of calls that count as not started, unless the log records their start. The results of
 *   these calls, and of approved calls without a start, tell the model that the call had no effect. Default:
 *   none
 * @example
 * decideRecover(replay([{ kind: 'PauseEvent' }])) // []
 */
export function decideRecover(state: State, unstarted?: ReadonlySet<string>): Event[] {
  const lost = decideRunLost(state)
  return lost.length === 0 ? [] : [...lostCallResults(state, openCallsOf(state), unstarted), ...lost]
}

/**
 * Returns the error of a dead run, without results for its pending calls: the run that takes over executes
 * these calls, or gives them results itself. Empty unless the status is `running`.
 */
export function decideRunLost(state: State): Event[] {
  if (state.header.status !== 'running') return []
  const { length } = openCallsOf(state)
  const detail =
    length === 0
      ? 'The run ended without a final status.'
      : `The run ended without a final status, with ${length} open ${length === 1 ? 'call' : 'calls'}.`
  return [errorEvent('RunLost', detail)]
}

export function userMessage(content: string | UserMessage): MessageEvent {
  const llm_message: UserMessage | null =
    typeof content === 'string' ? { role: 'user', content: [{ type: 'text', text: content }] } : content
  if (llm_message?.role === 'user') return { kind: 'MessageEvent', source: 'user', llm_message }
  throw new ColloquyError(
    'invalid_event',
    "A user's message must be a text, or an object with `role: 'user'` and a list `content`.",
  )
}

const isSettled = (open: readonly EventEntry<ActionEvent>[], approved: ReadonlySet<string>): boolean =>
  open.every(({ id, event }) => approved.has(id) || !isExecutable(event))

function checkCalls(
  open: readonly EventEntry<ActionEvent>[],
  actionIds: readonly string[],
): EventEntry<ActionEvent>[] {
  // A string would be iterated as characters.
  if (!Array.isArray(actionIds)) invalidArgument('actionIds', 'must be a list of ids')
  const unknown = new Set(actionIds)
  const requested = open.filter(({ id }) => unknown.delete(id))
  const message = 'is not the id of a pending ActionEvent on this branch. Read the pending calls again'
  for (const id of unknown) throw unknownCall(id, message)
  return requested
}

export const unknownCall = (id: string, why: string): ColloquyError =>
  new ColloquyError('unknown_call', `${JSON.stringify(id)} ${why}.`, { action_id: id })

/**
 * Returns an error result for each call. If pending calls share a call id, a result without an action id
 * belongs to the latest of them (U3), so results of such calls are in reverse order. O(k) for k calls.
 */
export function errorResults(
  calls: readonly EventEntry<ActionEvent>[],
  error: string | ((call: EventEntry<ActionEvent>) => string),
): AgentErrorEvent[] {
  const callsById = Map.groupBy(calls, ({ event }) => event.tool_call_id)
  return calls.flatMap(({ event: { tool_call_id } }) => {
    const call = callsById.get(tool_call_id)?.pop()
    if (call === undefined) return []
    const text = typeof error === 'string' ? error : error(call)
    const { tool_name } = call.event
    return { kind: 'AgentErrorEvent', source: 'environment', tool_name, tool_call_id, error: text }
  })
}

const NO_IDS: ReadonlySet<string> = new Set()

/**
 * Returns error results for abandoned calls. A result reports its call as never started in three cases: a pause
 * holds the call; the call is in `unstarted` and has no status; or `unstarted` is passed, and the call is
 * approved but the log does not record its start. Without `unstarted`, the log may lack records of starts.
 */
export function lostCallResults(
  { header, log }: State,
  calls: readonly EventEntry<ActionEvent>[],
  unstarted = NO_IDS,
): AgentErrorEvent[] {
  const started = unstarted === NO_IDS ? null : startsSince(log, calls[0]?.seq ?? 0)
  const callStatuses = new Map(header.callStatuses.map(({ action_id, grant }) => [action_id, grant]))
  return errorResults(calls, ({ id, event }) => {
    if (!isExecutable(event)) return NOT_EXECUTABLE
    const grant = callStatuses.get(id)
    const isFresh = grant === undefined ? unstarted.has(id) : grant === 'held'
    const isOnlyApproved = grant === 'approved' && started?.has(id) === false
    return isFresh || isOnlyApproved ? NEVER_STARTED : INTERRUPTED
  })
}

/** Ids of calls whose start is recorded at or after a position; null if a state update there is evicted. O(events). */
function startsSince({ entries }: State['log'], seq: number): ReadonlySet<unknown> | null {
  const updates = entries.slice(seq).filter((entry) => eventKindOf(entry) === 'ConversationStateUpdateEvent')
  if (updates.some(({ event }) => event === null)) return null
  const lists = updates.map(({ event }) => {
    const { key, value } = event as ConversationStateUpdateEvent
    return key === GRANT_KEYS.started && Array.isArray(value) ? value : []
  })
  return new Set(lists.flat())
}

/**
 * Returns the ids of the pending calls that were appended since a run set the status to running. A run
 * records the start of each call (law P6), so a call without that record never started. Use this function
 * only if the run held a lease, because other writers do not always record starts. O(events since the run
 * began).
 */
export function callsOfRun(state: State): ReadonlySet<string> {
  const { entries } = state.log
  let from = entries.length - 1
  for (; from >= 0; from -= 1) {
    const entry = entries.get(from)
    if (entry === undefined || eventKindOf(entry) !== 'ConversationStateUpdateEvent') continue
    const { event } = entry
    // An evicted update may be the one that set the status.
    if (event?.kind !== 'ConversationStateUpdateEvent') return NO_IDS
    if (event.key !== 'execution_status') continue
    if (event.value !== 'running') return NO_IDS
    break
  }
  if (from < 0 || state.header.status !== 'running') return NO_IDS
  return new Set(
    listPendingCallsIn(state.branch.pendingCalls).flatMap(({ entry }) => (entry.seq > from ? entry.id : [])),
  )
}

export const errorEvent = (code: string, detail: string): ConversationErrorEvent => ({
  kind: 'ConversationErrorEvent',
  source: 'environment',
  code,
  detail,
})

export const updateEvent = (key: string, value: JsonValue): ConversationStateUpdateEvent => ({
  kind: 'ConversationStateUpdateEvent',
  source: 'environment',
  key,
  value,
})

export const statusUpdate = (status: Status): ConversationStateUpdateEvent =>
  updateEvent('execution_status', status)

export const headUpdate = (eventId: string | null): ConversationStateUpdateEvent =>
  updateEvent('leaf_event_id', eventId)

export const grantUpdate = (grant: CallStatus, actionIds: readonly string[]): ConversationStateUpdateEvent =>
  updateEvent(GRANT_KEYS[grant], actionIds)

export const policyUpdate = (policy: JsonObject | null): ConversationStateUpdateEvent =>
  updateEvent('confirmation_policy', policy)
