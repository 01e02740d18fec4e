/** Feed rows of deleted conversations are removed once no follower needs them, and no reader misses a deletion (laws S7, B4). */

import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storeStart } from '../../src/conversation/follow/follow.ts'
import { FOLLOWERS, SHARDS } from '../../src/store/contract/feed.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { shardOf } from '../../src/store/kit/feed.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
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

interface Opened {
  /** Two processes' stores over the same data; one store in memory. */
  readonly stores: readonly Store[]
  /** Number of rows in the feed, or null for memory. */
  readonly rows: () => Promise<number | null>
}

interface Options {
  readonly feedRows: number
  readonly clock?: () => bigint
}

let schemas = 0

const STORES: Readonly<Record<string, (options: Options) => Opened>> = {
  memory: (options) => ({ stores: [memoryStore(options)], rows: async () => null }),
  SQLite: (options) => {
    const file = FILES.next()
    const open = () => sqliteStore({ file, synchronous: 'normal', ...options })
    return {
      stores: [open(), open()],
      rows: async () => {
        const raw = new DatabaseSync(file)
        const row = raw.prepare('SELECT count(*) AS count FROM colloquy_feed').get()
        raw.close()
        return Number(row?.['count'])
      },
    }
  },
  PostgreSQL: (options) => {
    const schema = `horizon${(schemas += 1)}`
    const open = () => postgresStore({ client: database.pool, schema, listen: false, ...options })
    return {
      stores: [open(), open()],
      rows: async () =>
        Number((await database.pool.query(`SELECT count(*) AS count FROM ${schema}.feed`)).rows[0].count),
    }
  },
}

const pause = (id: string) => ({ kind: 'PauseEvent' as const, id })

/** Returns the nth of other ids in the same shard. */
function sameShard(id: string, nth: number): string {
  for (let n = 0, count = 0; ; n += 1)
    if (shardOf(`other ${n}`) === shardOf(id) && (count += 1) > nth) return `other ${n}`
}

/** A reader's copy of all conversations: event ids by conversation. */
type Copy = Map<string, string[]>

/** A reader that stores its cursors, one for all shards or one per shard. */
class Reader {
  readonly copy: Copy = new Map()
  readonly #cursors = new Map<number | undefined, string>()
  resets = 0
  deletions = 0

  cursor(shard?: number): string | undefined {
    return this.#cursors.get(shard)
  }

  /** Reads one page. Returns whether more may follow. */
  async read(store: Store, limit: number, shard?: number): Promise<boolean> {
    const after = this.#cursors.get(shard)
    const page = await store.feed({
      limit,
      ...(after !== undefined && { after }),
      ...(shard !== undefined && { shard }),
    })
    if (page.reset) {
      this.resets += 1
      // Conversations of other shards stay: their readers were not reset.
      if (shard === undefined) this.copy.clear()
    }
    for (const item of page.items) {
      const events = this.copy.get(item.conversationId) ?? []
      if (item.type === 'deleted') {
        this.copy.delete(item.conversationId)
        this.deletions += 1
      } else this.copy.set(item.conversationId, events)
      if (item.type === 'event') events[item.event.seq] = item.event.id ?? ''
    }
    this.#cursors.set(shard, page.next)
    return page.more
  }
}

async function actual(store: Store, ids: readonly string[]): Promise<Copy> {
  const copy: Copy = new Map()
  for (const id of ids)
    if ((await store.getConversation(id)) !== null)
      copy.set(
        id,
        (await store.read(id)).map((event) => event.id ?? ''),
      )
  return copy
}

/** Reads to the end; transactions in other databases of the server can delay it. */
async function converge(reader: Reader, store: Store, ids: readonly string[]): Promise<void> {
  const wanted = [...(await actual(store, ids))].toSorted()
  const deadline = performance.now() + 300_000
  for (;;) {
    while (await reader.read(store, 3));
    const copy = [...reader.copy].toSorted()
    if (JSON.stringify(copy) === JSON.stringify(wanted) || performance.now() > deadline)
      return expect(copy).toEqual(wanted)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const IDS = ['a', 'b', 'c', 'd']

interface Op {
  readonly type: 'write' | 'update' | 'delete' | 'read' | 'follow'
  readonly id: string
  readonly limit: number
  readonly process: number
}

const process = fc.nat(1)
const id = fc.constantFrom(...IDS)
const limit = fc.integer({ min: 1, max: 4 })
const type = fc.constantFrom('write', 'write', 'update', 'delete', 'read', 'follow')
const OP: fc.Arbitrary<Op> = fc.record({ type, id, limit, process })

describe.each(Object.entries(STORES))('feed rows in %s', (name, open) => {
  it('are removed without a reader missing a deletion, and without resetting a follower', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(OP, { maxLength: 40 }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        async (ops, feedRows, isFollowed) => {
          const { stores } = open({ feedRows })
          const [first] = stores as [Store]
          const reader = new Reader()
          const follower = new Reader()
          if (isFollowed) await storeStart(first, 'f', 'start')
          let count = 0
          for (const op of ops) {
            const store = stores[op.process % stores.length] ?? first
            if (op.type === 'read') await reader.read(store, op.limit)
            else if (op.type === 'follow') {
              if (!isFollowed) continue
              // Read one page of each shard, then store its cursor.
              for (let shard = 0; shard < SHARDS; shard += 1) {
                if (!IDS.some((id) => shardOf(id) === shard)) continue
                await follower.read(store, op.limit, shard)
                const put = { body: { cursor: follower.cursor(shard) ?? null }, dueIn: 0 }
                const id = String(shard).padStart(2, '0')
                await store.changeItems([{ collection: `${FOLLOWERS}f`, id, put }])
              }
            } else if (op.type === 'delete') await store.deleteConversation(op.id)
            else {
              if ((await store.getConversation(op.id)) === null) await store.createConversation({ id: op.id })
              if (op.type === 'update') await store.updateConversation(op.id, { title: `${count}` })
              else await store.append(op.id, [pause(`e${(count += 1)}`)])
            }
          }
          await converge(reader, first, IDS)
          if (isFollowed) {
            const shards = [...new Set(IDS.map(shardOf))]
            const wanted = JSON.stringify([...(await actual(first, IDS))].toSorted())
            const copy = (): string => JSON.stringify([...follower.copy].toSorted())
            const deadline = performance.now() + 300_000
            do for (const shard of shards) while (await follower.read(first, 3, shard));
            while (copy() !== wanted && performance.now() < deadline)
            expect(copy()).toBe(wanted)
            expect(follower.resets).toBe(0)
          }
          for (const store of stores) await store.close()
        },
      ),
      { numRuns: name === 'PostgreSQL' ? 12 : 60 },
    )
  })

  it('stay below a limit after 60 deleted conversations', async () => {
    const { stores, rows } = open({ feedRows: 10 })
    const [store] = stores as [Store]
    await store.createConversation({ id: 'stays' })
    const reader = new Reader()
    for (let n = 0; n < 60; n += 1) {
      await store.createConversation({ id: `c${n}` })
      for (const id of ['x', 'y', 'z']) await store.append(`c${n}`, [pause(id)])
      if (n === 30) await converge(reader, store, ['stays', 'c30'])
      await store.deleteConversation(`c${n}`)
    }
    expect((await rows()) ?? 0).toBeLessThan(10 + 1 + 2 * SHARDS)
    await converge(reader, store, ['stays'])
    expect(reader.resets).toBeGreaterThan(0)
    for (const one of stores) await one.close()
  })

  it.each([undefined, shardOf('a')])(
    'reset a reader whose cursor is before a removed deletion (shard: %s)',
    async (shard) => {
      const { stores } = open({ feedRows: 1 })
      const [store] = stores as [Store]
      const reader = new Reader()
      for (const id of ['gone', 'a']) await store.createConversation({ id })
      const deadline = performance.now() + 300_000
      // Its position is the row of a conversation that stays.
      while (!reader.copy.has('a') && performance.now() < deadline) await reader.read(store, 9, shard)
      if (shard === undefined) await store.deleteConversation('gone')
      for (let n = 0; n < 5; n += 1) {
        // An id of the same shard.
        const other = sameShard('a', n)
        await store.createConversation({ id: other })
        await store.deleteConversation(other)
      }
      await reader.read(store, 9, shard)
      expect(reader.resets).toBe(1)
      if (shard === undefined) await converge(reader, store, ['a', 'gone'])
      for (const one of stores) await one.close()
    },
  )

  it('never reset a reader of a shard whose last row was a removed deletion', async () => {
    const { stores } = open({ feedRows: 1 })
    const [store] = stores as [Store]
    const ids = Array.from({ length: 8 }, (_, n) => sameShard('a', n))
    for (const id of [...ids, 'a']) await store.createConversation({ id })
    await store.deleteConversation('a')
    expect(shardOf('b')).not.toBe(shardOf('a'))
    for (let n = 0; n < 9; n += 1) {
      await store.createConversation({ id: 'b' })
      await store.deleteConversation('b')
    }
    const reader = new Reader()
    const deadline = performance.now() + 300_000
    while (reader.copy.size < ids.length && reader.resets === 0 && performance.now() < deadline)
      await reader.read(store, 3, shardOf('a'))
    expect([reader.copy.size, reader.resets]).toEqual([ids.length, 0])
    for (const one of stores) await one.close()
  })

  it.each([undefined, shardOf('a')])(
    'never reset a reader that starts after the deletions (shard: %s)',
    async (shard) => {
      const { stores } = open({ feedRows: 1 })
      const [store] = stores as [Store]
      const ids = Array.from({ length: 8 }, (_, n) => sameShard('a', n))
      for (const id of ids) await store.createConversation({ id })
      const deleteFive = async (): Promise<void> => {
        for (let n = 0; n < 5; n += 1) {
          await store.createConversation({ id: 'a' })
          await store.deleteConversation('a')
        }
      }
      await deleteFive()
      const reader = new Reader()
      const deadline = performance.now() + 300_000
      // The page after the first one begins before the removed rows.
      while (reader.copy.size < ids.length && reader.resets === 0 && performance.now() < deadline)
        await reader.read(store, 3, shard)
      expect([reader.copy.size, reader.resets]).toEqual([ids.length, 0])
      await deleteFive()
      while (reader.resets === 0 && performance.now() < deadline) await reader.read(store, 3, shard)
      for (let pages = 0; pages < 9; pages += 1) await reader.read(store, 3, shard)
      expect(reader.resets).toBe(1)
      for (const one of stores) await one.close()
    },
  )

  it('are kept for a follower until it has not read for 31 days', async () => {
    let days = 0n
    const clock = () => BigInt(Date.UTC(2026, 0, 1)) * 1_000n + days * 86_400_000_000n
    const { stores } = open({ feedRows: 1, clock })
    const [store] = stores as [Store]
    await storeStart(store, 'f', 'start')
    const shard = shardOf('a')
    const deleteFive = async (): Promise<void> => {
      for (let n = 0; n < 5; n += 1) {
        await store.createConversation({ id: 'a' })
        await store.append('a', [pause(`p${n}`)])
        await store.deleteConversation('a')
      }
    }
    await deleteFive()
    const reader = new Reader()
    const deadline = performance.now() + 300_000
    // The first deletion is still in the feed.
    while (reader.deletions === 0 && performance.now() < deadline) await reader.read(store, 1, shard)
    expect(reader.deletions).toBe(1)
    const put = { body: { cursor: reader.cursor(shard) ?? null }, dueIn: 0 }
    await store.changeItems([{ collection: `${FOLLOWERS}f`, id: String(shard).padStart(2, '0'), put }])
    await deleteFive()
    await reader.read(store, 1, shard)
    expect(reader.resets).toBe(0)
    days = 31n
    await deleteFive()
    await deleteFive()
    await reader.read(store, 1, shard)
    expect(reader.resets).toBe(1)
    for (const one of stores) await one.close()
  })

  it('must be at least 1', () => {
    for (const feedRows of [0, -1, 0.5, Number.NaN])
      expect(() => open({ feedRows })).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
  })
})
