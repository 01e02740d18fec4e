/** What PostgreSQL itself costs: rows go in and come out through the bare driver, over the same tables, with nothing decided. */

import type pg from 'pg'
import type { Event } from '../src/event/types.ts'
import { parseInstant } from '../src/event/time.ts'
import { foundBy } from '../src/store/postgres/event-row.ts'

const COLUMNS =
  'conversation_id, seq, lane, time, clock, real, stamped, id, parent_id, kind, source, message, body'

/** The rows that a floor is made of, as the columns of `unnest`. */
function valuesOf(events: readonly Event[]): unknown[] {
  const found = events.map(foundBy)
  return [
    events.map(({ timestamp }) => String(parseInstant(timestamp ?? '') ?? 0n)),
    events.map(({ id }) => id),
    found.map(({ kind }) => kind),
    found.map(({ source }) => source),
    found.map(({ message }) => message),
    events.map((event) => JSON.stringify(event)),
  ]
}

/** Statements over the tables of one schema, each prepared by name, one round trip and one transaction. */
export class PostgresFloor {
  readonly #client: pg.Client
  readonly #schema: string

  constructor(client: pg.Client, schema: string) {
    this.#client = client
    this.#schema = schema
  }

  async create(conversation: string): Promise<void> {
    await this.#client.query(
      `INSERT INTO ${this.#schema}.conversations (conversation_id, public, tags, metadata, created_at, updated_at)
      VALUES ($1, false, '{}', '{}', 0, 0)`,
      [conversation],
    )
  }

  /** One row at the position that the conversation's row, locked by its update, gives. */
  async insertOne(conversation: string, event: Event): Promise<void> {
    const values = valuesOf([event]).map((column) => (column as unknown[])[0])
    await this.#client.query({
      name: 'floor_one',
      text: `WITH r AS (
        UPDATE ${this.#schema}.conversations SET version = version + 1, head_id = $3, updated_at = $2
        WHERE conversation_id = $1 RETURNING version
      )
      INSERT INTO ${this.#schema}.events (${COLUMNS})
      SELECT $1, version - 1, 0, $2, $2, true, true, $3, $3, $4, $5, $6, $7 FROM r`,
      values: [conversation, ...values],
    })
  }

  /** The same for many rows. */
  async insertMany(conversation: string, events: readonly Event[]): Promise<void> {
    await this.#client.query({
      name: 'floor_many',
      text: `WITH r AS (
        UPDATE ${this.#schema}.conversations SET version = version + $8, head_id = 'x', updated_at = 1
        WHERE conversation_id = $1 RETURNING version
      )
      INSERT INTO ${this.#schema}.events (${COLUMNS})
      SELECT $1, r.version - $8 + n::integer - 1, 0, time, time, true, true, id, id, kind, source, message, body
      FROM r, unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
        WITH ORDINALITY AS u (time, id, kind, source, message, body, n)`,
      values: [conversation, ...valuesOf(events), events.length],
    })
  }

  /** The rows of a conversation, side by side in the time index, their bodies parsed. */
  async page(conversation: string, count: number): Promise<unknown[]> {
    const { rows } = await this.#client.query<{ readonly body: string }>({
      name: 'floor_page',
      text: `SELECT seq, id, parent_id, time, stamped, body FROM ${this.#schema}.events
      WHERE conversation_id = $1 AND kind IS NOT NULL AND (time, seq) > ($2, $3) ORDER BY time, seq LIMIT $4`,
      values: [conversation, '-1', -1, count],
    })
    return rows.map(({ body }) => JSON.parse(body))
  }
}
