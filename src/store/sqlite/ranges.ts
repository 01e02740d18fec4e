/** The index ranges that hold what a filter lets through, so that a page reads no other rows. */

import type { EventKind } from '../../event/kinds.ts'
import type { Source } from '../../event/shapes.ts'
import type { CheckedEventFilter } from '../kit/query/event-query.ts'
import type { Connection } from './connection.ts'
import { countAll, groupsOf } from './kinds.ts'
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
  /** The part of the log that is of its kind and source. */
  readonly share: number
}

/**
 * The ranges of a filter within some bounds: one for everything, else one for each kind and source in the log, on a
 * path for each of its lanes. They come in the order that they are read in: one after another begins no earlier,
 * downwards ends no later. Where the log is in time order, lanes do not overlap. O(lanes of the path) before the first,
 * O(1) for each.
 */
export function* rangesOf(
  connection: Connection,
  log: LogRow,
  filter: CheckedEventFilter,
  bounds: Instants,
  descending: boolean,
): Generator<Range> {
  const groups = sharesOf(log, filter)
  const { leafId, conversationId } = filter
  if (leafId === null) {
    for (const { kind, source, share } of groups)
      yield { kind, source, share, lane: null, upTo: null, from: bounds.from, until: bounds.until }
    return
  }
  // The leaf's segment comes first, the root's last.
  const segments = groups.some(isUpdate)
    ? connection.lists<SegmentRow>(PATH_AND_FIRST, conversationId, leafId, conversationId, conversationId)
    : connection.lists<SegmentRow>(PATH, conversationId, leafId, conversationId)
  const last = segments.length - 1
  for (let i = 0; i <= last; i += 1) {
    const at = descending ? i : last - i
    const [lane, upTo, untilAt, firstCanBeHead] = segments[at] as SegmentRow
    // In a log that is in time order nothing comes before what it hangs on.
    const above = log.in_order === 1 ? segments[at + 1] : undefined
    const from = above === undefined ? bounds.from : latest(BigInt(above[2]), bounds.from)
    const end = BigInt(untilAt) + 1n
    const until = end < bounds.until ? end : bounds.until
    if (from >= until) continue
    for (const group of groups) {
      // A state update always opens a lane, so that none comes after a first event that can be HEAD.
      if (firstCanBeHead === 1 && isUpdate(group)) continue
      const { kind, source, share } = group
      yield { kind, source, share, lane, upTo, from, until }
    }
  }
}

const isUpdate = ({ kind }: Pick<Range, 'kind'>): boolean => kind === 'ConversationStateUpdateEvent'

const latest = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/**
 * The kinds and sources that a filter lets through, each with its part of the log; one for everything where it lets all
 * through.
 */
function sharesOf(
  log: LogRow,
  filter: CheckedEventFilter,
): readonly Pick<Range, 'kind' | 'source' | 'share'>[] {
  if (filter.kinds === null && filter.source === null) return EVERYTHING
  const total = countAll(groupsOf(log.kinds, { kinds: null, source: null }))
  return groupsOf(log.kinds, filter).map(({ kind, source, count }) => ({
    kind,
    source,
    share: count / total,
  }))
}

const EVERYTHING = [{ kind: null, source: null, share: 1 }] as const

/** The segments of the path to a leaf, the same walk as that of `pathSegments`, which SQLite makes in one statement. */
const path = (columns: string): string => `WITH RECURSIVE segment (lane, up_to, until) AS (
    SELECT lane, seq, max_time FROM colloquy_event WHERE conversation_id = ? AND id = ? AND lane IS NOT NULL
    UNION ALL
    SELECT lane.parent_lane, lane.parent_seq, lane.parent_max_time FROM segment CROSS JOIN colloquy_lane AS lane
    ON lane.conversation_id = ? AND lane.lane = segment.lane AND lane.parent_lane IS NOT NULL)
  SELECT lane, up_to, ${micros('until', 'until_at')}${columns} FROM segment`

const PATH = path('')

/** And whether the event that opened each lane can be HEAD. */
const PATH_AND_FIRST = path(
  ', (SELECT can_be_head FROM colloquy_event AS event WHERE event.conversation_id = ? AND event.seq = segment.lane)',
)

type SegmentRow = readonly [lane: number, upTo: number, untilAt: Micros, firstCanBeHead?: number]
