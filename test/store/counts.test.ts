/** Counts stop at a limit unless `exact` is true, and lists find the last of more rows than the limit, in every store. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ConversationFilter, ConversationQuery } from '../../src/store/contract/conversation-record.ts'
import { MAX_COUNTED } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { allPages } from '../../src/store/kit/query/page.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { run } from '../postgres/sql-sessions.ts'
import { superDatabase, type TestDatabase } from '../postgres/database.ts'
import { folder, openDatabase } from './sqlite-drivers.ts'

/** Slightly above the counting limit; the first tenth has a tag. */
const MANY = MAX_COUNTED + 50

const FILES = folder()
let database: TestDatabase

beforeAll(async () => {
  database = await superDatabase()
})
afterAll(async () => {
  FILES.remove()
  await database.drop()
})

const id = (nth: number): string => `c${nth}`

/** Stores with this many conversations and items, filled in the fastest way each has. */
const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  async memory() {
    let now = 0n
    const store = memoryStore({ clock: () => (now += 1n) })
    for (let nth = 1; nth <= MANY; nth += 1) {
      const tags = nth % 10 === 0 ? { a: 'x' } : {}
      await store.createConversation({ id: id(nth), title: `T${nth}`, tags, status: 'idle' })
      await store.changeItems([{ collection: 'many', id: id(nth), put: { body: {}, keys: { k: 'v' } } }])
    }
    return store
  },
  async sqlite() {
    const database = openDatabase('node:sqlite', FILES.next())
    const store = sqliteStore({ database })
    await store.getConversation('none')
    database.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MANY})
      INSERT INTO colloquy_conversation (conversation_id, title, title_folded, public, tags, metadata, status, created_at)
      SELECT 'c' || i, 'T' || i, 't' || i, 0, CASE WHEN i % 10 = 0 THEN '{"a":"x"}' ELSE '{}' END, '{}', 'idle', i FROM n;
      INSERT INTO colloquy_log (number, conversation_id, created_at, updated_at)
      SELECT number, conversation_id, created_at, created_at FROM colloquy_conversation;
      INSERT INTO colloquy_tag (number, conversation_id, name, value, created_at)
      SELECT number, conversation_id, 'tag.a', 'x', created_at FROM colloquy_conversation WHERE tags <> '{}';
      INSERT INTO colloquy_item (collection, id, keys, body) SELECT 'many', conversation_id, '{"k":"v"}', '{}' FROM colloquy_log;
      INSERT INTO colloquy_item_key SELECT 'many', 'k', 'v', conversation_id FROM colloquy_log;`)
    return store
  },
  async postgres() {
    const store = postgresStore({ url: database.url })
    await store.getConversation('none')
    await run(
      database.url,
      `INSERT INTO colloquy.conversation (conversation_id, title, title_folded, public, tags, metadata, status, created_at)
      SELECT 'c' || i, 'T' || i, 't' || i, 0, CASE WHEN i % 10 = 0 THEN '{"a":"x"}' ELSE '{}' END, '{}', 'idle', i
      FROM generate_series(1, ${MANY}) i`,
      `INSERT INTO colloquy.log (number, conversation_id, created_at, updated_at)
      SELECT number, conversation_id, created_at, created_at FROM colloquy.conversation`,
      `INSERT INTO colloquy.tag (number, conversation_id, name, value, created_at)
      SELECT number, conversation_id, 'tag.a', 'x', created_at FROM colloquy.conversation WHERE tags <> '{}'`,
      `INSERT INTO colloquy.item (collection, id, keys, body) SELECT 'many', 'c' || i, '{"k":"v"}', '{}'
      FROM generate_series(1, ${MANY}) i`,
      `INSERT INTO colloquy.item_key SELECT 'many', 'k', 'v', 'c' || i FROM generate_series(1, ${MANY}) i`,
    )
    return store
  },
}

describe.each(Object.entries(STORES))('counts and lists in the %s store', (_, open) => {
  let store: Store
  beforeAll(async () => {
    store = await open()
  })
  afterAll(() => store.close())

  it('stop at the counting limit unless `exact` is true', async () => {
    const stopped = { count: MAX_COUNTED, more: true }
    const all = { count: MANY, more: false }
    for (const filter of [{}, { status: 'idle' }, { parentConversationId: '' }, { titleContains: 't' }]) {
      expect(await store.countConversations(filter), JSON.stringify(filter)).toEqual(stopped)
      expect(await store.countConversations(filter, { exact: true }), JSON.stringify(filter)).toEqual(all)
    }
    const few = { count: MANY / 10, more: false }
    expect(await store.countConversations({ tags: { a: 'x' } })).toEqual(few)
    const { count, more } = await store.countConversations({
      titleContains: 't',
      public: false,
      tags: { a: 'y' },
    })
    expect({ count, more }).toEqual({ count: 0, more: false })
    for (const filter of [{}, { by: 'k' }, { by: 'k', value: 'v' }]) {
      expect(await store.countItems('many', filter)).toEqual(stopped)
      expect(await store.countItems('many', filter, { exact: true })).toEqual(all)
    }
  })

  /** The ids on all pages, and the number of pages. */
  async function listIds(filter: ConversationFilter): Promise<[ids: string[], pages: number]> {
    const read = (start: ConversationQuery) =>
      store.listConversations({ ...filter, order: 'created_at', ...start })
    const ids: string[] = []
    let pages = 0
    for await (const items of allPages(read)) {
      ids.push(...items.map((record) => record.id))
      pages += 1
    }
    return [ids, pages]
  }

  it('find the last of many conversations, through pages that each scan a limited number', async () => {
    expect(await listIds({ titleContains: `t${MANY}` })).toEqual([[id(MANY)], 11])
    await store.createConversation({ id: 'last', tags: { a: 'x' } })
    expect(await listIds({ tags: { a: 'x' }, status: '' })).toEqual([['last'], 2])
  })
})
