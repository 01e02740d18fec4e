/** I, and P6 to P11: runs. A story goes in; a LawBroken comes out when something was done twice, unasked, too late or not at all. */

import { replyOf } from '../../src/event/reply.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import { isOnPathIn } from '../../src/log/ancestry.ts'
import { NEVER_STARTED } from '../../src/conversation/lost-calls.ts'
import { listPendingCallsIn, pendingCallCount } from '../../src/log/open-calls.ts'
import { renderMessage } from '../../src/messages/render-message.ts'
import { isAnswered } from '../../src/state/branch.ts'
import { encodeState } from '../../src/state/encode.ts'
import { isReply } from '../../src/state/final-reply.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import { checkLog } from '../../src/laws/check-log.ts'
import { replay } from '../../src/state/reduce.ts'
import type { Checkpoint as Entry, State } from '../../src/state/state.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { FORBIDDEN, isRepeatable, THROWN } from '../execution/cast.ts'
import type { Plan } from '../execution/plan.ts'
import { isCautious } from '../execution/play.ts'
import type { Begin, RunStory, Story } from '../execution/story.ts'
import type { SentOccurrence } from '../wire/sent.ts'
import { hold, same } from '../../src/testing/law.ts'
import { checkPairing } from './pairing.ts'
import { checkReplyEnds } from './reply-ends.ts'
import { checkRequests } from './requests.ts'
import { checkTree } from './tree.ts'

/** All laws about a story that was played by a plan. Gives what occurred in its requests. */
export function checkStory(story: Story, plan: Plan): SentOccurrence[] {
  hold('I1', !story.endless, 'there is no end to it')
  for (const error of story.broken) throw error
  const now = replay(story.facts, { conversationId: 'c' })
  checkSettled(story)
  checkFailures(now)
  checkOnce(story, plan, now)
  checkConsent(story, plan, now)
  checkWords(story, now)
  checkAsks(story)
  checkPauses(story)
  checkInterrupts(story, now)
  checkTextSoFar(story, now)
  checkHeard(story)
  checkLeases(story, now)
  checkLastWord(story, now)
  checkHooks(story, plan, now)
  checkRecoveries(story, now)
  checkEnd(story, now)
  checkReplyEnds(story, now)
  checkTree(story.facts)
  checkPairing(story.facts)
  checkWritten(story)
  return checkRequests(story, plan, now)
}

/** What the engine writes is what the check of any log takes for correct. */
function checkWritten({ facts }: Story): void {
  const mayBe = new Set([...MADE_UP, ...RACED])
  for (const { law, id, message } of checkLog(facts, { conversationId: 'c' }))
    hold(law, mayBe.has(law), () => [`${id}: ${message}`, ...facts.map(lineOf)].join('\n'))
}

const lineOf = (fact: Fact): string => JSON.stringify(fact)

/** The tools of the plans have actions of published kinds without their fields, and their users condense what they please. */
const MADE_UP = ['E7', 'K1', 'V3']
/**
 * A user or a hook may refuse a call while it is executed, and then the first of the two results counts; or the calls of
 * a reply that still brings more of them.
 */
const RACED = ['P4', 'M7']

const asks = ({ begins }: Story): Begin[] => begins.filter(({ executes }) => executes.length === 0)
const executions = ({ begins }: Story): Begin[] => begins.filter(({ executes }) => executes.length > 0)
const lengthOf = ({ log }: State): number => log.entries.length
const entries = ({ log }: State): Entry[] => [...log.entries]

/** The call of the step that yielded an event; undefined when it comes from elsewhere. */
function yielder(story: Story, { id, event }: Entry): Begin | undefined {
  const streamed = event !== null && isCutOff(event) ? / (\d+), so far/.exec(JSON.stringify(event)) : null
  const no = (streamed ?? /^(\d+)\.\w+$/.exec(id ?? ''))?.[1]
  return no === undefined ? undefined : story.begins[Number(no) - 1]
}

/** Whether an event is the text so far of a reply that was stopped. */
const isCutOff = (event: Event): boolean => replyOf(event)?.interrupted === true

/** The header before an event of the log. */
const headerBefore = (now: State, seq: number): State['header'] =>
  now.log.entries.get(seq - 1)?.header ?? replay([]).header

/** State updates with a key, as position and value. */
const updates = (now: State, key: string): { readonly seq: number; readonly value: unknown }[] =>
  entries(now).flatMap(({ seq, event }) =>
    event?.kind === 'ConversationStateUpdateEvent' && event.key === key ? [{ seq, value: event.value }] : [],
  )

const names = (value: unknown, id: string): boolean => Array.isArray(value) && value.includes(id)

/** I1: runs end, and throw nothing but that another run has the lease; who looks for those that died finds what they left. */
function checkSettled({ runs, begins, ranOut, deaths, leaseLeft, isAbandoned }: Story): void {
  hold('I1', !leaseLeft || deaths.length > 0, 'nothing runs, and a lease is live')
  hold('I1', !isAbandoned, 'nothing runs, and nobody finds by its lease that it should')
  for (const { no, outcome, dead, aborted, error, end, begun } of runs) {
    if (dead) continue
    hold('I1', outcome !== null, `run ${no} never settled`)
    hold('I1', outcome !== 'threw', () => `run ${no} threw ${String(error)}`)
    const lost = outcome === 'lease_lost'
    hold('I1', !lost || ranOut.some((at) => at < end), `run ${no} lost a lease that never ran out`)
    const beside = runs.some(
      (other) => other.no !== no && other.begun < end && (other.dead || other.end > begun),
    )
    hold(
      'I1',
      outcome !== 'already_running' || beside || ranOut.length > 0,
      `run ${no} found a lease that nobody held`,
    )
    const worked = begins.some(({ run }) => run === no)
    hold(
      'I1',
      outcome !== 'already_running' || !worked,
      `run ${no} did its work and was told that another runs`,
    )
    const superseded = ranOut.some((at) => at > begun && at < end)
    hold(
      'I1',
      outcome !== 'running' || (aborted && !worked) || superseded,
      `run ${no} ended and left the conversation running`,
    )
  }
}

/** I1: no run fails but by what a model or a tool has thrown. */
function checkFailures(now: State): void {
  for (const { event, seq } of entries(now)) {
    if (event?.kind !== 'ConversationErrorEvent' || !event.code.endsWith('Error')) continue
    const { code, detail } = event
    hold('I1', THROWN.has(detail), `a run failed at ${seq}, and nobody had thrown ${code}: ${detail}`)
  }
}

/** P6. */
function checkOnce(story: Story, plan: Plan, now: State): void {
  const approvals = updates(now, 'approved_actions')
  const last = new Map<string, Begin>()
  for (const begin of executions(story)) {
    same(
      'P6',
      `calls executed at once by step ${begin.no}`,
      new Set(begin.executes).size,
      begin.executes.length,
    )
    for (const id of begin.executes) {
      const before = last.get(id)
      last.set(id, begin)
      if (before === undefined) continue
      const again =
        isRepeated(plan, now, id, before, begin) ||
        approvals.some(
          ({ seq, value }) =>
            seq < lengthOf(begin.state) && names(value, id) && seq >= startOf(now, id, before),
        )
      hold('P6', again, `call ${id} was executed by step ${before.no} and again by step ${begin.no}`)
    }
  }
}

/** Whether a call is one that its step repeats, in another run or on another branch. */
function isRepeated(plan: Plan, now: State, id: string, before: Begin, begin: Begin): boolean {
  const call = entries(now).find((entry) => entry.id === id)?.event
  if (!plan.ready || call?.kind !== 'ActionEvent' || !isRepeatable(call)) return false
  const isBack = updates(now, 'leaf_event_id').some(
    ({ seq }) => seq >= lengthOf(before.state) && seq < lengthOf(begin.state),
  )
  return isBack || before.run !== begin.run
}

/** Position of the record that an execution began. */
function startOf(now: State, id: string, begin: Begin): number {
  const starts = updates(now, 'started_actions').filter(
    ({ seq, value }) => seq < lengthOf(begin.state) && names(value, id),
  )
  const last = starts.at(-1)
  hold('P6', last !== undefined, `call ${id} was executed by step ${begin.no} without a record in the log`)
  return last.seq
}

/** P7: by the policy in force when the call was begun, read from the log anew. */
function checkConsent(story: Story, plan: Plan, now: State): void {
  for (const begin of executions(story)) {
    for (const id of begin.executes) {
      const seq = startOf(now, id, begin)
      const entry = entries(now).find((each) => each.id === id)
      const call = entry?.event as ActionEvent
      const reply = entries(now).flatMap(({ event, seq: at }) =>
        at < seq && event?.kind === 'ActionEvent' && event.llm_response_id === call.llm_response_id
          ? [event]
          : [],
      )
      if (!wantsConsent(plan, headerBefore(now, seq).confirmationPolicy, call, reply)) continue
      const waits = updates(now, 'execution_status').filter(
        ({ value, seq: at }) => value === 'waiting_for_confirmation' && at < seq,
      )
      const since = waits.at(-1)?.seq ?? -1
      const approved = updates(now, 'approved_actions').some(
        ({ seq: at, value }) => at > since && at < seq && names(value, id),
      )
      hold('P7', approved, `call ${id} was executed by step ${begin.no} though the policy wanted consent`)
      const spent = updates(now, 'started_actions')
        .filter(({ seq: at, value }) => at < seq && names(value, id))
        .at(-1)
      const fresh = updates(now, 'approved_actions').some(
        ({ seq: at, value }) => at > (spent?.seq ?? -1) && at < seq && names(value, id),
      )
      hold('P7', fresh, `one consent served twice for call ${id}`)
    }
  }
}

/** P11: what a model is told to have had no effect, nothing has begun. */
function checkWords(story: Story, now: State): void {
  for (const { seq, event, branch } of entries(now)) {
    if (event?.kind !== 'AgentErrorEvent' || event.error !== NEVER_STARTED) continue
    const open = new Set(listPendingCallsIn(branch.pendingCalls).map(({ entry }) => entry.id))
    const before = now.log.entries.get(seq - 1)?.branch.pendingCalls ?? null
    for (const { entry } of listPendingCallsIn(before)) {
      if (open.has(entry.id)) continue
      const begun = executions(story).find(
        ({ executes, state }) => executes.includes(entry.id) && lengthOf(state) <= seq,
      )
      hold(
        'P11',
        begun === undefined,
        `call ${entry.id} was executed by step ${begun?.no ?? 0}, and is said never to have been`,
      )
    }
  }
}

function wantsConsent(
  plan: Plan,
  policy: unknown,
  call: ActionEvent,
  reply: readonly ActionEvent[],
): boolean {
  if (plan.cautious && reply.some(({ tool_name }) => isCautious(tool_name))) return true
  const kind = (policy as { readonly kind?: string } | null)?.kind ?? 'NeverConfirm'
  if (kind === 'NeverConfirm') return false
  if (reply.length === 1 && call.tool_name === 'finish') return false
  return kind === 'AlwaysConfirm' || reply.some(({ security_risk }) => security_risk === 'HIGH')
}

/** P8: nobody is asked or sent to work on a branch that does not allow it. */
function checkAsks(story: Story): void {
  for (const { no, state, executes } of story.begins) {
    const { status } = state.header
    hold('I3', status === 'running', `step ${no} began in status ${status}`)
    if (executes.length === 0) {
      hold('P8', isAnswered(state.branch), `step ${no} asked while calls were open`)
      const said = [...viewEventsIn(state.branch.view)].filter(
        ({ event }) => event.kind !== 'MessageEvent' || renderMessage(event) !== null,
      )
      const last = said.findLast(({ event }) => event.kind !== 'SystemPromptEvent')
      const word = last !== undefined && isReply(last.event)
      hold('P8', !word, `step ${no} asked again behind the last word, ${last?.id ?? ''}`)
    } else
      hold(
        'P8',
        pendingCallCount(state.branch.pendingCalls) >= executes.length,
        `step ${no} executes what is answered`,
      )
  }
}

/** I3: what pauses, holds until somebody runs or resumes. */
function checkPauses(story: Story): void {
  const releases = [
    ...story.runs.map(({ begun }) => begun),
    ...story.done.filter(({ command }) => command.do === 'resume').map(({ begun }) => begun),
  ]
  for (const pause of story.done) {
    if (pause.command.do !== 'pause' || pause.events.length === 0) continue
    const seq = pause.events.at(-1)?.seq ?? 0
    // Whoever was about to resume, or to run in another process, when the pause came may do so after it.
    const resumes = story.done.filter(({ command }) => command.do === 'resume')
    const others = story.runs.flatMap(({ begun, engine }) => {
      const leased = story.leases.find((lease) => lease.engine === engine && lease.at > begun)
      return engine === pause.engine ? [] : [{ begun, at: leased?.at ?? Infinity }]
    })
    if ([...resumes, ...others].some(({ begun, at }) => begun < pause.at && at > pause.begun)) continue
    const until = Math.min(Infinity, ...releases.filter((at) => at > pause.begun))
    const after = story.begins.filter(({ at }) => at > pause.at && at < until)
    const own = after.find(({ engine }) => engine === pause.engine)
    hold('I3', own === undefined, `step ${own?.no ?? 0} began after the pause at ${seq}`)
    for (const run of new Set(after.map((begin) => begin.run))) {
      const begun = after.filter((begin) => begin.run === run)
      const [first] = begun
      const leased = story.leases.findLast(({ at, engine }) => engine === first?.engine && at < first.at)
      // A run that another process was about to begin when the pause came may have begun after it.
      if (leased === undefined || leased.at > pause.begun) continue
      hold('I3', begun.length <= 1, `run ${run} went on twice after the pause at ${seq} of another process`)
      const saw = first !== undefined && lengthOf(first.state) > seq
      hold('I3', !saw, `run ${run} went on after it had seen the pause at ${seq}`)
    }
  }
}

/** I4: after an interrupt nothing comes of a step that was under way; and P9: it leaves no call open. */
function checkInterrupts(story: Story, now: State): void {
  const all = entries(now)
  for (const { seq, event } of all) {
    if (event?.kind !== 'InterruptEvent') continue
    const late = all.find((entry) => {
      const isLate = entry.seq > seq && entry.event !== null && !isCutOff(entry.event)
      const begin = isLate ? yielder(story, entry) : undefined
      return begin !== undefined && lengthOf(begin.state) <= seq
    })
    hold(
      'I4',
      late === undefined,
      `event ${late?.id ?? ''} came after the interrupt at ${seq} from a step before it`,
    )
    let first = seq
    while (all[first - 1]?.event?.kind === 'AgentErrorEvent') first -= 1
    if (headerBefore(now, first).status !== 'running') continue
    const left = pendingCallCount(all[seq]?.branch.pendingCalls ?? null)
    hold('P9', left === 0, `${left} calls are open after the interrupt at ${seq}`)
  }
}

/** I4: the text so far of a step stands once, behind the interrupt that stopped it, and nothing else comes of that step. */
function checkTextSoFar(story: Story, now: State): void {
  const all = entries(now)
  for (const begin of story.begins) {
    const own = all.filter((entry) => yielder(story, entry) === begin)
    const cut = own.filter(({ event }) => event !== null && isCutOff(event))
    const from = lengthOf(begin.state)
    const stop = all.findIndex(({ seq, event }) => seq >= from && event?.kind === 'InterruptEvent')
    if (cut.length > 0) {
      hold('I4', own.length === 1, `step ${begin.no} was stopped and said more than its text so far`)
      const [{ seq, event, header }] = cut as [Entry]
      hold('I4', stop >= 0 && stop < seq, `the text of step ${begin.no} is kept without an interrupt`)
      same('I4', 'the status after a text so far', header.status, headerBefore(now, seq).status)
      same('I4', 'what it was asked at', replyOf(event as Event)?.after, begin.state.log.head?.id ?? null)
    }
    if (!begin.silent || begin.streamed === null || stop < 0) continue
    const lost = story.runs[begin.run]?.dead === true || story.ranOut.length > 0
    hold('I4', lost || cut.length === 1, `the text that step ${begin.no} had streamed is not kept`)
  }
}

/** I4: whoever interrupts while a step is under way, interrupts it. */
function checkHeard(story: Story): void {
  for (const { command, begun, at, events, outcome } of story.done) {
    if (command.do !== 'interrupt' || events.length > 0 || outcome !== null) continue
    const deaf = story.begins.find((begin) => {
      const dead = story.runs[begin.run]?.dead === true || story.ranOut.some((moment) => moment < at)
      // One that listens to nothing is left behind when its run ends.
      const end = Math.min(begin.end, story.runs[begin.run]?.end ?? 0)
      return !dead && begin.at < begun && end > at && !aborted(story, begin)
    })
    hold('I4', deaf === undefined, `an interrupt came to nothing while step ${deaf?.no ?? 0} was under way`)
  }
}

/** Whether a step was interrupted in another way. */
const aborted = (story: Story, { state, run }: Begin): boolean =>
  story.runs[run]?.aborted === true ||
  story.facts.slice(lengthOf(state)).some((fact) => 'kind' in fact && fact.kind === 'InterruptEvent')

/** I4, for leases: nothing comes of a step whose run has lost its lease to another. */
function checkLeases(story: Story, now: State): void {
  for (const entry of entries(now)) {
    const begin = yielder(story, entry)
    const lost = begin && story.leases.find(({ at, length }) => at > begin.at && length <= entry.seq)
    hold(
      'I4',
      lost === undefined,
      `event ${entry.id ?? ''} came from a run that had lost its lease at ${lost?.length ?? 0}`,
    )
  }
}

/** I2: whoever had the last word had read every message. */
function checkLastWord(story: Story, now: State): void {
  if (now.header.status !== 'finished') return
  // Where all that users have said was taken out again, nothing is left to ask a model.
  const isPrompted = [...viewEventsIn(now.branch.view)].some(
    ({ event }) => event.kind !== 'SystemPromptEvent' && event.source !== 'environment',
  )
  if (!isPrompted && now.branch.lastUserMessage !== null) return
  const path = entries(now).filter((entry) => isOnPathIn(entry, now.log.head))
  const said = path.filter(
    (entry) => entry.event !== null && isWord(entry.event) && yielder(story, entry) !== undefined,
  )
  const last = said.at(-1)
  const begin = last === undefined ? undefined : yielder(story, last)
  const read = new Set(
    begin === undefined ? [] : [...viewEventsIn(begin.state.branch.view)].map(({ id }) => id),
  )
  const forgotten = new Set(
    path.flatMap(({ event }) => (event?.kind === 'Condensation' ? (event.forgotten_event_ids ?? []) : [])),
  )
  for (const { id, event, seq } of path) {
    if (event?.kind !== 'MessageEvent' || event.source === 'agent' || id === null) continue
    // What comes from the environment when all is over wakes nobody, and nor does what says nothing.
    if (event.source !== 'user' && seq > (last?.seq ?? -1)) continue
    if (renderMessage(event) === null) continue
    const blocked = story.blockedPrompts.has(id) || forgotten.has(id)
    hold(
      'I2',
      blocked || read.has(id),
      `message ${id} was not read before the last word, ${last?.id ?? 'which nobody had'}`,
    )
  }
}

const isWord = (event: Event): boolean =>
  (event.kind === 'MessageEvent' && event.source === 'agent' && !isCutOff(event)) ||
  event.kind === 'ActionEvent'

/** I6: hooks see what they guard before it happens, and what they block does not. */
function checkHooks(story: Story, plan: Plan, now: State): void {
  if (plan.hooks === null) return
  for (const { no, state } of asks(story)) {
    for (const { id, event } of viewEventsIn(state.branch.view)) {
      if (event.kind !== 'MessageEvent' || event.source === 'agent') continue
      if (event.source === 'user')
        hold('I6', story.shown.has(id), `step ${no} asked with message ${id}, of which no hook was told`)
      const text = JSON.stringify(event.llm_message)
      hold(
        'I6',
        !plan.hooks.blocksPrompts || !text.includes(FORBIDDEN),
        `step ${no} asked with message ${id}, which was blocked`,
      )
    }
  }
  for (const { no, executes } of executions(story)) {
    const blocked = executes.find((id) => story.blockedCalls.has(id))
    hold('I6', blocked === undefined, `step ${no} executed ${blocked ?? ''}, which was blocked`)
  }
  let ended: Event | null = null
  for (const { seq, event, header } of entries(now)) {
    if (header.status === 'finished' && headerBefore(now, seq).status !== 'finished') ended = event
    if (
      header.status !== 'finished' ||
      event?.kind !== 'HookExecutionEvent' ||
      event.hook_event_type !== 'Stop'
    )
      continue
    // Whoever resumes after the last word ends it without a run.
    const byUser = ended?.kind === 'ConversationStateUpdateEvent'
    hold('I6', event.blocked !== true || byUser, `the end stood before the hook that denied it, at ${seq}`)
  }
}

/** P10: what recover() says it did, it did. */
function checkRecoveries(story: Story, now: State): void {
  for (const { command, outcome, events } of story.done) {
    if (command.do !== 'recover' || outcome !== 'recovered') continue
    const last = now.log.entries.get(events.at(-1)?.seq ?? -1)
    hold('P10', last !== undefined && isAnswered(last.branch), 'calls are open after recover()')
    same('P10', 'status after recover()', last.header.status, 'error')
  }
}

/** I5: in the end the log says what is believed, and nobody is left waiting. */
function checkEnd(story: Story, now: State): void {
  const text = encodeState(now)
  for (const state of story.states) same('I5', 'state of an engine', encodeState(state), text)
  same('I5', 'states that could be read', story.states.length, 2)
  for (const fact of story.facts) hold('I5', !isQuarantined(fact), 'the log holds what cannot be read')
  const { status } = now.header
  const lost = story.deaths.length > 0 || story.ranOut.length > 0
  hold(
    'I5',
    status !== 'running',
    lost ? 'recover() left the conversation running' : 'nothing runs, and the status is running',
  )
  for (const run of story.runs) checkRelied(story, now, run)
}

/** I5: whoever was told that it runs already may rely on it: the message that he had sent is not left lying by the run that was live. */
function checkRelied(story: Story, now: State, { no, outcome, aborted, begun, end, length }: RunStory): void {
  const misfortune = aborted || story.ranOut.some((at) => at < end) || story.deaths.some((at) => at < end)
  if (misfortune || outcome === null || ['already_running', 'lease_lost', 'threw'].includes(outcome)) return
  const at = now.log.entries.get(length - 1)
  const message = at?.branch.lastUserMessage ?? null
  const others = story.runs.filter((run) => run.no !== no && run.begun < end)
  const goesOn = others.some((run) => run.end > end)
  if (at?.header.status !== 'idle' || message === null || goesOn || story.blockedPrompts.has(message.id))
    return
  if (asks(story).some(({ state }) => lengthOf(state) > message.seq)) return
  const sent = story.done.find(({ events }) => events.some(({ seq }) => seq === message.seq))?.at ?? Infinity
  const relied = others.some(
    (run) => run.outcome === 'already_running' && run.begun > Math.max(begun, sent) && run.end < end,
  )
  hold('I5', !relied, `a run was refused because run ${no} was live, which left a message lying`)
}
