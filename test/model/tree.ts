/** A naive reading of the tree (design D7, D8, D15, D16): computes each fact's parent, and HEAD after it. */

import { deriveEventId } from '../../src/event/ids.ts'
import { isQuarantined, type Fact } from '../../src/event/quarantine.ts'
import { isInstant } from '../../src/event/time.ts'
import type { Event } from '../../src/event/types.ts'

/** A fact at its position. Parents and HEAD are positions; null is the root, or the empty HEAD. */
export interface Node {
  readonly position: number
  readonly id: string | null
  readonly event: Event | null
  readonly kind: string | null
  readonly timestamp: string | null
  readonly inTree: boolean
  readonly parent: number | null
  /** HEAD after the fact is appended. */
  readonly head: number | null
  /** Whether the fact is a move of HEAD. */
  readonly moved: boolean
  /** Codes that a replay reports. */
  readonly warnings: readonly string[]
}

/**
 * Reads all facts of a log. Nodes depend only on earlier facts, so a prefix of the result is the reading
 * of a prefix.
 */
export function readTree(facts: readonly Fact[], conversationId = ''): Node[] {
  const nodes: Node[] = []
  for (const [index, fact] of facts.entries()) {
    const event = isQuarantined(fact) ? null : fact
    const kind = isQuarantined(fact) ? (fact.event_kind ?? null) : fact.kind
    const id = fact.id ?? (event === null ? null : deriveEventId(conversationId, index, event))
    const warnings: string[] = []
    if (event === null) warnings.push('quarantined')

    const isDuplicate = id !== null && positionOf(nodes, id) !== null
    if (isDuplicate) warnings.push('duplicate_id')
    const inTree = id !== null && !isDuplicate

    let timestamp = nodes.at(-1)?.timestamp ?? null
    if (event?.timestamp !== undefined) {
      if (isInstant(event.timestamp)) timestamp = event.timestamp
      else warnings.push('unreadable_timestamp')
    }

    const headBefore = nodes.at(-1)?.head ?? null
    let parent: number | null = null
    if (inTree) {
      const parentId = fact.parent_id ?? null
      if (parentId === null) parent = headBefore
      else if (parentId === '__root__') parent = null
      else {
        parent = positionOf(nodes, parentId)
        if (parent === null) {
          parent = headBefore
          warnings.push('unknown_parent')
        }
      }
    }

    let head = headBefore
    let moved = false
    if (inTree && kind !== 'ConversationStateUpdateEvent') head = index
    if (inTree && event?.kind === 'ConversationStateUpdateEvent' && event.key === 'leaf_event_id') {
      const target = typeof event.value === 'string' ? positionOf(nodes, event.value) : null
      if (event.value === null) {
        head = null
        moved = true
      } else if (target !== null) {
        head = skipUpdates(nodes, target)
        moved = true
      } else warnings.push('head_ignored')
    }
    nodes.push({ position: index, id, event, kind, timestamp, inTree, parent, head, moved, warnings })
  }
  return nodes
}

/** Position of the tree's node with an id, or null. */
export function positionOf(nodes: readonly Node[], id: string): number | null {
  return nodes.find((node) => node.inTree && node.id === id)?.position ?? null
}

/** The node itself, or the event before a state update on its branch (D7). */
export function skipUpdates(nodes: readonly Node[], index: number | null): number | null {
  let position = index
  while (position !== null && nodes[position]?.kind === 'ConversationStateUpdateEvent') {
    position = nodes[position]?.parent ?? null
  }
  return position
}

/** Positions from the root to a node. */
export function pathOf(nodes: readonly Node[], index: number | null): number[] {
  const path: number[] = []
  for (let position = index; position !== null; position = nodes[position]?.parent ?? null)
    path.push(position)
  return path.toReversed()
}
