/** The changes, and the state they fold to: the store is a fold of its own log. */

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

/** One file. Every call changes the store by one of these, so that it takes effect whole or not at all. */
export type Change =
  | { readonly type: 'created' | 'patched'; readonly id: string; readonly record: ConversationRecord }
  | Appended
  | { readonly type: 'deleted'; readonly id: string }
  | { readonly type: 'listed'; readonly id: string; readonly status: string }
  | { readonly type: 'leased'; readonly id: string; readonly lease: Lease | null; readonly taken: number }
  | SnapshotSaved
  | { readonly type: 'items'; readonly put: readonly Item[]; readonly gone: readonly ItemName[] }
  /** Remains of a change whose content was erased: its position in the feed, if it had one. */
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

/** The effect of an append on the tree. The kit computes it, and gets it back at the next append. */
interface Tree extends Pick<AppendDecision, 'opened' | 'tip'> {
  readonly nodes: readonly TreeNode[]
}

type ItemName = Pick<Item, 'collection' | 'id'>
type FeedChange = Pick<FeedRow, 'conversationId' | 'change' | 'from' | 'until'>

/** The state of one conversation. */
export interface Kept {
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
  readonly conversations: Map<string, Kept>
  readonly items: Map<string, Map<string, Item>>
  readonly feed: (FeedChange & { readonly number: number; readonly witness: string })[]
}

export const newState = (): State => ({ next: 1, conversations: new Map(), items: new Map(), feed: [] })

/** Serializes a change. @param witness random, so that a change of another folder is never mistaken for it */
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
  const report = feedChangeOf(change)
  if (report !== null) state.feed.push({ ...report, number: number, witness: change.witness })
  if (change.type === 'erased') return []
  if (change.type === 'items') {
    for (const { collection, id } of change.gone) state.items.get(collection)?.delete(id)
    for (const item of change.put) {
      const items = state.items.get(item.collection) ?? new Map<string, Item>()
      state.items.set(item.collection, items.set(item.id, item))
    }
    return []
  }
  if (change.type === 'created') state.conversations.set(change.id, newKept(change.record))
  const stored = state.conversations.get(change.id)
  // It was deleted, but not all of its changes are erased yet.
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
      append(stored, change)
      return []
    case 'leased':
      stored.lease = change.lease
      stored.taken = change.taken
      return []
    case 'snapshot':
      return save(stored, change, number)
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

const newKept = (record: ConversationRecord): Kept => ({
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

function append(stored: Kept, { events, updatedAt, tree }: Appended): void {
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

/** Returns the changes whose last needed part this one replaces. */
function save({ snapshot }: Kept, { parts, complete }: SnapshotSaved, number: number): readonly number[] {
  const before = new Set(snapshot.values())
  if (complete) snapshot.clear()
  for (const [part] of parts) snapshot.set(part, number)
  const now = new Set(snapshot.values())
  return [...before].filter((change) => !now.has(change))
}
