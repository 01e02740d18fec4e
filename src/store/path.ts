/** The tree in lanes: an entry and its parent go in, its lane comes out; a leaf goes in, the few pieces of its path come out. */

/**
 * A chain of entries, each the parent of the next: the first real child of an entry goes on in its lane, every other child opens one.
 * A ConversationStateUpdateEvent always opens one, so that it never takes a lane away from its parent.
 */
export interface Lane {
  /** The position of the entry that opened it, which is its name. */
  readonly lane: number
  /** The entry that the first one hangs on; null for a root. */
  readonly parent: LaneParent | null
  /** Position of its last entry. For the lane that was appended to last, `LogTip.lane` says it instead, and this may lag. */
  readonly end: number
}

/** The place that a lane branches off: where its path goes on upwards. */
export interface LaneParent {
  readonly lane: number
  readonly seq: number
  readonly clock: bigint
}

/**
 * A piece of a path: the entries of a lane with `seq <= upTo`. None of them has a time after `until`, so that a search by time need not
 * walk the rest of a lane that goes on beyond the piece.
 */
export interface Piece {
  readonly lane: number
  readonly upTo: number
  readonly until: bigint
}

/** An entry of the tree, as far as others hang on it. */
export interface Spot {
  readonly seq: number
  readonly id: string
  readonly parentId: string | null
  /** Whether it can be HEAD: it is no ConversationStateUpdateEvent. */
  readonly real: boolean
  readonly lane: number
  /** The latest time of any entry of the log up to this one. */
  readonly clock: bigint
}

/** Where the next entry goes: on in its parent's lane, or in one of its own. O(1). */
export function laneOf(seq: number, real: boolean, parent: Spot | null, end: (spot: Spot) => number): number {
  return real && parent !== null && end(parent) === parent.seq ? parent.lane : seq
}

/**
 * The path from a leaf up to its root in pieces, the leaf's first: an entry is on the path exactly when its lane is among the pieces and
 * it stands no later than that piece allows. No lane is among them twice. O(pieces).
 *
 * @param parentOf where a lane branches off, null for one that begins at a root
 *
 * @example
 * const leaf = { lane: 5, seq: 8, clock: 80n }
 * const pieces = pathPieces(leaf, (lane) => (lane === 5 ? { lane: 0, seq: 2, clock: 20n } : null))
 * pieces.map(({ lane, upTo }) => [lane, upTo]) // [[5, 8], [0, 2]]
 */
export function pathPieces(leaf: LaneParent, parentOf: (lane: number) => LaneParent | null): Piece[] {
  const pieces: Piece[] = []
  for (let at: LaneParent | null = leaf; at !== null; at = parentOf(at.lane)) {
    pieces.push({ lane: at.lane, upTo: at.seq, until: at.clock })
  }
  return pieces
}
