import { isObject } from '../event/json.ts'
import type { EventWith } from '../event/kinds.ts'
import { isEarlyEnd, isOutputPart, replyOf } from '../event/reply.ts'
import type { ActionEvent, Event, MessageEvent } from '../event/types.ts'
import { hasResponse, type Log } from '../log/log.ts'
import type { PendingCall } from '../log/open-calls.ts'
import type { Unit } from '../view/units.ts'
import { type Branch, isAnswered } from './branch.ts'

/** The status of a conversation. */
export type Status =
  | 'idle'
  | 'running'
  | 'paused'
  | 'waiting_for_confirmation'
  | 'finished'
  | 'error'
  | 'stuck'
  | 'deleting'

/** All statuses. */
export const STATUSES: readonly Status[] = Object.freeze([
  'idle',
  'running',
  'paused',
  'waiting_for_confirmation',
  'finished',
  'error',
  'stuck',
  'deleting',
])

/**
 * Whether a value is one of the eight statuses.
 * @example
 * isStatus('stuck') // true
 * isStatus('asleep') // false
 */
export const isStatus = (value: unknown): value is Status => (STATUSES as readonly unknown[]).includes(value)

/** Whether an event is a final reply: a complete message of the agent that has output and no calls. */
export function isFinalReply(event: Event): boolean {
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return false
  const { content, tool_calls } = event.llm_message
  const { output, interrupted, outcome } = replyOf(event) ?? {}
  const speaks = output === true || content?.some(isOutputPart) === true
  if (!speaks || (tool_calls?.length ?? 0) > 0) return false
  return interrupted !== true && !isEarlyEnd(outcome)
}

export const isFinish = (event: Event): boolean =>
  event.kind === 'ObservationEvent' && event.tool_name === 'finish' && event.observation.is_error !== true

export const endsTurn = (unit: Unit): boolean =>
  unit.type === 'message'
    ? isFinalReply(unit.item.event)
    : [...unit.results].some(({ entry }) => isFinish(entry.event))

/**
 * Whether the branch had a user message and has no pending call, but its view has only system prompts and
 * environment messages. A run then does not call the model. O(units).
 */
export function hasNoPrompt(branch: Branch): boolean {
  if (branch.lastUserMessage === null || !isAnswered(branch)) return false
  for (const unit of branch.view.units) {
    if (unit.type !== 'message' || unit.completes !== undefined) return false
    const { kind, source } = unit.item.event
    if (kind !== 'SystemPromptEvent' && source !== 'environment') return false
  }
  return true
}

export interface StatusStep {
  readonly event: Event
  /** The log before the event. */
  readonly log: Log
  /** Branch state at HEAD after the event. */
  readonly branch: Branch
  readonly moved: boolean
  readonly completed: PendingCall | null
}

type StatusBefore = { readonly status: Status; readonly inFlight: string | null }

/** Returns the status from the first matching row of the status table (design section 3). */
export function nextStatus(before: StatusBefore, step: StatusStep): Status {
  const { event } = step
  const { status } = before
  switch (event.kind) {
    case 'ConversationStateUpdateEvent':
      return afterUpdate(status, step, event.key, event.value)
    case 'PauseEvent':
    case 'InterruptEvent':
      return status === 'idle' || status === 'running' ? 'paused' : status
    case 'ConversationErrorEvent':
      return status === 'deleting' ? status : 'error'
    case 'MessageEvent':
      return afterMessage(status, event, step.completed !== null)
    case 'ActionEvent':
      return afterAction(before, step, event)
    case 'ObservationEvent':
    case 'AgentErrorEvent':
      if (isFinish(event) && status !== 'paused' && status !== 'deleting') return 'finished'
      return afterResult(status, step, 'running')
    case 'UserRejectObservation':
      return afterResult(status, step, event.rejection_source === 'hook' ? 'running' : 'idle')
    default:
      event satisfies EventWith<'movesStatus', false>
      return status
  }
}

export function statusNamed(key: unknown, value: unknown): Status | null {
  const isFull = key === 'full_state' && isObject(value) && Object.hasOwn(value, 'execution_status')
  const named = isFull ? value['execution_status'] : key === 'execution_status' ? value : null
  return isStatus(named) ? named : null
}

function afterUpdate(status: Status, step: StatusStep, key: unknown, value: unknown): Status {
  const named = statusNamed(key, value)
  if (named !== null) return named
  if (!step.moved) return status
  if (status === 'finished' || status === 'stuck') return 'idle'
  return status === 'waiting_for_confirmation' && isAnswered(step.branch) ? 'idle' : status
}

function afterMessage(status: Status, event: MessageEvent, completes: boolean): Status {
  if (event.source === 'user' || completes)
    return status === 'finished' || status === 'stuck' ? 'idle' : status
  if (!isFinalReply(event)) return status
  const ends = status === 'idle' || status === 'running' || status === 'error' || status === 'stuck'
  return ends ? 'finished' : status
}

function afterAction({ status, inFlight }: StatusBefore, step: StatusStep, event: ActionEvent): Status {
  if (status === 'paused') {
    const second = inFlight !== null && inFlight !== event.llm_response_id && isNewResponse(step, event)
    return second ? 'running' : status
  }
  const starts = status === 'idle' || status === 'finished' || status === 'error' || status === 'stuck'
  return starts ? 'running' : status
}

/** Whether an action begins the first reply after a pause. This reply may answer a request from before the pause. */
export function isFirstReply(before: StatusBefore, step: StatusStep, event: ActionEvent): boolean {
  return before.status === 'paused' && before.inFlight === null && isNewResponse(step, event)
}

const isNewResponse = ({ log }: StatusStep, { llm_response_id: id }: ActionEvent): boolean =>
  !hasResponse(log, id)

function afterResult(status: Status, step: StatusStep, then: Status): Status {
  return status === 'waiting_for_confirmation' && isAnswered(step.branch) ? then : status
}
