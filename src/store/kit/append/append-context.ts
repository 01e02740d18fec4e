/** The reads of an append's decision, and the end of the log, which every append reads and writes. */

import type { StoredEvent } from '../../contract/query.ts'

/**
 * A run of entries, each the parent of the next. An entry continues its parent's run if appended to last;
 * otherwise it opens one. So within a run the tree's only other entries are ConversationStateUpdateEvents,
 * each a run of its own.
 */
export interface Lane {
  readonly lane: number
  readonly time: bigint
  readonly parent: LaneOrigin | null
}

/** Where a lane branches off: where its path continues upwards. */
export interface LaneOrigin {
  readonly lane: number
  readonly seq: number
  readonly time: bigint
}

/** A lane and the position of its last entry. */
export interface LaneEnd {
  readonly lane: number
  readonly end: number
}

/** A segment of a path: the entries of a lane with `seq <= upTo`. */
export interface PathSegment {
  readonly lane: number
  readonly upTo: number
  readonly until: bigint
}

/** An entry of the tree, as far as others hang on it. */
export interface TreeNode {
  readonly seq: number
  readonly id: string
  readonly parentId: string | null
  readonly canBeHead: boolean
  readonly lane: number
  readonly time: bigint
}

/** The lane of the next entry: its parent's, or one of its own. O(1). */
export const laneOf = (
  seq: number,
  canBeHead: boolean,
  parent: TreeNode | null,
  last: LaneEnd | null,
): number =>
  canBeHead && parent !== null && last?.lane === parent.lane && last.end === parent.seq ? parent.lane : seq

/**
 * Segments of the path from a leaf to its root: an entry is on it exactly when its lane is among them and its
 * position not beyond that segment. Lanes are unique. O(segments).
 * @param parentOf where a lane branches off, null for one that begins at a root
 *
 * @example
 * const leaf = { lane: 5, seq: 8, time: 80n }
 * const segments = pathSegments(leaf, (lane) => (lane === 5 ? { lane: 0, seq: 2, time: 20n } : null))
 * segments.map(({ lane, upTo }) => [lane, upTo]) // [[5, 8], [0, 2]]
 */
export function pathSegments(leaf: LaneOrigin, parentOf: (lane: number) => LaneOrigin | null): PathSegment[] {
  const segments: PathSegment[] = []
  for (let end: LaneOrigin | null = leaf; end !== null; end = parentOf(end.lane)) {
    segments.push({ lane: end.lane, upTo: end.seq, until: end.time })
  }
  return segments
}

/** The end of a log: all that its next entry depends on, kept in the conversation's row. */
export interface LogTip {
  readonly version: number
  /** The entry that HEAD means; null for the empty HEAD. */
  readonly head: TreeNode | null
  /** The time of the last entry; 0 for an empty log. */
  readonly time: bigint
  /** Whether no entry has an earlier instant than the one before it. */
  readonly inOrder: boolean
  readonly lane: LaneEnd | null
}

/** The tip of an empty log. */
export const EMPTY_TIP: LogTip = Object.freeze({
  version: 0,
  head: null,
  time: 0n,
  inOrder: true,
  lane: null,
})

/** The log before an append; a store reads it within the append's transaction. */
export interface AppendContext {
  readonly conversationId: string
  readonly createdAt: string
  readonly timeZone: string | null
  readonly tip: LogTip
  /** The latest lease; null if there is none or it was returned. */
  readonly lease: { readonly owner: string; readonly generation: number } | null
  /** Called for ids among `idsToLoad`, and for parents of found entries that cannot be HEAD. */
  find(id: string): TreeNode | undefined
  /** The entry at a position. Called for found entries, and by an import with a version. */
  at(seq: number): StoredEvent
}
