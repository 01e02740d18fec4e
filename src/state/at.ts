/** Looks elsewhere than HEAD: a state and an event id go in, the state then, or the state with HEAD there, comes out. */

import { ColloquyError } from '../event/errors.ts'
import { anchorOf, type Entry } from '../log/entry.ts'
import { findEntry, type Log, logPrefix, skeletonLength } from '../log/log.ts'
import { quote } from '../log/place.ts'
import { branchOf, type Moment, type State } from './state.ts'

/**
 * The state at an event: the branch part of the path to it, the log part up to its position (law T). HEAD is the event,
 * or for a state update the event before it on its branch. O(log n): nothing is folded again.
 * @throws ColloquyError `unknown_event` when no event of the tree has this id; `not_held` when the state comes from a
 * snapshot or `compact`, which let go of what was known there: fold the whole log to look there.
 * @example
 * const state = replay([{ kind: "PauseEvent", id: "p" }, { kind: "InterruptEvent", id: "i" }]);
 * console.assert(stateAt(state, "p").log.entries.length === 1);
 */
export function stateAt(state: State, eventId: string): State {
  const entry = entryOf(state.log, eventId)
  return {
    conversationId: state.conversationId,
    header: entry.header,
    log: logPrefix(state.log, entry.seq + 1, anchorOf(entry) as Moment | null),
    branch: entry.branch,
  }
}

/**
 * The state with HEAD at another event, or at the empty HEAD for null, and nothing appended: the whole log, seen from
 * another branch. Status and error stay, as they belong to the log. O(log n).
 * @throws ColloquyError `unknown_event` when no event of the tree has this id; `not_held` when the state comes from a
 * snapshot or `compact`, which let go of that branch: fold the whole log to go there.
 * @example
 * const state = replay([{ kind: "PauseEvent", id: "p" }, { kind: "InterruptEvent", id: "i" }]);
 * console.assert(switchTo(state, "p").log.head?.id === "p");
 */
export function switchTo(state: State, eventId: string | null): State {
  const head = eventId === null ? null : (anchorOf(entryOf(state.log, eventId)) as Moment | null)
  const { conversationId, header, log } = state
  const moved = { entries: log.entries, head, index: log.index }
  return { conversationId, header, log: moved, branch: branchOf(head) }
}

/** The entry of the tree with this id. @throws ColloquyError `unknown_event`. */
export function entryOf(log: Log<Moment>, eventId: string): Moment {
  const entry = findEntry(log, eventId)
  if (entry !== undefined) return entry
  throw new ColloquyError('unknown_event', `no event ${quote(eventId)} in this conversation`, {
    event_id: eventId,
  })
}

/**
 * The ends of the branches, in log order: entries that can be HEAD with no such entry below them. O(n).
 * @example
 * const a = { kind: 'PauseEvent', id: 'a' }
 * const { log } = replay([a, { ...a, id: 'b', parent_id: 'a' }, { ...a, id: 'c', parent_id: 'a' }])
 * leaves(log).map((entry) => entry.id) // ['b', 'c']
 */
export function leaves(log: Log): Entry[] {
  const known = skeletonLength(log)
  const marks = new Uint8Array(log.entries.length)
  // An event comes after those above it, so that what was marked as an end is no end from then on.
  const mark = (seq: number, above: number) => {
    marks[seq] = END
    if (above >= 0) marks[above] = INNER
  }
  // What is only a skeleton is read as such: no object is made for it.
  log.index.skeleton?.eachReal(known, mark)
  for (const entry of log.entries.slice(known)) {
    if (entry.canBeHead) mark(entry.seq, anchorOf(entry.parent)?.seq ?? -1)
  }
  const found: Entry[] = []
  for (let seq = marks.indexOf(END); seq >= 0; seq = marks.indexOf(END, seq + 1)) {
    found.push(log.entries.get(seq) as Entry)
  }
  return found
}

const END = 1
const INNER = 2
