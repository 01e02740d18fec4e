/**
 * The rule of the tree (design D7, D8), shared by the log and the stores: the parent of an event, and HEAD
 * after it.
 */

import { ROOT } from './ids.ts'
import type { Event } from './types.ts'

export interface RuleNode {
  readonly id: string | null
  readonly canBeHead: boolean
}

/**
 * Access to a tree as it was when an event arrived. Make one object for each kind of tree, not for each
 * event: every fold uses the rule. A call may read a database.
 */
export interface TreeAccess<Tree, Node extends RuleNode> {
  head(tree: Tree): Node | null
  find(tree: Tree, id: string): Node | undefined
  /** Parent of a node that cannot be HEAD, or an ancestor, with no node that can be HEAD between them. */
  above(tree: Tree, node: Node): Node | null
}

/** HEAD after an event, and whether it requested a move, also to an unknown id. */
export interface HeadStep<Node> {
  readonly head: Node | null
  readonly move: 'none' | 'made' | 'unknown'
}

/** Whether an event of this kind becomes HEAD; an unreadable kind does. */
export function canKindBeHead(kind: string | null | undefined): boolean {
  return kind !== 'ConversationStateUpdateEvent'
}

/**
 * Returns the parent of an event with the `parent_id` `requested`; null for a root. Undefined when that id is
 * unknown: the caller refuses the event, or appends it at HEAD with a warning. At most one look-up, none for
 * HEAD.
 */
export function effectiveParent<Tree, Node extends RuleNode>(
  access: TreeAccess<Tree, Node>,
  tree: Tree,
  requested: string | null | undefined,
): Node | null | undefined {
  if (requested === ROOT) return null
  const head = access.head(tree)
  return requested === null || requested === undefined || requested === head?.id
    ? head
    : access.find(tree, requested)
}

/** The node, or its nearest ancestor that can be HEAD, or null. */
export function anchorIn<Tree, Node extends RuleNode>(
  access: TreeAccess<Tree, Node>,
  tree: Tree,
  target: Node | null,
): Node | null {
  let node = target
  while (node !== null && !node.canBeHead) node = access.above(tree, node)
  return node
}

/** HEAD after an event; `node` is null outside the tree, `event` for a line that could not be decoded. */
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
