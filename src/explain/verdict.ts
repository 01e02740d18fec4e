/** Decides from the results of the fold whether an event is in the view, and what keeps it out. */

import { type EventKind, isToolResult, KINDS } from '../event/kinds.ts'
import { quote } from '../event/text.ts'
import type { Entry, EventEntry } from '../log/entry.ts'
import { callIdOf, isOnPathIn, kindOf, loadedEvent, responseIdOf } from '../log/entry.ts'
import { findCall, findEventIn, type Log, logPrefix } from '../log/log.ts'
import type { Branch } from '../state/branch.ts'
import { branchOf, type Checkpoint, type State } from '../state/state.ts'
import { isPending, type Unit, unitEvents } from '../view/units.ts'
import type { Reason, VerdictCode } from './explanation.ts'
import {
  callsOfReplies,
  describeParent,
  headMoves,
  isOfReplies,
  pathBetween,
  repliesOf,
  resultOfCall,
  wouldFollow,
} from './path.ts'
import type { Leaving } from './path.ts'
import { findUnit, type Subject } from './subject.ts'
import { isListed, stretchOf, findRemoval, wouldBeInView } from './removal.ts'
import type { ToolResultEvent } from '../event/types.ts'
import { matchResult } from '../log/open-calls.ts'
import { whyDropped } from '../state/dropped.ts'

export interface Verdict {
  readonly reason: Reason<VerdictCode>
  readonly removedBy: string | null
  readonly position: UnitPosition | null
  readonly lateFor: string | null
}

export interface UnitPosition {
  readonly unit: Unit
  readonly branch: Branch
  readonly end: Checkpoint
}

export function verdictOf(state: State, subject: Subject): Verdict {
  const { entry, derived } = subject
  const event = loadedEvent(entry, Object.keys(KINDS) as EventKind[])
  if (event === null) return out('quarantined', 'D16', 'E2', 'the line is not an event')
  if (!entry.inTree) {
    const first = findEventIn(state.log, entry.id ?? '')
    const mayBeShown = KINDS[event.kind].unit !== null
    const text = `the event at position ${first?.seq ?? 0} already has its id`
    return out('repeated_id', 'D8', 'T6', text, presentIds(entry.id), mayBeShown ? entry.id : null)
  }
  const unit = derived ? 'message' : KINDS[event.kind].unit
  if (unit !== 'message' && unit !== 'call' && unit !== 'result')
    return out('no_unit', 'U1', null, `${kindOf(entry) ?? 'its kind'} never enters a view`)
  const { head } = state.log
  if (head === null || !isOnPathIn(entry, head)) return elsewhere(state, subject)
  return onPath(state, subject, head as Checkpoint)
}

function onPath(state: State, subject: Subject, head: Checkpoint): Verdict {
  const { branch } = head
  const unit = findUnit(branch.view, subject)
  if (unit !== undefined) return inView(unit, { unit, branch, end: head })
  const dropped = judgeResult(state, subject.entry, head)
  if (dropped !== null)
    return { reason: dropped.verdict, removedBy: dropped.removedBy, position: null, lateFor: dropped.call }
  const removal = findRemoval(subject, head)
  if (removal === null) return out('no_unit', 'U1', null, 'it never entered the view')
  const removedBy = wouldBeInView(removal, head) ? removal.by.id : null
  const position = { unit: removal.unit, branch: removal.branch, end: head }
  return { reason: removal.verdict, removedBy, position, lateFor: null }
}

function inView(unit: Unit, position: UnitPosition): Verdict {
  if (unit.type === 'message') return { ...out('unit', 'U1', null, 'the view contains it'), position }
  const calls = [...unit.calls]
  if (!isPending(unit)) {
    const status =
      calls.length === 1 ? 'its call has its result' : `all ${calls.length} calls have their results`
    const text = `the view contains the batch of its reply: ${status}`
    return { ...out('batch', 'U2', null, text), position }
  }
  const ended = new Set(Array.from(unit.results, ({ call }) => call.seq))
  const waiting = calls.flatMap(({ seq, id }) => (ended.has(seq) ? [] : [id]))
  const more = waiting.length > 1 ? ` and ${waiting.length - 1} more` : ''
  const text = `its batch waits for the result of the call ${quote(waiting[0] ?? null)}${more}`
  return { ...out('pending', 'U4', null, text, waiting), position }
}

function elsewhere(state: State, subject: Subject): Verdict {
  const { entry } = subject
  const remaining = headMoves(state, entry.seq)(entry)
  const by = remaining?.by ?? null
  const id = by?.id ?? null
  const end = lastBelow(state, entry)
  const atEnd = end === null ? null : onPath(state, subject, end)
  const removedBy = remaining !== null && wouldStay(state, subject, remaining) ? id : null
  const verdict = out('other_branch', 'D7', null, whereHeadIs(state, entry, by), presentIds(id), removedBy)
  return { ...verdict, position: atEnd?.position ?? null, lateFor: atEnd?.lateFor ?? null }
}

/** Whether the event would be in the view if HEAD had not left the event's branch. */
function wouldStay(state: State, subject: Subject, { by, from }: Leaving): boolean {
  const { reason, position } = onPath(state, subject, from)
  if (position === null || (reason.code !== 'unit' && reason.code !== 'batch')) return false
  const later = wouldFollow(state, subject.entry, by)
  if (later === null) return false
  const stretch = stretchOf([...position.branch.view.units], position.unit)
  // No path shows whether a later call of the same reply would have joined the batch.
  if (later.some((entry) => isOfReplies(repliesOf(stretch), entry))) return false
  const events = stretch.flatMap((unit) => [...unitEvents(unit)])
  return !isListed(events, later)
}

function whereHeadIs({ log: { head } }: State, entry: Entry, by: Entry | null): string {
  const move = by?.event?.kind === 'ConversationStateUpdateEvent' ? by.event : null
  if (head === null || isOnPathIn(head, entry))
    return move !== null && move.value === (head?.id ?? null)
      ? `HEAD was moved before it by ${quote(by?.id ?? null)}`
      : 'HEAD is before it'
  if (by === null) return 'HEAD is on another branch'
  if (move !== null) return `HEAD was moved to another branch by ${quote(by.id)}`
  return `HEAD went to another branch with ${quote(by.id)}, which ${describeParent(by)}`
}

function lastBelow({ log }: State, entry: Checkpoint): Checkpoint | null {
  for (let seq = log.entries.length - 1; seq >= entry.seq; seq -= 1) {
    const one = log.entries.get(seq) as Checkpoint
    if (one.canBeHead && isOnPathIn(entry, one)) return one
  }
  return null
}

function out(
  code: VerdictCode,
  rule: string,
  law: string | null,
  text: string,
  ids: readonly string[] = [],
  removedBy: string | null = null,
): Verdict {
  return { reason: { code, rule, law, text, ids }, removedBy, position: null, lateFor: null }
}

interface Judged {
  readonly verdict: Reason<VerdictCode>
  readonly removedBy: string | null
  readonly call: string | null
}

/**
 * Returns why the fold dropped a result on arrival; null if the result ended a call of the view, or the entry
 * is not a result. `below` is the end of the entry's branch.
 */
export function judgeResult(state: State, entry: Checkpoint, below: Entry = entry): Judged | null {
  const dropped = entry.branch.dropped.last()
  if (!isResultEntry(entry) || dropped?.entry.seq !== entry.seq) return null
  const before = branchOf(entry.parent)
  const match = matchResult(logBefore(state, entry), before.pendingCalls, entry)
  if (match !== null && typeof match === 'object') {
    const out = findRemoval(
      { entry: match.entry as EventEntry & Checkpoint, id: match.entry.id, derived: false },
      below,
    )
    const by = out?.by.id ?? null
    const text = `its call ${quote(match.entry.id)} was removed from the view by the condensation ${quote(by)} before this result arrived`
    return {
      verdict: { code: 'late_result', rule: 'U6', law: null, text, ids: presentIds(match.entry.id, by) },
      // A getter, because the value costs O(calls · path), and findings do not need the value.
      get removedBy() {
        return out !== null && wouldBeInView(out, below) ? by : null
      },
      call: match.entry.id,
    }
  }
  return whyDropped(state.log, dropped) === 'duplicate_result'
    ? secondResult(state, entry, below)
    : strayResult(state, entry)
}

/** Whether this later result would end the call if the call's first result were missing. */
function isNext(state: State, { parent }: ResultEntry, call: Entry, first: Entry): boolean {
  for (const { entry } of branchOf(parent).dropped)
    if (entry.seq > first.seq && isResultEntry(entry) && callOfResult(state, entry)?.seq === call.seq)
      return false
  return !pathBetween(first, parent).some(
    (one) =>
      one !== first &&
      isResultEntry(one) &&
      one.event.tool_call_id === callIdOf(call) &&
      namedBy(logBefore(state, one), one) === undefined,
  )
}

/** Whether the view at `below` would contain the batch of `call` if `result` ended the call. */
function isShown(call: Entry, result: Entry, below: Entry): boolean {
  const path = pathBetween(call, below)
  // The batch would have stayed open until `result`, so later calls of its reply would have joined it.
  const mates = callsOfReplies([responseIdOf(call)], path, below)
  if (mates === null || isListed([result, ...mates], path)) return false
  const subject = { entry: call as Checkpoint, id: call.id, derived: false }
  const unit = findUnit(branchOf(below).view, subject)
  return unit !== undefined && !isPending(unit)
}

const logBefore = ({ log }: State, { seq }: Entry): Log => logPrefix(log, seq, null)

function secondResult(state: State, entry: ResultEntry, below: Entry): Judged {
  const call = callOfResult(state, entry)
  const first = call === null ? null : resultOfCall(call, entry)
  const which = call === null ? 'its call' : `the call ${quote(call.id)}`
  const text = `${which} already has the result ${quote(first?.id ?? null)}`
  return {
    verdict: { code: 'duplicate_result', rule: 'U3', law: 'P4', text, ids: presentIds(call?.id, first?.id) },
    // A getter, because the value costs O(results · path), and findings do not need the value.
    get removedBy() {
      const isCause =
        call !== null && first !== null && isNext(state, entry, call, first) && isShown(call, entry, below)
      return isCause ? first.id : null
    },
    call: null,
  }
}

function strayResult(state: State, entry: ResultEntry): Judged {
  const { event, parent } = entry
  const named = namedBy(logBefore(state, entry), entry)
  if (named === undefined || named.id === null) {
    const later = namedBy(state.log, entry)
    return later === undefined || later.id === null || callIdOf(later) === null
      ? stray(`no call with the id ${quote(event.tool_call_id)} is before it on its branch`)
      : stray(`its call ${quote(later.id)} is later in the log`, later.id)
  }
  if (callIdOf(named) === null) return stray(`it names ${quote(named.id)}, which is not a call`, named.id)
  const where = isOnPathIn(named, parent) ? 'above it' : 'on another branch'
  return stray(`its call ${quote(named.id)} is ${where}`, named.id)
}

const stray = (text: string, ...ids: readonly string[]): Judged => ({
  verdict: { code: 'orphan_result', rule: 'U3', law: 'P4', text, ids },
  removedBy: null,
  call: null,
})

const namedBy = (log: Log, { event }: ResultEntry): Entry | undefined =>
  event.kind === 'AgentErrorEvent' ? undefined : findEventIn(log, event.action_id)

function callOfResult(state: State, entry: ResultEntry): Entry | null {
  const named = namedBy(logBefore(state, entry), entry)
  const isAbove = (call: Entry): boolean => isOnPathIn(call, entry.parent)
  return named ?? findCall(state.log, entry.event.tool_call_id, isAbove) ?? null
}

type ResultEntry = EventEntry<ToolResultEvent>

const isResultEntry = <E extends Entry>(entry: E): entry is E & ResultEntry =>
  entry.event !== null && isToolResult(entry.event)

const presentIds = (...ids: readonly (string | null | undefined)[]): string[] =>
  ids.flatMap((id) => (typeof id === 'string' ? [id] : []))
