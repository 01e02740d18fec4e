/** Why a tool result ended no call that the view holds (U3). */

import { isToolResult } from '../event/kinds.ts'
import { quote } from '../event/text.ts'
import type { ToolResultEvent } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import { callIdOf, type Entry, type EventEntry, responseIdOf } from '../log/entry.ts'
import { findEventIn, type Log, logPrefix } from '../log/log.ts'
import { matchResult } from '../log/open-calls.ts'
import { whyDropped } from '../state/dropped.ts'
import { branchOf, type Checkpoint, type State } from '../state/state.ts'
import { isPending } from '../view/unit.ts'
import type { Reason, VerdictCode } from './explanation.ts'
import { pathBetween } from './path.ts'
import { callsOfReplies, resultOf } from './results.ts'
import { findUnit } from './subject.ts'
import { isListed, takenOut, wouldBeShown } from './taken-out.ts'

/** A verdict, and the event without which it would be another. */
export interface Judged {
  readonly verdict: Reason<VerdictCode>
  readonly removedBy: string | null
  /** The call that a late result ended; null for a result that ended none. */
  readonly call: string | null
}

/**
 * What the fold said of a result when it came; null for what ended a call of the view, or is none. O(path).
 * @param below the end of its branch, from which it is looked at
 */
export function judgeResult(state: State, entry: Checkpoint, below: Entry = entry): Judged | null {
  const dropped = entry.branch.dropped.last()
  if (!isResult(entry) || dropped?.entry.seq !== entry.seq) return null
  const before = branchOf(entry.parent)
  const match = matchResult(logBefore(state, entry), before.pendingCalls, entry)
  if (match !== null && typeof match === 'object') {
    const out = takenOut(
      { entry: match.entry as EventEntry & Checkpoint, id: match.entry.id, derived: false },
      below,
    )
    const by = out?.by.id ?? null
    const text = `its call ${quote(match.entry.id)} was taken out of the view by the condensation ${quote(by)} before this result came`
    return {
      verdict: { code: 'late_result', rule: 'U6', law: null, text, ids: idsOf(match.entry.id, by) },
      removedBy: out !== null && wouldBeShown(out, below) ? by : null,
      call: match.entry.id,
    }
  }
  return whyDropped(state.log, dropped) === 'duplicate_result'
    ? secondResult(state, entry, below)
    : strayResult(state, entry)
}

/**
 * Whether no other result came for a call between its first one and this one, nor one that names no call and would have
 * ended this one. O(path + dropped results · path).
 */
function isNext(state: State, { parent }: ResultEntry, call: Entry, first: Entry): boolean {
  for (const { entry } of branchOf(parent).dropped)
    if (entry.seq > first.seq && isResult(entry) && callOf(state, entry)?.seq === call.seq) return false
  return !pathBetween(first, parent).some(
    (one) =>
      one !== first &&
      isResult(one) &&
      one.event.tool_call_id === callIdOf(call) &&
      namedBy(logBefore(state, one), one) === undefined,
  )
}

/** Whether the view at an entry has the batch of a call, and would have it with another result. O(path + view). */
function isShown(call: Entry, result: Entry, below: Entry): boolean {
  const path = pathBetween(call, below)
  // Until the later result comes, calls that began a batch of their own may join this one.
  const mates = callsOfReplies([responseIdOf(call)], path, below)
  if (mates === null || isListed([result, ...mates], path)) return false
  const subject = { entry: call as Checkpoint, id: call.id, derived: false }
  const unit = findUnit(branchOf(below).view, subject)
  return unit !== undefined && !isPending(unit)
}

/** The log as the fold had it when an entry came: what stands behind it was not known. */
const logBefore = ({ log }: State, { seq }: Entry): Log => logPrefix(log, seq, null)

function secondResult(state: State, entry: ResultEntry, below: Entry): Judged {
  const call = callOf(state, entry)
  const first = call === null ? null : resultOf(call, entry)
  const which = call === null ? 'its call' : `the call ${quote(call.id)}`
  const text = `${which} has the result ${quote(first?.id ?? null)} already`
  return {
    verdict: { code: 'duplicate_result', rule: 'U3', law: 'P4', text, ids: idsOf(call?.id, first?.id) },
    removedBy:
      call !== null && first !== null && isNext(state, entry, call, first) && isShown(call, entry, below)
        ? first.id
        : null,
    call: null,
  }
}

function strayResult(state: State, entry: ResultEntry): Judged {
  const { event, parent } = entry
  const named = namedBy(logBefore(state, entry), entry)
  if (named === undefined || named.id === null) {
    const later = namedBy(state.log, entry)
    return later === undefined || later.id === null || callIdOf(later) === null
      ? stray(`no call with the id ${quote(event.tool_call_id)} stands before it on its branch`)
      : stray(`its call ${quote(later.id)} comes later in the log`, later.id)
  }
  if (callIdOf(named) === null) return stray(`it names ${quote(named.id)}, which is no call`, named.id)
  const where = isOnPathIn(named, parent) ? 'above it' : 'on another branch'
  return stray(`its call ${quote(named.id)} is ${where}`, named.id)
}

const stray = (text: string, ...ids: readonly string[]): Judged => ({
  verdict: { code: 'orphan_result', rule: 'U3', law: 'P4', text, ids },
  removedBy: null,
  call: null,
})

/** The event that a result names as its call. */
const namedBy = (log: Log, { event }: ResultEntry): Entry | undefined =>
  event.kind === 'AgentErrorEvent' ? undefined : findEventIn(log, event.action_id)

/** The call that a second result is about: the one that it names, else the latest above it with its tool call id. */
function callOf(state: State, entry: ResultEntry): Entry | null {
  const named = namedBy(logBefore(state, entry), entry)
  if (named !== undefined) return named
  for (let at: Entry | null = entry.parent; at !== null; at = at.parent)
    if (callIdOf(at) === entry.event.tool_call_id) return at
  return null
}

type ResultEntry = EventEntry<ToolResultEvent>

const isResult = <E extends Entry>(entry: E): entry is E & ResultEntry =>
  entry.event !== null && isToolResult(entry.event)

const idsOf = (...ids: readonly (string | null | undefined)[]): string[] =>
  ids.flatMap((id) => (typeof id === 'string' ? [id] : []))
