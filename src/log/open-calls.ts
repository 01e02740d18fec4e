/** An immutable index of a branch's k pending calls. Earlier versions stay valid; a change is O(log k). */

import type { ToolResultEvent, ActionEvent, ObservationEvent } from '../event/types.ts'
import { callIdOf, type DropReason, type EventEntry, isOnPathIn } from './entry.ts'
import { findEventIn, type Log } from './log.ts'
import { work } from './work.ts'

/** The fields by which an index orders a call. They are plain data, so that a header can contain them. */
export interface IndexedCall {
  readonly entry: { readonly seq: number; readonly event: { readonly tool_call_id: string } }
}

/** A call without a result. */
export interface PendingCall extends IndexedCall {
  readonly entry: EventEntry<ActionEvent>
  readonly rank: number
  readonly first: number
}

/** A call whose result is a WorkingObservation, and that no message has completed yet. */
export interface WorkingCall extends PendingCall {
  readonly result: EventEntry<ObservationEvent>
}

/** Index of calls by tool call id and position; null when empty. Read it with `listPendingCalls`. */
export type PendingCallIndex<C extends IndexedCall = PendingCall> = OpenCallNode<C> | null

interface OpenCallNode<C extends IndexedCall> {
  readonly call: C
  readonly left: PendingCallIndex<C>
  readonly right: PendingCallIndex<C>
  readonly size: number
}

export const pendingCallCount = (calls: PendingCallIndex<IndexedCall>): number => calls?.size ?? 0

/** The latest result of `listPendingCallsIn`, keyed by its argument. Each approval of a call reads this list again. */
let listed = new WeakMap<object, readonly IndexedCall[]>()

/** Lists the pending calls in log order. O(k log k), O(1) if the same index was listed last. */
export function listPendingCallsIn<C extends IndexedCall>(calls: PendingCallIndex<C>): readonly C[] {
  if (calls === null) return []
  const known = listed.get(calls) as readonly C[] | undefined
  const list = known ?? addCalls([], calls).toSorted((a, b) => a.entry.seq - b.entry.seq)
  if (known === undefined) listed = new WeakMap([[calls, list]])
  return list
}

function addCalls<C extends IndexedCall>(list: C[], calls: PendingCallIndex<C>): C[] {
  if (calls === null) return list
  work.probes += 1
  addCalls(list, calls.left).push(calls.call)
  return addCalls(list, calls.right)
}

/** Yields the pending calls in the order of their tool call ids. Lazy; O(log k) for each call read. */
export function* eachPendingCall<C extends IndexedCall>(calls: PendingCallIndex<C>): IterableIterator<C> {
  if (calls === null) return
  yield* eachPendingCall(calls.left)
  yield calls.call
  yield* eachPendingCall(calls.right)
}

export function withOpenCall<C extends IndexedCall>(
  calls: PendingCallIndex<C>,
  call: C,
): PendingCallIndex<C> {
  const [below, above] = split(calls, call)
  return merge(merge(below, join(call, null, null)), above)
}

export function withoutOpenCall<C extends IndexedCall>(
  calls: PendingCallIndex<C>,
  call: IndexedCall,
): PendingCallIndex<C> {
  const [below, above] = split(calls, call)
  return merge(below, above)
}

export function openCallOf<C extends IndexedCall>(
  calls: PendingCallIndex<C>,
  toolCallId: string,
  seq: number,
): C | undefined {
  const call = latestAtOrBefore(calls, toolCallId, seq)
  return call?.entry.seq === seq ? call : undefined
}

/** Returns the latest pending call with this tool call id (U3). O(log k). */
export function latestOpenCall(calls: PendingCallIndex, toolCallId: string): PendingCall | undefined {
  return latestAtOrBefore(calls, toolCallId, Number.POSITIVE_INFINITY)
}

function latestAtOrBefore<C extends IndexedCall>(
  calls: PendingCallIndex<C>,
  id: string,
  seq: number,
): C | undefined {
  let best: C | undefined
  for (let node = calls; node !== null;) {
    work.probes += 1
    if (compareKeys(node.call.entry, id, seq) <= 0) {
      best = node.call
      node = node.right
    } else node = node.left
  }
  return best?.entry.event.tool_call_id === id ? best : undefined
}

function compareKeys(entry: IndexedCall['entry'], id: string, seq: number): number {
  const callId = entry.event.tool_call_id
  if (callId !== id) return callId < id ? -1 : 1
  return entry.seq - seq
}

/** Returns a call's priority: a hash of its position, so that a log's author cannot choose the tree's shape. */
function priority(call: IndexedCall): number {
  let hash = Math.imul(call.entry.seq + 1, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

function join<C extends IndexedCall>(
  call: C,
  left: PendingCallIndex<C>,
  right: PendingCallIndex<C>,
): OpenCallNode<C> {
  work.slots += 1
  return { call, left, right, size: 1 + pendingCallCount(left) + pendingCallCount(right) }
}

/** Splits an index into the calls before a call and after it. Omits the call. */
function split<C extends IndexedCall>(
  calls: PendingCallIndex<C>,
  pivot: IndexedCall,
): [PendingCallIndex<C>, PendingCallIndex<C>] {
  if (calls === null) return [null, null]
  const order = compareKeys(calls.call.entry, pivot.entry.event.tool_call_id, pivot.entry.seq)
  if (order === 0) return [calls.left, calls.right]
  if (order < 0) {
    const [below, above] = split(calls.right, pivot)
    return [join(calls.call, calls.left, below), above]
  }
  const [below, above] = split(calls.left, pivot)
  return [below, join(calls.call, above, calls.right)]
}

function merge<C extends IndexedCall>(
  left: PendingCallIndex<C>,
  right: PendingCallIndex<C>,
): PendingCallIndex<C> {
  if (left === null) return right
  if (right === null) return left
  return priority(left.call) > priority(right.call)
    ? join(left.call, left.left, merge(left.right, right))
    : join(right.call, merge(left, right.left), right.right)
}

/**
 * Returns the pending call that a result ends, or why the result is dropped. Returns null if the reason depends
 * on the whole path; `listDroppedResultsIn` then finds it. The result's action id selects the call. If this id
 * is missing, or not in the log, the latest pending call with the result's tool call id is selected. O(log n).
 */
export function matchResult(
  log: Log,
  open: PendingCallIndex,
  result: EventEntry<ToolResultEvent>,
): PendingCall | DropReason | null {
  const { event } = result
  const actionId = event.kind === 'AgentErrorEvent' ? undefined : event.action_id
  const latest = latestOpenCall(open, event.tool_call_id)
  // Usually this call has the action id, so the log is not searched.
  if (latest !== undefined && latest.entry.id === actionId) return latest
  const named = actionId === undefined ? undefined : findEventIn(log, actionId)
  if (named === undefined) return latest ?? null
  const toolCallId = callIdOf(named)
  if (toolCallId === null) return 'orphan_result'
  const call = openCallOf(open, toolCallId, named.seq)
  return call ?? (isOnPathIn(named, result.parent) ? 'duplicate_result' : 'orphan_result')
}
