/** A checked filter goes in, the stretches of an index that hold what it lets through come out, each with its bounds. */

import type { EventKind } from '../../event/kinds.ts'
import type { Source } from '../../event/shapes.ts'
import type { CheckedEventFilter } from '../checked-query.ts'
import type { Piece } from '../path.ts'
import type { Connection } from './connection.ts'
import { groupsOf } from './kinds.ts'
import { type LogRow, micros, type Micros } from './rows.ts'

/** The first and the last instant that the database can tell. */
export const EVER = { from: -(2n ** 63n), until: 2n ** 63n - 1n } as const

/** A stretch of time in microseconds: the first instant, and the first no longer in it. */
export interface Instants {
  readonly from: bigint
  readonly until: bigint
}

/** Events that stand side by side in one index, in time order. */
export interface Range extends Instants {
  /** What stands before the time in the index: nothing, kind and source, or the lane as well. */
  readonly kind: EventKind | null
  readonly source: Source | null
  readonly lane: number | null
  /** On a lane, the last position that belongs to the path. */
  readonly upTo: number | null
}

type Stretch = Pick<Range, 'lane' | 'upTo' | 'from' | 'until'>

/**
 * The ranges of a filter within some bounds: one for everything, else one for each kind and source in the log, on a path for each of
 * its lanes. They come in the order that they are read in: one after another begins no earlier, downwards ends no later. Where the log is in
 * time order, lanes do not overlap. O(lanes of the path) before the first, O(1) for each.
 */
export function* rangesOf(
  connection: Connection,
  log: LogRow,
  filter: CheckedEventFilter,
  bounds: Instants,
  descending: boolean,
): Generator<Range> {
  const everything: Stretch = { lane: null, upTo: null, ...bounds }
  const upwards =
    filter.leafId === null ? [everything] : stretchesOf(connection, log, filter.conversationId, filter.leafId)
  const stretches = descending ? upwards.toReversed() : upwards
  const all = filter.kinds === null && filter.source === null
  const groups = all ? [{ kind: null, source: null }] : groupsOf(log.kinds, filter)
  for (const { lane, upTo, ...stretch } of stretches) {
    const from = stretch.from > bounds.from ? stretch.from : bounds.from
    const until = stretch.until < bounds.until ? stretch.until : bounds.until
    if (from >= until) continue
    for (const { kind, source } of groups) yield { kind, source, lane, upTo, from, until }
  }
}

/** The same walk as that of `pathPieces`, which SQLite makes in one statement. */
const PATH = `WITH RECURSIVE piece (lane, up_to, until) AS (
    SELECT lane, seq, clock FROM colloquy_event WHERE conversation_id = ? AND id = ? AND lane IS NOT NULL
    UNION ALL
    SELECT lane.parent_lane, lane.parent_seq, lane.parent_clock FROM piece CROSS JOIN colloquy_lane AS lane
    ON lane.conversation_id = ? AND lane.lane = piece.lane AND lane.parent_lane IS NOT NULL)
  SELECT lane, up_to, ${micros('until', 'until_at')} FROM piece`

interface PieceRow extends Pick<Piece, 'lane'> {
  readonly up_to: number
  readonly until_at: Micros
}

/** The pieces of the path to a leaf, the root's first, each with an instant that nothing on it comes before. */
function stretchesOf(connection: Connection, log: LogRow, conversationId: string, leafId: string): Stretch[] {
  const rows = connection.all<PieceRow>(PATH, conversationId, leafId, conversationId).toReversed()
  let from: bigint = EVER.from
  return rows.map((row): Stretch => {
    const until = BigInt(row.until_at)
    const stretch = { lane: row.lane, upTo: row.up_to, from, until: until + 1n }
    // In a log that is in time order nothing comes before what it hangs on.
    if (log.in_order === 1) from = until
    return stretch
  })
}
