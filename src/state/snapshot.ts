/**
 * Snapshots open a long conversation without replaying it. They are disposable: when in doubt, nothing opens and the
 * log is replayed.
 */

import type { Fact } from '../event/quarantine.ts'
import { headAfter, place } from '../log/place.ts'
import { findEventIn } from '../log/log.ts'
import { Chunk } from '../log/columnar/chunk.ts'
import { chunksFrom, lastSeal } from './snapshot/chunks.ts'
import { writeHead, bodiesOf, recordOf, CHUNK_LABEL, CHUNK_SIZE } from './snapshot/record.ts'
import { SnapshotEntry, type Found, readParts, type Saved, stateWith, stateOver } from './snapshot/open.ts'
import type { State } from './state.ts'

/**
 * One part of a snapshot. Number 0 is the head part; 1 and up are chunks of the columnar log, which never change once
 * complete.
 */
export interface SnapshotPart {
  readonly part: number
  readonly bytes: Uint8Array
}

/**
 * The parts to write so that, beside those written for `since`, the whole state can be opened again: ids, parents,
 * times and kinds of the whole log, the header, and HEAD's branch with the bodies that its view and its pending calls
 * need.
 *
 * Snapshots are disposable: losing one costs time. They open only under the version of the fold that wrote them.
 *
 * O(length - since + view + 4,096), amortised: where parts before `since` were neither read nor written with this log,
 * once O(length).
 *
 * @param since an earlier length of the same log, for which parts were written; 0, the default, for none.
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'p' }], { conversationId: 'c' })
 * encodeSnapshot(state).map(({ part }) => part) // [0, 1]
 */
export function encodeSnapshot(state: State, since = 0): SnapshotPart[] {
  return encodeParts(state, since, sizeOf(state))
}

/**
 * The same without the bodies: who opens it reads them from the log, where each is kept already.
 * @param createdAt when the conversation was created, which tells its log from an earlier one under its id
 */
export function encodeWithoutBodies(state: State, since: number, createdAt: string): SnapshotPart[] {
  return encodeParts(state, since, sizeOf(state), false, createdAt)
}

const sizeOf = ({ log }: State): number => log.index.columns?.size ?? CHUNK_SIZE

/** The same, with chunks of another size; a size is kept for all of a log. */
export function encodeParts(
  state: State,
  since: number,
  size: number,
  holdsBodies = true,
  createdAt = '',
): SnapshotPart[] {
  const { log } = state
  const from = since > 0 && since <= log.entries.length ? Math.floor(since) : 0
  const chunks = chunksFrom(log, from, size)
  const record = recordOf(state, { size, seal: lastSeal(log, size, chunks), createdAt })
  const first = Math.floor(from / size) + 1
  return [
    { part: 0, bytes: writeHead(record, bodiesOf(state.branch), holdsBodies) },
    ...chunks.map((bytes, index) => ({ part: first + index, bytes })),
  ]
}

/**
 * The state that the parts hold, in whatever order they come; null when they are of another conversation or version of
 * the fold, incomplete, damaged or no snapshot. Parts beyond those of the state are ignored. Never throws.
 *
 * `reduce` goes on from the state wherever `canReduce` allows it. Of entries that it does not hold the body is missing
 * (`entry.event` is null), and where `isEvicted` says so, `stateAt` throws `evicted`, as `switchTo` does off HEAD's
 * branch. The bytes are kept and must not be written to afterwards.
 *
 * O(bytes), and no object for each event: entries are made when they are asked for.
 *
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
 * The parts before they are a state: `lacking` says of which positions the bodies are to be read from the log. Null as
 * `decodeSnapshot` gives it. Never throws. O(bytes).
 */
export function readSnapshot(parts: readonly SnapshotPart[], conversationId: string): Saved | null {
  return orNull(() => readParts(parts, conversationId))
}

/**
 * The state, with what was read from the log: what the parts lack, and whatever else is to be compared with what they
 * know. Null where a body is missing or the log has another event there. Never throws. O(view + found).
 */
export function completeSnapshot(saved: Saved, found: ReadonlyMap<number, Found>): State | null {
  return orNull(() => stateWith(saved, found))
}

function orNull<T>(read: () => T | null): T | null {
  try {
    return read()
  } catch {
    // Bytes that carry a right checksum over nonsense: no snapshot either.
    return null
  }
}

/**
 * The same state with everything evicted that a snapshot does not hold: bodies and checkpoints of all entries but what
 * the view of HEAD's branch and its pending calls need. The state that was given stays what it is; the entries of the
 * new one are other objects. O(length), without the bodies; chunks that are there already are taken over.
 *
 * @example
 * const state = evict(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * state.log.entries.get(0).event // null
 */
export function evict(state: State): State {
  const { log, branch, conversationId } = state
  if (log.entries.length === 0) return state
  const size = log.index.columns?.size ?? CHUNK_SIZE
  const bytes = chunksFrom(log, 0, size)
  const kept = log.index.columns?.chunks ?? []
  const chunks = bytes.map((each, index) =>
    kept[index]?.bytes === each ? kept[index] : (Chunk.open(CHUNK_LABEL, each) as Chunk),
  )
  const record = recordOf(state, { size, seal: lastSeal(log, size, bytes), createdAt: '' })
  return stateOver({ record, bodies: bodiesOf(branch), chunks, conversationId })
}

/**
 * Whether what was known at an event has been evicted: true exactly where `stateAt` throws `evicted`. False for an id
 * that no event of the tree has. O(log n).
 * @example
 * const state = evict(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * [isEvicted(state, 'p'), isEvicted(state, 'q')] // [true, false]
 */
export function isEvicted({ log }: State, eventId: string): boolean {
  const entry = findEventIn(log, eventId)
  return entry instanceof SnapshotEntry && !(entry.hasBranch && entry.hasHeader)
}

/**
 * Whether `reduce(state, fact)` can be worked out from what is in memory: false where the fact would hang on, or move
 * HEAD to, an entry of which only the columnar log is known. The whole log must be replayed then. O(log n); O(1) for a
 * state that was folded from the beginning.
 * @example
 * const state = evict(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * canReduce(state, { kind: 'PauseEvent', id: 'r', parent_id: 'p' }) // false
 */
export function canReduce(state: State, fact: Fact): boolean {
  const { log, conversationId } = state
  if (log.index.columns === null) return true
  const entry = place(log, fact, conversationId)
  const head = headAfter(log, entry).head
  // The next entry has no checkpoint yet, and is no question.
  const isFine = (at: typeof head) =>
    at === null || at === entry || !(at instanceof SnapshotEntry) || at.hasBranch
  return isFine(entry.parent) && isFine(head)
}
