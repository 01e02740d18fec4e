/** Tree rule (design D7, D8) of the log and the stores: an event's parent, and HEAD after it. */

import { ROOT } from './ids.ts'
import type { Event } from './types.ts'

interface RuleNode {
  readonly id: string | null
  readonly canBeHead: boolean
}

/**
 * Access to the tree to which an event is added. Create one object per kind of tree, not per event: every
 * fold uses it. A method may read a database.
 */
export interface TreeAccess<Tree, Node extends RuleNode> {
  find(tree: Tree, id: string): Node | undefined
  /**
   * Returns the parent of a node that cannot be HEAD, or a higher ancestor if no node in between can be HEAD.
   */
  above(tree: Tree, node: Node): Node | null
}

/** HEAD after an event, and the move that it requested: none, made, or to an unknown id. */
export interface HeadStep<Node> {
  readonly head: Node | null
  readonly move: 'none' | 'made' | 'unknown'
}

export function canKindBeHead(kind: string | null | undefined): boolean {
  return kind !== 'ConversationStateUpdateEvent'
}

/**
 * Returns the parent for a `requested` `parent_id`: HEAD if it is null or missing, null for a root. Undefined
 * for an unknown id: the caller rejects the event, or appends it at HEAD with a warning. At most one lookup,
 * none for HEAD.
 */
export function effectiveParent<Tree, Node extends RuleNode>(
  access: TreeAccess<Tree, Node>,
  tree: Tree,
  head: Node | null,
  requested: string | null | undefined,
): Node | null | undefined {
  if (requested === ROOT) return null
  return requested === null || requested === undefined || requested === head?.id
    ? head
    : access.find(tree, requested)
}

/** The nearest of a node and its ancestors that can be HEAD, or null. */
export function anchorIn<Tree, Node extends RuleNode>(
  access: TreeAccess<Tree, Node>,
  tree: Tree,
  target: Node | null,
): Node | null {
  let node = target
  while (node !== null && !node.canBeHead) node = access.above(tree, node)
  return node
}

/** HEAD after a fact that cannot be HEAD. `event` is null if undecodable or outside the tree. */
export function movedHead<Tree, Node extends RuleNode>(
  access: TreeAccess<Tree, Node>,
  tree: Tree,
  head: Node | null,
  event: Event | null,
): HeadStep<Node> {
  if (event?.kind !== 'ConversationStateUpdateEvent' || event.key !== 'leaf_event_id')
    return { head, move: 'none' }
  if (event.value === null) return { head: null, move: 'made' }
  const target = typeof event.value === 'string' ? access.find(tree, event.value) : undefined
  return target === undefined
    ? { head, move: 'unknown' }
    : { head: anchorIn(access, tree, target), move: 'made' }
}
