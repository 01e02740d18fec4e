/** Facts go to the end of a log, in one transaction in which everything about them is decided. */

import { unknownConversation } from '../conversation-errors.ts'
import { KINDS } from '../../event/kinds.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { AppendOptions } from '../append.ts'
import type { Lookup } from '../lookup.ts'
import { messageText } from '../message-text.ts'
import type { Spot } from '../path.ts'
import { askedIds, decideAppend, type Placement } from '../placement.ts'
import type { StoredEvent } from '../stored-event.ts'
import type { Connection } from './connection.ts'
import { findLease } from './leases.ts'
import { selectAt } from './read.ts'
import { countKinds } from './kinds.ts'
import { findLog, type LogRow, SPOT_COLUMNS, type SpotRow, toSpot, toTip } from './rows.ts'

const FIND = `SELECT ${SPOT_COLUMNS} FROM colloquy_event AS event
  WHERE event.conversation_id = ? AND event.id = ? AND event.lane IS NOT NULL`

const FIND_MANY = `SELECT ${SPOT_COLUMNS} FROM json_each(?) AS asked CROSS JOIN colloquy_event AS event
  ON event.conversation_id = ? AND event.id = asked.value AND event.lane IS NOT NULL`

const LANE_END = 'SELECT lane_end FROM colloquy_lane WHERE conversation_id = ? AND lane = ?'

const INSERT_EVENT = `INSERT INTO colloquy_event
  (conversation_id, seq, id, parent_id, time, lane, real, clock, kind, source, text, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const INSERT_LANE = `INSERT INTO colloquy_lane
  (conversation_id, lane, parent_lane, parent_seq, parent_clock, lane_end) VALUES (?, ?, ?, ?, ?, ?)`

const LEAVE_LANE = 'UPDATE colloquy_lane SET lane_end = ? WHERE conversation_id = ? AND lane = ?'

const UPDATE_LOG = `UPDATE colloquy_log SET version = ?, updated_at = max(updated_at, ?), time = ?, clock = ?, in_order = ?,
  head_seq = ?, head_id = ?, head_parent_id = ?, head_lane = ?, head_clock = ?, lane = ?, lane_end = ?, kinds = ?
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
): Placement {
  return connection.write(() => {
    const log = findLog(connection, conversationId)
    if (log === undefined) throw unknownConversation(conversationId)
    const placement = decideAppend(lookupIn(connection, conversationId, log, facts), facts, options)
    if (placement.added.length > 0) write(connection, conversationId, log, placement, now)
    return placement
  })
}

function lookupIn(
  connection: Connection,
  conversationId: string,
  log: LogRow,
  facts: readonly Fact[],
): Lookup {
  const spots = new Map<string, Spot | undefined>()
  if (facts.length > FEW) {
    const asked = askedIds(facts)
    for (const id of asked) spots.set(id, undefined)
    const found = connection.all<SpotRow>(FIND_MANY, JSON.stringify([...asked]), conversationId)
    for (const row of found) spots.set(row.id, toSpot(row))
  }
  const find = (id: string): Spot | undefined => {
    if (spots.has(id)) return spots.get(id)
    const row = connection.get<SpotRow>(FIND, conversationId, id)
    const spot = row && toSpot(row)
    spots.set(id, spot)
    return spot
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
      connection.get<{ readonly lane_end: number }>(LANE_END, conversationId, lane)?.lane_end ?? -1,
    at: (seq) => selectAt(connection, conversationId, seq) as StoredEvent,
  }
}

function write(
  connection: Connection,
  conversationId: string,
  before: LogRow,
  { added, opened, left, tip }: Placement,
  now: bigint,
): void {
  let clock = before.version === 0 ? null : BigInt(before.clock_at)
  let inOrder = before.in_order
  const kinds: string[] = []
  for (const { event, spot } of added) {
    const { seq, id, parentId, time, fact } = event
    const kind = isQuarantined(fact) ? null : fact.kind
    const source = isQuarantined(fact) ? null : (fact.source ?? KINDS[fact.kind].defaultSource)
    if (spot !== null && kind !== null && source !== null) kinds.push(`${kind}/${source}`)
    if (clock !== null && time < clock) inOrder = 0
    else clock = time
    const lane = spot?.lane ?? null
    const real = spot === null ? null : Number(spot.real)
    const text = messageText(fact)
    const body = JSON.stringify(fact)
    // oxfmt-ignore
    connection.run(
      INSERT_EVENT, conversationId, seq, id, parentId, time, lane, real, spot?.clock ?? null, kind, source, text, body,
    )
  }
  for (const { lane, parent, end } of opened) {
    const { lane: from = null, seq = null, clock = null } = parent ?? {}
    connection.run(INSERT_LANE, conversationId, lane, from, seq, clock, end)
  }
  for (const { lane, end } of left) connection.run(LEAVE_LANE, end, conversationId, lane)
  const { version, time, head, lane } = tip
  // oxfmt-ignore
  connection.run(
    UPDATE_LOG, version, now, time, tip.clock, inOrder,
    head?.seq ?? null, head?.id ?? null, head?.parentId ?? null, head?.lane ?? null, head?.clock ?? null,
    lane?.lane ?? null, lane?.end ?? null, countKinds(before.kinds, kinds), conversationId,
  )
}
