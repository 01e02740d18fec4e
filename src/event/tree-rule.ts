/** The rule of the tree (design D7, D8), once for the log and the stores: what an event hangs on, and HEAD after it. */

import { ROOT } from './ids.ts'
import type { Event } from './types.ts'

/** A node of a tree, as far as the rule goes. */
export interface RuleNode {
  readonly id: string | null
  /** Whether it can be HEAD, as `canKindBeHead` has it. */
  readonly canBeHead: boolean
}

/**
 * How the rule looks into a tree as it stood when an event came. One object for each kind of tree, never one for each
 * event: every fold runs through the rule. A look may be a read of a database.
 */
export interface TreeAccess<Tree, Node extends RuleNode> {
  head(tree: Tree): Node | null
  find(tree: Tree, id: string): Node | undefined
  /** What a node that cannot be HEAD hangs on, or a node further up with none between them that can be HEAD. */
  above(tree: Tree, node: Node): Node | null
}

/** HEAD after an event, and whether the event asked for a move that was made, or for one to an id that is not there. */
export interface HeadStep<Node> {
  readonly head: Node | null
  readonly move: 'none' | 'made' | 'unknown'
}

/** Whether an event of this kind becomes HEAD; of an unreadable kind it does. */
export function canKindBeHead(kind: string | null | undefined): boolean {
  return kind !== 'ConversationStateUpdateEvent'
}

/**
 * What an event hangs on that asks for `asked` as its parent; null for a root. Undefined when it asks for an id that is
 * not before it: the caller refuses the event, or hangs it on HEAD with a warning. One look at most, none for HEAD.
 */
export function effectiveParent<Tree, Node extends RuleNode>(
  access: TreeAccess<Tree, Node>,
  tree: Tree,
  asked: string | null | undefined,
): Node | null | undefined {
  if (asked === ROOT) return null
  const head = access.head(tree)
  return asked === null || asked === undefined || asked === head?.id ? head : access.find(tree, asked)
}

/** What HEAD means when it is sent to a node: the node, or the nearest above it that can be HEAD; null for none. */
export function anchorIn<Tree, Node extends RuleNode>(
  access: TreeAccess<Tree, Node>,
  tree: Tree,
  target: Node | null,
): Node | null {
  let node = target
  while (node !== null && !node.canBeHead) node = access.above(tree, node)
  return node
}

/**
 * HEAD after an event that is in the tree as `node`, or, when `node` is null, is not in the tree; `event` is null for a
 * line that could not be decoded.
 */
export function headAfterIn<Tree, Node extends RuleNode>(
  access: TreeAccess<Tree, Node>,
  tree: Tree,
  node: Node | null,
  event: Event | null,
): HeadStep<Node> {
  if (node?.canBeHead === true) return { head: node, move: 'none' }
  const head = access.head(tree)
  if (node === null || event?.kind !== 'ConversationStateUpdateEvent' || event.key !== 'leaf_event_id') {
    return { head, move: 'none' }
  }
  if (event.value === null) return { head: null, move: 'made' }
  const target = typeof event.value === 'string' ? access.find(tree, event.value) : undefined
  return target === undefined
    ? { head, move: 'unknown' }
    : { head: anchorIn(access, tree, target), move: 'made' }
}
