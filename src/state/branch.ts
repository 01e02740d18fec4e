import type { EventWith } from '../event/kinds.ts'
import { isWorkingResult } from '../event/completion.ts'
import type {
  ActionEvent,
  Condensation,
  ToolResultEvent,
  MessageEvent,
  ObservationEvent,
  SystemPromptEvent,
} from '../event/types.ts'
import { callIdOf, type DropReason, type Entry, type EventEntry } from '../log/entry.ts'
import { findEventIn, type Log } from '../log/log.ts'
import {
  matchResult,
  openCallOf,
  type PendingCallIndex,
  pendingCallCount,
  type WorkingCall,
  withOpenCall,
  withoutOpenCall,
} from '../log/open-calls.ts'
import { Vector } from '../log/vector.ts'
import { withResult, withCall } from '../view/batch.ts'
import { condense } from '../view/condense.ts'
import { type MessageUnit, orderAt } from '../view/units.ts'
import { emptyView, type View, withUnit } from '../view/view.ts'

/** A tool result outside the view (U3). If `reason` is null, `whyDropped` computes the reason. */
export interface DroppedEntry {
  readonly entry: Entry
  readonly reason: DropReason | null
}

interface SkillLink {
  readonly names: readonly string[]
  readonly before: SkillLink | null
}

/** The part of a state that depends on HEAD's branch (design section 3). */
export interface Branch {
  readonly view: View
  readonly pendingCalls: PendingCallIndex
  /** Background calls without a final result. Read them with `listWorkingCalls`. */
  readonly workingCalls: PendingCallIndex<WorkingCall>
  readonly systemPrompt: EventEntry<SystemPromptEvent> | null
  readonly lastUserMessage: EventEntry<MessageEvent> | null
  readonly skills: SkillLink | null
  /** Results on the path that are not in the view, in log order. Read them with `listDroppedResults`. */
  readonly dropped: Vector<DroppedEntry>
}

export const EMPTY_BRANCH: Branch = Object.freeze({
  view: emptyView(),
  pendingCalls: null,
  workingCalls: null,
  systemPrompt: null,
  lastUserMessage: null,
  skills: null,
  dropped: Vector.empty<DroppedEntry>(),
})

export const isAnswered = (branch: Branch): boolean => pendingCallCount(branch.pendingCalls) === 0

export function activatedSkillsIn(branch: Branch): string[] {
  const lists: (readonly string[])[] = []
  for (let link = branch.skills; link !== null; link = link.before) lists.push(link.names)
  return [...new Set(lists.toReversed().flat())]
}

/**
 * Returns the branch state after one more entry; the same object if nothing changes. Never throws. O(log n) for
 * n entries; O((k + r) · log n) for a Condensation that lists k ids and removes r units.
 * @param log the log before the entry
 * @param replyIndex index from `replyPlace`; null for the end of the view
 * @param completed the branch's background call that the entry completes, or null
 */
export function foldBranch(
  branch: Branch,
  entry: Entry,
  log: Log,
  replyIndex: number | null,
  completed: WorkingCall | null,
): Branch {
  const index = replyIndex ?? branch.view.units.length
  const event = entry.event
  if (event === null || entry.id === null) return branch
  // A lookup in the kind table would add the table to every bundle that folds a log.
  switch (event.kind) {
    case 'SystemPromptEvent':
    case 'MessageEvent':
    case 'CondensationSummaryEvent':
      return afterMessage(branch, entry as EventEntry<EventWith<'unit', 'message'>>, index, completed)
    case 'ActionEvent':
      return afterAction(branch, entry as EventEntry<EventWith<'unit', 'call'>>, index)
    case 'ObservationEvent':
    case 'UserRejectObservation':
    case 'AgentErrorEvent':
      return afterAnswer(branch, entry as EventEntry<EventWith<'unit', 'result'>>, log)
    case 'Condensation':
      return { ...branch, view: condense(branch.view, entry as EventEntry<Condensation>, log) }
    case 'CondensationRequest':
      return { ...branch, view: { ...branch.view, unhandledCondensationRequest: true } }
    default:
      event satisfies EventWith<'unit', null>
      return branch
  }
}

function afterMessage(
  branch: Branch,
  entry: EventEntry<EventWith<'unit', 'message'>>,
  index: number,
  completed: WorkingCall | null,
): Branch {
  const { event } = entry
  const unit: MessageUnit = {
    type: 'message',
    ...orderAt(branch.view.units, index, entry.seq),
    item: entry,
    ...(completed !== null && { completes: completed.entry }),
  }
  entry.unit = unit
  const view = withUnit(branch.view, unit, index)
  if (event.kind === 'SystemPromptEvent')
    return { ...branch, view, systemPrompt: entry as EventEntry<SystemPromptEvent> }
  if (event.kind === 'CondensationSummaryEvent') return { ...branch, view }
  const { source, activated_skills: names = [] } = event
  return {
    ...branch,
    view,
    lastUserMessage: source === 'user' ? (entry as EventEntry<MessageEvent>) : branch.lastUserMessage,
    skills: names.length === 0 ? branch.skills : { names, before: branch.skills },
    workingCalls: completed === null ? branch.workingCalls : withoutOpenCall(branch.workingCalls, completed),
  }
}

export function workingCallOf({ workingCalls }: Branch, actionId: string, log: Log): WorkingCall | undefined {
  const action = workingCalls === null ? undefined : findEventIn(log, actionId)
  if (action === undefined) return undefined
  const toolCallId = callIdOf(action)
  return toolCallId === null ? undefined : openCallOf(workingCalls, toolCallId, action.seq)
}

function afterAction(branch: Branch, entry: EventEntry<ActionEvent>, index: number): Branch {
  const { view, open } = withCall(branch.view, entry, index)
  entry.unit = open
  return { ...branch, view, pendingCalls: withOpenCall(branch.pendingCalls, open) }
}

function afterAnswer(branch: Branch, entry: EventEntry<ToolResultEvent>, log: Log): Branch {
  const call = matchResult(log, branch.pendingCalls, entry)
  if (call === null || typeof call === 'string')
    return { ...branch, dropped: branch.dropped.push({ entry, reason: call }) }
  const view = withResult(branch.view, call, entry)
  entry.unit = call
  const pendingCalls = withoutOpenCall(branch.pendingCalls, call)
  const workingCalls = isWorkingResult(entry.event)
    ? withOpenCall(branch.workingCalls, { ...call, result: entry as EventEntry<ObservationEvent> })
    : branch.workingCalls
  if (view !== undefined) return { ...branch, view, pendingCalls, workingCalls }
  // A condensation removed the call. The result ends the call, but is not in the view (U6).
  const dropped = branch.dropped.push({ entry, reason: 'orphan_result' })
  return { ...branch, pendingCalls, workingCalls, dropped }
}
