/** Query planner for event pages on SQLite: picks index ranges and merges them in time order. */

import { type CheckedEventFilter, type CheckedEventQuery, eventCursor } from '../kit/query/event-query.ts'
import { countWithin, pageOf } from '../kit/query/page.ts'
import type { EventPage, Page } from '../contract/query.ts'
import type { StoredEvent } from '../contract/stored-event.ts'
import type { Connection } from './connection.ts'
import {
  countSql,
  countValues,
  scanNextSql,
  namesOf,
  pageSql,
  pageValues,
  type RangeForm,
} from './range-sql.ts'
import { countAll, groupsOf } from './kinds.ts'
import { EVER, type Instants, type Range, rangesOf } from './ranges.ts'
import { type FoundRow, findLog, type LogRow, toStored } from './rows.ts'

/**
 * Ranges in one statement. A log rarely has more kinds and sources; a statement of more takes longer to prepare than to
 * run twice.
 */
const AT_ONCE = 20

/**
 * One page. O(log n + limit) for each kind and source in the log that the filter lets through; on a path as well for
 * the lanes that could hold a part of the page, which in a log in time order are those that do. With a text, the
 * messages in between cost as well.
 */
export function searchEvents(connection: Connection, query: CheckedEventQuery): EventPage {
  // With no filter but times, one statement says it all, unless a body is large; what needs several must see one state
  // of the database: the conversation may be deleted, and made anew with other events.
  const plain = isPlain(query) ? pageFound(query, findPlain(connection, query)) : null
  if (plain?.items.every(isWhole) === true) return readPage(connection, query, plain)
  return connection.snapshot(() => {
    const rows = isPlain(query) ? findPlain(connection, query) : findByKind(connection, query)
    return readPage(connection, query, pageFound(query, rows))
  })
}

const findPlain = (connection: Connection, query: CheckedEventQuery): FoundRow[] =>
  selectRows(connection, query, [{ ...WHOLE, ...instantsLeft(query) }], query.limit + 1)

function findByKind(connection: Connection, query: CheckedEventQuery): FoundRow[] {
  const log = findLog(connection, query.conversationId)
  if (log === undefined) return []
  return (
    scanNext(connection, log, query) ??
    merge(connection, log, query, rangesOf(connection, log, query, instantsLeft(query), query.descending))
  )
}

/** The rows that a page shows, of those found for it and the next one. */
function pageFound(query: CheckedEventQuery, rows: readonly FoundRow[]): Page<FoundRow> {
  const count = countWithin(rows, query.limit, query.maxBytes, ([, , , , , , bytes]) => bytes)
  return pageOf(rows, count, (last) => eventCursor(query, { time: timeOf(last), seq: last[0] }))
}

const isWhole = ([, , , , , body]: FoundRow): boolean => body !== null

const readPage = (
  connection: Connection,
  { conversationId }: CheckedEventQuery,
  page: Page<FoundRow>,
): EventPage => ({ ...page, items: page.items.map((row) => readFound(connection, conversationId, row)) })

const SELECT_BODY = 'SELECT body FROM colloquy_event WHERE conversation_id = ? AND seq = ?'

/** The event of a row, its body read now where that is large. */
function readFound(connection: Connection, conversationId: string, row: FoundRow): StoredEvent {
  const [seq, at, id, parentId, lane] = row
  const body = row[5] ?? connection.get<{ readonly body: string }>(SELECT_BODY, conversationId, seq)?.body
  return toStored(conversationId, [seq, at, id, parentId, lane, body as string])
}

/** How many events a filter lets through. O(log n + matches) for each of its ranges. */
export function countEvents(connection: Connection, filter: CheckedEventFilter): number {
  const { conversationId, text } = filter
  return connection.snapshot(() => {
    const log = findLog(connection, conversationId)
    if (log === undefined) return 0
    let sum = 0
    for (const range of rangesOf(connection, log, filter, instantsOf(filter), false)) {
      const sql = countSql({ index: indexOf(range), ranges: 1, descending: false, text: text !== null })
      const values = countValues(conversationId, range, text)
      sum += connection.get<{ readonly count: number }>(sql, ...values)?.count ?? 0
    }
    return sum
  })
}

const WHOLE = { kind: null, source: null, lane: null, upTo: null, share: 1 } as const

const isPlain = ({ kinds, source, leafId }: CheckedEventFilter): boolean =>
  kinds === null && source === null && leafId === null

const instantsOf = ({ from, until }: CheckedEventFilter): Instants => ({
  from: from ?? EVER.from,
  until: until ?? EVER.until,
})

/**
 * The instants that are left for a page and those after it; the place that it goes on from is within the first of them.
 */
function instantsLeft(query: CheckedEventQuery): Instants {
  const { after, descending } = query
  const { from, until } = instantsOf(query)
  if (after === null) return { from, until }
  if (descending) return { from, until: after.time < until ? after.time + 1n : until }
  return { from: after.time > from ? after.time : from, until }
}

/** A filter that lets less than this part of a log through is not worth a scanNext. */
const SCAN_SHARE = 0.6

/** Events looked at for each that is wanted. */
const SCAN_FACTOR = 4

/**
 * The rows of a page whose filter lets most of a log through, and the next one: found among the events that follow,
 * whatever their kind. Null where that is not to be expected, or there are not enough among them, for instance on the
 * last page. O(limit).
 */
function scanNext(connection: Connection, log: LogRow, query: CheckedEventQuery): FoundRow[] | null {
  const { conversationId, text, leafId, descending, after, limit } = query
  if (leafId !== null || text !== null) return null
  const groups = groupsOf(log.kinds, query)
  if (countAll(groups) < SCAN_SHARE * countAll(groupsOf(log.kinds, { kinds: null, source: null })))
    return null
  const values = pageValues(conversationId, { ...WHOLE, ...instantsLeft(query) }, null, descending, after)
  const rows = connection.lists<FoundRow>(
    descending ? SCAN_DOWN : SCAN_UP,
    ...values,
    SCAN_FACTOR * (limit + 1),
    namesOf(groups),
    limit + 1,
  )
  return rows.length > limit ? rows : null
}

const [SCAN_UP, SCAN_DOWN] = [scanNextSql(false), scanNextSql(true)]

/** Rows estimated for beside each that is needed: a few ranges too many cost less than another statement. */
const OVERSCAN = 1.2

/**
 * The rows of the page and, when there is one, the next. The ranges of a path mostly lie one after another: at first
 * only as many are read as should hold a page, and twice as many each time that they do not.
 */
function merge(
  connection: Connection,
  log: LogRow,
  query: CheckedEventQuery,
  ranges: Iterable<Range>,
): FoundRow[] {
  const { descending, limit, leafId } = query
  const most = limit + 1
  const compare = comparison(descending)
  // No range of one lane then begins before that of another ends.
  const isInOrder = leafId !== null && log.in_order === 1
  let rows: FoundRow[] = []
  let some: Range[] = []
  let estimated = 0
  let reads = 0
  let lane: number | null = null
  const read = (): void => {
    // What is left of a lane that was read in part lies among its rows, not after them.
    const wanted = isInOrder && some[0]?.lane !== lane ? most - rows.length : most
    lane = some.at(-1)?.lane ?? null
    rows = merged(rows, selectRows(connection, query, some, wanted), compare).slice(0, most)
    some = []
    estimated = 0
    reads += 1
  }
  for (const range of ranges) {
    const isNext = some.length > 0 && some.at(-1)?.lane !== range.lane
    const isEnough = isNext && rows.length < most && estimated >= (most - rows.length) * OVERSCAN * 2 ** reads
    if (isEnough || some.length === AT_ONCE) read()
    const last = rows.length === most ? timeOf(rows.at(-1) as FoundRow) : undefined
    // Ranges come in the order that they begin in: once one begins beyond a full page, all others do.
    if (last !== undefined && (descending ? range.until <= last : range.from > last)) break
    some.push(cut(range, last, descending))
    estimated += estimatedRows(range, query)
  }
  if (some.length > 0) read()
  return rows
}

/**
 * The rows that a range of a path would have if the lane held all positions from its first to its last; never fewer
 * than it has, or about.
 */
function estimatedRows({ lane, upTo, share }: Range, { after, descending }: CheckedEventQuery): number {
  if (lane === null || upTo === null) return 0
  const first = after !== null && !descending ? Math.max(lane, after.seq + 1) : lane
  const last = after !== null && descending ? Math.min(upTo, after.seq - 1) : upTo
  return Math.max(0, last - first + 1) * share
}

type Compare = (a: FoundRow, b: FoundRow) => number

function merged(rows: FoundRow[], found: FoundRow[], compare: Compare): FoundRow[] {
  const [end, start] = [rows.at(-1), found[0]]
  if (end === undefined || start === undefined) return end === undefined ? found : rows
  const all = [...rows, ...found]
  return compare(end, start) < 0 ? all : all.toSorted(compare)
}

function selectRows(
  connection: Connection,
  query: CheckedEventQuery,
  ranges: readonly Range[],
  most: number,
): FoundRow[] {
  const { conversationId, text, descending, after } = query
  const index = indexOf(ranges[0] as Range)
  const form: RangeForm = { index, ranges: ranges.length, descending, text: text !== null }
  const values = ranges.flatMap((range) => pageValues(conversationId, range, text, descending, after))
  return connection.lists<FoundRow>(pageSql(form), ...values, most)
}

/** A range without what lies beyond the time that a full page ends with. */
function cut(range: Range, last: bigint | undefined, descending: boolean): Range {
  if (last === undefined) return range
  if (descending) return last > range.from ? { ...range, from: last } : range
  return last < range.until ? { ...range, until: last + 1n } : range
}

const indexOf = ({ lane, kind }: Range): RangeForm['index'] =>
  lane === null ? (kind === null ? 'time' : 'kind') : kind === null ? 'path' : 'lane'

const timeOf = ([, at]: FoundRow): bigint => BigInt(at)

function comparison(descending: boolean): Compare {
  const sign = descending ? -1 : 1
  return (a, b) => {
    const [before, after] = [timeOf(a), timeOf(b)]
    return sign * (before === after ? a[0] - b[0] : before < after ? -1 : 1)
  }
}
