/** Text search: conformance cases for every store, background indexing, cost, and deletion. */

import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { MAX_RANKED } from '../../src/store/contract/text.ts'
import { type SqliteDatabase, sqliteStore } from '../../src/store/sqlite/index.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { opener as postgresOpener, schemas } from '../postgres/schemas.ts'
import { DRIVERS, folder, openDatabase, opener } from './sqlite-drivers.ts'

const parts = ['text'] as const

const open = async () => memoryStore({ fullText: true })

describe('text search in the memory store', () => {
  for (const { name, run } of storeConformance({ name: 'memory', fullText: true, parts, open })) it(name, run)
})

const FILES = folder()
afterAll(FILES.remove)

it.each([
  ['memory', () => memoryStore({ fullText: true })],
  ['SQLite', () => sqliteStore({ file: ':memory:', fullText: true })],
] as const)('the %s store with a text index accepts malformed tool results', async (_, make) => {
  const store = make()
  await store.createConversation({ id: 'c' })
  const malformed = [{}, { observation: null }, { error: 7 }].flatMap((fields, n) =>
    ['ObservationEvent', 'AgentErrorEvent'].map((kind) => ({ kind, id: `${kind} ${n}`, ...fields })),
  )
  for (const fact of malformed) await store.append('c', [fact as object as Fact])
  await store.append('c', [message('m', 'word')])
  expect((await store.getConversation('c'))?.version).toBe(malformed.length + 1)
  expect(await idsOf(store, 'word')).toEqual(['m'])
  await store.close()
})

const messageAt = (id: string, millis: number, text: string): Event => ({
  ...message(id, text),
  timestamp: new Date(millis).toISOString(),
})

/** Reads all pages by rank, and appends older events after the first page. */
async function findsRankedHitsOnce(store: Store): Promise<void> {
  await store.createConversation({ id: 'c' })
  // The oldest events are the best matches, so they are on the first page.
  const old = Array.from({ length: MAX_RANKED + 50 }, (_, n) =>
    messageAt(`m${n}`, n, n < 100 ? 'word for word' : 'word'),
  )
  await store.append('c', old)
  const ids: string[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.searchText({
      query: 'word',
      order: 'rank',
      limit: 100,
      ...(cursor && { cursor }),
    })
    ids.push(...page.items.map(({ id }) => id))
    cursor = page.cursor
    if (ids.length === 100)
      await store.append(
        'c',
        Array.from({ length: 60 }, (_, n) => messageAt(`new${n}`, 500, 'word')),
      )
  }
  expect(new Set(ids).size).toBe(ids.length)
  expect(old.filter(({ id = '' }) => !ids.includes(id))).toEqual([])
  await store.close()
}

it.each([
  ['memory', () => memoryStore({ fullText: true })],
  ['SQLite', () => sqliteStore({ file: ':memory:', fullText: true })],
] as const)('the %s store repeats and skips no ranked hit when older events are appended', (_, make) =>
  findsRankedHitsOnce(make()),
)

for (const driver of DRIVERS)
  describe(`text search in the SQLite store with ${driver}`, () => {
    const { open, reopen } = opener(driver, FILES, { fullText: true })
    for (const { name, run } of storeConformance({ name: driver, fullText: true, parts, open, reopen }))
      it(name, run)
  })

describe('text search in the PostgreSQL store', () => {
  let database: PooledDatabase
  let pool: pg.Pool
  const SCHEMAS = schemas('texts', () => pool)

  beforeAll(async () => {
    database = await pooledDatabase()
    pool = database.pool
  })
  beforeEach(SCHEMAS.releaseAll)
  afterAll(() => database.drop())

  const stores = postgresOpener(SCHEMAS, () => ({ client: pool, pollInterval: 200, fullText: true }))
  for (const { name, run } of storeConformance({ name: 'postgres', fullText: true, parts, ...stores }))
    it(name, run)

  it('repeats and skips no ranked hit when older events are appended', async () =>
    findsRankedHitsOnce(postgresStore({ client: pool, schema: await SCHEMAS.acquire(), fullText: true })))

  it('indexes an existing database, and uses the index', async () => {
    const schema = await SCHEMAS.acquire()
    const before = postgresStore({ client: pool, schema })
    await before.createConversation({ id: 'a' })
    await before.append(
      'a',
      Array.from({ length: 450 }, (_, n) => message(`a${n}`, `word number${n}`)),
    )
    await before.close()
    const [one, other] = [0, 1].map(() => postgresStore({ client: pool, schema, fullText: true }))
    if (one === undefined || other === undefined) return
    await Promise.all([one.textIndex(), other.textIndex()])
    await one.append('a', [message('new', 'word number7')])
    await untilIndexed(one)
    expect(await idsOf(other, 'number7')).toEqual(['a7', 'new'])
    const client = await pool.connect()
    await client.query('SET enable_seqscan = off')
    const { rows } = await client.query(
      `EXPLAIN SELECT number FROM ${schema}.text WHERE array_to_tsvector(string_to_array(btrim(line), ' ')) @@ CAST($1 AS tsquery)`,
      [`'number7'`],
    )
    client.release(true)
    expect(JSON.stringify(rows)).toContain('Bitmap Index Scan on text_words')
    await one.deleteConversation('a')
    expect((await pool.query(`SELECT count(*)::int AS count FROM ${schema}.text`)).rows).toEqual([
      { count: 0 },
    ])
    await one.close()
    await other.close()
  })

  it('does not index text that is erased between reading and indexing it', async () => {
    const schema = await SCHEMAS.acquire()
    const plain = postgresStore({ client: pool, schema })
    await plain.createConversation({ id: 'a' })
    await plain.append('a', [message('a0', 'secretword')])
    const before = (await plain.get('a', 'a0'))?.fact
    if (before === undefined) throw new Error('no event')
    const after = { ...before, llm_message: { role: 'user', content: [{ text: 'gone' }] } } as Fact
    let erased: Promise<void> | null = null
    const indexing = postgresStore({
      client: afterReading(pool, async () => {
        erased ??= plain.replaceEvents?.('a', [{ before, after }]) ?? null
        // Long enough for the erasure, if nothing holds it up.
        await Promise.race([erased, new Promise((resolve) => setTimeout(resolve, 500))])
      }),
      schema,
      fullText: true,
    })
    await indexing.textIndex()
    await untilIndexed(indexing)
    expect(erased).not.toBeNull()
    await erased
    expect(await idsOf(indexing, 'secretword')).toEqual([])
    expect(await idsOf(indexing, 'gone')).toEqual(['a0'])
    await indexing.close()
    await plain.close()
  })
})

/** A pool that does something after each statement that reads bodies of events. */
function afterReading(pool: pg.Pool, act: () => Promise<void>): pg.Pool {
  const proxied = <C extends pg.Pool | pg.PoolClient>(client: C): C =>
    new Proxy(client, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return async (...input: readonly unknown[]) => {
          const result: unknown = await value.apply(target, input)
          if (name === 'connect') return proxied(result as pg.PoolClient)
          if (
            name === 'query' &&
            /^SELECT[^]*\bbody\b[^]*FROM[^]*\bevent\b/.test(JSON.stringify(input[0]).slice(1))
          )
            await act()
          return result
        }
      },
    })
  return proxied(pool)
}

const message = (id: string, text: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ text }] },
})

async function untilIndexed(store: Store): Promise<void> {
  await expect
    .poll(async () => {
      const { indexed, total } = await store.textIndex()
      return total - indexed
    })
    .toBe(0)
}

const idsOf = async (store: Store, query: string): Promise<string[]> =>
  (await store.searchText({ query, limit: 100 })).items.map(({ id }) => id).toSorted()

/** A database that counts the statements that read, and the rows that it returned. */
function counting(
  database: SqliteDatabase,
  work: { statements: number; rows: number; readonly texts?: string[] },
): SqliteDatabase {
  return {
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql)
      return {
        run: (...values) => statement.run(...values),
        all(...values) {
          const rows = statement.all(...values)
          work.statements += 1
          work.texts?.push(sql)
          work.rows += rows.length
          return rows
        },
      }
    },
  }
}

it('SQLite reads the row of an indexed log only before the first of several appends', async () => {
  const work = { statements: 0, rows: 0, texts: [] as string[] }
  const database = counting(openDatabase('node:sqlite', ':memory:'), work)
  const store = sqliteStore({ database, fullText: true })
  await store.createConversation({ id: 'a' })
  for (let nth = 0; nth < 5; nth += 1) await store.append('a', [message(`m${nth}`, `word${nth}`)])
  expect(work.texts.filter((sql) => sql.includes('FROM colloquy_log WHERE conversation_id'))).toHaveLength(1)
  expect(await idsOf(store, 'word4')).toEqual(['m4'])
  expect(await store.textIndex()).toEqual({ indexed: 5, total: 5 })
  await store.close()
})

describe('conversations of other owners', () => {
  it.each([
    ['by rank', { order: 'rank' }],
    ['by time', { order: 'time' }],
    ['by rank in public conversations', { order: 'rank', public: true }],
  ] as const)(
    'do not affect the number of statements and rows of a search in SQLite, %s',
    async (_, query) => {
      const costs = []
      for (const words of ['other things', 'deploy deploy deploy']) {
        const work = { statements: 0, rows: 0 }
        const database = counting(openDatabase('node:sqlite', ':memory:'), work)
        const store = sqliteStore({ database, fullText: true })
        await store.createConversation({ id: 'own', owner: 'ann', public: true })
        for (let nth = 0; nth < 7; nth += 1)
          await store.append('own', [message(`own${nth}`, `deploy ${nth}`)])
        await store.createConversation({ id: 'private', owner: 'bob' })
        // More than are ranked at once, newer, and better matches.
        const events = Array.from({ length: MAX_RANKED + 500 }, (__, nth) => message(`other${nth}`, words))
        await store.append('private', events)
        Object.assign(work, { statements: 0, rows: 0 })
        const first = await store.searchText({ query: 'deploy', owner: 'ann', limit: 5, ...query })
        const cursor = first.cursor ?? ''
        const second = await store.searchText({ query: 'deploy', owner: 'ann', limit: 5, cursor, ...query })
        costs.push({
          ...work,
          ids: [...first.items, ...second.items].map(({ id }) => id),
          end: second.cursor,
        })
        await store.close()
      }
      expect(costs[0]?.ids).toHaveLength(7)
      expect(costs[0]?.rows).toBeLessThan(20)
      expect(costs[1]).toEqual(costs[0])
    },
  )
})

describe('the text index of SQLite', () => {
  it('is built in the background, resumes after a close, and can be built by two stores at once', async () => {
    const file = FILES.next()
    const before = sqliteStore({ file, synchronous: 'normal' })
    await expect(before.searchText({ query: 'word' })).rejects.toMatchObject({ code: 'invalid_query' })
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) {
      await before.createConversation({ id: name })
      const events = Array.from({ length: 450 }, (_, n) =>
        message(`${name}${n}`, `word number${n} of ${name}`),
      )
      await before.append(name, events)
      ids.push(...events.flatMap(({ id }) => id ?? []))
    }
    await before.close()
    const first = sqliteStore({ file, synchronous: 'normal', fullText: true })
    expect((await first.textIndex()).total).toBe(1_350)
    await expect.poll(async () => (await first.textIndex()).indexed).toBeGreaterThan(0)
    await first.close()
    const [one, other] = [0, 1].map(() => sqliteStore({ file, synchronous: 'normal', fullText: true }))
    if (one === undefined || other === undefined) return
    // An append to a log without an index is indexed after the earlier events.
    await one.append('c', [message('new', 'word that is new')])
    await other.textIndex()
    await untilIndexed(one)
    const matches: string[] = []
    for (let cursor: string | null = null; ;) {
      const page = await other.searchText({ query: 'word', limit: 100, ...(cursor !== null && { cursor }) })
      matches.push(...page.items.map(({ id }) => id))
      cursor = page.cursor
      if (cursor === null) break
    }
    expect(matches.toSorted()).toEqual([...ids, 'new'].toSorted())
    expect(await idsOf(one, 'number7')).toEqual(['a7', 'b7', 'c7'])
    await one.close()
    await other.close()
  })

  it('is built in the background if the first call appends many events', async () => {
    const file = FILES.next()
    const before = sqliteStore({ file, synchronous: 'normal' })
    for (const name of ['a', 'b']) await before.createConversation({ id: name })
    await before.append('a', [message('old', 'word')])
    await before.close()
    const store = sqliteStore({ file, synchronous: 'normal', fullText: true })
    await store.append(
      'b',
      Array.from({ length: 300 }, (_, n) => message(`b${n}`, 'other')),
    )
    await untilIndexed(store)
    expect(await idsOf(store, 'word')).toEqual(['old'])
    await store.close()
  })

  it('is built in the background beyond a damaged body', async () => {
    const file = FILES.next()
    const before = sqliteStore({ file, synchronous: 'normal' })
    for (const name of ['a', 'b']) {
      await before.createConversation({ id: name })
      await before.append(name, [message(`${name}0`, 'word')])
    }
    await before.close()
    const database = new DatabaseSync(file)
    database.exec(`UPDATE colloquy_event SET body = '{' WHERE id = 'a0'`)
    database.close()
    const store = sqliteStore({ file, synchronous: 'normal', fullText: true })
    await expect.poll(() => idsOf(store, 'word')).toEqual(['b0'])
    await store.close()
  })

  it('includes events that another store without an index appends', async () => {
    const file = FILES.next()
    const store = sqliteStore({ file, synchronous: 'normal', fullText: true })
    await store.createConversation({ id: 'a' })
    await store.append('a', [message('a0', 'word')])
    // Wait until the first search for events without an index has finished.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const other = sqliteStore({ file, synchronous: 'normal' })
    await other.append('a', [message('a1', 'word')])
    await store.append('a', [message('a2', 'word')])
    await expect.poll(() => idsOf(store, 'word')).toEqual(['a0', 'a1', 'a2'])
    await untilIndexed(store)
    await other.close()
    await store.close()
  })

  it('contains no bytes of a deleted conversation, whether or not it was already indexed', async () => {
    for (const pause of [0, 1_000]) {
      const file = FILES.next()
      const store = sqliteStore({ file, fullText: true })
      for (const id of ['kept', 'gone']) await store.createConversation({ id })
      await store.append(
        'kept',
        Array.from({ length: 50 }, (_, n) => message(`k${n}`, `ordinary text ${n}`)),
      )
      await store.append(
        'gone',
        Array.from({ length: 1_000 }, (_, n) => message(`g${n}`, `zyzzyva${n} ordinary`)),
      )
      // After the longer pause they are indexed.
      await new Promise((resolve) => setTimeout(resolve, pause))
      expect(await idsOf(store, 'zyzzyva7')).toEqual(['g7'])
      await store.deleteConversation('gone')
      expect(await idsOf(store, 'zyzzyva7')).toEqual([])
      expect((await idsOf(store, 'ordinary')).length).toBe(50)
      await store.close()
      const database = new DatabaseSync(file)
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      expect(
        database
          .prepare(
            'SELECT (SELECT count(*) FROM colloquy_text) + (SELECT count(*) FROM colloquy_text_pending) AS count',
          )
          .get(),
      ).toEqual({ count: 50 })
      // FTS5 compares its index with the rows.
      database.exec(`INSERT INTO colloquy_text_index (colloquy_text_index) VALUES ('integrity-check')`)
      database.close()
      const bytes = readFileSync(file, 'latin1')
      expect(bytes.includes('zyzzyva')).toBe(false)
      // Terms are prefix-compressed against the previous term.
      expect(/yzzyva|zzyva\d/.test(bytes)).toBe(false)
    }
  })

  it('contains no text of a conversation whose deletion failed at first and was retried', async () => {
    const file = FILES.next()
    const indexing = sqliteStore({ file, synchronous: 'normal', fullText: true })
    await indexing.createConversation({ id: 'a' })
    await indexing.append(
      'a',
      Array.from({ length: 100 }, (_, n) => message(`a${n}`, `word ${n}`)),
    )
    await indexing.close()
    const database = new DatabaseSync(file)
    let purges = 0
    const busy: SqliteDatabase = {
      exec: (sql) => database.exec(sql),
      close: () => database.close(),
      prepare(sql) {
        const statement = database.prepare(sql)
        if (!sql.startsWith('DELETE FROM colloquy_text_pending')) return statement
        return {
          all: (...values) => statement.all(...values),
          run(...values) {
            purges += 1
            if (purges === 2) throw Object.assign(new Error('database is locked'), { errcode: 5 })
            return statement.run(...values)
          },
        }
      },
    }
    const store = sqliteStore({ database: busy, busyTimeout: 0 })
    await expect(store.deleteConversation('a')).rejects.toMatchObject({ code: 'store_busy' })
    expect(await store.deleteConversation('a')).toBe(false)
    expect(database.prepare('SELECT count(*) AS count FROM colloquy_text').get()).toEqual({ count: 0 })
    await store.close()
    database.close()
  })

  it('replaces the text of an erased event by key, without scanning the conversation', async () => {
    const { store, planOf } = observedStore()
    await store.createConversation({ id: 'c' })
    const { events } = await store.append('c', [message('a', 'secret'), message('b', 'word')])
    const before = events[0]?.fact
    if (before === undefined) throw new Error('no event')
    const after = { ...before, llm_message: { role: 'user', content: [{ text: 'gone' }] } } as Fact
    await store.replaceEvents?.('c', [{ before, after }])
    expect([await idsOf(store, 'secret'), await idsOf(store, 'gone')]).toEqual([[], ['a']])
    const steps = planOf(
      (sql) => /colloquy_text\b|colloquy_text_pending/.test(sql) && sql.includes('seq = +?'),
    ).filter((step) => /^(SEARCH|SCAN) (t|colloquy_text_pending)\b/.test(step))
    expect(steps).toHaveLength(3)
    for (const step of steps) expect(step).toMatch(/(number|rowid)>\? AND (number|rowid)<\?/)
    await store.close()
  })

  it('is used by every search, also for statements that combine indexed and pending text', async () => {
    const { store, planOf } = observedStore()
    await store.createConversation({ id: 'c', tags: { team: 'a' }, owner: 'ann' })
    for (const order of ['time', 'rank'] as const)
      for (const more of [
        {},
        { conversation: 'c' },
        { tags: { team: 'a' }, owner: 'ann', public: false, role: 'user' as const },
      ])
        await store.searchText({ query: 'a "b c" -d', order, ...more })
    const steps = planOf((sql) => sql.includes('colloquy_text_pending AS t'))
    expect(steps.length).toBeGreaterThan(10)
    expect(steps.filter((step) => /SCAN (?!f VIRTUAL|t$|h$|w$|m$|\()/.test(step))).toEqual([])
    await store.close()
  })
})

/** Returns a store in memory, and a function that returns the plans of its statements so far. */
function observedStore() {
  const database = new DatabaseSync(':memory:')
  const texts = new Set<string>()
  const prepare = database.prepare.bind(database)
  database.prepare = (sql: string) => {
    texts.add(sql)
    return prepare(sql)
  }
  const planOf = (accepts: (sql: string) => boolean): string[] =>
    [...texts]
      .filter(accepts)
      .flatMap((sql) => prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[])
      .map(({ detail }) => detail)
  return { store: sqliteStore({ database, fullText: true }), planOf }
}
