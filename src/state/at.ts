/**
 * Looks at a log from elsewhere than HEAD: at an earlier event, or along another branch, without folding anything
 * again.
 */

import { ColloquyError } from '../event/errors.ts'
import { anchorOf, type Entry } from '../log/entry.ts'
import { findEventIn, type Log, logPrefix, columnarLength } from '../log/log.ts'
import { quote } from '../event/text.ts'
import { branchOf, type Checkpoint, type State } from './state.ts'

/**
 * The state at an event: the branch part of the path to it, the log part up to its position (law T). HEAD is the event,
 * or for a state update the event before it on its branch. O(log n): nothing is folded again.
 * @throws ColloquyError `unknown_event` when no event of the tree has this id; `evicted` when the state comes from a
 * snapshot or `evict`, which dropped the checkpoint: replay the whole log to look there.
 * @example
 * const state = replay([{ kind: "PauseEvent", id: "p" }, { kind: "InterruptEvent", id: "i" }]);
 * console.assert(stateAt(state, "p").log.entries.length === 1);
 */
export function stateAt(state: State, eventId: string): State {
  const entry = entryOf(state.log, eventId)
  return {
    conversationId: state.conversationId,
    header: entry.header,
    log: logPrefix(state.log, entry.seq + 1, anchorOf(entry) as Checkpoint | null),
    branch: entry.branch,
  }
}

/**
 * The state with HEAD at another event, or at the empty HEAD for null, and nothing appended: the whole log, seen from
 * another branch. Status and error stay, as they belong to the log. O(log n).
 * @throws ColloquyError `unknown_event` when no event of the tree has this id; `evicted` when the state comes from a
 * snapshot or `evict`, which dropped that branch: replay the whole log to go there.
 * @example
 * const state = replay([{ kind: "PauseEvent", id: "p" }, { kind: "InterruptEvent", id: "i" }]);
 * console.assert(switchTo(state, "p").log.head?.id === "p");
 */
export function switchTo(state: State, eventId: string | null): State {
  const head = eventId === null ? null : (anchorOf(entryOf(state.log, eventId)) as Checkpoint | null)
  const { conversationId, header, log } = state
  const moved = { entries: log.entries, head, index: log.index }
  return { conversationId, header, log: moved, branch: branchOf(head) }
}

/** The entry of the tree with this id. @throws ColloquyError `unknown_event`. */
export function entryOf(log: Log<Checkpoint>, eventId: string): Checkpoint {
  const entry = findEventIn(log, eventId)
  if (entry !== undefined) return entry
  throw new ColloquyError('unknown_event', `no event ${quote(eventId)} in this conversation`, {
    event_id: eventId,
  })
}

/**
 * The ends of the branches, in log order: entries that can be HEAD with no such entry below them. O(n).
 */
export function listLeavesIn(log: Log): Entry[] {
  const known = columnarLength(log)
  const marks = new Uint8Array(log.entries.length)
  // An event comes after those above it, so that what was marked as an end is no end from then on.
  const mark = (seq: number, above: number) => {
    marks[seq] = END
    if (above >= 0) marks[above] = INNER
  }
  // What is only in the columnar log is read as such: no object is made for it.
  log.index.columns?.eachReal(known, mark)
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
