/** Calls and results: which were dropped, split, left without a result, or waited for while a model was asked. */

import { isToolResult } from '../event/kinds.ts'
import { quote } from '../event/text.ts'
import type { ActionEvent, ToolResultEvent } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import { callIdOf, type Entry, type EventEntry } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { eachPendingCall, openCallOf, type PendingCall, matchResult } from '../log/open-calls.ts'
import type { State } from '../state/state.ts'
import { watchConsent } from './consent.ts'
import { isCutOff, replyStarts, responseOf } from './replies.ts'
import type { LawWatch, LogStep, Report } from './violation.ts'

/** How many pending calls are looked at for one event, so that a log full of them costs no more than its length. */
const MOST_PENDING = 64

/** P1, P4, P6 to P9, I7 of what is executed, and M7 of what is split. O(log n) for an event. */
export function watchCalls(report: Report, ended: boolean): LawWatch {
  const startOf = replyStarts()
  /** The last call of each LLM response, and of each tool call id. */
  const responses = new Map<string, Entry>()
  const callIds = new Map<string, Entry>()
  /** Calls that were pending when what ran was interrupted, and calls that were reported. */
  const interrupted = new Set<number>()
  const reported = new Set<number>()
  /** Calls with a result, on whatever branch; and whether HEAD was moved since a run or a user last said its status. */
  const withResult = new Set<number>()
  let isMoved = false
  const consent = watchConsent(report)

  const unfinished = (call: PendingCall, law: string, at: Entry, why: string): void => {
    if (reported.has(call.entry.seq)) return
    reported.add(call.entry.seq)
    const isLeft = interrupted.has(call.entry.seq)
    const what = `${nameOf(call.entry)} has no result ${why}`
    const should = isLeft ? 'an interrupt gives every pending call one' : 'every call gets one before that'
    report(isLeft ? 'P9' : law, at, `${what}; of a correct server ${should}`)
  }

  return {
    step: (step) => {
      const { entry, above } = step
      const { event } = entry
      const start = startOf(step)
      if (start !== null && !isCutOff(event)) {
        for (const call of some(start.asked === null ? null : start.asked.branch.pendingCalls)) {
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
        // The fold pairs it with this one (U3), whatever it names.
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
        for (const call of some(above.pendingCalls)) interrupted.add(call.entry.seq)
      }
      consent.update(step)
    },
    end: ({ branch, header, log }) => {
      const last = log.entries.last()
      if (!ended || last === undefined) return
      const waits = header.status === 'paused' || header.status === 'waiting_for_confirmation'
      // What a user has approved, or a pause came before, waits for the next run.
      const settled = new Set(
        header.callStatuses.flatMap(({ action_id, grant }) => (grant === 'started' ? [] : [action_id])),
      )
      for (const call of some(branch.pendingCalls)) {
        const { id, seq } = call.entry
        // HEAD was moved back to before its result, and nothing has run there yet.
        if (isMoved && withResult.has(seq)) continue
        if (interrupted.has(seq) || !(waits || settled.has(id)))
          unfinished(call, 'P1', call.entry, 'at the end of the log')
      }
    },
  }
}

function some(calls: State['branch']['pendingCalls']): PendingCall[] {
  const found: PendingCall[] = []
  for (const call of eachPendingCall(calls)) {
    found.push(call)
    if (found.length === MOST_PENDING) break
  }
  return found.toSorted((a, b) => a.entry.seq - b.entry.seq)
}

const nameOf = ({ id, event }: { readonly id: string; readonly event: ActionEvent }): string =>
  `the call ${quote(id)} of ${quote(event.tool_name)}`

/** M7: a piece of a reply that the view cannot put together with the others. */
function checkSplit({ entry, above }: LogStep, last: Entry | undefined, report: Report): void {
  const { event, branch, parent } = entry
  if (last === undefined || isCutOff(event) || !isOnPathIn(last, parent)) return
  const reply = `of the reply ${quote(responseOf(event))}, as ${quote(last.id)} is`
  if (event.kind === 'MessageEvent') {
    const should =
      'a correct server writes the words of a reply that calls tools as the thought of its first call'
    report('M7', entry, `this message is ${reply}, and stands apart from its calls; ${should}`)
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
    : `but behind ${parent?.event?.kind ?? 'what is no event'}`
  const should = 'a correct server writes all calls of a reply before what comes of them'
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
    report('P4', entry, `the call ${quote(what.id)} (${id}) has its result already; ${should}`)
  } else {
    const where =
      what === null ? 'is no call of this log' : `the call ${quote(what.id)} (${id}) is on another branch`
    report(
      'P4',
      entry,
      `${what === null ? `${id} ` : ''}${where}; a correct server writes results behind their calls`,
    )
  }
}
