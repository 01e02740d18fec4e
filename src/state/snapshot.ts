/** Snapshots: a state goes in, parts of bytes come out that open as the same state without folding the log, and back. */

import type { Fact } from '../event/quarantine.ts'
import { headAfter } from '../log/head.ts'
import { place } from '../log/place.ts'
import { Chunk } from '../log/skeleton/chunk.ts'
import { chunksFrom, lastSeal } from './snapshot/chunks.ts'
import { writeHead } from './snapshot/head.ts'
import { SnapshotMoment } from './snapshot/moment.ts'
import { openParts } from './snapshot/open.ts'
import { stateOver } from './snapshot/over.ts'
import { bodiesOf, recordOf } from './snapshot/record.ts'
import { CHUNK_LABEL, CHUNK_SIZE } from './snapshot/version.ts'
import type { Moment, State } from './state.ts'

/** One part of a snapshot. Number 0 is the head part; 1 and up are chunks of the log's skeleton, which never change once complete. */
export interface SnapshotPart {
  readonly part: number
  readonly bytes: Uint8Array
}

/**
 * The parts to write so that, beside those written for `since`, the whole state can be opened again: ids, parents, times
 * and kinds of the whole log, the header, and HEAD's branch with the bodies that its view and its open calls need.
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
  return encodeParts(state, since, state.log.index.skeleton?.size ?? CHUNK_SIZE)
}

/** The same, with chunks of another size; a size is kept for all of a log. */
export function encodeParts(state: State, since: number, size: number): SnapshotPart[] {
  const { log } = state
  const from = since > 0 && since <= log.entries.length ? Math.floor(since) : 0
  const chunks = chunksFrom(log, from, size)
  const record = recordOf(state, { size, seal: lastSeal(log, size, chunks) })
  const first = Math.floor(from / size) + 1
  return [
    { part: 0, bytes: writeHead(record, bodiesOf(state.branch)) },
    ...chunks.map((bytes, index) => ({ part: first + index, bytes })),
  ]
}

/**
 * The state that the parts hold, in whatever order they come; null when they are of another conversation or version of
 * the fold, incomplete, damaged or no snapshot. Parts beyond those of the state are left aside. Never throws.
 *
 * The state folds on with `reduce` wherever `canReduce` says so. Of entries that it does not hold the body is missing
 * (`entry.event` is null), and where `isHeld` says no, `stateAt` and `switchTo` throw `not_held`. The bytes are kept and
 * must not be written to afterwards.
 *
 * O(bytes), and no object for each event: entries are made when they are asked for.
 *
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'p' }], { conversationId: 'c' })
 * const opened = decodeSnapshot(encodeSnapshot(state), 'c')
 * encodeState(opened) === encodeState(state) // true
 */
export function decodeSnapshot(parts: readonly SnapshotPart[], conversationId: string): State | null {
  try {
    return openParts(parts, conversationId)
  } catch {
    // Bytes that carry a right checksum over nonsense: no snapshot either.
    return null
  }
}

/**
 * The same state with everything let go that a snapshot does not hold: bodies and moments of all entries but what the view
 * of HEAD's branch and its open calls need. The state that was given stays what it is; the entries of the new one are
 * other objects. O(length), without the bodies; chunks that are there already are taken over.
 *
 * @example
 * const state = compact(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * state.log.entries.get(0).event // null
 */
export function compact(state: State): State {
  const { log, branch, conversationId } = state
  if (log.entries.length === 0) return state
  const size = log.index.skeleton?.size ?? CHUNK_SIZE
  const bytes = chunksFrom(log, 0, size)
  const kept = log.index.skeleton?.chunks ?? []
  const chunks = bytes.map((each, index) =>
    kept[index]?.bytes === each ? kept[index] : (Chunk.open(CHUNK_LABEL, each) as Chunk),
  )
  const record = recordOf(state, { size, seal: lastSeal(log, size, bytes) })
  return stateOver({ record, bodies: bodiesOf(branch), chunks, conversationId })
}

/**
 * Whether the fold can go on at this entry, since its branch part is at hand; false where only the skeleton of it is known.
 * @example
 * const { log } = compact(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * [isHeld(log.entries.get(0)), isHeld(log.entries.get(1))] // [false, true]
 */
export const isHeld = (entry: Moment): boolean => !(entry instanceof SnapshotMoment) || entry.isHeld

/**
 * Whether `reduce(state, fact)` can be answered from what is held: false where the fact would hang on, or move HEAD to, an
 * entry of which only the skeleton is known. The whole log must be folded then. O(log n); O(1) for a state that was
 * folded from the beginning.
 * @example
 * const state = compact(replay([{ kind: 'PauseEvent', id: 'p' }, { kind: 'PauseEvent', id: 'q' }]))
 * canReduce(state, { kind: 'PauseEvent', id: 'r', parent_id: 'p' }) // false
 */
export function canReduce(state: State, fact: Fact): boolean {
  const { log, conversationId } = state
  if (log.index.skeleton === null) return true
  const entry = place(log, fact, conversationId)
  const head = headAfter(log, entry).head
  // Every entry of a state's log is a moment; the next one is not yet, and is no question.
  const isFine = (at: typeof head) => at === null || at === entry || isHeld(at as Moment)
  return isFine(entry.parent) && isFine(head)
}
