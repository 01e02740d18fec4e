/** The feed misses nothing when commits finish out of order or a database is restored, and all stores use the same shards (laws S7, B4). */

import { copyFileSync } from 'node:fs'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Follower, FollowHandler } from '../../src/conversation/follow/follow.ts'
import { isLegalId } from '../../src/event/ids.ts'
import type { FeedItem, FeedPage, FeedQuery } from '../../src/store/contract/feed.ts'
import { SHARDS } from '../../src/store/contract/feed.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { checkFeedQuery, shardOf } from '../../src/store/kit/feed.ts'
import { encodeCursor } from '../../src/store/kit/query/page.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { killable } from '../service/killable-store.ts'
import { until } from '../service/sandbox-commands.ts'
import { folder } from './sqlite-drivers.ts'

const FILES = folder()
let database: PooledDatabase

beforeAll(async () => {
  database = await pooledDatabase()
})

afterAll(async () => {
  await database.drop()
  FILES.remove()
})

function closeAfterTest(store: Store): Store {
  onTestFinished(() => store.close())
  return store
}

const pause = (id: string) => ({ kind: 'PauseEvent' as const, id })

/** Waits for `count` entries. Transactions in other databases of the server can delay the feed. */
async function readAtLeast(store: Store, query: FeedQuery, count: number): Promise<FeedPage> {
  const deadline = performance.now() + 300_000
  for (;;) {
    const page = await store.feed(query)
    if (page.items.length >= count || page.reset || performance.now() > deadline) return page
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const describeItems = (items: readonly FeedItem[]): string[] =>
  items.map((item) => `${item.conversationId} ${item.type === 'event' ? item.event.id : item.type}`)

describe('a feed cursor', () => {
  it('is rejected with invalid_cursor if its position is malformed, and resets if it is of another database', async () => {
    const { scope } = checkFeedQuery()
    for (const store of [memoryStore(), sqliteStore({ file: ':memory:' })].map(closeAfterTest)) {
      await store.createConversation({ id: 'c' })
      for (const position of ['x', 'x y', '1 x', '-1', '1e3', '0x1', 'NaN', '1 1', '9'.repeat(20), ' 1'])
        await expect(store.feed({ after: encodeCursor(scope, [position, 'w', '1']) })).rejects.toMatchObject({
          code: 'invalid_cursor',
        })
      for (const until of ['', 'x', '-1', '1.5', 'Infinity'])
        await expect(store.feed({ after: encodeCursor(scope, ['1', 'w', until]) })).rejects.toMatchObject({
          code: 'invalid_cursor',
        })
      // A well-formed cursor of another database.
      expect(await store.feed({ after: encodeCursor(scope, ['1', 'w', '1']) })).toMatchObject({ reset: true })
    }
  })
})

describe('the shard of a feed', () => {
  it('contains exactly the conversations that `shardOf` assigns to it, in every store', async () => {
    const stores = [
      memoryStore(),
      sqliteStore({ file: ':memory:' }),
      postgresStore({ client: database.pool, schema: 'shards' }),
    ].map(closeAfterTest)
    const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }).filter(isLegalId)
    const ids = [...new Set(fc.sample(id, 80))]
    for (const store of stores) {
      for (const one of ids) await store.createConversation({ id: one })
      await readAtLeast(store, {}, ids.length)
      for (const shard of new Set(ids.map(shardOf))) {
        const { items } = await store.feed({ shard })
        const reports = items.map((item) => item.conversationId)
        expect(reports, store.name).toEqual(ids.filter((one) => shardOf(one) === shard))
      }
    }
  })
})

describe('the feed of PostgreSQL', () => {
  it('waits for an open transaction, and reports it before later ones that committed earlier', async () => {
    const slow = new pg.Client({ connectionString: database.url })
    await slow.connect()
    onTestFinished(() => slow.end())
    const [store, current] = [
      closeAfterTest(postgresStore({ client: database.pool })),
      closeAfterTest(postgresStore({ client: slow })),
    ]
    for (const id of ['c', 'd']) await store.createConversation({ id })
    const { next } = await readAtLeast(store, {}, 2)
    await current.read('c')
    await slow.query('BEGIN')
    await current.append('c', [pause('slow')])
    await store.append('d', [pause('fast')])
    const early = await store.feed({ after: next })
    expect([early.items, early.more, early.reset]).toEqual([[], false, false])
    await slow.query('COMMIT')
    expect(describeItems((await readAtLeast(store, { after: early.next }, 2)).items)).toEqual([
      'c slow',
      'd fast',
    ])
  })

  it('resets and reports everything if a restored dump contains higher transaction numbers', async () => {
    const options = { client: database.pool, schema: 'dumped' }
    const before = closeAfterTest(postgresStore(options))
    await before.createConversation({ id: 'c' })
    await before.append('c', [pause('a')])
    const { next } = await readAtLeast(before, {}, 2)
    await database.pool.query(`UPDATE dumped.feed SET moment = moment + 1000000`)
    const after = closeAfterTest(postgresStore(options))
    await after.append('c', [pause('b')])
    const page = await after.feed({ after: next })
    expect([page.items, page.reset]).toEqual([[], true])
    expect(describeItems((await readAtLeast(after, { after: page.next }, 3)).items)).toEqual([
      'c changed',
      'c a',
      'c b',
    ])
  })
})

it('followers over PostgreSQL share the shards, and replace a dead follower (law B4)', async () => {
  const handled = new Map<string, (number | undefined)[]>()
  const stores = [0, 1, 2].map(() =>
    closeAfterTest(postgresStore({ client: database.pool, schema: 'followed' })),
  )
  const [writer, first, second] = stores as [Store, Store, Store]
  const ids = Array.from({ length: 12 }, (_, index) => `c${index}`)
  const append = (seq: number): Promise<unknown> =>
    Promise.all(ids.map((id) => writer.append(id, [pause(`${id} ${seq}`)])))
  for (const id of ids) await writer.createConversation({ id })
  await append(0)
  const { store, dieAfter } = killable(first)
  const engines = [store, second].map((followed) => createEngine({ store: followed }))
  const options = { name: 'f', leaseTtl: 400, pollInterval: 50, onError: () => undefined }
  const followers: Follower[] = []
  for (const engine of engines) {
    onTestFinished(() => engine.close())
    const handler: FollowHandler = (items) => {
      for (const item of items)
        if (item.type === 'event')
          handled.set(item.conversationId, [...(handled.get(item.conversationId) ?? []), item.seq])
    }
    followers.push(await engine.follow(options, handler))
  }
  const all = (count: number): boolean => ids.every((id) => new Set(handled.get(id)).size === count)
  await until(() => all(1) && followers.every(({ shards }) => shards === SHARDS / 2))
  await append(1)
  await until(() => all(2))
  dieAfter(0)
  await append(2)
  await until(() => all(3))
  for (const id of ids) expect([...new Set(handled.get(id))]).toEqual([0, 1, 2])
  await until(() => followers[1]?.shards === SHARDS)
})

describe('the feed of SQLite', () => {
  it('resets only cursors beyond the end of a restored file', async () => {
    const [file, backup] = [FILES.next(), FILES.next()]
    const first = sqliteStore({ file, synchronous: 'normal' })
    await first.createConversation({ id: 'c' })
    await first.append('c', [pause('a')])
    const shared = await first.feed()
    await first.close()
    copyFileSync(file, backup)
    const second = sqliteStore({ file, synchronous: 'normal' })
    await second.append('c', [pause('lost')])
    const beyond = await second.feed()
    await second.close()
    copyFileSync(backup, file)
    const third = closeAfterTest(sqliteStore({ file, synchronous: 'normal' }))
    expect((await third.feed({ after: beyond.next })).reset).toBe(true)
    await third.append('c', [pause('b')])
    expect((await third.feed({ after: beyond.next })).reset).toBe(true)
    const { items, reset } = await third.feed({ after: shared.next })
    expect([describeItems(items), reset]).toEqual([['c b'], false])
  })
})

it('pages of a shard in SQLite skip the rows of other shards, even 500 in a row', async () => {
  const store = closeAfterTest(sqliteStore({ file: ':memory:' }))
  const ids = ['quiet', 'loud']
  for (const id of ids) await store.createConversation({ id })
  expect(shardOf('quiet')).not.toBe(shardOf('loud'))
  await store.append('quiet', [pause('first')])
  for (let n = 0; n < 500; n += 1) await store.append('loud', [pause(`l${n}`)])
  await store.append('quiet', [pause('last')])
  const shard = shardOf('quiet')
  const matches: string[] = []
  let pages = 0
  let page = await store.feed({ shard, limit: 1 })
  for (; page.more || page.items.length > 0; page = await store.feed({ shard, limit: 1, after: page.next })) {
    matches.push(...describeItems(page.items))
    pages += 1
    expect(page.reset).toBe(false)
  }
  expect(matches).toEqual(['quiet changed', 'quiet first', 'quiet last'])
  expect(pages).toBeLessThan(10)
  await store.append('quiet', [pause('later')])
  expect(describeItems((await store.feed({ shard, limit: 1, after: page.next })).items)).toEqual([
    'quiet later',
  ])
})
