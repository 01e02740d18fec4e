import type { CallProgress, WorkingObservation } from '../event/completion.ts'
import { canonicalJson } from '../event/encode.ts'
import type { JsonValue } from '../event/shapes.ts'
import type { ActionEvent, ObservationEvent, ToolResultEvent } from '../event/types.ts'
import type { Entry, EventEntry, LogWarning } from '../log/entry.ts'
import { eventKindOf, isOnPathIn, pathToEntry } from '../log/entry.ts'
import { findEventIn, listWarningsIn, logPrefix } from '../log/log.ts'
import { listPendingCallsIn, matchResult, type PendingCall } from '../log/open-calls.ts'
import { type BatchUnit, isPending, type Unit, unitEvents, type ViewItem } from '../view/units.ts'
import { cutPointsIn, listPendingBatchesIn, viewEventsIn } from '../view/view.ts'
import { entryOf, listLeavesIn } from './at.ts'
import { activatedSkillsIn } from './branch.ts'
import { type DroppedResult, listDroppedResultsIn } from './dropped.ts'
import { progressIn } from './header.ts'
import { branchOf, type State } from './state.ts'

/**
 * Returns the entry of the event with this id, on any branch, or undefined. O(log n).
 * @example
 * findEvent(replay([{ kind: 'PauseEvent', id: 'a' }]), 'a').seq // 0
 */
export function findEvent(state: State, id: string): Entry | undefined {
  return findEventIn(state.log, id)
}

/**
 * Returns the entries from the root to an event (default: HEAD), including the event. Empty if `eventId` is
 * null. O(depth).
 * @throws ColloquyError `unknown_event` when the event is not in the tree.
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'a' }, { kind: 'PauseEvent', id: 'b' }])
 * pathTo(state).map((entry) => entry.id) // ['a', 'b']
 * pathTo(state, 'a').length // 1
 */
export function pathTo(state: State, eventId?: string | null): Entry[] {
  return pathToEntry(entryAt(state, eventId))
}

/**
 * Whether an event is on the path to another event, or is that event. Default: the path to HEAD. O(log
 * depth).
 * @throws ColloquyError `unknown_event` when one of the events is not in the tree.
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'a' }, { kind: 'PauseEvent', id: 'b' }])
 * isOnPath(state, 'a') // true
 * isOnPath(state, 'b', 'a') // false
 */
export function isOnPath(state: State, eventId: string, leafId?: string | null): boolean {
  return isOnPathIn(entryOf(state.log, eventId), entryAt(state, leafId))
}

const entryAt = (state: State, id: string | null | undefined): Entry | null =>
  id === undefined ? state.log.head : id === null ? null : entryOf(state.log, id)

/**
 * Returns the last event of each branch, in log order. O(n).
 * @example
 * const a = { kind: 'PauseEvent', id: 'a' }
 * const state = replay([a, { ...a, id: 'b', parent_id: 'a' }, { ...a, id: 'c', parent_id: 'a' }])
 * listLeaves(state).map((entry) => entry.id) // ['b', 'c']
 */
export function listLeaves(state: State): Entry[] {
  return listLeavesIn(state.log)
}

/** A path through the tree, from a root to the last event of a branch. */
export interface BranchInfo {
  /** Id of the last event on the path. */
  readonly leafId: string
  /** Number of events on the path. */
  readonly length: number
  /** Whether HEAD is on the path. */
  readonly holdsHead: boolean
}

/**
 * Returns the branches, in the order of their last events in the log. O(n + branches · log n).
 * @example
 * const a = { kind: 'PauseEvent', id: 'a' }
 * const state = replay([a, { ...a, id: 'b', parent_id: 'a' }, { ...a, id: 'c', parent_id: 'a' }])
 * listBranches(state) // [{ leafId: 'b', length: 2, holdsHead: false }, { leafId: 'c', length: 2, holdsHead: true }]
 */
export function listBranches({ log }: State): BranchInfo[] {
  const { head } = log
  return listLeavesIn(log).flatMap((leaf) =>
    leaf.id === null
      ? []
      : [{ leafId: leaf.id, length: leaf.depth + 1, holdsHead: head !== null && isOnPathIn(head, leaf) }],
  )
}

/**
 * Returns a warning for each entry that replay repaired or left out, in log order. O(n), or O(warnings) for a
 * state from a snapshot.
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'a' }, { kind: 'PauseEvent', id: 'a' }])
 * listWarnings(state).map((warning) => warning.code) // ['duplicate_id']
 */
export function listWarnings(state: State): LogWarning[] {
  return listWarningsIn(state.log)
}

/**
 * Returns the calls on HEAD's branch that have no result, in log order, even if a condensation removed them
 * from the view. O(k log k) for k pending calls.
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], tool_name: 'ls', tool_call_id: 'c',
 *   tool_call: call, llm_response_id: 'r' }
 * listPendingCalls(replay([action])).map(({ entry }) => entry.id) // ['a']
 */
export function listPendingCalls(state: State): PendingCall[] {
  return [...listPendingCallsIn(state.branch.pendingCalls)]
}

/**
 * Returns the pending calls on HEAD's branch that can be executed (their `action` is not null), in log order.
 * O(k log k) for k pending calls.
 * @example
 * const tool_call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const call = { kind: 'ActionEvent', thought: [], tool_name: 'ls', tool_call_id: 'c', tool_call,
 *   llm_response_id: 'r' }
 * const state = replay([{ ...call, id: 'a', action: { kind: 'LsAction' } }, { ...call, id: 'b',
 *   tool_call_id: 'd', action: null }])
 * listRunnableCalls(state).map(({ id }) => id) // ['a']
 */
export const listRunnableCalls = ({ branch }: State): EventEntry<ActionEvent>[] =>
  listPendingCallsIn(branch.pendingCalls).flatMap(({ entry }) =>
    (entry.event.action ?? null) === null ? [] : [entry],
  )

/** A background call without its final result, with its latest progress. */
export interface WorkingCallInfo {
  readonly action: EventEntry<ActionEvent>
  readonly result: EventEntry<ObservationEvent>
  readonly task: JsonValue
  readonly progress: CallProgress | null
}

/**
 * Returns the background calls on HEAD's branch that have no final result, in log order. The first result of
 * such a call is a WorkingObservation, and no message has completed the call. O(k log k) for k calls.
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], tool_name: 'ls', tool_call_id: 'c',
 *   tool_call: call, llm_response_id: 'r' }
 * const result = { kind: 'ObservationEvent', action_id: 'a', tool_name: 'ls', tool_call_id: 'c',
 *   observation: { kind: 'WorkingObservation', task: 7 } }
 * listWorkingCalls(replay([action, result])).map(({ action, task }) => [action.id, task]) // [['a', 7]]
 */
export function listWorkingCalls({ branch, header }: State): WorkingCallInfo[] {
  return listPendingCallsIn(branch.workingCalls).map((call) => {
    const { entry: action, result } = call
    const progress = progressIn(header.callProgress, call)
    const { task = null } = result.event.observation as WorkingObservation
    return { action, result, task: progress?.task ?? task, progress }
  })
}

/**
 * Yields the events of HEAD's view, in order (U9). O(events read).
 * @example
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * [...viewEvents(state)].map((item) => item.id) // ['m']
 */
export function viewEvents(state: State): IterableIterator<ViewItem> {
  return viewEventsIn(state.branch.view)
}

/**
 * Returns the tool batches that contain a call without a result, in order. They are not in the view (U4).
 * O(units).
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], tool_name: 'ls', tool_call_id: 'c',
 *   tool_call: call, llm_response_id: 'r' }
 * listPendingBatches(replay([action])).length // 1
 */
export function listPendingBatches(state: State): BatchUnit[] {
  return listPendingBatchesIn(state.branch.view)
}

/**
 * Returns the indices in the view at which a condensation may begin or end (U8), ascending, including 0 and
 * the view's length. O(units).
 * @example
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * cutPoints(state) // [0, 1]
 */
export function cutPoints(state: State): number[] {
  return cutPointsIn(state.branch.view)
}

/**
 * Returns the tool results on HEAD's path that were dropped, in log order. `duplicate_result`: the call
 * already had a result. `orphan_result`: the call is not on the branch, or a condensation removed it. O(path),
 * or O(1) if no result was dropped.
 * @example
 * const state = replay([{ kind: 'AgentErrorEvent', id: 'e', tool_name: 'ls', tool_call_id: 'c', error: 'no' }])
 * listDroppedResults(state) // [{ id: 'e', reason: 'orphan_result' }]
 */
export function listDroppedResults(state: State): DroppedResult[] {
  return listDroppedResultsIn(state.branch)
}

/**
 * Returns the names of the skills that messages on HEAD's branch activated, each once, in order.
 * O(activations).
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const state = replay([{ kind: 'MessageEvent', source: 'user', llm_message, activated_skills: ['git'] }])
 * activatedSkills(state) // ['git']
 */
export function activatedSkills(state: State): string[] {
  return activatedSkillsIn(state.branch)
}

/**
 * Returns a function that maps a result on HEAD's branch to the position of its call, or to null if the
 * result ends no call. O(view), and O(log n) per result. The function throws ColloquyError `evicted` if a
 * snapshot or `evict` left out the branch state before the result.
 */
export function callsEnded({ log, branch }: State): (result: EventEntry<ToolResultEvent>) => number | null {
  const calls = new Map<number, number>()
  for (const unit of branch.view.units) {
    if (unit.type === 'batch') for (const { entry, call } of unit.results) calls.set(entry.seq, call.seq)
  }
  return (result) => {
    const known = calls.get(result.seq)
    if (known !== undefined) return known
    // The result is not in the view: match it as the fold did.
    const match = matchResult(logPrefix(log, result.seq, null), branchOf(result.parent).pendingCalls, result)
    return match === null || typeof match === 'string' ? null : match.entry.seq
  }
}

/**
 * Returns a state as canonical JSON, to compare states. The JSON contains the header, HEAD, the log without
 * bodies, the warnings and HEAD's branch. O(n).
 * @example
 * const fact = { kind: 'PauseEvent', id: 'p' }
 * encodeState(reduce(initialState(), fact)) === encodeState(replay([fact])) // true
 */
export function encodeState(state: State): string {
  const { branch, header, log } = state
  return canonicalJson({
    conversation_id: state.conversationId,
    header,
    head: log.head?.seq ?? null,
    entries: [...log.entries].map((entry) => [
      entry.id,
      entry.inTree ? (entry.parent?.seq ?? null) : 'out',
      eventKindOf(entry),
      entry.timestamp,
    ]),
    warnings: listWarningsIn(log),
    units: [...branch.view.units].map(encodeUnit),
    view_length: branch.view.length,
    cut_points: cutPointsIn(branch.view),
    unhandled_condensation_request: branch.view.unhandledCondensationRequest,
    open_calls: listPendingCallsIn(branch.pendingCalls).map((call) => call.entry.seq),
    working_calls: listPendingCallsIn(branch.workingCalls).map(({ entry, result }) => [
      entry.seq,
      result.seq,
    ]),
    system_prompt: branch.systemPrompt?.seq ?? null,
    last_user_message: branch.lastUserMessage?.seq ?? null,
    activated_skills: activatedSkillsIn(branch),
    dropped: listDroppedResultsIn(branch),
  })
}

/** Encodes a unit as the ids of its events. A derived summary has no id, and is encoded as its body. */
function encodeUnit(unit: Unit): unknown {
  if (unit.type === 'message') {
    if (unit.completes !== undefined) return { message: unit.item.id, completes: unit.completes.seq }
    return 'seq' in unit.item ? unit.item.id : unit.item.event
  }
  return { pending: isPending(unit), items: [...unitEvents(unit)].map((item) => item.id) }
}
