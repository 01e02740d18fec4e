/** The branches of a conversation: a state goes in, where each ends and which holds HEAD comes out. */

import { isOnPath } from '../log/ancestry.ts'
import { leaves } from '../state/at.ts'
import type { State } from '../state/state.ts'

/** One way through the tree, from a root to an end. */
export interface BranchInfo {
  /** Id of the event that it ends with. */
  readonly leafId: string
  /** Number of events on it. */
  readonly length: number
  /** Whether HEAD lies on it. */
  readonly holdsHead: boolean
}

/**
 * The branches in the order of their ends in the log. O(n + branches · log n).
 * @example
 * const a = { kind: 'PauseEvent', id: 'a' }
 * const state = replay([a, { ...a, id: 'b', parent_id: 'a' }, { ...a, id: 'c', parent_id: 'a' }])
 * listBranches(state) // [{ leafId: 'b', length: 2, holdsHead: false }, { leafId: 'c', length: 2, holdsHead: true }]
 */
export function listBranches({ log }: State): BranchInfo[] {
  const { head } = log
  return leaves(log).flatMap((leaf) =>
    leaf.id === null
      ? []
      : [{ leafId: leaf.id, length: leaf.depth + 1, holdsHead: head !== null && isOnPath(head, leaf) }],
  )
}
