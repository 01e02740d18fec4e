/** The log: facts in order, an index over them, and HEAD. */

import { work } from './work.ts'
import { callIdOf, type Entry, type LogWarning, responseIdOf } from './entry.ts'
import type { ColumnarLog } from './columnar/columnar-log.ts'
import { lazyVector, Vector } from './vector.ts'

/** Positions by event id, by the tool call id of an action, and of the first action of each LLM response. */
export interface LogIndex {
  readonly ids: IndexMap
  readonly calls: IndexMap
  readonly responses: IndexMap
  /** What the log began with, when it began with a snapshot. */
  readonly columns: ColumnarLog | null
}

/** Facts in order with HEAD; every version stays valid (design D6). */
export interface Log<E extends Entry = Entry> {
  readonly entries: Vector<E>
  /** The entry that the next unstamped event hangs on; null when the tree is empty or HEAD was moved off it. */
  readonly head: E | null
  readonly index: LogIndex
}

const newIndex = (columns: ColumnarLog | null): LogIndex => ({
  ids: new IndexMap(columns?.ids),
  calls: new IndexMap(columns?.callIds),
  responses: new IndexMap(columns?.responseIds),
  columns,
})

/** A log without entries. */
export function emptyLog<E extends Entry>(): Log<E> {
  return { entries: Vector.empty(), head: null, index: newIndex(null) }
}

/**
 * A log that begins with a columnar log, which must make entries of this type; HEAD where the caller says. O(length /
 * 32).
 */
export function logOver<E extends Entry>(columns: ColumnarLog, head: E | null): Log<E> {
  const leafAt = (start: number) => columns.leaf(start) as readonly E[]
  return { entries: lazyVector(columns.length, leafAt), head, index: newIndex(columns) }
}

/** How many entries at the beginning of the log are those of its columnar log. O(1). */
export function columnarLength(log: Log): number {
  return Math.min(log.index.columns?.length ?? 0, log.entries.length)
}

/**
 * The entry in the tree with this id, or undefined. O(log n).
 */
export function findEventIn<E extends Entry>(log: Log<E>, id: string): E | undefined {
  const seq = log.index.ids.find(id, (at) => {
    const entry = log.entries.get(at)
    return entry !== undefined && entry.inTree && entry.id === id
  })
  return log.entries.get(seq)
}

/** Whether there is a call with this tool call id that `accept` confirms. O(such calls). */
export function hasCall(log: Log, toolCallId: string, accept: (seq: number) => boolean): boolean {
  const confirm = (at: number): boolean => {
    const entry = log.entries.get(at)
    return entry !== undefined && callIdOf(entry) === toolCallId && accept(at)
  }
  return log.index.calls.find(toolCallId, confirm) >= 0
}

/** Whether an action of this LLM response is in the log at position `from` or later. O(log n). */
export function hasResponse(log: Log, responseId: string, from = 0): boolean {
  const confirm = (at: number): boolean => {
    const entry = log.entries.get(at)
    // In another version of the log the same action may stand at this position, and be a duplicate in this one.
    return entry !== undefined && responseIdOf(entry) === responseId
  }
  return log.index.responses.find(responseId, confirm, from) >= 0
}

/** The log with one more entry, HEAD where the caller says. O(1) amortised. */
export function appendEntry<E extends Entry>(log: Log<E>, entry: E, head: E | null): Log<E> {
  // A log that starts anew gets an index of its own, so that an empty log can be shared for ever.
  const index = log.entries.length === 0 ? newIndex(null) : log.index
  if (entry.inTree && entry.id !== null) {
    index.ids.add(entry.id, entry.seq)
    if (entry.event?.kind === 'ActionEvent') {
      index.calls.add(entry.event.tool_call_id, entry.seq)
      // What the columnar log knows is not asked for here: that would cost, and to know a response twice costs nothing.
      if (!hasResponse(log, entry.event.llm_response_id, index.columns?.length)) {
        index.responses.add(entry.event.llm_response_id, entry.seq)
      }
    }
  }
  return { entries: log.entries.push(entry), head, index }
}

/** The log as it stood when it had `length` entries, HEAD where the caller says. O(log n). */
export function logPrefix<E extends Entry>(log: Log<E>, length: number, head: E | null): Log<E> {
  return { entries: log.entries.prefix(length), head, index: log.index }
}

/** The warnings of the whole log, in log order. O(n); for a snapshot's part O(its warnings). */
export function listWarningsIn(log: Log): LogWarning[] {
  const known = columnarLength(log)
  const before = log.index.columns?.warnings(known) ?? []
  return [...before, ...log.entries.slice(known).flatMap((entry) => entry.warnings)]
}

/** The positions of a part of the log that was there before the map, all of them before those of the map. */
interface IndexBase {
  /** The position after the last that it knows. */
  readonly length: number
  readonly find: (key: string, accept: (seq: number) => boolean, from?: number) => number
}

/**
 * Positions by key, shared by every version of one log (design D6). Two versions that went on differently may have put
 * the same key at different positions, so a position is a hit only when the asking version confirms it.
 */
class IndexMap {
  readonly #positions = new Map<string, number | number[]>()
  readonly #base: IndexBase | null
  /** The key that was asked for last and is not there: mostly it is added next, and need not be looked for again. */
  #missed: string | null = null

  constructor(base: IndexBase | null = null) {
    this.#base = base
  }

  /**
   * Adds a position under a key. O(1) for the latest position, as in one version only; O(positions of the key)
   * otherwise.
   */
  add(key: string, seq: number): void {
    const found = key === this.#missed ? undefined : this.#positions.get(key)
    work.probes += 1
    if (found === undefined) {
      this.#missed = null
      this.#positions.set(key, seq)
    } else if (typeof found === 'number') {
      if (found !== seq) this.#positions.set(key, found < seq ? [found, seq] : [seq, found])
    } else insert(found, seq)
  }

  /** The latest position under a key, none before `from`, that `accept` confirms, or -1. O(positions tried). */
  find(key: string, accept: (seq: number) => boolean, from = 0): number {
    const found = this.#positions.get(key)
    work.probes += 1
    if (found === undefined) this.#missed = key
    if (typeof found === 'number') {
      if (found >= from && accept(found)) return found
    } else if (found !== undefined) {
      for (let at = found.length - 1; at >= 0; at -= 1) {
        const seq = found[at] as number
        if (seq < from) break
        work.probes += 1
        if (accept(seq)) return seq
      }
    }
    return this.#base === null || from >= this.#base.length ? -1 : this.#base.find(key, accept, from)
  }
}

/** Puts a position into an ascending list, once. */
function insert(list: number[], seq: number): void {
  let at = list.length
  while (at > 0 && (list[at - 1] as number) > seq) at -= 1
  if (list[at - 1] !== seq) list.splice(at, 0, seq)
}
