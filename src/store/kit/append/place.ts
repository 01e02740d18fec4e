/** Extends the tree by the events of an append: parents, HEAD and lanes. */

import { ColloquyError } from '../../../event/errors.ts'
import { deriveEventId, isLegalId } from '../../../event/ids.ts'
import { isQuarantined, type Fact } from '../../../event/quarantine.ts'
import { quote } from '../../../event/text.ts'
import { canKindBeHead, effectiveParent, headAfterIn, type TreeAccess } from '../../../event/tree-rule.ts'
import type { Event } from '../../../event/types.ts'
import { stampedBody } from './body.ts'
import { type AppendContext, type Lane, laneOf, type LogTip, type TreeNode } from './append-context.ts'
import type { StoredEvent } from '../../contract/query.ts'
import { instantIn } from '../query/time-zone.ts'

/** An entry to be stored. */
export interface PlacedEvent {
  readonly event: StoredEvent
  readonly time: bigint
  /** Stored so that later events can refer to it; null outside of the tree. */
  readonly node: TreeNode | null
  /** Whether its body may have a string that `splitBody` takes out. */
  readonly hasLargeString: boolean
}

interface AppendDraft {
  readonly context: AppendContext
  readonly live: boolean
  readonly added: PlacedEvent[]
  readonly opened: Lane[]
  readonly nodes: Map<string, TreeNode>
  tip: LogTip
}

export function newAppendDraft(context: AppendContext, live: boolean): AppendDraft {
  const { tip } = context
  // HEAD is known already, and no announced id when a state update of this append hangs on it.
  const nodes = new Map(tip.head === null ? [] : [[tip.head.id, tip.head]])
  return { context, live, added: [], opened: [], nodes, tip }
}

/**
 * Adds the next fact at the end of the log (design D7, D8, D15, D16).
 * @throws for a live append: `unknown_parent`, `unknown_event` for a move of HEAD to an unknown event.
 */
export function placeNext(draft: AppendDraft, fact: Fact, hasLargeString: boolean): StoredEvent {
  const { context, live, tip } = draft
  const { conversationId } = context
  const seq = tip.version
  const event = isQuarantined(fact) ? null : fact
  const id = fact.id ?? (event === null ? null : deriveEventId(conversationId, seq, event))
  // A live fact is new here, or it would have been deduplicated.
  const inTree = id !== null && (live || find(draft, id) === undefined)
  const parent = inTree ? parentOf(draft, fact) : null
  const time = timeOf(event, context.timeZone) ?? tip.time
  const inOrder = tip.inOrder && (seq === 0 || time >= tip.time)
  const body = live && event !== null ? stampedBody(event, tip.head?.id ?? null, seq === 0) : fact
  const stored: StoredEvent = Object.freeze({
    conversationId,
    seq,
    id,
    fact: body,
    parentId: parent?.id ?? null,
    inTree,
    time: String(time),
  })
  const node = inTree ? treeNodeOf(draft, stored, parent, time) : null
  const head = headAfter(draft, event, node)
  const lane = node?.canBeHead === true ? { lane: node.lane, end: seq } : tip.lane
  if (node !== null) draft.nodes.set(node.id, node)
  draft.added.push({ event: stored, time, node, hasLargeString })
  draft.tip = { version: seq + 1, head, time, inOrder, lane }
  return stored
}

function find(draft: AppendDraft, id: string): TreeNode | undefined {
  // Databases would change such an id and find another event.
  return draft.nodes.get(id) ?? (isLegalId(id) ? draft.context.find(id) : undefined)
}

const DRAFT_TREE: TreeAccess<AppendDraft, TreeNode> = {
  head: (draft) => draft.tip.head,
  find,
  above: (draft, { parentId }) => (parentId === null ? null : (find(draft, parentId) ?? null)),
}

function parentOf(draft: AppendDraft, fact: Fact): TreeNode | null {
  const result = effectiveParent(DRAFT_TREE, draft, fact.parent_id)
  if (result !== undefined) return result
  if (!draft.live) return draft.tip.head
  const requested = fact.parent_id ?? ''
  throw new ColloquyError(
    'unknown_parent',
    `Unknown parent ${quote(requested)}. Append it first, or omit the parent to continue from HEAD.`,
    { conversationId: draft.context.conversationId, id: fact.id, parentId: requested },
  )
}

function timeOf(event: Event | null, timeZone: string | null): bigint | undefined {
  return event?.timestamp === undefined ? undefined : instantIn(event.timestamp, timeZone)
}

function treeNodeOf(
  draft: AppendDraft,
  { seq, id, parentId, fact }: StoredEvent,
  parent: TreeNode | null,
  time: bigint,
): TreeNode {
  const canBeHead = canKindBeHead(isQuarantined(fact) ? fact.event_kind : fact.kind)
  const lane = laneOf(seq, canBeHead, parent, draft.tip.lane)
  if (lane === seq)
    draft.opened.push({
      lane,
      time,
      parent: parent && { lane: parent.lane, seq: parent.seq, time: parent.time },
    })
  return { seq, id: id as string, parentId, canBeHead, lane, time }
}

function headAfter(draft: AppendDraft, event: Event | null, node: TreeNode | null): TreeNode | null {
  const { head, move } = headAfterIn(DRAFT_TREE, draft, node, event)
  if (move !== 'unknown' || !draft.live || event?.kind !== 'ConversationStateUpdateEvent') return head
  throw new ColloquyError(
    'unknown_event',
    `Cannot move HEAD to ${typeof event.value === 'string' ? quote(event.value) : 'an invalid id'}: the log has no such event.`,
    { conversationId: draft.context.conversationId, id: event.value },
  )
}
