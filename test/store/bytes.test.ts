/** Size on disk of a log and its snapshot, compared with a plain table of the same JSON (design D42). */

import { DatabaseSync } from 'node:sqlite'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ONE_KB } from '../../bench/events-of-size.ts'
import { decoded, makeLines } from '../../bench/workload.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Event } from '../../src/event/types.ts'
import type { DisposableStore } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'

const MAX_RATIO = 1.5
const BATCH = 50

interface Line {
  readonly id: string
  readonly body: string
}

/** Appends events of 1 kB with generated ids. Returns the same events as rows for a plain table. */
async function fillStore(store: DisposableStore, length: number): Promise<Line[]> {
  const engine = createEngine({ store })
  const conversation = await engine.create({ id: 'c' })
  const events = makeLines(length, { sizes: ONE_KB }).map((line): Event => {
    const { id: _, parent_id: __, timestamp: ___, ...rest } = decoded(line) as Event & Record<string, unknown>
    return rest as Event
  })
  const lines: Line[] = []
  for (let index = 0; index < length; index += BATCH)
    for (const { id, fact } of await conversation.append(events.slice(index, index + BATCH)))
      lines.push({ id: id ?? '', body: JSON.stringify(fact) })
  await engine.close()
  return lines
}

const PLAIN = 'CREATE TABLE plain (id text, position integer PRIMARY KEY, body text)'

const pages = (database: DatabaseSync): number =>
  (database.prepare('PRAGMA page_count').get() as { readonly page_count: number }).page_count

describe.each([1_000, 5_000])('%i events of 1 kB', (length) => {
  it('need less than 1.5 times the space of a plain table in SQLite', async () => {
    const database = new DatabaseSync(':memory:')
    const plain = new DatabaseSync(':memory:')
    const store = sqliteStore({ database })
    plain.exec(PLAIN)
    const insert = plain.prepare('INSERT INTO plain VALUES (?, ?, ?)')
    for (const [index, { id, body }] of (await fillStore(store, length)).entries())
      insert.run(id, index, body)
    expect(await store.loadSnapshot('c')).not.toEqual([])
    await store.close()
    expect(pages(database) / pages(plain)).toBeLessThan(MAX_RATIO)
    database.close()
    plain.close()
  })

  describe('in PostgreSQL', () => {
    let database: PooledDatabase
    let pool: pg.Pool
    beforeAll(async () => {
      database = await pooledDatabase()
      pool = database.pool
    })
    afterAll(() => database.drop())

    async function bytesOf(schema: string): Promise<number> {
      const { rows } = await pool.query<{ readonly bytes: string }>(
        `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
          WHERE nspname = $1 AND relkind = 'r'`,
        [schema],
      )
      return Number(rows[0]?.bytes)
    }

    it('need less than 1.5 times the space of a plain table', async () => {
      const store = postgresStore({ client: pool, schema: 'ours' })
      // The first pages of all indexes are half a megabyte per database.
      await store.createConversation({ id: 'empty' })
      const empty = await bytesOf('ours')
      const lines = await fillStore(store, length)
      await store.close()
      await pool.query('CREATE SCHEMA bare')
      await pool.query(PLAIN.replace('plain', 'bare.plain'))
      for (const [index, { id, body }] of lines.entries())
        await pool.query('INSERT INTO bare.plain VALUES ($1, $2, $3)', [id, index, body])
      expect(((await bytesOf('ours')) - empty) / (await bytesOf('bare'))).toBeLessThan(MAX_RATIO)
    })
  })
})
