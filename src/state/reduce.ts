/** The reducer: a state and a fact go in, the state after it comes out. */

import type { Fact } from '../event/quarantine.ts'
import type { Entry } from '../log/entry.ts'
import { headAfter } from '../log/head.ts'
import { appendEntry, hasResponse } from '../log/log.ts'
import { place } from '../log/place.ts'
import { type Branch, emptyBranch, foldBranch } from './branch.ts'
import { foldHeader, type Header } from './header.ts'
import { branchOf, initialState, type Moment, type State, type StateOptions } from './state.ts'

/**
 * The state after one more fact: an event as `decodeEvent` gives it, or a quarantined line. Total: it never throws on a
 * decoded event, whatever stood before it, and never changes the state that it is given (law R).
 *
 * O(log n) in the length of the log, for a Condensation O(view).
 * @throws ColloquyError `not_held`, only where a snapshot or `compact` let go of the branch it would go on from: `canReduce` tells.
 * @example
 * const state = reduce(initialState(), { kind: "PauseEvent", source: "user" });
 * console.assert(state.header.status === "paused");
 */
export function reduce(state: State, fact: Fact): State {
  const { conversationId, log } = state
  const moment = unfolded(place(log, fact, conversationId), state.header)
  if (moment.stands) moment.branch = foldBranch(branchOf(moment.parent), moment, log)
  const { head, moved, report } = headAfter(log, moment)
  if (report !== null) moment.reports = [...moment.reports, report]
  const branch = branchOf(head)
  moment.header = headerAfter(state, moment, branch, moved)
  return {
    conversationId,
    header: moment.header,
    log: appendEntry(log, moment as Moment, head as Moment | null),
    branch,
  }
}

/**
 * The state after all facts, folded one by one with `reduce` (law R).
 * @example
 * const state = replay([{ kind: "PauseEvent" }, { kind: "InterruptEvent" }]);
 * console.assert(state.log.entries.length === 2);
 */
export function replay(facts: Iterable<Fact>, options: StateOptions = {}): State {
  let state = initialState(options)
  for (const fact of facts) state = reduce(state, fact)
  return state
}

/** A moment that is still being worked out; nobody else has seen it. */
type Unfolded = { -readonly [K in keyof Moment]: Moment[K] }

/** The entry as a moment: the branch must hold the very object that will hold the branch, so it comes first. */
function unfolded(entry: Entry, header: Header): Unfolded {
  return {
    seq: entry.seq,
    id: entry.id,
    event: entry.event,
    quarantined: entry.quarantined,
    timestamp: entry.timestamp,
    stands: entry.stands,
    canBeHead: entry.canBeHead,
    parent: entry.parent,
    depth: entry.depth,
    jump: entry.jump,
    above: entry.above,
    reports: entry.reports,
    header,
    branch: emptyBranch(),
  }
}

function headerAfter(state: State, entry: Entry, branch: Branch, moved: boolean): Header {
  const { event, id } = entry
  if (event === null || id === null || !entry.stands) return state.header
  // Only a pause asks, so that the rest of the log is not searched for nothing.
  const asks = state.header.status === 'paused' && event.kind === 'ActionEvent'
  const newResponse = asks && !hasResponse(state.log, event.llm_response_id)
  return foldHeader(state.header, { event, id, branch, moved, newResponse })
}
