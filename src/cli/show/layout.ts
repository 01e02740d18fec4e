/** The tree as rows from top to bottom, so that the line to HEAD goes straight down and side branches stay shallow. */

import type { Entry, State } from '../../index.ts'
import { kindOf, pathTo } from '../../state/index.ts'

/** An entry at its place on the page. */
export interface TreeRow {
  readonly entry: Entry
  /** How many branches run beside it, left of it. */
  readonly depth: number
  /** Whether it is the first of a branch that leaves the line on its left. */
  readonly forks: boolean
  readonly onHeadPath: boolean
  /** Whether nothing but state updates hangs on it. */
  readonly isEnd: boolean
  /** A state update that nothing hangs on: a remark on the row above rather than a branch. */
  readonly isRemark: boolean
}

interface Shape {
  readonly children: ReadonlyMap<Entry | null, readonly Entry[]>
  /** Number of entries below and at each position. */
  readonly sizes: Int32Array
  /** The entries from the root to HEAD. */
  readonly onHeadPath: ReadonlySet<Entry>
}

/**
 * The rows of the tree, a branch before the line that it leaves. A line goes straight down: only the entries of a side
 * branch stand further right, the line to HEAD never, and of two other branches the larger goes on. So the depth grows
 * with the logarithm of the number of events, not with their number. O(n).
 */
export function* treeRows(state: State): IterableIterator<TreeRow> {
  const shape = shapeOf(state)
  const todo: { entry: Entry; depth: number; forks: boolean }[] = []
  /** Yields the remarks on an entry, or on the empty tree, and notes the branches below for later. */
  function* below(above: Entry | null, depth: number, onHeadPath: boolean): IterableIterator<TreeRow> {
    const branches: Entry[] = []
    for (const entry of shape.children.get(above) ?? []) {
      if (!isRemark(entry, shape)) branches.push(entry)
      else yield { entry, depth, forks: false, onHeadPath, isEnd: false, isRemark: true }
    }
    const main = mainOf(branches, shape)
    if (main !== undefined) todo.push({ entry: main, depth, forks: false })
    for (const entry of branches.toReversed()) {
      // Roots stand under each other: there is no line that the others could leave.
      if (entry !== main) todo.push({ entry, depth: above === null ? 0 : depth + 1, forks: above !== null })
    }
  }
  yield* below(null, 0, false)
  for (let place = todo.pop(); place !== undefined; place = todo.pop()) {
    const { entry, depth } = place
    const onHeadPath = leadsToHead(entry, shape)
    yield { ...place, onHeadPath, isEnd: isEnd(entry, shape), isRemark: false }
    yield* below(entry, depth, onHeadPath)
  }
}

function shapeOf(state: State): Shape {
  const { log } = state
  const children = new Map<Entry | null, Entry[]>()
  const sizes = new Int32Array(log.entries.length).fill(1)
  for (const entry of log.entries) {
    if (!entry.inTree) continue
    const siblings = children.get(entry.parent)
    if (siblings === undefined) children.set(entry.parent, [entry])
    else siblings.push(entry)
  }
  // A parent always stands before its children.
  for (const { seq, inTree, parent } of log.entries.slice().toReversed()) {
    if (inTree && parent !== null) sizes[parent.seq] = (sizes[parent.seq] ?? 0) + (sizes[seq] ?? 0)
  }
  return { children, sizes, onHeadPath: new Set(pathTo(state)) }
}

const leadsToHead = (entry: Entry, { onHeadPath }: Shape): boolean => onHeadPath.has(entry)

const isRemark = (entry: Entry, { children }: Shape): boolean =>
  kindOf(entry) === 'ConversationStateUpdateEvent' && !children.has(entry)

const isEnd = (entry: Entry, shape: Shape): boolean =>
  (shape.children.get(entry) ?? []).every((child) => isRemark(child, shape))

/** The child that goes on in the same column: the one that leads to HEAD, else the first of the largest. */
function mainOf(children: readonly Entry[], shape: Shape): Entry | undefined {
  let best: Entry | undefined
  for (const child of children) {
    if (leadsToHead(child, shape)) return child
    if (best === undefined || (shape.sizes[child.seq] ?? 0) > (shape.sizes[best.seq] ?? 0)) best = child
  }
  return best
}
