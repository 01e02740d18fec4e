/** Facts go to the end of a log, in one transaction in which everything about them is decided. */

import { unknownConversation } from '../kit/errors.ts'
import { KINDS } from '../../event/kinds.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { AppendOptions } from '../contract/append.ts'
import type { AppendContext } from '../kit/append/append-context.ts'
import { messageText } from '../kit/query/message-text.ts'
import type { TreeNode } from '../kit/append/lanes.ts'
import { idsToLoad, decideAppend, type AppendDecision } from '../kit/append/decide-append.ts'
import type { StoredEvent } from '../contract/stored-event.ts'
import type { Connection } from './connection.ts'
import { findLease } from './leases.ts'
import { selectAt } from './read.ts'
import { countKinds } from './kinds.ts'
import { findLog, type LogRow, TREE_NODE_COLUMNS, type TreeNodeRow, toTreeNode, toTip } from './rows.ts'

const FIND = `SELECT ${TREE_NODE_COLUMNS} FROM colloquy_event AS event
  WHERE event.conversation_id = ? AND event.id = ? AND event.lane IS NOT NULL`

const FIND_MANY = `SELECT ${TREE_NODE_COLUMNS} FROM json_each(?) AS asked CROSS JOIN colloquy_event AS event
  ON event.conversation_id = ? AND event.id = asked.value AND event.lane IS NOT NULL`

const LANE_END = 'SELECT last_seq FROM colloquy_lane WHERE conversation_id = ? AND lane = ?'

const INSERT_EVENT = `INSERT INTO colloquy_event
  (conversation_id, seq, id, parent_id, time, lane, can_be_head, max_time, kind, source, message, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const INSERT_LANE = `INSERT INTO colloquy_lane
  (conversation_id, lane, parent_lane, parent_seq, parent_max_time, last_seq) VALUES (?, ?, ?, ?, ?, ?)`

const LEAVE_LANE = 'UPDATE colloquy_lane SET last_seq = ? WHERE conversation_id = ? AND lane = ?'

const UPDATE_LOG = `UPDATE colloquy_log SET version = ?, updated_at = max(updated_at, ?), last_time = ?, max_time = ?, in_order = ?,
  head_seq = ?, head_id = ?, head_parent_id = ?, head_lane = ?, head_max_time = ?, tip_lane = ?, tip_end = ?, kinds = ?
  WHERE conversation_id = ?`

/** With fewer facts, asking for each id is as fast as asking for all at once. */
const FEW = 3

/**
 * Decides an append and carries it out. O(log n) for each fact.
 * @throws `unknown_conversation`, and what {@link decideAppend} throws; nothing is changed then.
 */
export function append(
  connection: Connection,
  conversationId: string,
  facts: readonly Fact[],
  options: AppendOptions,
  now: bigint,
): AppendDecision {
  return connection.write(() => {
    const log = findLog(connection, conversationId)
    if (log === undefined) throw unknownConversation(conversationId)
    const decision = decideAppend(contextIn(connection, conversationId, log, facts), facts, options)
    if (decision.added.length > 0) write(connection, conversationId, log, decision, now)
    return decision
  })
}

function contextIn(
  connection: Connection,
  conversationId: string,
  log: LogRow,
  facts: readonly Fact[],
): AppendContext {
  const nodes = new Map<string, TreeNode | undefined>()
  if (facts.length > FEW) {
    const asked = idsToLoad(facts)
    for (const id of asked) nodes.set(id, undefined)
    const found = connection.all<TreeNodeRow>(FIND_MANY, JSON.stringify([...asked]), conversationId)
    for (const row of found) nodes.set(row.id, toTreeNode(row))
  }
  const find = (id: string): TreeNode | undefined => {
    if (nodes.has(id)) return nodes.get(id)
    const row = connection.get<TreeNodeRow>(FIND, conversationId, id)
    const node = row && toTreeNode(row)
    nodes.set(id, node)
    return node
  }
  return {
    conversationId,
    timeZone: log.time_zone,
    tip: toTip(log),
    get lease() {
      return findLease(connection, conversationId)
    },
    find,
    laneEnd: (lane) =>
      connection.get<{ readonly last_seq: number }>(LANE_END, conversationId, lane)?.last_seq ?? -1,
    at: (seq) => selectAt(connection, conversationId, seq) as StoredEvent,
  }
}

function write(
  connection: Connection,
  conversationId: string,
  before: LogRow,
  { added, opened, left, tip }: AppendDecision,
  now: bigint,
): void {
  let maxTime = before.version === 0 ? null : BigInt(before.max_time_at)
  let inOrder = before.in_order
  const kinds: string[] = []
  for (const { event, time, node } of added) {
    const { seq, id, parentId, fact } = event
    const kind = isQuarantined(fact) ? null : fact.kind
    const source = isQuarantined(fact) ? null : (fact.source ?? KINDS[fact.kind].defaultSource)
    if (node !== null && kind !== null && source !== null) kinds.push(`${kind}/${source}`)
    if (maxTime !== null && time < maxTime) inOrder = 0
    else maxTime = time
    const lane = node?.lane ?? null
    const canBeHead = node === null ? null : Number(node.canBeHead)
    const text = messageText(fact)
    const body = JSON.stringify(fact)
    // oxfmt-ignore
    connection.run(
      INSERT_EVENT, conversationId, seq, id, parentId, time, lane, canBeHead, node?.maxTime ?? null, kind, source, text, body,
    )
  }
  for (const { lane, parent, end } of opened) {
    const { lane: from = null, seq = null, maxTime = null } = parent ?? {}
    connection.run(INSERT_LANE, conversationId, lane, from, seq, maxTime, end)
  }
  for (const { lane, end } of left) connection.run(LEAVE_LANE, end, conversationId, lane)
  const { version, time, head, lane } = tip
  // oxfmt-ignore
  connection.run(
    UPDATE_LOG, version, now, time, tip.maxTime, inOrder,
    head?.seq ?? null, head?.id ?? null, head?.parentId ?? null, head?.lane ?? null, head?.maxTime ?? null,
    lane?.lane ?? null, lane?.end ?? null, countKinds(before.kinds, kinds), conversationId,
  )
}
