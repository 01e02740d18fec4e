/** What PostgreSQL itself costs: rows go in and come out through the bare driver, over the same tables, with nothing decided. */

import type pg from 'pg'
import type { Event } from '../../src/event/types.ts'
import { parseInstant } from '../../src/event/time.ts'
import { foundBy } from '../../src/store/postgres/event-row.ts'
import type { Floor, FoundPage } from './ground.ts'

const INSERTED =
  'conversation_id, seq, lane, time, max_time, can_be_head, stamped, id, parent_id, kind, source, message, body'

const READ = 'seq, id, parent_id, time, stamped, body'

/** The schemas: that of the store, whose rows are read, and one of the same tables, where the floor's own are written. */
export const [STORE, FLOOR] = ['store', 'floor'] as const

/** Statements prepared by name, each one round trip and one transaction. The conversation's row, locked by its update, gives the position. */
export function postgresFloor(pool: pg.Pool, id: string): Floor {
  return {
    append(events) {
      const [only] = events
      return events.length === 1 && only !== undefined
        ? insertOne(pool, id, only)
        : insertMany(pool, id, events)
    },
    async pages(page) {
      if (page.ways === null) return [keys(pool, id, page)]
      const ways: (() => unknown)[] = []
      for (const parts of page.ways) ways.push(statement(pool, id, page, await thoseThere(pool, id, parts)))
      return ways
    },
  }
}

/** Begins a log. */
export async function createFloor(pool: pg.Pool, id: string): Promise<void> {
  await pool.query(
    `INSERT INTO ${FLOOR}.conversations (conversation_id, public, tags, metadata, created_at, updated_at)
    VALUES ($1, false, '{}', '{}', 0, 0)`,
    [id],
  )
}

/** What is known of an event beforehand. */
function known(event: Event) {
  const time = String(parseInstant(event.timestamp ?? '') ?? 0n)
  return { event, time, ...foundBy(event) }
}

function insertOne(pool: pg.Pool, id: string, event: Event): () => unknown {
  const { time, kind, source, message } = known(event)
  const text = `WITH r AS (
      UPDATE ${FLOOR}.conversations SET version = version + 1, head_parent_id = head_id, head_id = $3, updated_at = $2
      WHERE conversation_id = $1 RETURNING version, head_parent_id
    )
    INSERT INTO ${FLOOR}.events (${INSERTED})
    SELECT $1, version - 1, 0, $2, $2, true, true, $3, head_parent_id, $4, $5, $6, $7 FROM r`
  return () =>
    pool.query({
      name: 'floor_one',
      text,
      values: [id, time, event.id, kind, source, message, JSON.stringify(event)],
    })
}

function insertMany(pool: pg.Pool, id: string, events: readonly Event[]): () => unknown {
  const rows = events.map(known)
  const text = `WITH r AS (
      UPDATE ${FLOOR}.conversations SET version = version + $8, head_id = $9, updated_at = 1
      WHERE conversation_id = $1 RETURNING version
    )
    INSERT INTO ${FLOOR}.events (${INSERTED})
    SELECT $1, r.version - $8 + n::integer - 1, 0, time, time, true, true, id, id, kind, source, message, body
    FROM r, unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], string_to_array($7, E'\\n'))
      WITH ORDINALITY AS u (time, id, kind, source, message, body, n)`
  const values = [
    id,
    rows.map(({ time }) => time),
    events.map((event) => event.id),
    rows.map(({ kind }) => kind),
    rows.map(({ source }) => source),
    rows.map(({ message }) => message),
  ]
  const end = [events.length, events.at(-1)?.id]
  return () =>
    pool.query({
      name: 'floor_many',
      text,
      // JSON text has no line feed of its own, and one text is read faster than a list.
      values: [...values, events.map((event) => JSON.stringify(event)).join('\n'), ...end],
    })
}

/** The ranges that hold anything. */
async function thoseThere(pool: pg.Pool, id: string, parts: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const part of parts) {
    const { rows } = await pool.query(
      `SELECT 1 FROM ${STORE}.events WHERE conversation_id = $1 AND kind IS NOT NULL AND ${part} LIMIT 1`,
      [id],
    )
    if (rows.length > 0) found.push(part)
  }
  return found
}

/** The filter as one statement, from the first row of the page on. */
function statement(
  pool: pg.Pool,
  id: string,
  { query, items, more }: FoundPage,
  parts: readonly string[],
): () => unknown {
  const [first] = items
  const [way, from] = query.order === 'timestamp_desc' ? ['DESC', '<='] : ['ASC', '>=']
  const order = `ORDER BY time ${way}, seq ${way} LIMIT ${items.length + Number(more)}`
  const ranges = parts.map(
    (part) => `(SELECT ${READ} FROM ${STORE}.events
      WHERE conversation_id = $1 AND kind IS NOT NULL AND ${part} AND (time, seq) ${from} ($2, $3) ${order})`,
  )
  const [only] = ranges
  const text =
    ranges.length === 1 ? `${only}` : `SELECT * FROM (${ranges.join(' UNION ALL ')}) AS found ${order}`
  return read(pool, text, [id, String(first?.time), first?.seq], more)
}

/** The path from the leaf to the root is walked, lane by lane; then the rows are read by their keys, which cost nothing to find. */
function keys(pool: pg.Pool, id: string, { query, items, more }: FoundPage): () => unknown {
  const seqs = items.map(({ seq }) => seq)
  // The planner does not see that a lane has one row, unless it is told so.
  const text = `WITH RECURSIVE path (lane, up_to) AS (
      SELECT lane, seq FROM ${STORE}.events WHERE conversation_id = $1 AND id = $3 AND lane IS NOT NULL
      UNION ALL
      SELECT l.parent_lane, l.parent_seq FROM path CROSS JOIN LATERAL (
        SELECT * FROM ${STORE}.lanes l WHERE l.conversation_id = $1 AND l.lane = path.lane LIMIT 1
      ) l
      WHERE l.parent_lane IS NOT NULL
    ), segments AS MATERIALIZED (SELECT count(*) AS segments FROM path)
    SELECT ${READ} FROM segments CROSS JOIN ${STORE}.events
    WHERE segments > 0 AND conversation_id = $1 AND seq = ANY ($2::integer[])
    ORDER BY time, seq`
  // One row more, as a page needs it to know that there is one.
  const near = Math.max(...seqs) - 1
  return read(
    pool,
    text,
    [id, more ? [...seqs, seqs.includes(near) ? near - 1 : near] : seqs, query.leafId],
    more,
  )
}

let statements = 0

/** Reads rows and parses their bodies, but for the one that only tells that there are more. */
function read(pool: pg.Pool, text: string, values: unknown[], more: boolean): () => unknown {
  statements += 1
  const name = `floor_page_${statements}`
  return async () => {
    const { rows } = await pool.query<{ body: unknown }>({ name, text, values })
    if (more) rows.pop()
    for (const row of rows) row.body = JSON.parse(String(row.body))
    return rows
  }
}
