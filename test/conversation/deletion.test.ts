/** Deletion by owner, tags and age, and a retention policy shared by several processes. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { DeletionOptions } from '../../src/conversation/engine-context.ts'
import type { DeletionFilter, RetentionOptions } from '../../src/conversation/retention.ts'
import type { NewConversation } from '../../src/store/contract/conversation-record.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { superDatabase } from '../postgres/database.ts'
import { spyStore, wrapStore } from './stores.ts'
import { folder } from '../store/sqlite-drivers.ts'

const FILES = folder()
afterAll(FILES.remove)

const DAY = 86_400_000
const CHILD = { subagent: 'true' }

const refuse = (): Promise<void> => Promise.reject(new Error('nothing is deleted'))

/** An engine on a memory store with a manual clock in milliseconds. */
function setUp() {
  const now = { ms: 1_000 * DAY }
  const clock = (): bigint => BigInt(now.ms) * 1_000n
  const store = memoryStore({ clock })
  const ids = async (): Promise<string[]> =>
    (await store.listConversations({ order: 'created_at' })).items.map(({ id }) => id).toSorted()
  return { now, store, ids, engine: createEngine({ store, clock }), clock }
}

describe('deleteConversations', () => {
  it.each<readonly [DeletionFilter, readonly string[]]>([
    [{ owner: 'ann' }, ['b', 'c', 'fork']],
    [{ owner: 'nobody' }, ['a', 'a-child', 'b', 'c', 'fork']],
    [{ tags: { userId: '1' } }, ['b', 'c', 'fork']],
    [{ owner: 'bob', tags: { userId: '1' } }, ['a', 'a-child', 'b', 'c', 'fork']],
    [{ before: new Date(1_000 * DAY + 1).toISOString() }, ['c', 'fork']],
    [{ owner: 'ann', before: new Date(0).toISOString() }, ['a', 'a-child', 'b', 'c', 'fork']],
  ])('deletes by filter: %j leaves %j', async (filter, remaining) => {
    const { engine, ids, now } = setUp()
    await engine.create({ id: 'a', owner: 'ann', tags: { userId: '1' } })
    await engine.create({ id: 'a-child', owner: 'ann', parentConversationId: 'a', tags: CHILD })
    await engine.create({ id: 'b', owner: 'bob' })
    now.ms += DAY
    await engine.create({ id: 'c' })
    await (await engine.open('a')).fork({ id: 'fork', owner: null })
    const report = await engine.deleteConversations(filter)
    expect(await ids()).toEqual(remaining)
    expect(report.conversations).toBe(5 - remaining.length)
    await engine.close()
  })

  it('reports what it deleted, and zeros when it is repeated', async () => {
    const { engine, store } = setUp()
    const conversation = await engine.create({ id: 'a', owner: 'ann' })
    await conversation.sendMessage('Hello')
    await conversation.append({ kind: 'PauseEvent' })
    await store.saveSnapshot('a', [{ part: 0, bytes: new Uint8Array(1) }])
    await store.acquireLease('a', 'someone', 10)
    const none = { conversations: 0, events: 0, snapshots: 0, leases: 0, items: 0, more: false }
    expect(await engine.deleteConversations({ owner: 'ann' })).toEqual({
      ...none,
      conversations: 1,
      events: 2,
      snapshots: 1,
      leases: 1,
    })
    expect(await engine.deleteConversations({ owner: 'ann' })).toEqual(none)
    await expect(conversation.state()).rejects.toMatchObject({ code: 'unknown_conversation' })
    await engine.close()
  })

  it('reports the counts of a deletion in a dry run, subagents included, and deletes nothing', async () => {
    const { engine, store, ids } = setUp()
    const parent = await engine.create({ id: 'a', owner: 'ann' })
    await parent.sendMessage('Hello')
    await engine.create({ id: 'a-child', owner: 'ann', parentConversationId: 'a', tags: CHILD })
    const nested = await engine.create({ id: 'a-child-1', parentConversationId: 'a-child', tags: CHILD })
    await nested.sendMessage('Hello')
    await engine.create({ id: 'b', owner: 'ann' })
    await store.saveSnapshot('a', [{ part: 0, bytes: new Uint8Array(1) }])
    await store.acquireLease('b', 'someone', 10)
    const planned = await engine.deleteConversations({ owner: 'ann' }, { dryRun: true, onDelete: refuse })
    const retained = await engine.applyRetention({ keepLast: 0, dryRun: true })
    expect(planned).toEqual({ conversations: 4, events: 2, snapshots: 1, leases: 1, items: 0, more: false })
    // A conversation with an active run stays.
    expect(retained).toEqual({ ...planned, conversations: 3, leases: 0 })
    expect(await ids()).toEqual(['a', 'a-child', 'a-child-1', 'b'])
    expect((await store.listItems('retention')).items).toEqual([])
    expect(await engine.deleteConversations({ owner: 'ann' })).toEqual(planned)
    expect(await ids()).toEqual([])
    await engine.close()
  })

  it('stops at its limit with `more: true`, and the next call continues', async () => {
    const { engine, ids } = setUp()
    for (const id of ['a', 'b', 'c', 'd', 'e']) await engine.create({ id, owner: 'ann' })
    await engine.create({ id: 'a-child', owner: 'ann', parentConversationId: 'a', tags: CHILD })
    const first = await engine.deleteConversations({ owner: 'ann' }, { limit: 2 })
    expect(first).toMatchObject({ conversations: 3, more: true })
    expect(await ids()).toEqual(['c', 'd', 'e'])
    expect(await engine.applyRetention({ keepLast: 0, limit: 2 })).toMatchObject({
      conversations: 2,
      more: true,
    })
    expect(await engine.deleteConversations({ owner: 'ann' }, { limit: 1 })).toMatchObject({
      conversations: 1,
      more: false,
    })
    await engine.close()
  })

  it('calls onDelete before each deletion, and keeps the conversation if it throws', async () => {
    const { engine, store, ids } = setUp()
    for (const id of ['a', 'b', 'c']) await engine.create({ id, owner: 'ann' })
    await engine.create({ id: 'a-child', parentConversationId: 'a', tags: CHILD })
    const seen: string[] = []
    const onDelete: DeletionOptions['onDelete'] = async ({ id }) => {
      expect(await store.getConversation(id)).not.toBeNull()
      if (id === 'b' && !seen.includes('b')) {
        seen.push(id)
        throw new Error('my rows')
      }
      seen.push(id)
    }
    await expect(engine.deleteConversations({ owner: 'ann' }, { onDelete })).rejects.toThrow('my rows')
    expect(await ids()).toEqual(['b', 'c'])
    expect(await engine.applyRetention({ keepLast: 0, onDelete })).toMatchObject({ conversations: 2 })
    expect(seen.toSorted()).toEqual(['a', 'a-child', 'b', 'b', 'c'])
    await engine.close()
  })

  it.each([{ dryRun: 1 }, { dryrun: true }, { limit: 0 }, { limit: 1.5 }, { limit: '1' }, { onDelete: 1 }])(
    'rejects the options %j and deletes nothing',
    async (options) => {
      const { engine, ids } = setUp()
      await engine.create({ id: 'a', owner: 'ann' })
      const refused = { code: 'invalid_argument' }
      const bad = options as DeletionOptions
      await expect(engine.deleteConversations({ owner: 'ann' }, bad)).rejects.toMatchObject(refused)
      await expect(engine.applyRetention({ keepLast: 0, ...bad })).rejects.toMatchObject(refused)
      expect(await ids()).toEqual(['a'])
      await engine.close()
    },
  )

  it('delete() also deletes subagents that are created during the deletion', async () => {
    const { store } = setUp()
    const open = async (id: string, parentConversationId: string): Promise<void> =>
      void (await store.createConversation({ id, parentConversationId, tags: CHILD }))
    const engine = createEngine({
      store: wrapStore(store, {
        async deleteConversation(id) {
          if (id === 'a') await open('a-child', 'a')
          if (id === 'a-child') await open('a-child-1', 'a-child')
          return store.deleteConversation(id)
        },
      }),
    })
    await engine.create({ id: 'a' })
    await engine.create({ id: 'b' })
    expect(await engine.delete('a')).toBe(true)
    expect((await store.listConversations()).items.map(({ id }) => id)).toEqual(['b'])
    await engine.close()
  })

  it("ends for conversations that are each other's parents", async () => {
    const { engine, ids } = setUp()
    await engine.create({ id: 'a', owner: 'ann', parentConversationId: 'b', tags: CHILD })
    await engine.create({ id: 'b', parentConversationId: 'a', tags: CHILD })
    await engine.create({ id: 'c', owner: 'ann', parentConversationId: 'c', tags: CHILD })
    expect(await engine.deleteConversations({ owner: 'ann' })).toMatchObject({ conversations: 3 })
    expect(await ids()).toEqual([])
    await engine.close()
  })

  it.each([
    {},
    { owner: undefined },
    { owner: null },
    { owner: '' },
    { tags: {} },
    { tags: undefined },
    { tags: ['a'] },
    { before: 'yesterday' },
    { before: null },
    { ownr: 'ann' },
    { owner: 'ann', before: undefined },
  ])('rejects the filter %j and deletes nothing', async (filter) => {
    const { engine, ids } = setUp()
    await engine.create({ id: 'a', owner: 'ann' })
    await expect(engine.deleteConversations(filter as DeletionFilter)).rejects.toMatchObject({
      code: expect.stringMatching(/^invalid_/),
    })
    expect(await ids()).toEqual(['a'])
    await engine.close()
  })

  it('leaves no deleted text in the SQLite files', async () => {
    const file = FILES.next()
    const store = sqliteStore({ file })
    const engine = createEngine({ store, shareReplies: true })
    const phrase = 'unforgettable-words'
    for (const owner of ['ann', 'bob']) {
      const conversation = await engine.create({ owner, title: `${owner} ${phrase}`, tags: { note: phrase } })
      for (let nth = 0; nth < 30; nth += 1) await conversation.sendMessage(`${owner} ${phrase} ${nth}`)
      await conversation.sendMessage(`${owner} ${phrase} `.repeat(10_000))
      await store.saveSnapshot(conversation.id, [
        { part: 0, bytes: new TextEncoder().encode(`${owner} ${phrase}`) },
      ])
    }
    const bytes = (): string =>
      readdirSync(FILES.path)
        .filter((name) => join(FILES.path, name).startsWith(file))
        .map((name) => readFileSync(join(FILES.path, name), 'latin1'))
        .join('\n')
    expect(bytes()).toContain(`ann ${phrase}`)
    expect(await engine.deleteConversations({ owner: 'ann' })).toMatchObject({ conversations: 1, events: 31 })
    await expect.poll(() => bytes().includes(`ann ${phrase}`)).toBe(false)
    expect(bytes()).toContain(`bob ${phrase}`)
    await engine.close()
    await store.close()
    expect(bytes()).not.toContain(`ann ${phrase}`)
  })
})

function rowsOf(database: DatabaseSync, table: string) {
  const statement = database.prepare(`SELECT * FROM "${table}"`)
  statement.setReadBigInts(true)
  return statement.all()
}

describe('a database dump after a deletion', () => {
  const phrase = 'unforgettable-words'
  /** Writes the phrase of two owners to every column of the store, then deletes the conversation of one owner. */
  async function deleteOne(store: Store): Promise<void> {
    const engine = createEngine({ store, shareReplies: true })
    for (const owner of ['ann', 'bob']) {
      const text = `${owner} ${phrase}`
      const conversation = await engine.create({
        owner,
        title: text,
        tags: { note: text },
        metadata: { text },
      })
      const [hello] = await conversation.sendMessage(text)
      await conversation.sendMessage(`${text} `.repeat(10_000))
      await store.updateConversation(conversation.id, { title: `again ${text}` })
      await store.saveSnapshot(conversation.id, [{ part: 0, bytes: new TextEncoder().encode(text) }])
      if (owner === 'bob') await conversation.eraseEvent(hello?.id ?? '')
    }
    await engine.deleteConversations({ owner: 'ann' })
    await engine.close()
  }

  it('has no deleted text in a copy or in the rows of SQLite', async () => {
    const file = FILES.next()
    const store = sqliteStore({ file, fullText: true })
    await deleteOne(store)
    const database = new DatabaseSync(file)
    const copy = FILES.next()
    database.prepare('VACUUM INTO ?').run(copy)
    const tables = database.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all()
    const rows = tables.map(({ name }) =>
      rowsOf(database, String(name))
        .flatMap((row) => Object.values(row))
        .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
        .join('\n'),
    )
    database.close()
    await store.close()
    for (const dump of [readFileSync(copy, 'latin1'), rows.join('\n')]) {
      expect(dump).toContain(`bob ${phrase}`)
      expect(dump).not.toContain(`ann ${phrase}`)
    }
  })

  it('has no deleted text in PostgreSQL rows, nor in the files after VACUUM FULL', async () => {
    const { url, drop } = await superDatabase()
    const pool = new pg.Pool({ connectionString: url })
    pool.on('error', () => undefined)
    const store = postgresStore({ client: pool, fullText: true })
    await deleteOne(store)
    await store.close()
    const { rows: tables } = await pool.query<{ readonly name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'colloquy'`,
    )
    expect(tables.length).toBeGreaterThan(8)
    const read = async (sql: string): Promise<string> => {
      const { rows } = await pool.query<{ readonly text: string | null }>(sql)
      // A dump contains bytes as hexadecimal digits.
      return rows.map(({ text }) => `${text}${Buffer.from(text ?? '', 'hex').toString('latin1')}`).join('\n')
    }
    const dump = await Promise.all(
      tables.map(({ name }) => read(`SELECT replace(CAST(t AS text), '\\x', '') AS text FROM ${name} AS t`)),
    )
    expect(dump.join('\n')).toContain(`bob ${phrase}`)
    expect(dump.join('\n')).not.toContain(`ann ${phrase}`)
    await pool.query('VACUUM FULL')
    await pool.query('CHECKPOINT')
    const { rows: files } = await pool.query<{ readonly bytes: Buffer }>(
      `SELECT pg_read_binary_file(pg_relation_filepath(c.oid)) AS bytes FROM pg_class AS c
      WHERE c.relkind IN ('r', 'i', 't') AND pg_relation_filepath(c.oid) IS NOT NULL`,
    )
    const bytes = files.map((one) => one.bytes.toString('latin1')).join('\n')
    expect(bytes).toContain(`bob ${phrase}`)
    expect(bytes).not.toContain(`ann ${phrase}`)
    await pool.end()
    await drop()
  })
})

describe('applyRetention', () => {
  /** Conversations with the days since their last change. */
  const records: readonly (Omit<NewConversation, 'id'> & { readonly id: string; readonly days: number })[] = [
    { id: 'd9', days: 9, owner: 'ann' },
    { id: 'd8', days: 8 },
    { id: 'd7', days: 7, owner: 'ann' },
    { id: 'd7-child', days: 7, parentConversationId: 'd1', tags: CHILD },
    { id: 'd6-orphan', days: 6, parentConversationId: 'gone', tags: CHILD },
    { id: 'd5-run', days: 5 },
    { id: 'd1', days: 1, owner: 'ann' },
    { id: 'd0', days: 0 },
  ]
  const all = records.map(({ id }) => id)

  const filled = async () => {
    const base = setUp()
    const { now, engine, store } = base
    const end = now.ms
    for (const { days, ...input } of records) {
      now.ms = end - days * DAY
      await engine.create(input)
    }
    now.ms = end
    await store.acquireLease('d5-run', 'run', DAY)
    return base
  }

  it.each<readonly [RetentionOptions, readonly string[]]>([
    [{ olderThan: 4 * DAY }, ['d7-child', 'd5-run', 'd1', 'd0']],
    [{ olderThan: 7 * DAY }, all.slice(2)],
    [{ olderThan: 30 * DAY }, all],
    [{ olderThan: 1e14 }, all],
    [{ olderThan: Number.MAX_SAFE_INTEGER }, all],
    [{ keepLast: 2 }, ['d7-child', 'd5-run', 'd1', 'd0']],
    [{ keepLast: 4 }, ['d7-child', 'd6-orphan', 'd5-run', 'd1', 'd0']],
    [{ keepLast: 4, olderThan: 0 }, ['d7-child', 'd6-orphan', 'd5-run', 'd1', 'd0']],
    [{ keepLast: 0 }, ['d5-run']],
    [{ keepLast: 1, owner: 'ann' }, all.filter((id) => id !== 'd9' && id !== 'd7')],
    [{ olderThan: 8 * DAY, owner: 'ann' }, all.slice(1)],
  ])('options %j leave %j', async (options, remaining) => {
    const { engine, ids } = await filled()
    const report = await engine.applyRetention(options)
    expect(await ids()).toEqual(remaining.toSorted())
    expect(report?.conversations).toBe(all.length - remaining.length)
    expect((await engine.applyRetention(options))?.conversations).toBe(0)
    await engine.close()
  })

  it.each([
    {},
    { owner: 'ann' },
    { olderThan: -1 },
    { olderThan: NaN },
    { olderThan: '1' },
    { keepLast: 1.5 },
    { keepLast: 1, owner: undefined },
    { keepLast: 1, tags: {} },
    { keepLast: 1, leaseTtl: 0 },
    { olderThen: 1 },
  ])('rejects %j', async (options) => {
    const { engine, ids } = await filled()
    await expect(engine.applyRetention(options as RetentionOptions)).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    expect(await ids()).toEqual(all.toSorted())
    await engine.close()
  })

  it('runs in one of several engines at a time, and in another after a crash', async () => {
    const { store, engine, ids, clock, now } = await filled()
    const others = Array.from({ length: 4 }, () => createEngine({ store, clock }))
    const reports = await Promise.all([engine, ...others].map((one) => one.applyRetention({ keepLast: 2 })))
    expect(reports.filter((report) => report !== null)).toHaveLength(1)
    expect(await ids()).toEqual(['d0', 'd1', 'd5-run', 'd7-child'])
    // The claim of a process that crashed during retention.
    await store.changeItems([{ collection: 'retention', id: 'retention', put: { body: {}, dueIn: 60_000 } }])
    expect(await engine.applyRetention({ keepLast: 1 })).toBeNull()
    now.ms += 60_001
    expect(await engine.applyRetention({ keepLast: 1 })).toMatchObject({ conversations: 2 })
    await Promise.all([engine, ...others].map((one) => one.close()))
  })

  it('rejects if its signal is aborted, and a later call can run', async () => {
    const { engine, ids } = await filled()
    await expect(
      engine.applyRetention({ keepLast: 2, signal: AbortSignal.abort(new Error('stop')) }),
    ).rejects.toThrow('stop')
    expect(await ids()).toEqual(all.toSorted())
    // The aborted call has released its claim.
    expect(await engine.applyRetention({ keepLast: 2 })).not.toBeNull()
    await engine.close()
  })

  it('keeps exactly the `keepLast` newest conversations and those within `olderThan`', async () => {
    const one = fc.record({ days: fc.nat(9), owner: fc.constantFrom('ann', 'bob', null) })
    const options = fc.record({
      olderThan: fc.option(fc.nat(9), { nil: null }),
      keepLast: fc.option(fc.nat(5), { nil: null }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(one, { maxLength: 12 }),
        options,
        async (conversations, { olderThan, keepLast }) => {
          fc.pre(olderThan !== null || keepLast !== null)
          const { now, engine, ids } = setUp()
          const end = now.ms
          const byAge = conversations
            .map(({ days, owner }, nth) => ({ id: `c${String(nth).padStart(2, '0')}`, days, owner }))
            .toSorted((a, b) => b.days - a.days || (a.id < b.id ? -1 : 1))
          for (const { days, ...input } of byAge) {
            now.ms = end - days * DAY
            await engine.create(input)
          }
          now.ms = end
          await engine.applyRetention({
            ...(olderThan !== null && { olderThan: olderThan * DAY }),
            ...(keepLast !== null && { keepLast }),
          })
          const stored = byAge.toReversed().filter(({ days }, nth) => {
            if (nth < (keepLast ?? 0)) return true
            return olderThan !== null && days <= olderThan
          })
          expect(await ids()).toEqual(stored.map(({ id }) => id).toSorted())
          await engine.close()
        },
      ),
      { numRuns: 30 },
    )
  })
})

it('delete() reads no record, lease or snapshot', async () => {
  const { store } = setUp()
  await store.createConversation({ id: 'a' })
  const calls: string[] = []
  const engine = createEngine({ store: spyStore(store, (method) => calls.push(method)) })
  expect(await engine.delete('a')).toBe(true)
  expect(calls).toContain('deleteConversation')
  for (const method of ['getConversation', 'getLease', 'loadSnapshot', 'deleteSnapshot'])
    expect(calls).not.toContain(method)
  await engine.close()
})
