/** Reads what a decision about an append may ask of the log, in one query. */

import { isQuarantined, type Fact } from '../../event/quarantine.ts'
import type { AppendOptions } from '../contract/append.ts'
import type { LogTip, AppendContext } from '../kit/append/append-context.ts'
import type { TreeNode } from '../kit/append/lanes.ts'
import { idsToLoad } from '../kit/append/decide-append.ts'
import { versionOf } from '../kit/append/deduplicate.ts'
import type { Bigint } from '../kit/row.ts'
import type { Connection } from './connection.ts'
import { EVENT_COLUMNS, type EventRow, storedEvent } from './event-row.ts'
import { hasOwnZone } from '../kit/query/time-zone.ts'

interface TipRow {
  readonly created_at: Bigint
  readonly time_zone: string | null
  readonly lease_owner: string | null
  readonly lease_generation: number
  readonly version: number
  readonly last_time: Bigint
  readonly log_max_time: Bigint
  readonly tip_lane: number | null
  readonly tip_end: number | null
  readonly head_seq: number | null
  readonly head_lane: number | null
  readonly head_max_time: Bigint | null
  readonly head_id: string | null
  readonly head_parent_id: string | null
  readonly head_lane_end: number | null
}

interface EntryRow extends EventRow {
  readonly lane: number | null
  readonly max_time: Bigint
  readonly can_be_head: boolean
  readonly lane_end: number | null
}

type Row = TipRow & (EntryRow | { readonly seq: null })

/** A log as it was, and what shows whether it still is. */
export interface FoundLog {
  readonly context: AppendContext
  /** When the conversation was made, in microseconds: another one under its id is known by it. */
  readonly createdAt: string
}

/**
 * One row for each entry asked for: by id, by position, and upwards from one that cannot be HEAD to the next that can;
 * one without an entry when there is none. All of one snapshot. Each row is looked up by itself: what the planner takes
 * for a short table it would walk.
 */
const statement = (schema: string): string => `
WITH RECURSIVE
  asked (seq) AS (
    SELECT e.seq FROM ${schema}.events_with($1, $2) e
    UNION
    SELECT p.seq FROM asked
      CROSS JOIN LATERAL (
        SELECT * FROM ${schema}.events c WHERE c.conversation_id = $1 AND c.seq = asked.seq LIMIT 1
      ) c
      CROSS JOIN LATERAL ${schema}.events_with($1, ARRAY[c.parent_id]) p
    WHERE NOT c.can_be_head
  ),
  wanted (seq) AS (
    SELECT seq FROM asked UNION SELECT seq FROM ${schema}.events
    WHERE conversation_id = $1 AND seq >= $3::integer AND seq < $4::integer
  )
SELECT r.created_at, r.time_zone, r.lease_owner, r.lease_generation, r.version, r.last_time, r.max_time AS log_max_time,
  r.tip_lane, r.tip_end, r.head_seq, r.head_lane, r.head_max_time, r.head_id, r.head_parent_id,
  h.last_seq AS head_lane_end,
  ${EVENT_COLUMNS}, e.lane, e.max_time, e.can_be_head, l.last_seq AS lane_end
FROM ${schema}.conversations r
LEFT JOIN LATERAL (
  SELECT * FROM ${schema}.lanes h WHERE h.conversation_id = $1 AND h.lane = r.head_lane LIMIT 1
) h ON true
LEFT JOIN wanted ON true
LEFT JOIN LATERAL (
  SELECT * FROM ${schema}.events e WHERE e.conversation_id = $1 AND e.seq = wanted.seq LIMIT 1
) e ON true
LEFT JOIN LATERAL (
  SELECT * FROM ${schema}.lanes l WHERE l.conversation_id = $1 AND l.lane = e.lane LIMIT 1
) l ON true
WHERE r.conversation_id = $1`

/** Finds a log, with the entries of some `more` ids, or null. One round trip, O(log n) for each fact. */
export async function findLog(
  connection: Connection,
  conversationId: string,
  facts: readonly Fact[],
  options: AppendOptions,
  more: ReadonlySet<string> = new Set(),
): Promise<FoundLog | null> {
  const rows = await connection.query<Row>(statement(connection.schema), [
    conversationId,
    [...new Set([...idsToLoad(facts), ...more])],
    ...positions(facts, options),
  ])
  const [first] = rows
  if (first === undefined) return null
  const entries = rows.filter((row): row is TipRow & EntryRow => row.seq !== null)
  const bySeq = new Map(entries.map((row) => [row.seq, row]))
  const byId = new Map(entries.flatMap((row) => (row.id !== null && row.inTree ? [[row.id, row]] : [])))
  const ends = new Map(entries.map(({ lane, lane_end: end }) => [lane, end]))
  if (first.head_lane !== null) ends.set(first.head_lane, first.head_lane_end)
  const owner = first.lease_owner
  return {
    createdAt: String(first.created_at),
    context: {
      conversationId,
      timeZone: first.time_zone,
      tip: tipOf(first),
      lease: owner === null ? null : { owner, generation: first.lease_generation },
      find: (id) => {
        const row = byId.get(id)
        return row && treeNodeOf(id, row)
      },
      laneEnd: (lane) => ends.get(lane) ?? -1,
      at: (seq) => {
        const row = bySeq.get(seq) as EntryRow
        return storedEvent(conversationId, row, row.inTree)
      },
    },
  }
}

/** The positions that an import may be repeating. */
function positions(facts: readonly Fact[], { mode, expected = 'any' }: AppendOptions): [number, number] {
  if (mode !== 'import' || expected === 'any') return [0, 0]
  const from = Math.min(Math.max(versionOf(expected), 0), 2 ** 30)
  return Number.isInteger(from) ? [from, from + facts.length] : [0, 0]
}

function tipOf(row: TipRow): LogTip {
  const { head_id: id, head_seq: seq, head_lane: lane, tip_lane: tipLane, tip_end: end } = row
  const head: TreeNode | null =
    id === null || seq === null || lane === null
      ? null
      : {
          id,
          seq,
          lane,
          parentId: row.head_parent_id,
          canBeHead: true,
          maxTime: BigInt(row.head_max_time ?? 0),
        }
  return {
    version: row.version,
    head,
    time: BigInt(row.last_time),
    maxTime: BigInt(row.log_max_time),
    lane: tipLane === null || end === null ? null : { lane: tipLane, end },
  }
}

const treeNodeOf = (id: string, row: EntryRow): TreeNode => ({
  seq: row.seq,
  id,
  parentId: row.parent_id,
  canBeHead: row.can_be_head,
  lane: row.lane as number,
  maxTime: BigInt(row.max_time),
})

/** Whether any time among the facts depends on the conversation's zone. O(facts). */
export const isZoneless = (facts: readonly Fact[]): boolean =>
  facts.some((fact) => !isQuarantined(fact) && fact.timestamp !== undefined && !hasOwnZone(fact.timestamp))
