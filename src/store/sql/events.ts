import { isLegalId } from '../../event/ids.ts'
import { type EventKind, EVENT_KINDS } from '../../event/kinds.ts'
import { SOURCES } from '../../event/shapes.ts'
import type { EventPage, StoredEvent } from '../contract/query.ts'
import { unknownConversation } from '../kit/errors.ts'
import {
  type CheckedEventFilter,
  type CheckedEventQuery,
  type checkReadOptions,
  eventCursor,
  type EventPlace,
} from '../kit/query/event-query.ts'
import { readReferences } from '../kit/blobs.ts'
import { countWithin, pageOf } from '../kit/query/page.ts'
import { type Bigint, type EventRow, readEvent } from '../kit/row.ts'
import { blobReads } from './blobs.ts'
import type { Dialect, EventRange, RangeForm, Work } from './dialect.ts'
import { all, first, IN_ORDER, NOTHING, sql, statement } from './dialect.ts'

export const EVENT_COLUMNS =
  'e.seq, e.id, e.parent_id, e.lane, e.kind, CAST(e.time AS text) AS time, e.body, e.blobs'

/** Maximum bytes of a body that is read with its page; larger bodies are read in a second statement. */
const LARGE_BODY = 2 ** 16

/** A row that a search found. `body` is null for a large body. */
type FoundRow = Omit<EventRow, 'body'> & { readonly body: string | null; readonly bytes: number }

export const [EARLIEST, LATEST] = [-(2n ** 62n), 2n ** 62n]

/** Maximum number of ranges in one statement. Preparing a longer statement costs more than running it. */
const MAX_RANGES = 80

const FIRST_SEGMENTS = 2

const NO_SEQ = -1
const MAX_SEQ = 2 ** 31 - 1

interface LogRow {
  readonly number: Bigint
  readonly version: number
  readonly inOrder: number
}

interface SegmentRow extends LogRow {
  readonly lane: number
  readonly up_to: number
  readonly until: string
  readonly since: string
}

export function eventReads(d: Dialect) {
  const { readBodies } = blobReads(d)
  const event = d.table('event')
  const log = d.table('log')
  const columnsWith = (body: string): string =>
    EVENT_COLUMNS.replace('e.body', `${body} AS body, octet_length(e.body) AS bytes`)
  const result = statement(columnsWith(`CASE WHEN octet_length(e.body) <= ${LARGE_BODY} THEN e.body END`))
  const forward = `SELECT ${EVENT_COLUMNS} FROM ${event} AS e WHERE e.log = ? AND e.seq >= ? AND e.seq <= ? ORDER BY e.seq`
  const backward = `${forward} DESC`
  const number = `SELECT number, version, in_order AS "inOrder" FROM ${log} WHERE conversation_id = ?`
  const byIds = d.withIds(EVENT_COLUMNS)
  const tail = `SELECT ${columnsWith('CAST(NULL AS text)')}, e.source FROM ${event} AS e
    WHERE e.log = ? AND e.seq >= ? AND e.kind IN (SELECT listed.value FROM ${d.elements})`
  const bodies = `SELECT ${EVENT_COLUMNS} FROM ${event} AS e WHERE e.log = ? AND e.seq IN (SELECT CAST(listed.value AS int) FROM ${d.elements})`
  // Halves a range of positions until one is left.
  const position = `WITH RECURSIVE half (low, high, log, time) AS (
      SELECT 0, CAST(? AS int), CAST(? AS bigint), CAST(? AS bigint)
      UNION ALL
      SELECT CASE WHEN e.time < half.time THEN e.seq + 1 ELSE half.low END,
        CASE WHEN e.time < half.time THEN half.high ELSE e.seq END, half.log, half.time
      FROM half ${d.lookUp('event', 'e', 'e.log = half.log AND e.seq = (half.low + half.high) / 2', 'e.seq')}
      WHERE half.low < half.high
    ) SELECT low FROM half WHERE low = high`
  const present = SOURCES.map(
    (
      source,
    ) => `(SELECT 1 FROM ${d.kinds} AS e WHERE e.log = ? AND e.kind BETWEEN listed.value AND listed.value
      AND e.source BETWEEN '${source}' AND '${source}' ORDER BY e.kind, e.source LIMIT 1) AS "${source}"`,
  )
  const sourcesOfKinds = `SELECT listed.value AS kind, ${present.join(', ')} FROM ${d.elements}`
  const leaf = d.withIds('l.number, l.in_order, l.version, e.lane, e.seq, e.time')
  const pathFrom = (
    leaf: string,
  ): string => `WITH RECURSIVE segment (log, in_order, version, lane, up_to, until) AS (
      ${leaf}
      UNION ALL
      SELECT s.log, s.in_order, s.version, lane.parent_lane, lane.parent_seq, lane.parent_time FROM segment AS s
      ${d.lookUp('lane', 'lane', 'lane.log = s.log AND lane.lane = s.lane')}
      WHERE lane.parent_lane IS NOT NULL
    )
    SELECT s.log AS number, s.in_order AS "inOrder", s.version, s.lane, s.up_to, CAST(s.until AS text) AS until, CAST(lane.time AS text) AS since
    FROM segment AS s ${d.lookUp('lane', 'lane', 'lane.log = s.log AND lane.lane = s.lane')}`

  function* findLog(conversationId: string): Work<(LogRow & { readonly number: number }) | undefined> {
    const [row] = isLegalId(conversationId) ? yield* all<LogRow>(number, conversationId) : []
    return row && { ...row, number: Number(row.number) }
  }

  const events = (conversationId: string, rows: readonly EventRow[], refs = false): Work<StoredEvent[]> =>
    readBodies(
      rows,
      () => conversationId,
      refs,
      (row, strings) => readEvent(conversationId, row, strings),
    )

  function* stretch(
    conversationId: string,
    log: number,
    from: number,
    to: number,
    { down = false, refs = false } = {},
  ): Work<StoredEvent[]> {
    return yield* events(conversationId, yield* all<EventRow>(down ? backward : forward, log, from, to), refs)
  }

  function* read(conversationId: string, options: ReturnType<typeof checkReadOptions>): Work<StoredEvent[]> {
    const result = yield* findLog(conversationId)
    if (result === undefined) throw unknownConversation(conversationId)
    const last = result.version - 1
    const from = options.backward ? Math.min(options.from ?? last, last) : (options.from ?? 0)
    if (from < 0 || from > last) return []
    const { backward: down, limit, refs } = options
    const [low, high] = down
      ? [Math.max(0, from - limit + 1), from]
      : [from, Math.min(last, from + limit - 1)]
    return yield* stretch(conversationId, result.number, low, high, { down, refs })
  }

  function* rowsWithIds(conversationId: string, ids: readonly string[]): Work<readonly EventRow[]> {
    const legal = ids.filter((id) => isLegalId(id))
    if (legal.length === 0 || !isLegalId(conversationId)) return []
    return yield* all<EventRow>(byIds(conversationId, JSON.stringify(legal)))
  }

  function* getMany(
    conversationId: string,
    ids: readonly string[],
    refs: boolean,
  ): Work<(StoredEvent | null)[]> {
    const rows = yield* rowsWithIds(conversationId, ids)
    const matches = new Map((yield* events(conversationId, rows, refs)).map((event) => [event.id, event]))
    return ids.map((id) => matches.get(id) ?? null)
  }

  function* search(query: CheckedEventQuery): Work<EventPage> {
    const { conversationId, limit, maxBytes, refs } = query
    const { rows, log } = yield* find(query, limit + 1)
    const count = countWithin(rows, limit, maxBytes, ({ bytes, blobs }) =>
      blobs === null || refs ? bytes : readReferences(blobs).reduce((sum, one) => sum + one.bytes, bytes),
    )
    const page = pageOf(rows, count, (last) => eventCursor(query, { time: last.time, seq: last.seq }))
    const large = page.items.filter(({ body }) => body === null).map(({ seq }) => String(seq))
    const read = large.length === 0 ? [] : yield* all<EventRow>(bodies, log, JSON.stringify(large))
    const bodyAt = new Map(read.map(({ seq, body }) => [seq, body]))
    const whole = page.items.flatMap((row): EventRow[] => {
      const body = row.body ?? bodyAt.get(row.seq)
      return body === undefined ? [] : [{ ...row, body }]
    })
    return { ...page, items: yield* events(conversationId, whole, refs) }
  }

  function* find(query: CheckedEventQuery, limit: number) {
    const walk = yield* walkOf(query)
    if (walk === null) return { rows: [], log: 0 }
    const { form, parts, path, bounds } = walk
    const { log } = form
    if (path !== null) return { rows: yield* findOnPath(query, path, form, bounds, limit), log }
    // Segments follow one another in time, so reading stops when the page is full.
    const remaining = query.descending ? [...parts] : parts.toReversed()
    const rows: FoundRow[] = []
    for (let size = FIRST_SEGMENTS; rows.length < limit && remaining.length > 0; size *= 2) {
      const ranges = remaining.splice(0, size).flatMap((part) => rangesOf(form, query, bounds, part))
      rows.push(...(yield* findInRanges(form, ranges, limit - rows.length)))
    }
    return { rows, log }
  }

  /**
   * Returns what to read for a query; null for an unknown conversation or leaf. `parts`: the path's segments,
   * from the leaf to the root; `[null]` for all events. `path`: the same segments if all branches must be read
   * to find the path's events; otherwise null.
   */
  function* walkOf(query: WalkQuery, isCount = false) {
    const { conversationId, kinds, source, text, descending } = query
    const segments = query.leafId === null ? null : yield* segmentsOf(query)
    const leaf = segments?.[0]
    const log =
      segments === null ? yield* findLog(conversationId) : leaf && { ...leaf, number: Number(leaf.number) }
    if (log === undefined) return null
    // The index by kind has all countable events.
    const isWholeCount = isCount && segments === null
    const isByKind = isWholeCount || log.inOrder !== IN_ORDER.all || kinds !== null || source !== null
    const firstUnindexed = isByKind ? d.firstUnindexed(log.version) : null
    const form: RangeForm = { log: log.number, firstUnindexed, isByKind, descending, text }
    const length = leaf === undefined ? log.version : leaf.up_to + 1
    const bounds = yield* positioned(form, length, boundsOf(query))
    return { form, bounds, parts: segments ?? [null], path: log.inOrder === IN_ORDER.none ? segments : null }
  }

  /** Returns the ranges whose kinds and sources occur in the log, if there are many ranges; otherwise all. */
  function* presentOf(
    { log, isByKind }: RangeForm,
    ranges: readonly EventRange[],
  ): Work<readonly EventRange[]> {
    if (!isByKind || ranges.length <= MAX_RANGES) return ranges
    const kinds = JSON.stringify([...new Set(ranges.map(({ kind }) => kind))])
    const logs = SOURCES.map(() => log)
    const rows = yield* all<Readonly<Record<string, unknown>>>(sourcesOfKinds, ...logs, kinds)
    const byKind = new Map(rows.map((row) => [row['kind'], row]))
    return ranges.filter(({ kind, source }) => byKind.get(kind)?.[source ?? ''] === 1)
  }

  /** Returns the ranges' events that are not indexed yet, without their bodies. */
  function* findInTail(form: RangeForm, ranges: readonly EventRange[]): Work<FoundRow[]> {
    const { log, text, firstUnindexed } = form
    if (firstUnindexed === null || ranges.length === 0) return []
    const kinds = JSON.stringify([...new Set(ranges.map(({ kind }) => kind))])
    const hasText = text === null ? NOTHING : sql` AND ${statement(d.find)}(e.message, ${text}) > 0`
    const rows = yield* all<FoundRow & { readonly source: string }>(
      sql`${statement(tail, log, firstUnindexed, kinds)}${hasText}`,
    )
    return rows.filter(({ kind, source, lane, time, seq }) => {
      const position = { time: BigInt(time), seq }
      return ranges.some(
        (range) =>
          range.kind === kind &&
          range.source === source &&
          (range.lane === null || range.lane === lane) &&
          isEarlier(range.low, position) &&
          isEarlier(position, range.high),
      )
    })
  }

  function* findInRanges(form: RangeForm, allRanges: readonly EventRange[], limit: number): Work<FoundRow[]> {
    const ranges = allRanges.length > MAX_RANGES ? yield* presentOf(form, allRanges) : allRanges
    const unindexed = form.firstUnindexed === null ? [] : yield* findInTail(form, allRanges)
    const rows: FoundRow[][] = unindexed.length === 0 ? [] : [unindexed]
    for (let start = 0; start < ranges.length; start += MAX_RANGES) {
      const page = d.pageOfRanges(form, ranges.slice(start, start + MAX_RANGES), result, limit)
      rows.push([...(yield* all<FoundRow>(page))])
    }
    if (rows.length === 1 && unindexed.length === 0) return rows[0] ?? []
    const sign = form.descending ? -1 : 1
    return rows
      .flat()
      .toSorted((a, b) => sign * (Number(BigInt(a.time) - BigInt(b.time)) || a.seq - b.seq))
      .slice(0, limit)
  }

  /** Finds a path's events in a log whose times decrease somewhere. Reads the events of all branches. */
  function* findOnPath(
    query: WalkQuery,
    segments: readonly SegmentRow[],
    form: RangeForm,
    bounds: Bounds,
    limit: number,
  ): Work<FoundRow[]> {
    const upTo = new Map(segments.map((segment) => [segment.lane, segment.up_to]))
    const rows: FoundRow[] = []
    let remaining = bounds
    for (let size = 4 * limit; ; size *= 2) {
      const next = yield* findInRanges(form, rangesOf(form, query, remaining), size)
      for (const row of next) if (row.seq <= (upTo.get(row.lane ?? NO_SEQ) ?? NO_SEQ)) rows.push(row)
      const last = next.at(-1)
      if (rows.length >= limit || next.length < size || last === undefined) return rows.slice(0, limit)
      const position = { time: BigInt(last.time), seq: last.seq }
      remaining = form.descending ? { ...remaining, high: position } : { ...remaining, low: position }
    }
  }

  function* count(filter: CheckedEventFilter): Work<number> {
    const query = { ...filter, after: null, descending: false }
    const walk = yield* walkOf(query, true)
    if (walk === null) return 0
    const { form, parts, path, bounds } = walk
    if (path !== null) return (yield* findOnPath(query, path, form, bounds, MAX_SEQ)).length
    const allRanges = parts.flatMap((part) => rangesOf(form, query, bounds, part))
    const ranges = yield* presentOf(form, allRanges)
    let sum = (yield* findInTail(form, allRanges)).length
    for (let start = 0; start < ranges.length; start += MAX_RANGES) {
      const counted = d.countRanges(form, ranges.slice(start, start + MAX_RANGES))
      sum += Number((yield* first<{ readonly count: Bigint }>(counted))?.count ?? 0)
    }
    return sum
  }

  /** Converts bounds by time to bounds by position, for a log whose times never decrease. O(log² length). */
  function* positioned(form: RangeForm, length: number, { low, high }: Bounds): Work<Bounds> {
    if (form.isByKind) return { low, high }
    const since = low.time === EARLIEST ? 0 : yield* positionAt(form.log, length, low.time)
    const until = high.time === LATEST ? length : yield* positionAt(form.log, length, high.time)
    return {
      low: low.seq === NO_SEQ ? { ...low, seq: since - 1 } : low,
      high: high.seq === NO_SEQ ? { ...high, seq: until } : { ...high, seq: Math.min(high.seq, length) },
    }
  }

  function* positionAt(log: number, length: number, time: bigint): Work<number> {
    return (yield* first<{ readonly low: number }>(position, length, log, time))?.low ?? length
  }

  /** Returns the segments of the path, the leaf's segment first. */
  function* segmentsOf({ conversationId, leafId }: CheckedEventFilter): Work<readonly SegmentRow[]> {
    const { sql, values } = leaf(conversationId, JSON.stringify([leafId]))
    return yield* all<SegmentRow>(pathFrom(sql), ...values)
  }

  return { findLog, stretch, read, events, rowsWithIds, getMany, search, count }
}

interface Bounds {
  readonly low: EventPlace
  readonly high: EventPlace
}

type WalkQuery = CheckedEventFilter & Pick<CheckedEventQuery, 'after' | 'descending'>

function boundsOf(query: Pick<CheckedEventQuery, 'from' | 'until' | 'after' | 'descending'>): Bounds {
  const { from, until, after, descending } = query
  const low = { time: from ?? EARLIEST, seq: NO_SEQ }
  const high = { time: until ?? LATEST, seq: NO_SEQ }
  if (after === null) return { low, high }
  const position = { time: after.time, seq: Math.min(after.seq, MAX_SEQ) }
  return descending ? { low, high: earlier(position, high) } : { low: later(position, low), high }
}

const isEarlier = (a: EventPlace, b: EventPlace): boolean =>
  a.time === b.time ? a.seq < b.seq : a.time < b.time
const earlier = (a: EventPlace, b: EventPlace): EventPlace => (isEarlier(a, b) ? a : b)
const later = (a: EventPlace, b: EventPlace): EventPlace => (isEarlier(a, b) ? b : a)

const within = ({ lane, up_to: upTo, since, until }: SegmentRow, { low, high }: Bounds): Bounds => ({
  low: later(low, { time: BigInt(since), seq: lane - 1 }),
  high: earlier(high, { time: BigInt(until), seq: upTo + 1 }),
})

function rangesOf(
  { isByKind }: RangeForm,
  { kinds, source }: Pick<CheckedEventFilter, 'kinds' | 'source'>,
  bounds: Bounds,
  segment: SegmentRow | null = null,
): EventRange[] {
  const { low, high } = segment === null ? bounds : within(segment, bounds)
  const lane = segment?.lane ?? null
  if (!isEarlier(low, high)) return []
  if (!isByKind) return [{ kind: null, source: null, lane, low, high }]
  const sources = source === null ? SOURCES : [source]
  const wanted: Iterable<EventKind> = kinds ?? EVENT_KINDS
  return [...wanted].flatMap((kind) =>
    sources.map((one): EventRange => ({ kind, source: one, lane, low, high })),
  )
}
