/** Snapshots open long logs without a replay. A snapshot that might not match its log is rejected. */

import { ColloquyError } from '../event/errors.ts'
import { attempt } from '../event/json.ts'
import { type Fact, isQuarantined } from '../event/quarantine.ts'
import { quote } from '../event/text.ts'
import type { Event } from '../event/types.ts'
import { Chunk, writeChunk } from '../log/columnar/chunk.ts'
import { ColumnarEntry, ColumnarLog } from '../log/columnar/columnar-log.ts'
import { keyAt } from '../log/columnar/columns.ts'
import { type Seal, sealOf } from '../log/columnar/sealed.ts'
import type { Entry } from '../log/entry.ts'
import { columnarLength, findEventIn, type Log, logOver } from '../log/log.ts'
import { headAfter, placeFact } from '../log/place.ts'
import { type Branch, EMPTY_BRANCH } from './branch.ts'
import { whyDropped } from './dropped.ts'
import type { Header } from './header.ts'
import {
  bodiesOf,
  branchFrom,
  CHUNK_LABEL,
  CHUNK_SIZE,
  readStatePart,
  stateRecord,
  type StateRecord,
  writeStatePart,
} from './snapshot/record.ts'
import type { Checkpoint, State } from './state.ts'

/** Seals (checksums) of complete chunks, by the chunk's last entry. Entries never change, so a seal is fixed. */
const seals = new WeakMap<Checkpoint, { readonly size: number; readonly seal: Seal }>()

function chunksFrom(log: Log<Checkpoint>, first: number, size: number): Uint8Array[] {
  const count = Math.ceil(log.entries.length / size)
  return Array.from({ length: Math.max(0, count - first) }, (_, i) => chunkAt(log, first + i, size))
}

function chunkAt(log: Log<Checkpoint>, index: number, size: number): Uint8Array {
  const first = index * size
  const known = completeAt(log, index, size)
  if (known !== undefined) return known.bytes
  const end = Math.min(first + size, log.entries.length)
  const bytes = writeChunk(CHUNK_LABEL, { first, size }, log.entries.slice(first, end), (entry) =>
    droppedAt(log, entry as Checkpoint),
  )
  const last = log.entries.get(first + size - 1)
  if (last !== undefined) seals.set(last, { size, seal: sealOf(bytes) })
  return bytes
}

function completeAt(log: Log<Checkpoint>, index: number, size: number): Chunk | undefined {
  const chunk = log.index.columns?.chunks[index]
  const fits = chunk?.size === size && chunk.count === size && (index + 1) * size <= columnarLength(log)
  return fits ? chunk : undefined
}

/** Returns the seal of a chunk. O(1) if this process has already read or written the chunk. */
function sealAt(log: Log<Checkpoint>, index: number, size: number): Seal {
  const complete = completeAt(log, index, size)
  if (complete !== undefined) return complete.seal
  const last = log.entries.get((index + 1) * size - 1)
  const known = last === undefined ? undefined : seals.get(last)
  return known?.size === size ? known.seal : sealOf(chunkAt(log, index, size))
}

/** Returns why a tool result was dropped; null for all other entries. */
function droppedAt(log: Log<Checkpoint>, checkpoint: Checkpoint) {
  const { seq } = checkpoint
  if (seq < columnarLength(log)) return log.index.columns?.chunkOf(seq).dropped(seq) ?? null
  const last = checkpoint.branch.dropped.last()
  return last?.entry === checkpoint ? whyDropped(log, last) : null
}

/** Part of a snapshot. Part 0 is the state part; the others are chunks of the log. Complete chunks never change. */
export interface SnapshotPart {
  readonly part: number
  readonly bytes: Uint8Array
}

/**
 * Returns those parts of a snapshot that changed since an earlier length of the log. Together with the
 * unchanged parts, the returned parts contain the header; the ids, parents, times and kinds of all events; and
 * the bodies that HEAD's branch needs.
 *
 * A library version with another fold cannot open the snapshot. In this case, replay the log.
 * O(length - since + view + 4,096), amortised. The first call for a replayed log is O(length).
 * @param since an earlier length of the same log, for which parts were written; 0 (default) for none.
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'p' }], { conversationId: 'c' })
 * encodeSnapshot(state).map(({ part }) => part) // [0, 1]
 */
export function encodeSnapshot(state: State, since = 0): SnapshotPart[] {
  return encodeParts(state, since, columnsSize(state))
}

/**
 * Like `encodeSnapshot`, but without bodies. When the snapshot is opened, the bodies are read from the log.
 * @param createdAt creation time of the conversation, which distinguishes its log from an earlier log with
 *   the same id
 */
export function encodeWithoutBodies(state: State, since: number, createdAt: string): SnapshotPart[] {
  return encodeParts(state, since, columnsSize(state), false, createdAt)
}

const columnsSize = ({ log }: State): number => log.index.columns?.size ?? CHUNK_SIZE

export function encodeParts(
  state: State,
  since: number,
  size: number,
  withBodies = true,
  createdAt = '',
): SnapshotPart[] {
  const { log } = state
  const from = since > 0 && since <= log.entries.length ? Math.floor(since) : 0
  const first = Math.floor(from / size)
  const chunks = chunksFrom(log, first, size)
  const known = Array.from({ length: first }, (_, index) => sealAt(log, index, size))
  const record = stateRecord(state, { size, seals: [...known, ...chunks.map(sealOf)], createdAt })
  return [
    { part: 0, bytes: writeStatePart(record, bodiesOf(state.branch), withBodies) },
    ...chunks.map((bytes, index) => ({ part: first + index + 1, bytes })),
  ]
}

/**
 * Returns the state from the parts of a snapshot, in any order. Returns null if the parts are incomplete or
 * damaged, or are from another conversation or another version of the fold. Never throws. The bytes must
 * not change afterwards.
 *
 * Only these entries of HEAD's branch have a body: the view, calls without a final result, the system prompt
 * and the last user message. For other entries, `event` is null. `reduce` works if `canReduce` returns true.
 * `stateAt` throws `evicted` if `isEvicted` returns true. `switchTo` throws `evicted` if the snapshot left
 * out the branch. O(bytes); entries are created on access.
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'p' }], { conversationId: 'c' })
 * const opened = decodeSnapshot(encodeSnapshot(state), 'c')
 * encodeState(opened) === encodeState(state) // true
 */
export function decodeSnapshot(parts: readonly SnapshotPart[], conversationId: string): State | null {
  const saved = readSnapshot(parts, conversationId)
  return saved === null ? null : completeSnapshot(saved, new Map())
}

/**
 * Reads the parts of a snapshot. Returns null in the same cases as `decodeSnapshot`, except if only bodies are
 * missing: `lacking` then has the positions of the bodies that must be read from the log.
 */
export function readSnapshot(parts: readonly SnapshotPart[], conversationId: string): Saved | null {
  // Reading invalid data with a valid checksum throws.
  return attempt(() => readParts(parts, conversationId), null)
}

/** Returns a snapshot's state. Null if a body is missing or does not match the snapshot. Never throws. */
export function completeSnapshot(saved: Saved, facts: ReadonlyMap<number, StoredFact>): State | null {
  return attempt(() => {
    const bodies = new Map(saved.bodies)
    const { size, length } = saved.record
    for (const [seq, { id, fact }] of facts) {
      const chunk = saved.chunks[Math.floor(seq / size)]
      // The facts may be of another log.
      if (chunk === undefined || seq >= length || keyAt(chunk.ids, seq) !== id) return null
      if (!isQuarantined(fact) && fact.kind === chunk.kind(seq)) bodies.set(seq, fact)
    }
    return saved.lacking.every((seq) => bodies.has(seq)) ? stateOver({ ...saved, bodies }) : null
  }, null)
}

/**
 * Returns the state without the event bodies and the earlier states that HEAD's branch does not need. A
 * snapshot leaves out the same data. The input stays valid. O(length).
 * @example
 * const state = evict(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * state.log.entries.get(0).event // null
 */
export function evict(state: State): State {
  const { log, branch, conversationId } = state
  if (log.entries.length === 0) return state
  const size = log.index.columns?.size ?? CHUNK_SIZE
  const bytes = chunksFrom(log, 0, size)
  const existing = log.index.columns?.chunks ?? []
  const chunks = bytes.map((each, index) =>
    existing[index]?.bytes === each ? existing[index] : (Chunk.open(CHUNK_LABEL, each) as Chunk),
  )
  const record = stateRecord(state, { size, seals: bytes.map(sealOf), createdAt: '' })
  return stateOver({ record, bodies: bodiesOf(branch), chunks, conversationId })
}

/**
 * Whether the state at an event was evicted, so that `stateAt` throws `evicted`. False for unknown ids.
 * O(log n).
 * @example
 * const state = evict(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * [isEvicted(state, 'p'), isEvicted(state, 'q')] // [true, false]
 */
export function isEvicted({ log }: State, eventId: string): boolean {
  const entry = findEventIn(log, eventId)
  return entry instanceof SnapshotEntry && !(entry.hasBranch && entry.hasHeader)
}

/**
 * Whether `reduce` can apply a fact. False if a snapshot or `evict` left out the state at the fact's parent
 * or at the HEAD that the fact sets. If false, replay the whole log to apply the fact. O(log n).
 * @example
 * const state = evict(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * canReduce(state, { kind: 'PauseEvent', id: 'r', parent_id: 'p' }) // false
 */
export function canReduce(state: State, fact: Fact): boolean {
  const { log, conversationId } = state
  if (log.index.columns === null) return true
  const entry = placeFact(log, fact, conversationId)
  const head = headAfter(log, entry).head
  // The new entry needs no loaded state: `reduce` computes the state after it.
  const isLoaded = (index: typeof head) =>
    index === null || index === entry || !(index instanceof SnapshotEntry) || index.hasBranch
  return isLoaded(entry.parent) && isLoaded(head)
}

export interface StoredFact {
  readonly id: string | null
  readonly fact: Fact
}

interface Saved extends Contents {
  readonly lacking: readonly number[]
}

function readParts(parts: readonly SnapshotPart[], conversationId: string): Saved | null {
  const byNumber = new Map(parts.map(({ part, bytes }) => [part, bytes]))
  if (byNumber.size !== parts.length) return null
  const first = byNumber.get(0)
  const statePart = first === undefined ? null : readStatePart(first)
  if (statePart === null || statePart.record.conversationId !== conversationId) return null
  const { length, size, seals } = statePart.record
  const chunks: Chunk[] = []
  for (const [index, seal] of seals.entries()) {
    const first = index * size
    const bytes = byNumber.get(index + 1)
    const chunk = bytes === undefined ? null : Chunk.open(CHUNK_LABEL, bytes)
    // The state part has the seal of every chunk, so parts of different logs or states do not match.
    if (chunk === null || !isEqualSeal(chunk.seal, seal)) return null
    if (chunk.first !== first || chunk.size !== size || chunk.count !== Math.min(size, length - first))
      return null
    chunks.push(chunk)
  }
  return seals.length === Math.ceil(length / size) ? { ...statePart, chunks, conversationId } : null
}

const isEqualSeal = (one: Seal, other: Seal): boolean => one[0] === other[0] && one[1] === other[1]

interface Contents {
  readonly conversationId: string
  readonly record: StateRecord
  readonly bodies: ReadonlyMap<number, Event>
  readonly chunks: readonly Chunk[]
}

function stateOver({ conversationId, record, bodies, chunks }: Contents): State {
  const { header, head, headHeader } = record
  const contents: Loaded = { bodies, head, headHeader, lastHeader: header, branch: EMPTY_BRANCH }
  const columns = new ColumnarLog(chunks, (columns, seq) => new SnapshotEntry(columns, seq, contents))
  if (head >= 0) contents.branch = branchFrom(record, columns)
  const top = head < 0 ? null : (columns.entry(head) as Checkpoint)
  return { conversationId, header, log: logOver<Checkpoint>(columns, top), branch: contents.branch }
}

interface Loaded {
  readonly bodies: ReadonlyMap<number, Event>
  readonly head: number
  readonly headHeader: Header
  readonly lastHeader: Header
  /** Branch state at HEAD. Set last, because it refers to log entries, which refer to this `Loaded` object. */
  branch: Branch
}

class SnapshotEntry extends ColumnarEntry implements Checkpoint {
  readonly #loaded: Loaded

  constructor(columns: ColumnarLog, seq: number, loaded: Loaded) {
    super(columns, seq, loaded.bodies.get(seq) ?? null)
    this.#loaded = loaded
  }

  /**
   * Whether the entry's branch state is in memory. True for HEAD, for state updates that follow HEAD, and for
   * entries with an empty branch.
   */
  get hasBranch(): boolean {
    const anchor = this.columns.anchor(this.seq)
    return anchor < 0 || anchor === this.#loaded.head
  }

  get branch(): Branch {
    if (!this.hasBranch) throw evicted(this)
    // State updates do not change the branch, and entries outside the tree have an empty branch.
    return this.columns.anchor(this.seq) < 0 ? EMPTY_BRANCH : this.#loaded.branch
  }

  get hasHeader(): boolean {
    return this.seq === this.#loaded.head || this.seq === this.columns.length - 1
  }

  get header(): Header {
    if (!this.hasHeader) throw evicted(this)
    return this.seq === this.#loaded.head ? this.#loaded.headHeader : this.#loaded.lastHeader
  }
}

function evicted({ id, seq }: Entry): ColloquyError {
  const message = `The state at event ${quote(id)} (position ${seq}) is not in memory: a snapshot or \`evict\` left it out. Replay the whole log.`
  return new ColloquyError('evicted', message, { event_id: id, seq })
}
