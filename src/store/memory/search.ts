/** Searches a log in memory, from the shortest lists that hold what is asked for. */

import type { CheckedEventFilter, CheckedEventQuery } from '../kit/query/event-query.ts'
import { messageText } from '../kit/query/message-text.ts'
import { compareRows, type Group, type MemoryLog, piecesTo, type Row } from './log.ts'
import { firstFrom, merge, type Walk } from './sorted.ts'

/** A list of which some may fit, and until where in time and in the order of facts. */
interface Stretch {
  readonly rows: readonly Row[]
  readonly upTo: number
  readonly until: bigint | null
}

/**
 * At most `most` events beyond the query's place, in its order. O(lists · log n + most · log lists) where nothing but
 * the lists must be looked at: with a text the messages in between cost as well, and on a path those that came on its
 * lanes after it with earlier times. The lists are one, or those of the kinds and sources, times the segments of the
 * path.
 */
export function searchLog(log: MemoryLog, query: CheckedEventQuery, most: number): Row[] {
  const { after, descending } = query
  const walks = stretches(log, query).map((stretch): Walk<Row> => {
    let [low, high] = bounds(stretch, query)
    if (after !== null) {
      const { time, seq } = after
      const isBefore = (row: Row): boolean =>
        row.time !== time ? row.time < time : descending ? row.event.seq < seq : row.event.seq <= seq
      if (descending) high = Math.min(high, firstFrom(stretch.rows, isBefore))
      else low = Math.max(low, firstFrom(stretch.rows, isBefore))
    }
    if (low >= high) return { list: stretch.rows, at: 0, end: 0, step: 1 }
    return descending
      ? { list: stretch.rows, at: high - 1, end: low - 1, step: -1 }
      : { list: stretch.rows, at: low, end: high, step: 1 }
  })
  const compare = descending ? (a: Row, b: Row): number => compareRows(b, a) : compareRows
  const fits = fitness(log, query)
  const found: Row[] = []
  for (const row of merge(walks, compare)) {
    if (fits(row) && found.push(row) === most) break
  }
  return found
}

/**
 * How many events a filter lets through. O(lists · log n), and what must be looked at one by one, as in {@link
 * searchLog}.
 */
export function countLog(log: MemoryLog, filter: CheckedEventFilter): number {
  const fits = fitness(log, filter)
  const plain = filter.text === null && filter.leafId === null
  let count = 0
  for (const stretch of stretches(log, filter)) {
    const [low, high] = bounds(stretch, filter)
    if (plain) count += Math.max(0, high - low)
    else for (let at = low; at < high; at += 1) if (fits(stretch.rows[at] as Row)) count += 1
  }
  return count
}

function stretches(log: MemoryLog, filter: CheckedEventFilter): Stretch[] {
  const { kinds, source, leafId } = filter
  const wanted = (group: Group): boolean =>
    (kinds === null || kinds.has(group.kind)) && (source === null || group.source === source)
  const whole = { upTo: log.rows.length, until: null }
  if (leafId === null) {
    if (kinds === null && source === null) return [{ rows: log.all, ...whole }]
    return [...log.groups.values()].filter(wanted).map(({ rows }) => ({ rows, ...whole }))
  }
  return piecesTo(log, leafId).flatMap(({ lane, upTo, until }) =>
    [...(log.laneGroups.get(lane)?.values() ?? [])]
      .filter(wanted)
      .map(({ rows }) => ({ rows, upTo, until: log.tip.inOrder ? until : null })),
  )
}

/** The first place of a stretch that a filter's times let through, and the first after them. */
function bounds(stretch: Stretch, { from, until }: CheckedEventFilter): [number, number] {
  const { rows } = stretch
  const low = from === null ? 0 : firstFrom(rows, ({ time }) => time < from)
  const high = until === null ? rows.length : firstFrom(rows, ({ time }) => time < until)
  const last = stretch.until
  if (last === null) return [low, high]
  return [
    low,
    Math.min(
      high,
      firstFrom(rows, ({ time }) => time <= last),
    ),
  ]
}

/** What the lists do not hold: the text, and whether an entry came after the path had left its lane. */
function fitness(log: MemoryLog, { text, leafId }: CheckedEventFilter): (row: Row) => boolean {
  const upTo = new Map(
    (leafId === null ? [] : piecesTo(log, leafId)).map((segment) => [segment.lane, segment.upTo]),
  )
  return (row) => {
    if (leafId !== null && row.event.seq > (upTo.get(row.node?.lane ?? -1) ?? -1)) return false
    if (text === null) return true
    if (row.text === undefined) row.text = messageText(row.event.fact)
    return row.text?.includes(text) === true
  }
}
