/** Why a tool result ended no call that the view holds (U3). */

import { isToolResult } from '../event/kinds.ts'
import { quote } from '../event/quote.ts'
import type { ToolResultEvent } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import { callIdOf, type Entry, type EventEntry } from '../log/entry.ts'
import { findEventIn, logPrefix } from '../log/log.ts'
import { openCallOf } from '../log/open-calls.ts'
import { matchResult } from '../log/pairing.ts'
import { whyDropped } from '../state/dropped.ts'
import { branchOf, type Checkpoint, type State } from '../state/state.ts'
import type { Reason, VerdictCode } from './explanation.ts'
import { firstWhere, pathBetween } from './path.ts'
import { takenOut } from './taken-out.ts'

/** A verdict, and the event without which it would be another. */
export interface Judged {
  readonly verdict: Reason<VerdictCode>
  readonly removedBy: string | null
}

/** What the fold said of a result when it came; null for what ended a call of the view, or is none. O(path). */
export function judgeResult(state: State, entry: Checkpoint): Judged | null {
  const dropped = entry.branch.dropped.last()
  if (!isResult(entry) || dropped?.entry.seq !== entry.seq) return null
  const before = branchOf(entry.parent)
  const match = matchResult(logPrefix(state.log, entry.seq, null), before.pendingCalls, entry)
  if (match !== null && typeof match === 'object') {
    const out = takenOut(
      { entry: match.entry as EventEntry & Checkpoint, id: match.entry.id, derived: false },
      entry,
    )
    const by = out?.by.id ?? null
    const text = `its call ${quote(match.entry.id)} was taken out of the view by the condensation ${quote(by)} before this result came`
    return {
      verdict: { code: 'late_result', rule: 'U6', law: null, text, ids: idsOf(match.entry.id, by) },
      removedBy: by,
    }
  }
  return whyDropped(state.log, dropped) === 'duplicate_result'
    ? secondResult(state, entry)
    : strayResult(state, entry)
}

function secondResult(state: State, entry: ResultEntry): Judged {
  const call = callOf(state, entry)
  const first = call === null ? null : resultOf(call, entry)
  const which = call === null ? 'its call' : `the call ${quote(call.id)}`
  const text = `${which} has the result ${quote(first?.id ?? null)} already`
  return {
    verdict: { code: 'duplicate_result', rule: 'U3', law: 'P4', text, ids: idsOf(call?.id, first?.id) },
    removedBy: first?.id ?? null,
  }
}

function strayResult({ log }: State, { event, parent }: ResultEntry): Judged {
  const named = event.kind === 'AgentErrorEvent' ? undefined : findEventIn(log, event.action_id)
  if (named === undefined || named.id === null)
    return stray(`no call with the id ${quote(event.tool_call_id)} stands before it on its branch`)
  if (callIdOf(named) === null) return stray(`it names ${quote(named.id)}, which is no call`, named.id)
  const where = isOnPathIn(named, parent) ? 'above it' : 'on another branch'
  return stray(`its call ${quote(named.id)} is ${where}`, named.id)
}

const stray = (text: string, ...ids: readonly string[]): Judged => ({
  verdict: { code: 'orphan_result', rule: 'U3', law: 'P4', text, ids },
  removedBy: null,
})

/** The call that a second result is about: the one that it names, else the latest above it with its tool call id. */
function callOf({ log }: State, { event, parent }: ResultEntry): Checkpoint | null {
  const named = event.kind === 'AgentErrorEvent' ? undefined : findEventIn(log, event.action_id)
  if (named !== undefined) return named
  for (let at: Entry | null = parent; at !== null; at = at.parent)
    if (callIdOf(at) === event.tool_call_id) return at as Checkpoint
  return null
}

/** The result that ended a call on the path down to an entry; null while it is pending there. O(path). */
export function resultOf(call: Entry, below: Entry): Checkpoint | null {
  const toolCallId = callIdOf(call)
  if (toolCallId === null) return null
  const isEnded = ({ branch }: Checkpoint): boolean =>
    openCallOf(branch.pendingCalls, toolCallId, call.seq) === undefined
  return firstWhere(pathBetween(call, below), isEnded) ?? null
}

type ResultEntry = EventEntry<ToolResultEvent>

const isResult = (entry: Entry): entry is Checkpoint & ResultEntry =>
  entry.event !== null && isToolResult(entry.event)

const idsOf = (...ids: readonly (string | null | undefined)[]): string[] =>
  ids.flatMap((id) => (typeof id === 'string' ? [id] : []))
