/** The feed when a conversation is deleted and recreated under its id, in the middle of a page and behind a lock. */

import type pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { until, waiting } from '../postgres/bystander.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'

let database: PooledDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await pooledDatabase()
  pool = database.pool
})

afterAll(() => database.drop())

function opened(schema: string, client: Pick<pg.Pool, 'query'> = pool): Store {
  const store = postgresStore({
    client: { query: (text, values) => client.query(text, values) },
    schema,
    listen: false,
  })
  onTestFinished(() => store.close())
  return store
}

/** All feed entries from a cursor to an event, and the end cursor. Other transactions can delay them. */
async function reports(store: Store, last: string, from?: string): Promise<{ names: string[]; end: string }> {
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

it('a page gives no event of a conversation that came under the id while it was read', async () => {
  const writer = opened('amid')
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
  const reader = opened('amid', slow as typeof pool)
  await reader.feed({ from: 'end' })
  isNext = true
  expect((await reports(reader, 'new')).names).toEqual(['changed', 'deleted', 'changed', 'new'])
})

it('a conversation whose creation waited for the earlier one to go is told of behind its end', async () => {
  const store = opened('behind')
  await store.createConversation({ id: 'c' })
  await pause(store, 'old 0')
  const { end } = await reports(store, 'old 0')
  const name = new URL(database.url).pathname.slice(1)
  const [looker, rival, late] = await Promise.all([pool.connect(), pool.connect(), pool.connect()])
  onTestFinished(() => [looker, rival, late].forEach((client) => client.release()))
  // The create takes its number first; other calls then append and delete, and it waits for them.
  await late.query('BEGIN')
  await late.query('SELECT pg_current_xact_id()')
  await pause(store, 'old 1')
  await rival.query('BEGIN')
  await opened('behind', rival as never).deleteConversation('c')
  const creating = opened('behind', late as never).createConversation({ id: 'c' })
  await until(async () => (await waiting(looker as never, name)) > 0)
  await rival.query('COMMIT')
  await creating
  await late.query('COMMIT')
  await pause(store, 'new 0')
  await pause(store, 'new 1')
  const { names } = await reports(store, 'new 1', end)
  expect(names).toEqual(['deleted', 'changed', 'new 0', 'new 1'])
})
