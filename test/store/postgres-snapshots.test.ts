/** Saving a snapshot in PostgreSQL: which calls it blocks, and which it waits for. */

import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'

let database: PooledDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await pooledDatabase()
  pool = database.pool
})

afterAll(async () => {
  await database.drop()
})

const part = (number: number, ...bytes: readonly number[]) => ({
  part: number,
  bytes: Uint8Array.from(bytes),
})

/** Waits until a session of this database waits for a lock. */
async function untilLockWait(): Promise<void> {
  const query = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  while ((await pool.query(query)).rows.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('saving a snapshot in PostgreSQL', () => {
  it('blocks other saves and deletions, but no appends and reads', async () => {
    const store = postgresStore({ client: pool, schema: 'waits' })
    await store.createConversation({ id: 'c' })
    await store.append('c', [{ kind: 'PauseEvent', id: 'a' }])
    await store.saveSnapshot('c', [part(0, 1), part(1, 1)])
    const client = await pool.connect()
    const save = async (mark: number): Promise<void> => {
      await client.query('BEGIN')
      const { rows } = await client.query(
        'UPDATE waits.snapshot SET generation = generation + 1 RETURNING number, generation',
      )
      const [{ number, generation }] = rows as [{ readonly number: string; readonly generation: number }]
      await client.query('INSERT INTO waits.snapshot_part VALUES ($1, $2, 0, $3)', [
        number,
        generation,
        Buffer.of(mark),
      ])
    }
    try {
      await save(2)
      expect((await store.append('c', [{ kind: 'PauseEvent', id: 'b' }])).version).toBe(2)
      expect(await store.updateConversation('c', { title: 'T' })).toMatchObject({ title: 'T', version: 2 })
      expect(await store.loadSnapshot('c')).toEqual([part(0, 1), part(1, 1)])
      const next = store.saveSnapshot('c', [part(7, 3)])
      await untilLockWait()
      await client.query('COMMIT')
      await next
      expect(await store.loadSnapshot('c')).toEqual([part(0, 2), part(7, 3)])

      await save(4)
      const deleted = store.deleteConversation('c')
      await untilLockWait()
      await client.query('COMMIT')
      expect(await deleted).toBe(true)
    } finally {
      client.release()
    }
    expect((await pool.query('SELECT number FROM waits.snapshot_part')).rows).toEqual([])
    await store.close()
  })

  it('does not wait for an append', async () => {
    const store = postgresStore({ client: pool, schema: 'passes' })
    await store.createConversation({ id: 'c' })
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(`UPDATE passes.log SET version = version WHERE conversation_id = 'c'`)
      await store.saveSnapshot('c', [part(0, 1)])
      expect(await store.deleteSnapshot('c')).toBe(true)
      await client.query('ROLLBACK')
    } finally {
      client.release()
    }
    await store.close()
  })
})
