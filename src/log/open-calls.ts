/** The calls of a branch that still need an answer: actions go in, answers take them out, and every version stays valid. */

import type { ActionEvent } from '../event/types.ts'
import type { EventEntry } from './entry.ts'
import { work } from './work.ts'

/** A call without an answer, and the tool batch it belongs to. */
export interface OpenCall {
  readonly entry: EventEntry<ActionEvent>
  /** Rank of the batch in the view that holds the call; the batch may have been forgotten since. */
  readonly batch: number
}

/**
 * A persistent search tree of open calls, ordered by tool call id and position; null when none is open. A treap whose
 * priorities come from the positions: balanced however the ids were chosen, and the same for the same calls.
 */
export type OpenCalls = OpenCallNode | null

interface OpenCallNode {
  readonly call: OpenCall
  readonly left: OpenCalls
  readonly right: OpenCalls
  readonly size: number
}

/**
 * How many calls are open. O(1).
 * @example
 * openCount(initialState().branch.openCalls) // 0
 */
export const openCount = (calls: OpenCalls): number => calls?.size ?? 0

/**
 * The open calls in log order. O(k log k) for k open calls.
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const action = { kind: 'ActionEvent', id: 'a', thought: [], tool_name: 'ls', tool_call_id: 'c', tool_call: call, llm_response_id: 'r' }
 * listOpenCalls(replay([action]).branch.openCalls).map(({ entry }) => entry.id) // ['a']
 */
export function listOpenCalls(calls: OpenCalls): OpenCall[] {
  const out: OpenCall[] = []
  const stack: OpenCallNode[] = []
  for (let at = calls; at !== null || stack.length > 0;) {
    if (at !== null) {
      stack.push(at)
      at = at.left
    } else {
      const node = stack.pop() as OpenCallNode
      out.push(node.call)
      at = node.right
    }
  }
  return out.toSorted((a, b) => a.entry.seq - b.entry.seq)
}

/** The calls with one more. O(log k). */
export function withOpenCall(calls: OpenCalls, call: OpenCall): OpenCalls {
  if (calls === null) return join(call, null, null)
  if (priority(call) > priority(calls.call)) {
    const [below, above] = split(calls, call)
    return join(call, below, above)
  }
  return compare(call, calls.call) < 0
    ? join(calls.call, withOpenCall(calls.left, call), calls.right)
    : join(calls.call, calls.left, withOpenCall(calls.right, call))
}

/** The calls without this one. O(log k). */
export function withoutOpenCall(calls: OpenCalls, call: OpenCall): OpenCalls {
  if (calls === null) return null
  const order = compare(call, calls.call)
  if (order === 0) return merge(calls.left, calls.right)
  return order < 0
    ? join(calls.call, withoutOpenCall(calls.left, call), calls.right)
    : join(calls.call, calls.left, withoutOpenCall(calls.right, call))
}

/** The open call made by this action, if it is open. O(log k). */
export function openCallOf(calls: OpenCalls, toolCallId: string, seq: number): OpenCall | undefined {
  const found = latestAtOrBefore(calls, toolCallId, seq)
  return found?.entry.seq === seq ? found : undefined
}

/** The latest open call with this tool call id (U3). O(log k). */
export function latestOpenCall(calls: OpenCalls, toolCallId: string): OpenCall | undefined {
  return latestAtOrBefore(calls, toolCallId, Number.POSITIVE_INFINITY)
}

function latestAtOrBefore(calls: OpenCalls, id: string, seq: number): OpenCall | undefined {
  let best: OpenCall | undefined
  for (let at = calls; at !== null;) {
    work.probes += 1
    if (compareKeys(at.call.entry, id, seq) <= 0) {
      best = at.call
      at = at.right
    } else at = at.left
  }
  return best?.entry.event.tool_call_id === id ? best : undefined
}

function compareKeys(entry: EventEntry<ActionEvent>, id: string, seq: number): number {
  const own = entry.event.tool_call_id
  if (own !== id) return own < id ? -1 : 1
  return entry.seq - seq
}

const compare = (a: OpenCall, b: OpenCall): number =>
  compareKeys(a.entry, b.entry.event.tool_call_id, b.entry.seq)

/** A position scrambled into a priority (an integer hash): the shape depends on nothing a log's author chooses. */
function priority(call: OpenCall): number {
  let hash = Math.imul(call.entry.seq + 1, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

function join(call: OpenCall, left: OpenCalls, right: OpenCalls): OpenCallNode {
  work.slots += 1
  return { call, left, right, size: 1 + openCount(left) + openCount(right) }
}

function split(calls: OpenCalls, at: OpenCall): [OpenCalls, OpenCalls] {
  if (calls === null) return [null, null]
  if (compare(calls.call, at) < 0) {
    const [below, above] = split(calls.right, at)
    return [join(calls.call, calls.left, below), above]
  }
  const [below, above] = split(calls.left, at)
  return [below, join(calls.call, above, calls.right)]
}

function merge(left: OpenCalls, right: OpenCalls): OpenCalls {
  if (left === null) return right
  if (right === null) return left
  return priority(left.call) > priority(right.call)
    ? join(left.call, left.left, merge(left.right, right))
    : join(right.call, merge(left, right.left), right.right)
}
