/** The changes, and the state that they fold to. */

import {
  type AppendDecision,
  type ConversationRecord,
  EMPTY_TIP,
  type FeedRow,
  type Item,
  type LaneOrigin,
  type Lease,
  type LogTip,
  type StoredEvent,
  FEED_CHANGE,
  type TreeNode,
} from 'colloquy/store-kit'

/** The content of one file. Each call adds at most one change, so its effect is atomic. */
export type Change =
  | { readonly type: 'created' | 'patched'; readonly id: string; readonly record: ConversationRecord }
  | Appended
  | { readonly type: 'deleted'; readonly id: string }
  | { readonly type: 'listed'; readonly id: string; readonly status: string }
  | { readonly type: 'leased'; readonly id: string; readonly lease: Lease | null; readonly taken: number }
  | SnapshotSaved
  | { readonly type: 'items'; readonly put: readonly Item[]; readonly gone: readonly ItemName[] }
  /** Replaces an erased change; keeps its position in the feed, if it had one. */
  | { readonly type: 'erased'; readonly change: FeedChange | null }

interface Appended {
  readonly type: 'appended'
  readonly id: string
  readonly updatedAt: string
  readonly events: readonly StoredEvent[]
  readonly tree: Tree
}

interface SnapshotSaved {
  readonly type: 'snapshot'
  readonly id: string
  readonly complete: boolean
  /** Bytes as base64, by part number. */
  readonly parts: readonly (readonly [part: number, bytes: string])[]
}

/** The effect of an append on the tree. The kit computes it, and needs it at the next append. */
interface Tree extends Pick<AppendDecision, 'opened' | 'tip'> {
  readonly nodes: readonly TreeNode[]
}

type ItemName = Pick<Item, 'collection' | 'id'>
type FeedChange = Pick<FeedRow, 'conversationId' | 'change' | 'from' | 'until'>

/** The state of one conversation. */
export interface StoredConversation {
  record: ConversationRecord
  readonly events: StoredEvent[]
  readonly nodes: Map<string, TreeNode>
  readonly lanes: Map<number, LaneOrigin | null>
  tip: LogTip
  lease: Lease | null
  /** Number of times a lease was acquired. */
  taken: number
  /** The changes that contain the snapshot's parts. */
  readonly snapshot: Map<number, number>
  /** All changes of this conversation. The first created it. */
  readonly changes: number[]
}

/** The fold of all changes. */
export interface State {
  /** The number of the next change. */
  next: number
  readonly conversations: Map<string, StoredConversation>
  readonly items: Map<string, Map<string, Item>>
  readonly feed: (FeedChange & { readonly number: number; readonly witness: string })[]
}

export const newState = (): State => ({ next: 1, conversations: new Map(), items: new Map(), feed: [] })

/** Serializes a change. @param witness random, so that a change of another folder is never mistaken for this one */
export const textOf = (change: Change, witness: string): string =>
  `${JSON.stringify({ witness, ...change }, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))}\n`

/** Parses a change and freezes it, since callers of the store receive parts of it. */
export function changeIn(text: string): Change & { readonly witness: string } {
  const change = JSON.parse(text, (_, value: unknown) => Object.freeze(value)) as Change & { witness: string }
  if (change.type !== 'appended') return change
  const tree = JSON.parse(JSON.stringify(change.tree), (key, value: unknown) =>
    key === 'time' ? BigInt(value as string) : value,
  ) as Tree
  return { ...change, tree }
}

/** Folds the next change into a state. Returns the changes whose content is no longer needed. O(size). */
export function apply(state: State, change: Change & { readonly witness: string }): readonly number[] {
  const number = state.next
  state.next += 1
  const feedChange = feedChangeOf(change)
  if (feedChange !== null) state.feed.push({ ...feedChange, number: number, witness: change.witness })
  if (change.type === 'erased') return []
  if (change.type === 'items') {
    for (const { collection, id } of change.gone) state.items.get(collection)?.delete(id)
    for (const item of change.put) {
      const items = state.items.get(item.collection) ?? new Map<string, Item>()
      state.items.set(item.collection, items.set(item.id, item))
    }
    return []
  }
  if (change.type === 'created') state.conversations.set(change.id, newConversation(change.record))
  const stored = state.conversations.get(change.id)
  // The conversation was deleted, but not all of its changes are erased yet.
  if (stored === undefined) return []
  if (change.type !== 'deleted') stored.changes.push(number)
  switch (change.type) {
    case 'created':
      return []
    case 'patched':
      stored.record = change.record
      return []
    case 'listed':
      stored.record = Object.freeze({ ...stored.record, status: change.status })
      return []
    case 'appended':
      applyAppend(stored, change)
      return []
    case 'leased':
      stored.lease = change.lease
      stored.taken = change.taken
      return []
    case 'snapshot':
      return saveSnapshot(stored, change, number)
    case 'deleted':
      state.conversations.delete(change.id)
      // Latest first: if erasing is interrupted, an earlier state remains and is deleted again.
      return stored.changes.toReversed()
  }
}

/** The feed entry of a change, or null. */
export function feedChangeOf(change: Change): FeedChange | null {
  switch (change.type) {
    case 'erased':
      return change.change
    case 'created':
    case 'patched':
      return { conversationId: change.id, change: FEED_CHANGE.changed, from: 0, until: 1 }
    case 'deleted':
      return { conversationId: change.id, change: FEED_CHANGE.deleted, from: 0, until: 1 }
    case 'appended': {
      const until = change.tree.tip.version
      const from = until - change.events.length
      return { conversationId: change.id, change: FEED_CHANGE.events, from, until }
    }
    default:
      return null
  }
}

const newConversation = (record: ConversationRecord): StoredConversation => ({
  record,
  events: [],
  nodes: new Map(),
  lanes: new Map(),
  tip: EMPTY_TIP,
  lease: null,
  taken: 0,
  snapshot: new Map(),
  changes: [],
})

function applyAppend(stored: StoredConversation, { events, updatedAt, tree }: Appended): void {
  const { nodes, opened, tip } = tree
  stored.events.push(...events)
  for (const node of nodes) stored.nodes.set(node.id, node)
  for (const { lane, parent } of opened) stored.lanes.set(lane, parent)
  stored.tip = tip
  stored.record = Object.freeze({
    ...stored.record,
    updatedAt,
    version: tip.version,
    headId: tip.head?.id ?? null,
  })
}

/** Returns the changes that no longer contain a part of the current snapshot. */
function saveSnapshot(
  { snapshot }: StoredConversation,
  { parts, complete }: SnapshotSaved,
  number: number,
): readonly number[] {
  const before = new Set(snapshot.values())
  if (complete) snapshot.clear()
  for (const [part] of parts) snapshot.set(part, number)
  const remaining = new Set(snapshot.values())
  return [...before].filter((change) => !remaining.has(change))
}
