/**
 * What the decision of an append may ask of the log as it stood, and the end of the log, which every append reads and
 * writes.
 */

import type { LaneEnd, TreeNode } from './lanes.ts'
import type { StoredEvent } from '../../contract/stored-event.ts'

/** The end of a log: all that its next entry depends on, kept in the conversation's row. */
export interface LogTip {
  readonly version: number
  /** The entry that HEAD means; null for the empty HEAD. */
  readonly head: TreeNode | null
  /** The time of the last entry; 0 for an empty log. */
  readonly time: bigint
  /** Whether no entry has an earlier instant than the one before it. */
  readonly inOrder: boolean
  /** The lane that was appended to last, and the position of its last entry; null while there is none. */
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

/** The log as it stood before an append; a store reads it within the append's transaction. */
export interface AppendContext {
  readonly conversationId: string
  /** When the conversation was created, as its record says: another one of the same id was created at another time. */
  readonly createdAt: string
  /** The record's zone, in which timestamps without one are read. */
  readonly timeZone: string | null
  readonly tip: LogTip
  /** The latest lease; null when there is none, or it was given back. */
  readonly lease: { readonly owner: string; readonly generation: number } | null
  /**
   * The entry of the tree with this id. Asked for ids among `idsToLoad`, and for the parents of those found that cannot
   * be HEAD.
   */
  find(id: string): TreeNode | undefined
  /**
   * The entry at a position. Asked for entries found, and by an import that names its position for what stands there.
   */
  at(seq: number): StoredEvent
}
