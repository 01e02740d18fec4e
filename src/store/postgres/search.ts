/** Pages and counts of events, by the database's own functions (`schema/search.ts`). */

import type { EventKind } from '../../event/kinds.ts'
import { SOURCES } from '../../event/shapes.ts'
import { type CheckedEventFilter, type CheckedEventQuery, eventCursor } from '../kit/query/event-query.ts'
import type { EventPage } from '../contract/query.ts'
import type { Connection } from './connection.ts'
import { type FoundRow, storedEvent } from './event-row.ts'

/** Before and after every time that an event can have. */
const FIRST = -(2n ** 62n)
const LAST = 2n ** 62n

/**
 * Nearly all events of an agent's log are of these kinds: where they are asked for, those in a stretch of it will
 * mostly fit.
 */
const COMMON: readonly EventKind[] = ['ActionEvent', 'ObservationEvent']

/**
 * One page, in one round trip. O(limit · log n) index entries for each kind and source among those asked for that there
 * are, times the lanes of the path, at any depth; with a text the messages in between as well. Bodies beyond `maxBytes`
 * stay in the database.
 */
export async function searchEvents(connection: Connection, query: CheckedEventQuery): Promise<EventPage> {
  const { conversationId, kinds, source, leafId, text, descending, limit, maxBytes } = query
  if (kinds?.size === 0) return { items: [], next_page_id: null }
  const isDense = source === null && text === null && COMMON.every((kind) => kinds?.has(kind) ?? true)
  const page = `${connection.schema}.${leafId === null ? 'search' : 'path'}_${descending ? 'down' : 'up'}(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
  )`
  const asked = [...kindsAndSources(query), text, leafId]
  const values = [conversationId, ...rangeOf(query), limit + 1, isDense, ...asked]
  const rows = await connection.query<Omit<FoundRow, 'body'> & { readonly body: string | null }>(
    maxBytes === null ? `SELECT * FROM ${page}` : withinBytes(page),
    maxBytes === null ? values : [...values, String(maxBytes)],
  )
  const found = rows.slice(0, limit).filter((row): row is FoundRow => row.body !== null)
  const items = found.map((row) => storedEvent(conversationId, row, true))
  const last = found.at(-1)
  const isLast = last === undefined || rows.length === found.length
  return { items, next_page_id: isLast ? null : eventCursor(query, placeOf(last)) }
}

const placeOf = ({ time, seq }: FoundRow): Place => ({ time: BigInt(time), seq })

/** The rows of a page, without the bodies beyond the one with which it comes to so many bytes (`$12`). */
const withinBytes = (page: string): string => `SELECT seq, id, parent_id, stamped, "time",
    CASE WHEN bytes_before < $12::bigint THEN body END AS body
  FROM (
    SELECT *, coalesce(sum(octet_length(body)) OVER (
      ORDER BY ordinality ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS bytes_before FROM ${page} WITH ORDINALITY
  ) AS found ORDER BY ordinality`

/**
 * How many events a filter lets through. O(log n + matches); on a path for each kind and source among those asked for
 * that there are, times the lanes of the path.
 */
export async function countEvents(connection: Connection, filter: CheckedEventFilter): Promise<number> {
  const { kinds, leafId, text, conversationId } = filter
  if (kinds?.size === 0) return 0
  const { schema } = connection
  const values = [conversationId, ...rangeOf({ ...filter, after: null, descending: false })]
  const [kindList, sources] = kindsAndSources(filter)
  if (leafId !== null) {
    values.push(kindList, sources, text, leafId)
    return countOf(
      connection,
      `SELECT ${schema}.count_path($1, $2, $3, $4, $5, $6, $7, $8, $9) AS count`,
      values,
    )
  }
  const place = (value: unknown): string => `$${values.push(value)}`
  // Only what is asked for stands in the statement: a plan that is made once could not go by a condition that may be
  // none.
  const conditions = [
    ...(kindList === null ? [] : [`o.kind = ANY (${place(kindList)}::text[])`]),
    ...(sources === null ? [] : [`o.source = ANY (${place(sources)}::text[])`]),
    ...(text === null ? [] : [`position(${place(text)}::text IN o.message) > 0`]),
  ]
  const statement = `SELECT count(*)::integer AS count FROM ${schema}.events o
    WHERE ${['o.conversation_id = $1', 'o.kind IS NOT NULL', '(o.time, o.seq) > ($2, $3)', '(o.time, o.seq) < ($4, $5)', ...conditions].join(' AND ')}`
  return countOf(connection, statement, values)
}

async function countOf(connection: Connection, statement: string, values: unknown[]): Promise<number> {
  const [row] = await connection.query<{ readonly count: number }>(statement, values)
  return row?.count ?? 0
}

/**
 * Null where all are let through; a list of all sources beside a few kinds, so that each kind and source is looked for
 * by itself.
 */
function kindsAndSources({ kinds, source }: CheckedEventFilter): [kinds: unknown, sources: unknown] {
  // The common ones first: most events are compared with the list.
  const list = kinds && [...COMMON.filter((kind) => kinds.has(kind)), ...kinds].filter(isFirst)
  return [list, source !== null ? [source] : list === null ? null : SOURCES]
}

const isFirst = <T>(item: T, at: number, list: readonly T[]): boolean => list.indexOf(item) === at

/** The (time, seq) after and before which the events lie. */
function rangeOf(query: Pick<CheckedEventQuery, 'from' | 'until' | 'after' | 'descending'>): unknown[] {
  const { after, descending } = query
  let low = { time: query.from ?? FIRST, seq: -1 }
  let high = { time: query.until ?? LAST, seq: -1 }
  if (after !== null) {
    const place = { time: after.time, seq: Math.min(after.seq, MAX_SEQ) }
    if (descending) high = isBefore(place, high) ? place : high
    else low = isBefore(low, place) ? place : low
  }
  return [String(low.time), low.seq, String(high.time), high.seq]
}

interface Place {
  readonly time: bigint
  readonly seq: number
}

const MAX_SEQ = 2 ** 31 - 1

const isBefore = (a: Place, b: Place): boolean => (a.time === b.time ? a.seq < b.seq : a.time < b.time)
