/** The SQL that merges the ranges of a search, made once for each form of search. */

import type { SqliteValue } from './database.ts'
import type { Group } from './kinds.ts'
import type { Range } from './ranges.ts'
import { FOUND_COLUMNS } from './rows.ts'

/**
 * What decides the text of a statement: how many ranges of which index, which way, and whether a text is looked for.
 */
export interface RangeForm {
  readonly index: 'time' | 'kind' | 'path' | 'lane'
  readonly ranges: number
  readonly descending: boolean
  readonly text: boolean
}

/** The place that a page goes on from, itself no part of it. */
export interface Place {
  readonly time: bigint
  readonly seq: number
}

/**
 * A value as SQL. Bound bare, drivers that keep statistics of columns (better-sqlite3) would plan the statement anew
 * for every value, which costs more than running it.
 */
export const V = '(SELECT ?)'

const EQUAL: Readonly<Record<RangeForm['index'], string>> = {
  time: '',
  kind: ` AND kind = ${V} AND source = ${V}`,
  path: ` AND lane = ${V} AND seq <= ${V}`,
  lane: ` AND kind = ${V} AND source = ${V} AND lane = ${V} AND seq <= ${V}`,
}

/** The index is named: no statistics may talk the planner into another one, and into sorting. */
const rangeOf = ({ index, text }: RangeForm, select: string): string =>
  `SELECT ${select} FROM colloquy_event INDEXED BY colloquy_event_${index}
  WHERE conversation_id = ${V} AND lane IS NOT NULL AND kind IS NOT NULL${EQUAL[index]}${text ? ` AND instr(message, ${V})` : ''}`

/** The bounds of a range: beyond a place on the side that it is read from, up to an instant on the other. */
const boundsOf = (descending: boolean): string =>
  descending
    ? ` AND (time, seq) < (${V}, ${V}) AND time >= ${V}`
    : ` AND (time, seq) > (${V}, ${V}) AND time < ${V}`

const orderOf = (descending: boolean): string => (descending ? 'time DESC, seq DESC' : 'time, seq')

const pages = new Map<string, string>()

/**
 * The SQL of a page: each range is walked in its own stretch of the index and no further than needed, the walks are
 * merged by SQLite without sorting, and only the rows of the page are looked up. Takes the values of each range in
 * turn, then the limit.
 */
export function pageSql(form: RangeForm): string {
  const { index, ranges, descending, text } = form
  const name = `${index} ${ranges} ${descending} ${text}`
  const known = pages.get(name)
  if (known !== undefined) return known
  const range = rangeOf(form, 'time, seq, rowid AS place') + boundsOf(descending)
  const sql = `SELECT ${FOUND_COLUMNS} FROM (
  ${Array.from({ length: ranges }, () => range).join('\n  UNION ALL ')}
  ORDER BY ${orderOf(descending)} LIMIT ${V}) AS found CROSS JOIN colloquy_event AS event ON event.rowid = found.place`
  pages.set(name, sql)
  return sql
}

/**
 * The SQL of a page for a filter that lets most through: it walks a part of the index of all events, at most so many of
 * them, and takes those of the groups asked for. Fewer rows than the limit say nothing. Takes the values of the range
 * of everything, the number of events to look at, the groups as {@link namesOf} writes them, and the limit.
 */
export function scanNextSql(descending: boolean): string {
  const range = rangeOf({ index: 'time', ranges: 1, descending, text: false }, 'time, seq, rowid AS place')
  return `SELECT ${FOUND_COLUMNS} FROM (${range}${boundsOf(descending)} ORDER BY ${orderOf(descending)} LIMIT ${V}) AS found
  CROSS JOIN colloquy_event AS event ON event.rowid = found.place
  WHERE instr(${V}, ' ' || event.kind || '/' || event.source || ' ') LIMIT ${V}`
}

/** Groups as one text, each between spaces. */
export const namesOf = (groups: readonly Group[]): string =>
  ` ${groups.map(({ kind, source }) => `${kind}/${source}`).join(' ')} `

/** The SQL that counts one range. */
export const countSql = (form: RangeForm): string =>
  `${rangeOf(form, 'count(*) AS count')} AND time >= ${V} AND time < ${V}`

/** The values of a range in a page, for what lies beyond `after`, where that is within it. */
export function pageValues(
  conversationId: string,
  range: Range,
  text: string | null,
  descending: boolean,
  after: Place | null,
): SqliteValue[] {
  const { from, until } = range
  const values = rangeValues(conversationId, range, text)
  if (after !== null && after.time >= from && after.time < until) values.push(after.time, after.seq)
  // No position is below 0, so this is the place before everything of that instant.
  else values.push(descending ? until : from, -1)
  values.push(descending ? from : until)
  return values
}

/** The values of a range that is counted. */
export function countValues(conversationId: string, range: Range, text: string | null): SqliteValue[] {
  const values = rangeValues(conversationId, range, text)
  values.push(range.from, range.until)
  return values
}

function rangeValues(conversationId: string, range: Range, text: string | null): SqliteValue[] {
  const values: SqliteValue[] = [conversationId]
  if (range.kind !== null) values.push(range.kind, range.source)
  if (range.lane !== null) values.push(range.lane, range.upTo)
  if (text !== null) values.push(text)
  return values
}
