/** What SQLite itself costs: rows go in and come out through the bare driver, over the same tables, with nothing decided. */

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Event } from '../../src/event/types.ts'
import { parseInstant } from '../../src/event/time.ts'
import { KINDS } from '../../src/event/kinds.ts'
import { messageText } from '../../src/store/kit/query/message-text.ts'
import type { Floor, FoundPage } from './ground.ts'

const COLUMNS = 'event.seq, event.id, event.parent_id, event.time, event.body'

/** What the indexes of searches hold. */
const SEARCHABLE = 'event.lane IS NOT NULL AND event.kind IS NOT NULL'

/** Statements over a copy of the store's file, each prepared once. */
export function sqliteFloor(bare: DatabaseSync, id: string): Floor {
  const end = bare
    .prepare('SELECT version, head_id, tip_lane AS lane FROM colloquy_log WHERE conversation_id = ?')
    .get(id) as {
    readonly version: number
    readonly head_id: string
    readonly lane: number
  }
  const { lane } = end
  let [seq, head] = [end.version, end.head_id]
  const insert = bare.prepare(`INSERT INTO colloquy_event
    (conversation_id, seq, id, parent_id, time, lane, can_be_head, max_time, kind, source, message, body)
    VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`)
  const update =
    bare.prepare(`UPDATE colloquy_log SET version = ?, updated_at = ?, last_time = ?, max_time = ?,
    head_seq = ?, head_id = ?, head_parent_id = ?, head_max_time = ?, tip_end = ? WHERE conversation_id = ?`)
  const [begin, commit] = [bare.prepare('BEGIN IMMEDIATE'), bare.prepare('COMMIT')]

  const isThere = (part: string): boolean =>
    bare
      .prepare(
        `SELECT 1 FROM colloquy_event AS event WHERE conversation_id = ? AND ${SEARCHABLE} AND ${part} LIMIT 1`,
      )
      .get(id) !== undefined

  return {
    append(events) {
      const rows = events.map((event): { readonly body: Event; readonly row: SQLInputValue[] } => {
        const { id: eventId = '', kind, source = KINDS[kind].defaultSource } = event
        const time = parseInstant(event.timestamp ?? '') ?? 0n
        // Bound as a number, which is faster, and exact for the times of the workload.
        const at = Number(time)
        const row = [id, seq, eventId, head, at, lane, at, kind, source, messageText(event)]
        const body = Object.freeze({ ...event, parent_id: head })
        seq += 1
        head = eventId
        return { body, row }
      })
      const last = rows.at(-1)?.row ?? []
      const [, at = 0, headId = '', parentId = '', time = 0] = last
      const tip = [seq, time, time, time, at, headId, parentId, time, at, id]
      return () => {
        begin.run()
        for (const { body, row } of rows) insert.run(...row, JSON.stringify(body))
        update.run(...tip)
        commit.run()
      }
    },

    async pages(page) {
      return page.ways === null
        ? keys(bare, id, page)
        : page.ways.flatMap((parts) => statement(bare, id, page, parts.filter(isThere)))
    },
  }
}

/** The filter as one statement, from the first row of the page on; ranges are merged before any row is read. */
function statement(
  bare: DatabaseSync,
  id: string,
  { query, items, more }: FoundPage,
  parts: readonly string[],
): (() => unknown)[] {
  const [first] = items
  const [way, from] = query.order === 'timestamp_desc' ? ['DESC', '<='] : ['ASC', '>=']
  const range = (columns: string, part: string): string => `SELECT ${columns} FROM colloquy_event AS event
    WHERE conversation_id = ? AND ${SEARCHABLE} AND ${part} AND (time, seq) ${from} (?, ?)`
  const order = `ORDER BY time ${way}, seq ${way} LIMIT ?`
  const [only = ''] = parts
  const sql =
    parts.length === 1
      ? `${range(COLUMNS, only)} ${order}`
      : `SELECT ${COLUMNS} FROM (
        ${parts.map((part) => range('time, seq, event.rowid AS place', part)).join(' UNION ALL ')} ${order}
      ) AS found CROSS JOIN colloquy_event AS event ON event.rowid = found.place`
  const values = parts.flatMap(() => [id, Number(first?.time), first?.seq ?? 0])
  return read(bare, sql, more, [...values, items.length + Number(more)])
}

/** The path from the leaf to the root is walked, lane by lane; then the rows, by their places in the file, which cost nothing to find. */
function keys(bare: DatabaseSync, id: string, { query, items, more }: FoundPage): (() => unknown)[] {
  const path = bare.prepare(`WITH RECURSIVE segment (lane, up_to) AS (
      SELECT lane, seq FROM colloquy_event WHERE conversation_id = ? AND id = ? AND lane IS NOT NULL
      UNION ALL
      SELECT lane.parent_lane, lane.parent_seq FROM segment CROSS JOIN colloquy_lane AS lane
      ON lane.conversation_id = ? AND lane.lane = segment.lane AND lane.parent_lane IS NOT NULL)
    SELECT lane, up_to FROM segment`)
  const placeOf = bare.prepare(
    'SELECT rowid AS place FROM colloquy_event WHERE conversation_id = ? AND seq = ?',
  )
  const places = items.map(({ seq }) => Number(placeOf.get(id, seq)?.['place']))
  const sql = `SELECT ${COLUMNS} FROM json_each(?) AS place CROSS JOIN colloquy_event AS event ON event.rowid = place.value`
  const rows = read(bare, sql, more, [JSON.stringify(more ? [...places, ...places.slice(-1)] : places)])
  return rows.map((way) => () => [path.all(id, query.leafId ?? '', id), way()])
}

/** Rows as objects and as lists; the row that only tells that there are more is not parsed. */
function read(
  bare: DatabaseSync,
  sql: string,
  more: boolean,
  values: readonly SQLInputValue[],
): (() => unknown)[] {
  const [objects, lists] = [bare.prepare(sql), bare.prepare(sql)]
  lists.setReturnArrays(true)
  return [
    () => parsed(objects, values, more, (row) => (row['body'] = JSON.parse(String(row['body'])))),
    () => parsed(lists, values, more, (row) => (row[4] = JSON.parse(String(row[4])))),
  ]
}

type AnyRow = Record<string | number, unknown>

function parsed(
  statement: StatementSync,
  values: readonly SQLInputValue[],
  more: boolean,
  parse: (row: AnyRow) => void,
): AnyRow[] {
  const rows = statement.all(...values) as object as AnyRow[]
  if (more) rows.pop()
  for (const row of rows) parse(row)
  return rows
}
