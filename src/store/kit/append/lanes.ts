/**
 * Chain decomposition of the tree: a path becomes a few index ranges, so that a search along a branch never walks it
 * event by event.
 */

/**
 * A chain of entries, each the parent of the next: the first child that can be HEAD of an entry goes on in its lane,
 * every other one opens one. A ConversationStateUpdateEvent always opens one, so that it never takes a lane away from
 * its parent.
 */
export interface Lane {
  /** The position of the entry that opened it, which is its name. */
  readonly lane: number
  /** The entry that the first one hangs on; null for a root. */
  readonly parent: LaneOrigin | null
  /**
   * Position of its last entry. For the lane that was appended to last, `LogTip.lane` says it instead, and this may
   * lag.
   */
  readonly end: number
}

/** The place that a lane branches off: where its path goes on upwards. */
export interface LaneOrigin {
  readonly lane: number
  readonly seq: number
  readonly maxTime: bigint
}

/**
 * A segment of a path: the entries of a lane with `seq <= upTo`. None of them has a time after `until`, so that a
 * search by time need not walk the rest of a lane that goes on beyond the segment.
 */
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
  /** Whether it can be HEAD: it is no ConversationStateUpdateEvent. */
  readonly canBeHead: boolean
  readonly lane: number
  /** The latest time of any entry of the log up to this one. */
  readonly maxTime: bigint
}

/** Where the next entry goes: on in its parent's lane, or in one of its own. O(1). */
export function laneOf(
  seq: number,
  canBeHead: boolean,
  parent: TreeNode | null,
  end: (node: TreeNode) => number,
): number {
  return canBeHead && parent !== null && end(parent) === parent.seq ? parent.lane : seq
}

/**
 * The path from a leaf up to its root in segments, the leaf's first: an entry is on the path exactly when its lane is
 * among the segments and it stands no later than that segment allows. No lane is among them twice. O(segments).
 *
 * @param parentOf where a lane branches off, null for one that begins at a root
 *
 * @example
 * const leaf = { lane: 5, seq: 8, maxTime: 80n }
 * const segments = pathSegments(leaf, (lane) => (lane === 5 ? { lane: 0, seq: 2, maxTime: 20n } : null))
 * segments.map(({ lane, upTo }) => [lane, upTo]) // [[5, 8], [0, 2]]
 */
export function pathSegments(leaf: LaneOrigin, parentOf: (lane: number) => LaneOrigin | null): PathSegment[] {
  const segments: PathSegment[] = []
  for (let at: LaneOrigin | null = leaf; at !== null; at = parentOf(at.lane)) {
    segments.push({ lane: at.lane, upTo: at.seq, until: at.maxTime })
  }
  return segments
}
