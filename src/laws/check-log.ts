import { checkOptionNames } from '../event/check-value.ts'
import { canonicalJson } from '../event/encode.ts'
import { isObject } from '../event/json.ts'
import { BUILT_IN_TOOLS, isToolResult } from '../event/kinds.ts'
import type { Loaded } from '../event/load.ts'
import { earlyEndOf, type GrammarName, isOfReply, replyOf, requestHeadOf } from '../event/reply.ts'
import type { JsonObject } from '../event/shapes.ts'
import { quote } from '../event/text.ts'
import type {
  ActionEvent,
  Condensation,
  ConversationStateUpdateEvent,
  Event,
  ToolResultEvent,
} from '../event/types.ts'
import type { LawViolation, LawWatch, LogItem, LogStep, Report } from './load.ts'
import { checkIsLog, loadItem, reportWarnings } from './load.ts'
import { isCutOff, replyStarts, responseIdOf } from './replies.ts'
import { type RequestWriter, watchRequests } from './requests.ts'
import { callIdOf, type Entry, type EventEntry, isOnPathIn, type LogWarning } from '../log/entry.ts'
import { findEventIn, type Log } from '../log/log.ts'
import { eachPendingCall, matchResult, openCallOf, type PendingCall } from '../log/open-calls.ts'
import { lastSent } from '../messages/neutral.ts'
import type { Branch } from '../state/branch.ts'
import { GRANT_KEYS, granted } from '../state/call-status.ts'
import { reduce } from '../state/reduce.ts'
import { branchOf, type Checkpoint, initialState, type State } from '../state/state.ts'
import { endsTurn, hasNoPrompt, isStatus, STATUSES } from '../state/status.ts'
import { resolveCondensation } from '../view/condense.ts'
import { eventCount, eventsIn, isPending, unitEvents } from '../view/units.ts'

/** Options of `checkLog`. */
export interface CheckOptions {
  /**
   * Whether the server has stopped. If so, the status `running` breaks a law, and so does a pending call that
   * waits neither for a user nor for the next run. Default: false.
   */
  readonly ended?: boolean
  /** Grammars in which requests and signed parts are checked. Default: none. */
  readonly grammars?: readonly GrammarName[]
  /** Returns the messages that the server sends. Default: `toMessages`. */
  readonly messages?: RequestWriter
  /** Conversation id, from which missing event ids are derived. Default: the empty string. */
  readonly conversationId?: string
}

/**
 * Checks a log against the laws that a correct server keeps. Returns the violations in log order. Accepts
 * lines of JSON text, facts, or results of `loadLine`. Law E8 is not checked in facts, because JSON parsing
 * may already have lost data. No log makes it throw.
 *
 * O(n log n) for n facts, and O(view) per condensation; with `grammars`, it also writes at most 13 + 3 ·
 * log2(n) requests per grammar, each O(content of the view).
 * @throws ColloquyError `invalid_argument` for one text instead of a list of lines.
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const log = [
 *   {
 *     kind: 'ActionEvent', id: 'a', thought: [], tool_name: 'ls', tool_call_id: 'c', tool_call: call,
 *     llm_response_id: 'r',
 *   },
 *   { kind: 'AgentErrorEvent', id: 'e', tool_name: 'ls', tool_call_id: 'c', error: 'no' },
 *   { kind: 'AgentErrorEvent', id: 'f', tool_name: 'ls', tool_call_id: 'c', error: 'no' },
 * ]
 * checkLog(log).map(({ law, id }) => [law, id]) // [['P4', 'f']]
 */
export function checkLog(facts: Iterable<LogItem>, options: CheckOptions = {}): readonly LawViolation[] {
  checkOptionNames(options, 'ended grammars messages conversationId')
  checkIsLog(facts)
  const { ended = false, conversationId } = options
  const violations: LawViolation[] = []
  const report: Report = (law, { id, seq }, message) =>
    void violations.push(Object.freeze({ law, id, seq, message }))
  const watches: LawWatch[] = [
    watchCalls(report, ended),
    { step: (step) => checkCondensation(step, report) },
    watchStops(report, ended),
    watchRequests(report, options),
  ]
  let state = initialState(conversationId === undefined ? {} : { conversationId })
  for (const item of facts) {
    const before: State = state
    const { fact, warnings }: Loaded = loadItem(item)
    state = reduce(before, fact)
    const entry = state.log.entries.last() as Checkpoint
    reportWarnings(warnings, entry, report)
    if (!isStep(entry)) continue
    const step: LogStep = { before, after: state, entry, above: branchOf(entry.parent) }
    for (const watch of watches) watch.step(step)
  }
  for (const watch of watches) watch.end?.(state)
  for (const entry of state.log.entries) reportRepairs(state.log, entry, report)
  return violations.toSorted((a, b) => a.seq - b.seq)
}

const isStep = (entry: Checkpoint): entry is LogStep['entry'] => entry.inTree && entry.event !== null

type Repair = readonly [law: string, sentenceOf: (message: string, log: Log, entry: Entry) => string]

const REPAIRS: Readonly<Record<LogWarning['code'], Repair>> = {
  quarantined: [
    'E2',
    (message) =>
      `the line is ${message.replace(/\.$/, '')}; a correct server writes one of the 19 events on each line`,
  ],
  duplicate_id: ['T6', (_, log, entry) => repeatedId(findEventIn(log, entry.id ?? ''), entry)],
  unknown_parent: ['T6', (_, log, entry) => unknownParent(log, entry)],
  head_ignored: ['T6', (message) => `${message}; a correct server moves HEAD to an earlier event`],
  unreadable_timestamp: ['T6', (message) => `${message}; a correct server writes ISO 8601`],
  reply_not_placed: [
    'T6',
    (message) => `the reply is ${message}; a correct server appends the reply earlier`,
  ],
  nothing_completed: [
    'P12',
    (message) => `the message ${message}; a correct server completes a working call once`,
  ],
}

function reportRepairs(log: Log, entry: Entry, report: Report): void {
  for (const { code, message } of entry.warnings) {
    const [law, sentenceOf] = REPAIRS[code]
    report(law, entry, sentenceOf(message, log, entry))
  }
}

function repeatedId(first: Entry | undefined, entry: Entry): string {
  const where = `${quote(entry.id)} is already the id of the event at position ${first?.seq ?? 0}`
  return entryText(first) === entryText(entry)
    ? `${where}, which has the same content; a correct server appends an event once`
    : `${where}, which has other content; a correct server gives each event its own id`
}

const entryText = (entry: Entry | undefined): string =>
  canonicalJson(entry?.event ?? entry?.quarantined?.raw ?? null)

function unknownParent(log: Log, entry: Entry): string {
  const requested = entry.event?.parent_id ?? entry.quarantined?.parent_id ?? ''
  const named = findEventIn(log, requested)
  const why =
    requested === entry.id
      ? 'is the event itself'
      : named === undefined
        ? 'is not an event of this log'
        : `is later in the log, at position ${named.seq}`
  return `its parent ${quote(requested)} ${why}; a correct server names an earlier event`
}

/** Checks laws V3 and K1. */
function checkCondensation({ above, entry, before }: LogStep, report: Report): void {
  const { event } = entry
  if (event.kind !== 'Condensation') return
  const listed = new Set(event.forgotten_event_ids ?? [])
  const plan = resolveCondensation(above.view, entry as EventEntry<Condensation>, before.log)
  let unlisted = 0
  let first: string | null = null
  let remaining = above.view.length
  let summaryOffset = eventsIn(above.view.units.range(0, plan.summaryIndex ?? 0))
  for (const { from, to } of plan.removed)
    for (const unit of above.view.units.slice(from, to)) {
      remaining -= eventCount(unit)
      if (from < (plan.summaryIndex ?? 0)) summaryOffset -= eventCount(unit)
      const ids = Array.from(unitEvents(unit), ({ id }) => id)
      if (isPending(unit)) {
        const why = `the condensation forgets ${quote(ids[0] ?? '')} of a batch that still waits for a result`
        report('K1', entry, `${why}; a correct server condenses complete batches only`)
        continue
      }
      const more = ids.filter((id) => !listed.has(id))
      unlisted += more.length
      first ??= more[0] ?? null
    }
  if (first !== null) {
    const count = unlisted === 1 ? 'another event is' : `${unlisted} other events are`
    const what = `the condensation lists only part of a unit or stretch, so ${count} removed, too, beginning with ${quote(first)}`
    report('V3', entry, `${what}; a correct server condenses between cut points`)
  } else if (plan.summaryIndex !== null) {
    // The offset counts the view's events, except those to forget, and must be at a border of stretches.
    const offset = event.summary_offset ?? 0
    if (offset === 0 || offset === summaryOffset || offset === remaining) return
    const where =
      offset > remaining
        ? `beyond the ${remaining} remaining events of the view`
        : 'inside a reply or its thinking'
    report('V3', entry, `the summary_offset ${offset} is ${where}; a correct server writes a cut point`)
  }
}

interface Stop {
  readonly entry: Entry
  /** Ids of replies after the stop. One reply is allowed: the model may have been called before the stop. */
  readonly replies: Set<string>
}

/** Checks laws I1 to I4, I7, T5 and P1 on logs with statuses. Logs without statuses do not show when runs end. */
function watchStops(report: Report, ended: boolean): LawWatch {
  let isRecorded = false
  let stop: Stop | null = null
  let finished: Entry | null = null
  /** The event that implied the status `finished`. Checked at the end, because the run may continue. */
  let inferred: { readonly entry: Entry; readonly state: State } | null = null
  /** Whether a model has replied. A log without a model needs no final reply. */
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
      const response = responseIdOf(event)
      const isNew = response !== null && !responses.has(response)
      if (isNew) responses.add(response)
      if (stop !== null) checkAfterStop(stop, before, entry, isNew ? response : null, report)
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
        const should = `a correct server writes one of ${STATUSES.join(', ')}`
        report('T5', entry, `the status is set to ${value}; ${should}`)
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

function checkAfterStop(
  { entry: { event: stopped, id, seq }, replies }: Stop,
  { log }: State,
  entry: LogStep['entry'],
  isNew: string | null,
  report: Report,
): void {
  if (responseIdOf(entry.event) === null || isCutOff(entry.event)) return
  if (stopped?.kind === 'InterruptEvent') {
    const should = 'a correct server appends nothing more of that reply, except the text that was cut off'
    report('I4', entry, `a reply continues after the interrupt ${quote(id)}; ${should}`)
    return
  }
  const after = requestHeadOf(entry.event)
  const requested =
    after === true ? entry.parent : typeof after === 'string' ? findEventIn(log, after) : undefined
  // A reply that records a HEAD before the pause was in flight. The first reply without a record may have been.
  if (isNew === null || after === null || (requested && requested.seq < seq)) return
  replies.add(isNew)
  if (replies.size < 2) return
  const should = 'a correct server calls no model before the run is resumed'
  report('I3', entry, `a second reply begins after the pause ${quote(id)}; ${should}`)
}

/** Checks that a finished run left no pending call (law P1), and ended with a final reply (I2, I7). */
function checkFinished({ branch }: State, status: Entry, report: Report): void {
  for (const { entry } of eachPendingCall(branch.pendingCalls)) {
    const should = 'a correct server appends a result for every call first'
    report('P1', status, `the run finished, although the call ${quote(entry.id)} has no result; ${should}`)
    return
  }
  const last = lastSent(branch.view, MAX_BLANK)
  if (last === undefined || endsTurn(last)) return
  const { id, event } = last.type === 'message' ? last.item : { id: null, event: null }
  const early = event === null ? null : (earlyEndOf(event) ?? (isCutOff(event) ? 'cut off' : null))
  if (early !== null) {
    const should = 'a correct server continues, or ends in error'
    report('I7', status, `the run finished, although the last reply ${quote(id)} was ${early}; ${should}`)
  } else if (event?.kind === 'MessageEvent' && event.source !== 'agent' && !hasNoPrompt(branch)) {
    const should = 'a correct server calls the model again'
    report('I2', status, `the run finished without a reply to the message ${quote(id)}; ${should}`)
  }
}

const MAX_BLANK = 64

/** Maximum number of pending calls checked for one event, so that the check stays linear. */
const MAX_PENDING = 64

/** Checks laws P1, P4 and P6 to P9. Checks I7 only for executed calls, and M7 only for split replies. */
function watchCalls(report: Report, ended: boolean): LawWatch {
  const startOf = replyStarts()
  const responses = new Map<string, Entry>()
  const callIds = new Map<string, Entry>()
  const interrupted = new Set<number>()
  const reported = new Set<number>()
  /** Positions of calls with a result on any branch. */
  const withResult = new Set<number>()
  let isMoved = false
  const consent = watchConsent(report)

  const unfinished = (call: PendingCall, law: string, index: Entry, why: string): void => {
    if (reported.has(call.entry.seq)) return
    reported.add(call.entry.seq)
    const isInterrupted = interrupted.has(call.entry.seq)
    const { id, event } = call.entry
    const what = `the call ${quote(id)} of ${quote(event.tool_name)} has no result ${why}`
    const advice = isInterrupted
      ? 'gives every pending call a result when it interrupts'
      : 'gives every call a result before that'
    report(isInterrupted ? 'P9' : law, index, `${what}; a correct server ${advice}`)
  }

  return {
    step: (step) => {
      const { entry, above } = step
      const { event } = entry
      const start = startOf(step)
      if (start !== null && !isCutOff(event)) {
        for (const call of firstPending(start.head === null ? null : start.head.branch.pendingCalls)) {
          if (call.entry.event.llm_response_id !== start.responseId)
            unfinished(call, 'P8', entry, 'when the model is called again')
        }
      }
      const responseId = responseIdOf(event)
      if (responseId !== null) {
        checkSplit(step, responses.get(responseId), report)
        if (event.kind === 'ActionEvent') responses.set(responseId, entry)
      }
      if (event.kind === 'ActionEvent') callIds.set(event.tool_call_id, entry)
      if (isToolResult(event)) {
        // Matches the result as the fold does (U3).
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
        // HEAD was moved to an event before the call's result, and nothing has run since.
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

/** Checks that no event separates the events of a reply, so that they can be one batch (M7). */
function checkSplit({ entry, above }: LogStep, last: Entry | undefined, report: Report): void {
  const { event, branch, parent } = entry
  if (last === undefined || isCutOff(event) || !isOnPathIn(last, parent)) return
  const reply = `and ${quote(last.id)} belong to the reply ${quote(responseIdOf(event))}`
  if (event.kind === 'MessageEvent') {
    const should = 'a correct server writes the text of a reply with calls as the thought of its first call'
    report('M7', entry, `this message ${reply}, but the message is apart from the calls; ${should}`)
    return
  }
  if (event.kind !== 'ActionEvent') return
  const call = openCallOf(branch.pendingCalls, event.tool_call_id, entry.seq)
  if (call?.first !== entry.seq) return
  const unit = above.view.units.last()
  const why =
    unit?.type === 'batch' && unit.responseId === event.llm_response_id
      ? 'but the earlier call has its results, or has the same tool_call_id'
      : `but this call follows ${parent?.event?.kind ?? 'a line that is not an event'}`
  const should = 'a correct server writes all calls of a reply before their results'
  report('M7', entry, `this call ${reply}, ${why}, so the model sees two replies; ${should}`)
}

/** Reports a result that belongs to no pending call (P4). */
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
      what === null
        ? `${id} is not a call of this log`
        : `the call ${quote(what.id)} (${id}) is on another branch`
    report('P4', entry, `${where}; a correct server writes results after their calls`)
  }
}

type CallEntry = EventEntry<ActionEvent>

/**
 * Checks laws P6 and P7, that only pending calls start (P8), and that no call of a refused or filtered reply
 * is executed without an approval (I7). If the log records no starts, a result proves an execution.
 */
function watchConsent(report: Report) {
  /** The turn in which each call started. Here, a new status, a move of HEAD or an approval begins a turn. */
  const startedIn = new Map<string, number>()
  /** Ids of calls approved on any branch; empty if the log does not record approvals. */
  const approved = new Set<unknown>()
  let turn = 0
  let policy: Entry | null = null
  let wait: LogStep['entry'] | null = null

  const lacksConfirmation = ({ before: { header }, entry }: LogStep, call: CallEntry): boolean => {
    // If the policy is on the path, the log may be a copy of this path, and may lack the approval.
    if (policy === null || isOnPathIn(policy, entry.parent)) return false
    const wasAsked = approved.size === 0 && wait !== null && wait.seq > call.seq
    return !wasAsked && requiresConfirmation(header.confirmationPolicy, call.event)
  }

  const start = (step: LogStep, ids: ReadonlySet<unknown>): void => {
    const { before, entry } = step
    const consents = granted(before.header.callStatuses, 'approved')
    for (const id of ids) {
      const call = typeof id === 'string' ? findEventIn(before.log, id) : undefined
      if (!isCallEntry(call)) continue
      if (!isOpen(before.branch, call) && isOnPathIn(call, before.log.head)) {
        const should = 'a correct server executes pending calls only'
        report('P8', entry, `the call ${quote(call.id)} starts, but already has its result; ${should}`)
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
    update: (step: LogStep): void => {
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
    result: (step: LogStep, call: CallEntry): void => {
      const { header } = step.before
      const isSettled = (): boolean =>
        header.callStatuses.some(({ action_id, grant }) => action_id === call.id && grant !== 'held')
      if (header.status === 'waiting_for_confirmation') {
        // After the wait began, HEAD may have moved to a call that needs no confirmation.
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
        const what = `the call ${quote(call.id)} was executed, though its reply was ${outcome}`
        report('I7', step.entry, `${what}; ${should}`)
      }
    },
  }
}

const isOpen = ({ pendingCalls }: Branch, { event, seq }: CallEntry): boolean =>
  openCallOf(pendingCalls, event.tool_call_id, seq) !== undefined

const APPROVED_FIRST = 'a correct server waits until a user has approved it'

const AGAINST_POLICY = `although the policy requires a confirmation and no user was asked; ${APPROVED_FIRST}`

const isCallEntry = (entry: Entry | undefined): entry is CallEntry =>
  entry?.event?.kind === 'ActionEvent' && entry.id !== null

const idsIn = ({ value }: ConversationStateUpdateEvent): ReadonlySet<unknown> =>
  new Set<unknown>(Array.isArray(value) ? value : [])

/**
 * Whether a call certainly needs confirmation. With `ConfirmRisky`, this is certain only for the risk `HIGH`,
 * which reaches every threshold.
 */
const requiresConfirmation = (
  policy: JsonObject | null,
  { tool_name, security_risk }: ActionEvent,
): boolean =>
  !BUILT_IN_TOOLS.has(tool_name) &&
  (policy?.['kind'] === 'AlwaysConfirm' || (policy?.['kind'] === 'ConfirmRisky' && security_risk === 'HIGH'))

const allowsAgain = ({ key, value }: ConversationStateUpdateEvent): boolean =>
  key === 'execution_status' ||
  key === 'leaf_event_id' ||
  key === GRANT_KEYS.approved ||
  (key === 'full_state' && isObject(value))
