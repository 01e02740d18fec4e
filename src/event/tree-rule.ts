/** The tree rule of logs and stores (design D7, D8): an event's parent, and HEAD after the event. */

import { ROOT } from './ids.ts'
import type { Event } from './types.ts'

interface RuleNode {
  readonly id: string | null
  readonly canBeHead: boolean
}

/**
 * Access to the tree to which an event is added. Create one object for each kind of tree, not for each event.
 * A method may read a database.
 */
export interface TreeAccess<Tree, Node extends RuleNode> {
  find(tree: Tree, id: string): Node | undefined
  /** Returns the parent of a node that cannot be HEAD. May skip ancestors that cannot be HEAD either. */
  above(tree: Tree, node: Node): Node | null
}

/** HEAD after an event. `move`: whether the event moved HEAD; `unknown` if the event names an unknown target. */
export interface HeadStep<Node> {
  readonly head: Node | null
  readonly move: 'none' | 'made' | 'unknown'
}

export function canKindBeHead(kind: string | null | undefined): boolean {
  return kind !== 'ConversationStateUpdateEvent'
}

/**
 * Returns the parent of an event whose `parent_id` is `requested`: HEAD if `requested` is null or undefined,
 * null if `requested` is `__root__`. Returns undefined for an unknown id; the caller then rejects the event,
 * or appends it at HEAD with a warning. Makes at most one lookup, and no lookup for HEAD.
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

/** Returns the node if it can be HEAD, otherwise its nearest ancestor that can be HEAD, or null. */
export function anchorIn<Tree, Node extends RuleNode>(
  access: TreeAccess<Tree, Node>,
  tree: Tree,
  target: Node | null,
): Node | null {
  let node = target
  while (node !== null && !node.canBeHead) node = access.above(tree, node)
  return node
}

/** Returns HEAD after a fact that cannot be HEAD. Pass null for a fact that is undecodable or outside the tree. */
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
