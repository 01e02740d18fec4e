import type { CallProgress } from '../event/completion.ts'
import { isObject } from '../event/json.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { ConversationStateUpdateEvent } from '../event/types.ts'
import type { IndexedCall, PendingCallIndex } from '../log/open-calls.ts'
import { openCallOf, withOpenCall, withoutOpenCall } from '../log/open-calls.ts'
import type { Branch } from './branch.ts'
import { type PendingCallStatus, foldCallStatuses, withoutConsent } from './call-status.ts'
import { isFirstReply, nextStatus, type Status, statusNamed, type StatusStep } from './status.ts'

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
  /**
   * While the conversation is paused: id of the first LLM response that was appended since the pause, if any.
   * Null otherwise. The response may have been requested before the pause.
   */
  readonly inFlight: string | null
  /** Policy for confirmations, from the latest `confirmation_policy` update; null if no policy is set. */
  readonly confirmationPolicy: JsonObject | null
  /** Latest statuses of calls. A call was pending when its status was recorded, but may have a result by now. */
  readonly callStatuses: readonly PendingCallStatus[]
  /** Latest progress of calls that no message on any branch has completed; see `listWorkingCalls`. */
  readonly callProgress: PendingCallIndex<ReportedCall>
}

interface HeaderStep extends StatusStep {
  readonly id: string
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

/** Returns the next header; the same object if equal. O(log n), or O(k log k) if k calls have a status. */
export function foldHeader(header: Header, step: HeaderStep): Header {
  const { event, id: event_id, completed, reported } = step
  const status = nextStatus(header, step)
  const next: { -readonly [K in keyof Header]: Header[K] } = {
    ...header,
    status,
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
    // A report without a task keeps the previous task.
    report: { ...progressIn(before, reported), ...reported.report },
  })
}

export const progressIn = (calls: Header['callProgress'], { entry }: IndexedCall): CallProgress | null =>
  openCallOf(calls, entry.event.tool_call_id, entry.seq)?.report ?? null

function approvalsAfter(
  { callStatuses }: Header,
  branch: Branch,
  { key, value }: ConversationStateUpdateEvent,
): Partial<Header> {
  if (key === 'confirmation_policy')
    return value === null || isObject(value) ? { confirmationPolicy: value as JsonObject | null } : {}
  const waits = statusNamed(key, value) === 'waiting_for_confirmation'
  return {
    callStatuses: waits ? withoutConsent(callStatuses) : foldCallStatuses(callStatuses, branch, key, value),
  }
}

/** Freezes a value and its parts. Skips a part that is frozen, because its own parts are then frozen too. */
function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(Object.freeze(value)))
    if (typeof part === 'object' && part !== null && !Object.isFrozen(part)) deepFreeze(part)
  return value
}
