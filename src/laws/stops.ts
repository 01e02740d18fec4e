/** Checks the recorded status: what runs after a stop, what has finished and what has not. */

import { isObject } from '../event/json.ts'
import { isToolResult } from '../event/kinds.ts'
import { quote } from '../event/text.ts'
import { requestHeadOf, earlyEndOf, isOfReply } from '../event/reply.ts'
import type { ConversationStateUpdateEvent, Event } from '../event/types.ts'
import type { Entry } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { eachPendingCall } from '../log/open-calls.ts'
import { renderMessage } from '../messages/neutral.ts'
import type { Branch } from '../state/branch.ts'
import { isFinish, isFinalReply, isStatus, STATUSES } from '../state/status.ts'
import type { State } from '../state/state.ts'
import type { Unit } from '../view/unit.ts'
import { type View, viewEventsIn } from '../view/view.ts'
import { isCutOff, responseOf } from './replies.ts'
import type { LawWatch, LogStep, Report } from './load.ts'

interface Stop {
  readonly entry: Entry
  /** Replies with events since; the first may have been in flight. */
  readonly replies: Set<string>
}

/**
 * I1 to I4, I7, T5 and P1 for the recorded status. Logs without one show no resumption or end, and are not
 * checked. An end inferred from the last reply or finish tool is checked at the log's end. O(1) per event,
 * including status `finished`.
 */
export function watchStops(report: Report, ended: boolean): LawWatch {
  let isRecorded = false
  let stop: Stop | null = null
  let finished: Entry | null = null
  /**
   * The event that implied the status finished, and its state: checked only at the end, because the run may
   * continue.
   */
  let inferred: { readonly entry: Entry; readonly state: State } | null = null
  /** A log without a model needs no final reply. */
  let hasSpoken = false
  const responses = new Set<string>()

  const judge = (state: State): void => {
    if (finished !== null && hasSpoken) checkFinished(state, finished, report)
    finished = null
  }

  return {
    step: ({ before, after, entry }) => {
      const { event } = entry
      if (finished !== null && !mayFollow(event)) judge(before)
      hasSpoken ||= isOfReply(event)
      const isNew = noteResponse(responses, event)
      if (stop !== null) checkAfterStop(stop, before, entry, isNew, report)
      if (event.kind === 'PauseEvent' || event.kind === 'InterruptEvent') {
        const stops = before.header.status === 'running' || before.header.status === 'idle'
        if (isRecorded && stops) stop = { entry, replies: new Set() }
      } else if (after.header.status !== 'paused') stop = null
      if (after.header.status !== 'finished') inferred = null
      else if (before.header.status !== 'finished') inferred = { entry, state: after }
      else if (inferred !== null && inferred.state === before && mayFollow(event))
        inferred = { ...inferred, state: after }
      if (event.kind !== 'ConversationStateUpdateEvent') return
      const named = statusIn(event)
      if (named === undefined) return
      if (isStatus(named)) isRecorded = true
      else {
        const value = typeof named === 'string' ? quote(named) : 'a value that is not text'
        report(
          'T5',
          entry,
          `the status is set to ${value}; a correct server writes one of ${STATUSES.join(', ')}`,
        )
      }
      finished = named === 'finished' ? entry : null
      if (finished !== null) inferred = null
    },
    end: (state) => {
      judge(state)
      if (ended && isRecorded && inferred !== null && hasSpoken)
        checkFinished(inferred.state, inferred.entry, report)
      const last = state.log.entries.last()
      if (!ended || !isRecorded || last === undefined || state.header.status !== 'running') return
      const should = 'a correct server writes how the run ended'
      report('I1', last, `the log ends while its status is running; ${should}`)
    },
  }
}

function statusIn({ key, value }: ConversationStateUpdateEvent): unknown {
  if (key === 'execution_status') return value
  return key === 'full_state' && isObject(value) ? value['execution_status'] : undefined
}

const mayFollow = (event: Event): boolean =>
  isToolResult(event) || (event.kind === 'ConversationStateUpdateEvent' && event.key !== 'leaf_event_id')

function noteResponse(known: Set<string>, event: Event): string | null {
  const response = responseOf(event)
  if (response === null || known.has(response)) return null
  known.add(response)
  return response
}

function checkAfterStop(
  { entry: { event: stopped, id, seq }, replies }: Stop,
  { log }: State,
  entry: LogStep['entry'],
  isNew: string | null,
  report: Report,
): void {
  if (responseOf(entry.event) === null || isCutOff(entry.event)) return
  if (stopped?.kind === 'InterruptEvent') {
    const should = 'a correct server appends nothing of it, except the text that was cut off'
    report('I4', entry, `a reply continues after the interrupt ${quote(id)}; ${should}`)
    return
  }
  const after = requestHeadOf(entry.event)
  const requested =
    after === true ? entry.parent : typeof after === 'string' ? findEventIn(log, after) : undefined
  // A reply that records its request before the pause was in flight, and so was the first without a record.
  if (isNew === null || after === null || (requested && requested.seq < seq)) return
  replies.add(isNew)
  if (replies.size < 2) return
  const should = 'a correct server calls no model before the run is resumed'
  report('I3', entry, `a second reply begins after the pause ${quote(id)}; ${should}`)
}

/** I2, I7 and P1: unfinished work of a finished conversation. */
function checkFinished({ branch }: State, status: Entry, report: Report): void {
  for (const { entry } of eachPendingCall(branch.pendingCalls)) {
    const should = 'a correct server appends a result for every call first'
    report('P1', status, `finished, although the call ${quote(entry.id)} has no result; ${should}`)
    return
  }
  const last = lastSent(branch.view)
  if (last === undefined || endsTurn(last)) return
  const { id, event } = last.type === 'message' ? last.item : { id: null, event: null }
  const early = event === null ? null : (earlyEndOf(event) ?? (isCutOff(event) ? 'cut off' : null))
  if (early !== null) {
    const should = 'a correct server continues, or ends in error'
    report('I7', status, `finished, although the last reply ${quote(id)} was ${early}; ${should}`)
  } else if (event?.kind === 'MessageEvent' && event.source !== 'agent' && isPrompted(branch)) {
    const should = 'a correct server calls the model again'
    report('I2', status, `finished, although no final reply has read the message ${quote(id)}; ${should}`)
  }
}

/** Whether the model has something to reply to: not if all user messages were forgotten. O(view). */
const isPrompted = ({ view, lastUserMessage }: Branch): boolean =>
  lastUserMessage === null ||
  [...viewEventsIn(view)].some(
    ({ event }) => event.kind !== 'SystemPromptEvent' && event.source !== 'environment',
  )

const MAX_BLANK = 64

/** The last unit with content for a model. O(units from there), up to a bound. */
function lastSent({ units }: View): Unit | undefined {
  for (let index = units.length - 1; index >= Math.max(0, units.length - MAX_BLANK); index -= 1) {
    const unit = units.get(index)
    if (
      unit?.type === 'batch' ||
      (unit !== undefined && (unit.completes !== undefined || renderMessage(unit.item.event) !== null))
    )
      return unit
  }
  return undefined
}

const endsTurn = (unit: Unit): boolean =>
  unit.type === 'message'
    ? isFinalReply(unit.item.event)
    : [...unit.results].some(({ entry }) => isFinish(entry.event))
