/** The header: the part of a state that depends on the whole log. Contains the table of statuses. */

import type { EventWith } from '../event/kinds.ts'
import type { CallProgress } from '../event/completion.ts'
import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { ActionEvent, ConversationStateUpdateEvent, Event, MessageEvent } from '../event/types.ts'
import { hasResponse, type Log } from '../log/log.ts'
import {
  type IndexedCall,
  openCallOf,
  type PendingCall,
  type PendingCallIndex,
  withOpenCall,
  withoutOpenCall,
} from '../log/open-calls.ts'
import { type Branch, isAnswered } from './branch.ts'
import { type PendingCallStatus, foldCallStatuses, withoutConsent } from './call-status.ts'
import { isFinish, isFinalReply, isStatus, type Status } from './status.ts'

/** The ConversationErrorEvent that set the status to `error`. */
export interface StateError {
  readonly code: string
  readonly detail: string
  readonly event_id: string
}

export interface ReportedCall extends IndexedCall {
  readonly report: CallProgress
}

/** The part of a state that depends on the whole log; a frozen plain object (design D5). */
export interface Header {
  readonly status: Status
  /** The error that set the status to `error`; null for other statuses. */
  readonly error: StateError | null
  /** While paused, id of the first LLM response after the pause, which may have been in flight; else null. */
  readonly inFlight: string | null
  /** Policy for confirmations, from the latest `confirmation_policy` update. Null without an update. */
  readonly confirmationPolicy: JsonObject | null
  /** Statuses of calls that were pending; some may have a result by now. */
  readonly callStatuses: readonly PendingCallStatus[]
  /** Latest progress of calls, until they are completed on any branch. Read it with `listWorkingCalls`. */
  readonly callProgress: PendingCallIndex<ReportedCall>
}

interface HeaderStep {
  readonly event: Event
  readonly id: string
  /** The log before the event. */
  readonly log: Log
  /** Branch state at HEAD after the event. */
  readonly branch: Branch
  readonly moved: boolean
  readonly completed: PendingCall | null
  readonly reported: ReportedCall | null
}

export const initialHeader = (): Header => INITIAL

const INITIAL: Header = Object.freeze({
  status: 'idle',
  error: null,
  inFlight: null,
  confirmationPolicy: null,
  callStatuses: Object.freeze([]),
  callProgress: null,
})

/** Returns the next header; the same object if equal. Total; O(1), or O(k log k) for k call statuses. */
export function foldHeader(header: Header, step: HeaderStep): Header {
  const { event, id: event_id, completed, reported } = step
  const status = nextStatus(header, step)
  const next: { -readonly [K in keyof Header]: Header[K] } = {
    ...header,
    status,
    // Any change of the status ends both.
    error: status === 'error' ? header.error : null,
    inFlight: status === header.status ? header.inFlight : null,
  }
  if (event.kind === 'ConversationErrorEvent' && status === 'error')
    next.error = { code: event.code, detail: event.detail, event_id }
  if (event.kind === 'ActionEvent' && isFirstReply(header, step, event)) next.inFlight = event.llm_response_id
  if (event.kind === 'ConversationStateUpdateEvent')
    Object.assign(next, approvalsAfter(header, step.branch, event))
  if (completed !== null || reported !== null) next.callProgress = progressAfter(header.callProgress, step)
  return HEADER_FIELDS.every((field) => next[field] === header[field]) ? header : deepFreeze(next)
}

const HEADER_FIELDS = Object.keys(INITIAL) as readonly (keyof Header)[]

function progressAfter(
  before: Header['callProgress'],
  { completed, reported }: HeaderStep,
): Header['callProgress'] {
  if (reported === null)
    return completed === null || progressIn(before, completed) === null
      ? before
      : withoutOpenCall(before, completed)
  const { seq, event } = reported.entry
  return withOpenCall(before, {
    entry: { seq, event: { tool_call_id: event.tool_call_id } },
    // A report without a task keeps the previous one.
    report: { ...progressIn(before, reported), ...reported.report },
  })
}

export const progressIn = (calls: Header['callProgress'], { entry }: IndexedCall): CallProgress | null =>
  openCallOf(calls, entry.event.tool_call_id, entry.seq)?.report ?? null

function approvalsAfter(
  { callStatuses, confirmationPolicy }: Header,
  branch: Branch,
  { key, value }: ConversationStateUpdateEvent,
): Partial<Header> {
  if (key === 'confirmation_policy') return { confirmationPolicy: policyOf(value, confirmationPolicy) }
  const waits = statusNamed(key, value) === 'waiting_for_confirmation'
  return {
    callStatuses: waits ? withoutConsent(callStatuses) : foldCallStatuses(callStatuses, branch, key, value),
  }
}

const policyOf = (value: JsonValue | undefined, before: JsonObject | null): JsonObject | null =>
  value === null || isObject(value) ? (value as JsonObject | null) : before

/** Freezes a header deeply. Skips parts that are frozen, because these are frozen deeply. */
function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(Object.freeze(value)))
    if (typeof part === 'object' && part !== null && !Object.isFrozen(part)) deepFreeze(part)
  return value
}

/** Returns the status from the first matching row of the status table (design section 3). */
function nextStatus(header: Header, step: HeaderStep): Status {
  const { event } = step
  const { status } = header
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
      return afterAction(header, step, event)
    case 'ObservationEvent':
      if (isFinish(event) && status !== 'paused' && status !== 'deleting') return 'finished'
      return afterResult(status, step, 'running')
    case 'UserRejectObservation':
      return afterResult(status, step, event.rejection_source === 'hook' ? 'running' : 'idle')
    case 'AgentErrorEvent':
      return afterResult(status, step, 'running')
    default:
      event satisfies EventWith<'movesStatus', false>
      return status
  }
}

function statusNamed(key: unknown, value: unknown): Status | null {
  const isFull = key === 'full_state' && isObject(value) && Object.hasOwn(value, 'execution_status')
  const named = isFull ? value['execution_status'] : key === 'execution_status' ? value : null
  return isStatus(named) ? named : null
}

function afterUpdate(status: Status, step: HeaderStep, key: unknown, value: unknown): Status {
  const named = statusNamed(key, value)
  if (named !== null) return named
  if (!step.moved) return status
  if (status === 'finished' || status === 'stuck') return 'idle'
  return status === 'waiting_for_confirmation' && isAnswered(step.branch) ? 'idle' : status
}

function afterMessage(status: Status, event: MessageEvent, completes: boolean): Status {
  if (event.source === 'user' || completes) {
    return status === 'finished' || status === 'stuck' ? 'idle' : status
  }
  if (!isFinalReply(event)) return status
  const ends = status === 'idle' || status === 'running' || status === 'error' || status === 'stuck'
  return ends ? 'finished' : status
}

function afterAction(header: Header, step: HeaderStep, event: ActionEvent): Status {
  const { status } = header
  if (status === 'paused') {
    const { inFlight } = header
    const second = inFlight !== null && inFlight !== event.llm_response_id && isNewResponse(step, event)
    return second ? 'running' : status
  }
  const starts = status === 'idle' || status === 'finished' || status === 'error' || status === 'stuck'
  return starts ? 'running' : status
}

/** Whether an action begins the first reply after a pause, which may have been in flight. */
const isFirstReply = (header: Header, step: HeaderStep, event: ActionEvent): boolean =>
  header.status === 'paused' && header.inFlight === null && isNewResponse(step, event)

const isNewResponse = ({ log }: HeaderStep, { llm_response_id: id }: ActionEvent): boolean =>
  !hasResponse(log, id)

function afterResult(status: Status, step: HeaderStep, then: Status): Status {
  return status === 'waiting_for_confirmation' && isAnswered(step.branch) ? then : status
}
