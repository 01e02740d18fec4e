/**
 * Snapshots open a long conversation without replaying it. They are disposable: when in doubt, nothing opens
 * and the log is replayed.
 */

import type { Fact } from '../event/quarantine.ts'
import { headAfter, placeFact } from '../log/place.ts'
import { findEventIn } from '../log/log.ts'
import { Chunk } from '../log/columnar/chunk.ts'
import { chunksFrom, lastSeal } from './snapshot/chunks.ts'
import { writeHead, bodiesOf, recordOf, CHUNK_LABEL, CHUNK_SIZE } from './snapshot/record.ts'
import {
  SnapshotEntry,
  type StoredFact,
  readParts,
  type Saved,
  stateWith,
  stateOver,
} from './snapshot/open.ts'
import type { State } from './state.ts'

/** Part of a snapshot: the head (0), or a chunk of the columnar log (1 and up), immutable once complete. */
export interface SnapshotPart {
  readonly part: number
  readonly bytes: Uint8Array
}

/**
 * Returns the parts that, with those for `since`, open the whole state: ids, parents, times and kinds, the
 * header, and HEAD's branch with bodies of its view and pending calls.
 *
 * Snapshots are disposable, and open only with the same version of the fold.
 *
 * O(length - since + view + 4,096), amortised; once O(length) when parts before `since` were neither read nor
 * written with this log.
 * @param since an earlier length of the same log, for which parts were written; 0 (default) for none.
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'p' }], { conversationId: 'c' })
 * encodeSnapshot(state).map(({ part }) => part) // [0, 1]
 */
export function encodeSnapshot(state: State, since = 0): SnapshotPart[] {
  return encodeParts(state, since, sizeOf(state))
}

/**
 * The same without bodies, which are then read from the log.
 * @param createdAt creation time of the conversation, which distinguishes its log from an earlier one under
 * its id
 */
export function encodeWithoutBodies(state: State, since: number, createdAt: string): SnapshotPart[] {
  return encodeParts(state, since, sizeOf(state), false, createdAt)
}

const sizeOf = ({ log }: State): number => log.index.columns?.size ?? CHUNK_SIZE

/** The same with another chunk size. A log keeps its chunk size. */
export function encodeParts(
  state: State,
  since: number,
  size: number,
  withBodies = true,
  createdAt = '',
): SnapshotPart[] {
  const { log } = state
  const from = since > 0 && since <= log.entries.length ? Math.floor(since) : 0
  const chunks = chunksFrom(log, from, size)
  const record = recordOf(state, { size, seal: lastSeal(log, size, chunks), createdAt })
  const first = Math.floor(from / size) + 1
  return [
    { part: 0, bytes: writeHead(record, bodiesOf(state.branch), withBodies) },
    ...chunks.map((bytes, index) => ({ part: first + index, bytes })),
  ]
}

/**
 * Returns the state in the parts, in any order, ignoring extra ones. Null for another conversation or version
 * of the fold, and incomplete, damaged or foreign parts. Never throws.
 *
 * `reduce` continues wherever `canReduce` allows it. Other entries have no body (`entry.event` is null), and
 * where `isEvicted`, `stateAt` throws `evicted`, as does `switchTo` off HEAD's branch. The bytes must not
 * change.
 *
 * O(bytes); entries are created on access.
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
 * Reads the parts. `lacking`: positions of bodies to read from the log. Null as for `decodeSnapshot`. Never
 * throws. O(bytes).
 */
export function readSnapshot(parts: readonly SnapshotPart[], conversationId: string): Saved | null {
  return orNull(() => readParts(parts, conversationId))
}

/**
 * Builds the state with the log's facts: lacking bodies, and any to compare. Null when a body is missing or
 * an event differs. Never throws. O(view + facts).
 */
export function completeSnapshot(saved: Saved, facts: ReadonlyMap<number, StoredFact>): State | null {
  return orNull(() => stateWith(saved, facts))
}

function orNull<T>(read: () => T | null): T | null {
  try {
    return read()
  } catch {
    // Nonsense with a valid checksum is not a snapshot.
    return null
  }
}

/**
 * Returns the state without what a snapshot omits: bodies and checkpoints that HEAD's view and pending calls
 * do not need. The input stays valid; entries are new objects. O(length), without the bodies; chunks are
 * reused.
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
  const record = recordOf(state, { size, seal: lastSeal(log, size, bytes), createdAt: '' })
  return stateOver({ record, bodies: bodiesOf(branch), chunks, conversationId })
}

/**
 * Whether the state at an event was evicted: true exactly where `stateAt` throws `evicted`. False for unknown
 * ids. O(log n).
 * @example
 * const state = evict(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * [isEvicted(state, 'p'), isEvicted(state, 'q')] // [true, false]
 */
export function isEvicted({ log }: State, eventId: string): boolean {
  const entry = findEventIn(log, eventId)
  return entry instanceof SnapshotEntry && !(entry.hasBranch && entry.hasHeader)
}

/**
 * Whether `reduce(state, fact)` works in memory. False when only the columnar log has the parent or new HEAD:
 * replay the whole log. O(log n); O(1) for a state folded from the beginning.
 * @example
 * const state = evict(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * canReduce(state, { kind: 'PauseEvent', id: 'r', parent_id: 'p' }) // false
 */
export function canReduce(state: State, fact: Fact): boolean {
  const { log, conversationId } = state
  if (log.index.columns === null) return true
  const entry = placeFact(log, fact, conversationId)
  const head = headAfter(log, entry).head
  // The new entry itself has no checkpoint yet.
  const isLoaded = (index: typeof head) =>
    index === null || index === entry || !(index instanceof SnapshotEntry) || index.hasBranch
  return isLoaded(entry.parent) && isLoaded(head)
}
