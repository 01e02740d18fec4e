/** Watches calls and results: dropped, split, without a result, or pending while a model was called. */

import { isToolResult } from '../event/kinds.ts'
import { quote } from '../event/text.ts'
import type { ActionEvent, ConversationStateUpdateEvent, ToolResultEvent } from '../event/types.ts'
import { callIdOf, type Entry, type EventEntry, isOnPathIn } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { eachPendingCall, openCallOf, type PendingCall, matchResult } from '../log/open-calls.ts'
import type { State } from '../state/state.ts'
import { isCutOff, replyStarts, responseOf } from './replies.ts'
import type { LawWatch, LogStep, Report } from './load.ts'
import { isObject } from '../event/json.ts'
import { replyOf } from '../event/reply.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { Branch } from '../state/branch.ts'
import { GRANT_KEYS, granted } from '../state/call-status.ts'

/** Maximum number of pending calls checked for one event, so that a log full of them stays linear. */
const MAX_PENDING = 64

/** P1, P4, P6 to P9, I7 for executed calls, and M7 for split replies. O(log n) for an event. */
export function watchCalls(report: Report, ended: boolean): LawWatch {
  const startOf = replyStarts()
  const responses = new Map<string, Entry>()
  const callIds = new Map<string, Entry>()
  const interrupted = new Set<number>()
  const reported = new Set<number>()
  /** Calls with a result on any branch; whether HEAD moved since the last written status. */
  const withResult = new Set<number>()
  let isMoved = false
  const consent = watchConsent(report)

  const unfinished = (call: PendingCall, law: string, index: Entry, why: string): void => {
    if (reported.has(call.entry.seq)) return
    reported.add(call.entry.seq)
    const isInterrupted = interrupted.has(call.entry.seq)
    const what = `${nameOf(call.entry)} has no result ${why}`
    const advice = isInterrupted
      ? 'an interrupt gives every pending call one'
      : 'every call gets one before that'
    report(isInterrupted ? 'P9' : law, index, `${what}; of a correct server ${advice}`)
  }

  return {
    step: (step) => {
      const { entry, above } = step
      const { event } = entry
      const start = startOf(step)
      if (start !== null && !isCutOff(event)) {
        for (const call of firstPending(start.head === null ? null : start.head.branch.pendingCalls)) {
          if (call.entry.event.llm_response_id !== start.responseId)
            unfinished(call, 'P8', entry, 'when the model is asked again')
        }
      }
      const responseId = responseOf(event)
      if (responseId !== null) {
        checkSplit(step, responses.get(responseId), report)
        if (event.kind === 'ActionEvent') responses.set(responseId, entry)
      }
      if (event.kind === 'ActionEvent') callIds.set(event.tool_call_id, entry)
      if (isToolResult(event)) {
        // The fold pairs them (U3), whatever the result names.
        const call = matchResult(step.before.log, above.pendingCalls, entry as EventEntry<ToolResultEvent>)
        if (call === null || typeof call === 'string') checkDropped(step, event, callIds, report)
        else {
          withResult.add(call.entry.seq)
          if (event.kind === 'ObservationEvent') consent.result(step, call.entry)
        }
      }
      if (event.kind === 'ConversationErrorEvent') isMoved = false
      if (event.kind === 'ConversationStateUpdateEvent') {
        if (event.key === 'leaf_event_id') isMoved = true
        if (event.key === 'execution_status') isMoved = false
      }
      if (event.kind === 'InterruptEvent' && step.before.header.status === 'running') {
        for (const call of firstPending(above.pendingCalls)) interrupted.add(call.entry.seq)
      }
      consent.update(step)
    },
    end: ({ branch, header, log }) => {
      const last = log.entries.last()
      if (!ended || last === undefined) return
      const waits = header.status === 'paused' || header.status === 'waiting_for_confirmation'
      // Calls that a user approved, or that were pending at a pause, wait for the next run.
      const settled = new Set(
        header.callStatuses.flatMap(({ action_id, grant }) => (grant === 'started' ? [] : [action_id])),
      )
      for (const call of firstPending(branch.pendingCalls)) {
        const { id, seq } = call.entry
        // HEAD was moved to before its result, and nothing has run there yet.
        if (isMoved && withResult.has(seq)) continue
        if (interrupted.has(seq) || !(waits || settled.has(id)))
          unfinished(call, 'P1', call.entry, 'at the end of the log')
      }
    },
  }
}

function firstPending(calls: State['branch']['pendingCalls']): PendingCall[] {
  const first: PendingCall[] = []
  for (const call of eachPendingCall(calls)) {
    first.push(call)
    if (first.length === MAX_PENDING) break
  }
  return first.toSorted((a, b) => a.entry.seq - b.entry.seq)
}

const nameOf = ({ id, event }: { readonly id: string; readonly event: ActionEvent }): string =>
  `the call ${quote(id)} of ${quote(event.tool_name)}`

/** M7: a call that the view cannot put into the batch of its reply. */
function checkSplit({ entry, above }: LogStep, last: Entry | undefined, report: Report): void {
  const { event, branch, parent } = entry
  if (last === undefined || isCutOff(event) || !isOnPathIn(last, parent)) return
  const reply = `of the reply ${quote(responseOf(event))}, as ${quote(last.id)} is`
  if (event.kind === 'MessageEvent') {
    const should = 'a correct server writes the text of a reply with calls as the thought of its first call'
    report('M7', entry, `this message is ${reply}, and is apart from its calls; ${should}`)
    return
  }
  if (event.kind !== 'ActionEvent') return
  const call = openCallOf(branch.pendingCalls, event.tool_call_id, entry.seq)
  if (call?.first !== entry.seq) return
  const open = above.view.units
    .slice(-1)
    .some((unit) => unit.type === 'batch' && unit.responseId === event.llm_response_id)
  const why = open
    ? 'but that has its results, or has the same tool_call_id'
    : `but after ${parent?.event?.kind ?? 'a line that is not an event'}`
  const should = 'a correct server writes all calls of a reply before their results'
  report('M7', entry, `this call is ${reply}, ${why}, so that the model is shown two replies; ${should}`)
}

/** P4: a result that ends no call. */
function checkDropped(
  { before, entry }: LogStep,
  event: ToolResultEvent,
  callIds: ReadonlyMap<string, Entry>,
  report: Report,
): void {
  const named = event.kind === 'AgentErrorEvent' ? undefined : findEventIn(before.log, event.action_id)
  const call = named ?? callIds.get(event.tool_call_id)
  const what = call === undefined || callIdOf(call) === null ? null : call
  const id = quote(event.tool_call_id)
  if (what !== null && isOnPathIn(what, entry.parent)) {
    const should = 'a correct server writes one result for each call'
    report('P4', entry, `the call ${quote(what.id)} (${id}) already has its result; ${should}`)
  } else {
    const where =
      what === null ? 'is not a call of this log' : `the call ${quote(what.id)} (${id}) is on another branch`
    report(
      'P4',
      entry,
      `${what === null ? `${id} ` : ''}${where}; a correct server writes results after their calls`,
    )
  }
}

type Call = EventEntry<ActionEvent>

interface ConsentWatch {
  readonly update: (step: LogStep) => void
  readonly result: (step: LogStep, call: Call) => void
}

/**
 * P6 to P8, and I7 for executed calls: at recorded execution starts; in logs without them a result proves
 * execution. O(log n) per event and started call.
 */
function watchConsent(report: Report): ConsentWatch {
  /** The turn in which each call started: a new status, move of HEAD or approval allows it again. */
  const startedIn = new Map<string, number>()
  /** Everything that was approved on any branch; empty if the log does not record approvals. */
  const approved = new Set<unknown>()
  let turn = 0
  let policy: Entry | null = null
  let wait: LogStep['entry'] | null = null

  const lacksConfirmation = ({ before: { header }, entry }: LogStep, call: Call): boolean => {
    // A copied path has only the updates with an explicit parent, and may lack the approval.
    if (policy === null || isOnPathIn(policy, entry.parent)) return false
    const wasAsked = approved.size === 0 && wait !== null && wait.seq > call.seq
    return !wasAsked && requiresConfirmation(header.confirmationPolicy, call.event)
  }

  const start = (step: LogStep, ids: ReadonlySet<unknown>): void => {
    const { before, entry } = step
    const consents = granted(before.header.callStatuses, 'approved')
    for (const id of ids) {
      const call = typeof id === 'string' ? findEventIn(before.log, id) : undefined
      if (!isCall(call)) continue
      if (!isOpen(before.branch, call) && isOnPathIn(call, before.log.head)) {
        const should = 'a correct server executes pending calls only'
        report('P8', entry, `the call ${quote(call.id)} starts, and already has its result; ${should}`)
      } else if (startedIn.get(call.id) === turn) {
        const should = 'a correct server executes a call once, unless it is requested again'
        report('P6', entry, `the call ${quote(call.id)} starts twice; ${should}`)
      } else if (!consents.has(call.id) && lacksConfirmation(step, call)) {
        report('P7', entry, `the call ${quote(call.id)} starts, ${AGAINST_POLICY}`)
      }
      startedIn.set(call.id, turn)
    }
  }

  return {
    update: (step) => {
      const { after, entry } = step
      const { event } = entry
      if (event.kind !== 'ConversationStateUpdateEvent') return
      if (event.key === GRANT_KEYS.started) return start(step, idsIn(event))
      if (event.key === GRANT_KEYS.approved) for (const id of idsIn(event)) approved.add(id)
      if (event.key === 'confirmation_policy') policy = entry
      if (!allowsAgain(event)) return
      turn += 1
      if (after.header.status === 'waiting_for_confirmation') wait = entry
    },
    result: (step, call) => {
      const { header } = step.before
      const isSettled = (): boolean =>
        header.callStatuses.some(({ action_id, grant }) => action_id === call.id && grant !== 'held')
      if (header.status === 'waiting_for_confirmation') {
        // HEAD may have moved since to a call without a confirmation.
        if (!isSettled() && (wait === null || wait.seq < call.seq || isOpen(wait.branch, call))) {
          const why = `was executed while it waited for confirmation; ${APPROVED_FIRST}`
          report('P7', step.entry, `the call ${quote(call.id)} ${why}`)
        }
      } else if (startedIn.size === 0 && !approved.has(call.id) && lacksConfirmation(step, call)) {
        report('P7', step.entry, `the call ${quote(call.id)} was executed, ${AGAINST_POLICY}`)
      }
      const outcome: unknown = replyOf(call.event)?.outcome
      if ((outcome === 'refused' || outcome === 'filtered') && !approved.has(call.id)) {
        const should = 'a correct server appends no result of a tool for its calls'
        report(
          'I7',
          step.entry,
          `the call ${quote(call.id)} was executed, though its reply was ${outcome}; ${should}`,
        )
      }
    },
  }
}

const isOpen = ({ pendingCalls }: Branch, { event, seq }: Call): boolean =>
  openCallOf(pendingCalls, event.tool_call_id, seq) !== undefined

const APPROVED_FIRST = 'a correct server waits until a user has approved it'

const AGAINST_POLICY = `although the policy requires a confirmation and no user was asked; ${APPROVED_FIRST}`

const isCall = (entry: Entry | undefined): entry is Call =>
  entry?.event?.kind === 'ActionEvent' && entry.id !== null

const idsIn = ({ value }: ConversationStateUpdateEvent): ReadonlySet<unknown> =>
  new Set<unknown>(Array.isArray(value) ? value : [])

const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['finish', 'think'])

/** Whether a policy requires confirmation in every reading: risky calls, which every threshold includes. */
const requiresConfirmation = (
  policy: JsonObject | null,
  { tool_name, security_risk }: ActionEvent,
): boolean =>
  !WITHOUT_EFFECT.has(tool_name) &&
  (policy?.['kind'] === 'AlwaysConfirm' || (policy?.['kind'] === 'ConfirmRisky' && security_risk === 'HIGH'))

const allowsAgain = ({ key, value }: ConversationStateUpdateEvent): boolean =>
  key === 'execution_status' ||
  key === 'leaf_event_id' ||
  key === GRANT_KEYS.approved ||
  (key === 'full_state' && isObject(value))
