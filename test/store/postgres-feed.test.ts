/** The feed when a conversation is deleted and recreated with the same id, during a read and behind a lock. */

import type pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { until, waiting } from '../postgres/sql-sessions.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'

let database: PooledDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await pooledDatabase()
  pool = database.pool
})

afterAll(() => database.drop())

function openStore(schema: string, client: Pick<pg.Pool, 'query'> = pool): Store {
  const store = postgresStore({
    client: { query: (text, values) => client.query(text, values) },
    schema,
    listen: false,
  })
  onTestFinished(() => store.close())
  return store
}

/** All feed entries from a cursor to an event, and the end cursor. Other transactions can delay them. */
async function feedUntil(
  store: Store,
  last: string,
  from?: string,
): Promise<{ names: string[]; end: string }> {
  const names: string[] = []
  let after = from
  while (names.at(-1) !== last) {
    const { items, next } = await store.feed(after === undefined ? {} : { after })
    names.push(...items.map((item) => (item.type === 'event' ? String(item.event.id) : item.type)))
    after = next
  }
  return { names, end: after ?? '' }
}

const pause = (store: Store, id: string) => store.append('c', [{ kind: 'PauseEvent', id }])

it('a page contains no event of a conversation that was recreated during the read', async () => {
  const writer = openStore('amid')
  await writer.createConversation({ id: 'c' })
  await pause(writer, 'old')
  let isNext = false
  const slow = {
    async query(text: string, values?: unknown[]) {
      if (isNext && text.includes('WITH ORDINALITY AS w')) {
        isNext = false
        await writer.deleteConversation('c')
        await writer.createConversation({ id: 'c' })
        await pause(writer, 'new')
      }
      return pool.query(text, values)
    },
  }
  const reader = openStore('amid', slow as typeof pool)
  await reader.feed({ from: 'end' })
  isNext = true
  expect((await feedUntil(reader, 'new')).names).toEqual(['changed', 'deleted', 'changed', 'new'])
})

it('a creation that waited for the deletion of the same id is reported after it', async () => {
  const store = openStore('behind')
  await store.createConversation({ id: 'c' })
  await pause(store, 'old 0')
  const { end } = await feedUntil(store, 'old 0')
  const name = new URL(database.url).pathname.slice(1)
  const [observer, rival, late] = await Promise.all([pool.connect(), pool.connect(), pool.connect()])
  onTestFinished(() => [observer, rival, late].forEach((client) => client.release()))
  // The creating transaction gets its number first, then waits for an append and a deletion.
  await late.query('BEGIN')
  await late.query('SELECT pg_current_xact_id()')
  await pause(store, 'old 1')
  await rival.query('BEGIN')
  await openStore('behind', rival as never).deleteConversation('c')
  const creating = openStore('behind', late as never).createConversation({ id: 'c' })
  await until(async () => (await waiting(observer as never, name)) > 0)
  await rival.query('COMMIT')
  await creating
  await late.query('COMMIT')
  await pause(store, 'new 0')
  await pause(store, 'new 1')
  const { names } = await feedUntil(store, 'new 1', end)
  expect(names).toEqual(['deleted', 'changed', 'new 0', 'new 1'])
})
