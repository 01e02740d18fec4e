import { unknownEvent } from '../event/errors.ts'
import { anchorOf, type Entry } from '../log/entry.ts'
import { findEventIn, type Log, logPrefix, columnarLength } from '../log/log.ts'
import { quote } from '../event/text.ts'
import { branchOf, type Checkpoint, type State } from './state.ts'

/**
 * Returns the state at an event. In this state, the log ends with the event, and the event is HEAD (law T4).
 * For a state update, which cannot be HEAD, HEAD is its nearest ancestor of another kind. O(log n).
 * @throws ColloquyError `unknown_event` when the event is not in the tree; `evicted` when a snapshot or
 *   `evict` left out the state at the event. To get this state, replay the whole log.
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
 * Returns the state with HEAD at another event, or with an empty HEAD for null. Log, status and error do not
 * change. O(log n).
 * @throws ColloquyError `unknown_event` when the event is not in the tree; `evicted` when a snapshot or
 *   `evict` left out the event's branch. To switch to this branch, replay the whole log.
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

export function entryOf(log: Log<Checkpoint>, eventId: string): Checkpoint {
  const entry = findEventIn(log, eventId)
  if (entry !== undefined) return entry
  throw unknownEvent(quote(eventId), { event_id: eventId })
}

/** Returns entries that can be HEAD and have no descendant that can be HEAD, in log order. O(n). */
export function listLeavesIn(log: Log): Entry[] {
  const known = columnarLength(log)
  const marks = new Uint8Array(log.entries.length)
  // A parent precedes its children in the log, so it is marked as END first, and later as INNER by a child.
  const mark = (seq: number, above: number) => {
    marks[seq] = END
    if (above >= 0) marks[above] = INNER
  }
  // Columnar entries are read in place, without creating objects.
  log.index.columns?.eachPossibleHead(known, mark)
  for (const entry of log.entries.slice(known)) {
    if (entry.canBeHead) mark(entry.seq, anchorOf(entry.parent)?.seq ?? -1)
  }
  const leaves: Entry[] = []
  for (let seq = marks.indexOf(END); seq >= 0; seq = marks.indexOf(END, seq + 1))
    leaves.push(log.entries.get(seq) as Entry)
  return leaves
}

const END = 1
const INNER = 2
