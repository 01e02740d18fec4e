import { work } from './work.ts'
import { callIdOf, type Entry, type LogWarning, responseIdOf } from './entry.ts'
import type { ColumnarLog } from './columnar/columnar-log.ts'
import { lazyVector, Vector } from './vector.ts'

/** Positions of events by id, of actions by tool call id, and of each LLM response's first action by response id. */
export interface LogIndex {
  readonly ids: IndexMap
  readonly calls: IndexMap
  readonly responses: IndexMap
  readonly columns: ColumnarLog | null
}

/** The facts in order, and HEAD (design D6). */
export interface Log<E extends Entry = Entry> {
  readonly entries: Vector<E>
  /** Parent of the next event, unless the event names another parent. Null if HEAD is empty. */
  readonly head: E | null
  readonly index: LogIndex
}

const newIndex = (columns: ColumnarLog | null): LogIndex => ({
  ids: new IndexMap(columns?.ids),
  calls: new IndexMap(columns?.callIds),
  responses: new IndexMap(columns?.responseIds),
  columns,
})

export function emptyLog<E extends Entry>(): Log<E> {
  return { entries: Vector.empty(), head: null, index: newIndex(null) }
}

/** Returns a log that begins with a columnar log, whose entries must be of type `E`. O(length / 32). */
export function logOver<E extends Entry>(columns: ColumnarLog, head: E | null): Log<E> {
  const leafAt = (start: number) => columns.leaf(start) as readonly E[]
  return { entries: lazyVector(columns.length, leafAt), head, index: newIndex(columns) }
}

/** Returns the number of entries at the log's beginning that belong to the columnar log. O(1). */
export function columnarLength(log: Log): number {
  return Math.min(log.index.columns?.length ?? 0, log.entries.length)
}

/** Returns the entry in the tree with this id, or undefined. O(log n). */
export function findEventIn<E extends Entry>(log: Log<E>, id: string): E | undefined {
  let entry: E | undefined
  const seq = log.index.ids.find(id, (seq) => {
    entry = log.entries.get(seq)
    return entry !== undefined && entry.inTree && entry.id === id
  })
  return seq < 0 ? undefined : entry
}

/** Returns the latest call with this tool call id that `accept` confirms, or undefined. O(calls · log n). */
export function findCall(log: Log, toolCallId: string, accept: (call: Entry) => boolean): Entry | undefined {
  const seq = log.index.calls.find(toolCallId, (seq) => {
    const entry = log.entries.get(seq)
    return entry !== undefined && callIdOf(entry) === toolCallId && accept(entry)
  })
  return log.entries.get(seq)
}

/** Whether the log has an action of this LLM response at position `from` or later. O(log n). */
export function hasResponse(log: Log, responseId: string, from = 0): boolean {
  const confirm = (seq: number): boolean => {
    const entry = log.entries.get(seq)
    // Versions of a log share the index, so this version may have another event at the position.
    return entry !== undefined && responseIdOf(entry) === responseId
  }
  return log.index.responses.find(responseId, confirm, from) >= 0
}

/** Returns the log with one more entry. O(1) amortised. */
export function appendEntry<E extends Entry>(log: Log<E>, entry: E, head: E | null): Log<E> {
  // A new log gets its own index, so that the empty log can be shared.
  const index = log.entries.length === 0 ? newIndex(null) : log.index
  if (entry.inTree && entry.id !== null) {
    index.ids.add(entry.id, entry.seq)
    if (entry.event?.kind === 'ActionEvent') {
      index.calls.add(entry.event.tool_call_id, entry.seq)
      // Adding a known response again is harmless, and cheaper than a search in the columnar log.
      if (!hasResponse(log, entry.event.llm_response_id, index.columns?.length))
        index.responses.add(entry.event.llm_response_id, entry.seq)
    }
  }
  return { entries: log.entries.push(entry), head, index }
}

export function logPrefix<E extends Entry>(log: Log<E>, length: number, head: E | null): Log<E> {
  return { entries: log.entries.prefix(length), head, index: log.index }
}

export function listWarningsIn(log: Log): LogWarning[] {
  const known = columnarLength(log)
  const before = log.index.columns?.warnings(known) ?? []
  return [...before, ...log.entries.slice(known).flatMap((entry) => entry.warnings)]
}

interface IndexBase {
  readonly length: number
  readonly find: (key: string, accept: (seq: number) => boolean, from?: number) => number
}

/**
 * Positions by key, shared by a log's versions (design D6). Versions that diverged may have different entries
 * at a position, so `find` returns a position only if the caller confirms it.
 */
class IndexMap {
  readonly #positions = new Map<string, number | number[]>()
  readonly #base: IndexBase | null
  /** The last key that was not found. Usually, the caller adds this key next, without a second lookup. */
  #missed: string | null = null

  constructor(base: IndexBase | null = null) {
    this.#base = base
  }

  /** Adds a position under a key. O(1) for the latest position, else O(positions of the key). */
  add(key: string, seq: number): void {
    const known = key === this.#missed ? undefined : this.#positions.get(key)
    work.probes += 1
    if (known === undefined) {
      this.#missed = null
      this.#positions.set(key, seq)
    } else if (typeof known === 'number') {
      if (known !== seq) this.#positions.set(key, known < seq ? [known, seq] : [seq, known])
    } else insert(known, seq)
  }

  /** Returns a key's latest position >= `from` that `accept` confirms, or -1. O(positions tried). */
  find(key: string, accept: (seq: number) => boolean, from = 0): number {
    const known = this.#positions.get(key)
    work.probes += 1
    if (known === undefined) this.#missed = key
    if (typeof known === 'number') {
      if (known >= from && accept(known)) return known
    } else if (known !== undefined) {
      for (let index = known.length - 1; index >= 0; index -= 1) {
        const seq = known[index] as number
        if (seq < from) break
        work.probes += 1
        if (accept(seq)) return seq
      }
    }
    return this.#base === null || from >= this.#base.length ? -1 : this.#base.find(key, accept, from)
  }
}

function insert(list: number[], seq: number): void {
  let index = list.length
  while (index > 0 && (list[index - 1] as number) > seq) index -= 1
  if (list[index - 1] !== seq) list.splice(index, 0, seq)
}
