/** Long strings in events: size on disk, memory, forks, and a process that ends between any two writes (law S8). */

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Event } from '../../src/event/types.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { type SqliteDatabase, sqliteStore } from '../../src/store/sqlite/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { folder } from './sqlite-drivers.ts'

const FILES = folder()
let database: PooledDatabase
let schemas = 0
beforeAll(async () => {
  database = await pooledDatabase()
})
afterAll(async () => {
  FILES.remove()
  await database.drop()
})

const MEGABYTE = 1_000_000
/** Random bytes, which a database cannot compress. */
const IMAGE = `data:image/png;base64,${randomBytes((MEGABYTE / 4) * 3).toString('base64')}`

const imageMessage = (id: string, url: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ text: `See ${id}` }, { image_urls: [url] }] },
})

const expectSound = async (store: Store): Promise<void> =>
  expect(await store.auditBlobs()).toMatchObject({ unused: [], damaged: [], missing: [] })

interface MeasuredStore {
  readonly store: Store
  /** Bytes on disk; closes the store. */
  size(): Promise<number>
}

function openFile(): MeasuredStore {
  const file = FILES.next()
  const store = sqliteStore({ file })
  return {
    store,
    async size() {
      await store.close()
      return [file, `${file}-wal`].reduce((sum, one) => sum + (existsSync(one) ? statSync(one).size : 0), 0)
    },
  }
}

function openSchema(): MeasuredStore {
  const schema = `blobs_${(schemas += 1)}`
  const store = postgresStore({ client: database.pool, schema, listen: false })
  return {
    store,
    async size() {
      await store.close()
      const { rows } = await database.pool.query<{ bytes: string }>(
        `SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class
        WHERE relkind = 'r' AND relnamespace = $1::regnamespace`,
        [schema],
      )
      return Number(rows[0]?.bytes)
    },
  }
}

describe.each([
  ['SQLite', openFile],
  ['PostgreSQL', openSchema],
])('blobs on disk in %s', (_, open) => {
  it('need less than 1.1 MB for 20 events, or 20 forks, with the same 1 MB image', async () => {
    const none = open()
    await none.store.createConversation({ id: 'c' })
    const empty = await none.size()

    const events = open()
    await events.store.createConversation({ id: 'c' })
    for (let i = 0; i < 20; i += 1) await events.store.append('c', [imageMessage(`m${i}`, IMAGE)])
    expect((await events.size()) - empty).toBeLessThan(1.1 * MEGABYTE)

    const forks = open()
    const engine = createEngine({ store: forks.store })
    const source = await engine.create({ id: 'c' })
    await source.append([imageMessage('m', IMAGE)])
    for (let i = 0; i < 20; i += 1) await source.fork({ id: `fork${i}` })
    await expectSound(engine.store)
    expect((await engine.store.auditBlobs()).blobs).toBe(1)
    await engine.close()
    expect((await forks.size()) - empty).toBeLessThan(1.1 * MEGABYTE)
  })
})

describe('a snapshot in SQLite', () => {
  it('is smaller than 100 kB for 20 events with a 1 MB image', async () => {
    const store = sqliteStore({ file: FILES.next() })
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    for (let i = 0; i < 20; i += 1) await conversation.append([imageMessage(`m${i}`, IMAGE)])
    await engine.close()
    const parts = await store.loadSnapshot('c')
    expect(parts.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThan(100_000)
    await store.close()
  })
})

it('an append without a long string runs no statement for blobs', async () => {
  const database = new DatabaseSync(FILES.next())
  const statements: string[] = []
  const prepare = (sql: string) =>
    new Proxy(database.prepare(sql), {
      get(statement, name) {
        const value: unknown = Reflect.get(statement, name)
        if (typeof value !== 'function') return value
        if (['all', 'get', 'run'].includes(String(name))) statements.push(sql)
        return value.bind(statement)
      },
    })
  const exec = database.exec.bind(database)
  const store = sqliteStore({ database: { prepare, exec, close: () => database.close() } as SqliteDatabase })
  await store.createConversation({ id: 'c' })
  const countBlobs = async (id: string, length: number): Promise<number> => {
    statements.length = 0
    await store.append('c', [imageMessage(id, 'x'.repeat(length))])
    expect(statements.length).toBeGreaterThan(0)
    return statements.filter((sql) => sql.includes('colloquy_blob')).length
  }
  expect(await countBlobs('short', 65_536)).toBe(0)
  expect(await countBlobs('long', 65_537)).toBeGreaterThan(0)
  await store.close()
})

/** Size of the long string, and the memory that a process may need in addition. A second copy exceeds the sum. */
const [MEGABYTES, SLACK] = [100, 120]

/** Peak memory of a child process after each of its tasks, in MiB. */
const peaksOf = (location: string, ...tasks: readonly string[]): number[] => {
  const child = join(inject('built'), 'test/blobs-child.js')
  const args = [child, location, String(MEGABYTES), ...tasks]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stderr.replaceAll(/^.*Warning.*$|^\(Use.*$/gm, '').trim()).toBe('')
  return stdout.trim().split('\n').map(Number)
}

it.each(['SQLite', 'PostgreSQL'])(
  'writing and reading a 100 MB string in %s keeps at most one copy of it in memory',
  (name) => {
    const location = name === 'SQLite' ? FILES.next() : database.url
    const [start, written] = peaksOf(location, 'none', 'write')
    const [base, streamed, whole] = peaksOf(location, 'none', 'stream', 'whole')
    expect(written).toBeLessThan((start ?? 0) + MEGABYTES + SLACK)
    expect(streamed).toBeLessThan((base ?? 0) + SLACK)
    expect(whole).toBeLessThan((base ?? 0) + MEGABYTES + SLACK)
  },
)

/** Fails every statement after the first `count` ones, as a kill would. */
function failAfter(
  file: string,
  count: number,
): { readonly database: SqliteDatabase; readonly hasEnded: () => boolean } {
  const inner = new DatabaseSync(file)
  let remaining = count
  const next = <T>(work: () => T): T => {
    remaining -= 1
    if (remaining < 0) throw new Error('the process has ended')
    return work()
  }
  return {
    hasEnded: () => remaining < 0,
    database: {
      exec: (sql) => next(() => inner.exec(sql)),
      prepare: (sql) => {
        const statement = inner.prepare(sql)
        return {
          run: (...values) => next(() => statement.run(...values)),
          all: (...values) => next(() => statement.all(...values)),
        }
      },
      close: () => inner.close(),
    },
  }
}

describe('a SQLite process that ends between two writes', () => {
  const A = 'a'.repeat(300_000)
  const B = 'b'.repeat(70_000)
  /** Longer than one piece. */
  const PICTURE = IMAGE.slice(0, 400_022)

  const OPERATIONS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
    'an append': (store) =>
      store.append('d', [imageMessage('n', B), imageMessage('o', `${B}new`), imageMessage('p', PICTURE)]),
    'an import': (store) =>
      store.append('e', [imageMessage('m', A), imageMessage('n', B)], { mode: 'import', expected: 0 }),
    'a deletion': (store) => store.deleteConversation('c'),
    'deletion of the last reference': async (store) => {
      await store.deleteConversation('d')
      await store.deleteConversation('c')
    },
  }

  it.each(Object.keys(OPERATIONS))('leaves no damaged, missing or unused blob after %s', async (name) => {
    const start = FILES.next()
    const before = sqliteStore({ file: start })
    for (const id of ['c', 'd', 'e']) await before.createConversation({ id })
    await before.append('c', [imageMessage('m', A), imageMessage('n', B)])
    await before.append('d', [imageMessage('m', A)])
    await before.close()
    let ends = 0
    for (let count = 0; ; count += 1) {
      const file = FILES.next()
      copyFileSync(start, file)
      const { database, hasEnded } = failAfter(file, count)
      const outcome = await OPERATIONS[name]?.(sqliteStore({ database, busyTimeout: 0 })).then(
        () => 'done',
        () => 'ended',
      )
      database.close()
      const after = sqliteStore({ file })
      await expectSound(after)
      for (const { id, version } of (await after.listConversations()).items) {
        const events = await after.read(id)
        expect(events).toHaveLength(version)
        for (const { fact } of events) expect(JSON.stringify(fact).length).toBeGreaterThan(70_000)
        if (outcome === 'ended' && name === 'an append')
          expect(events.some((event) => event.id === 'p')).toBe(false)
      }
      await after.close()
      if (!hasEnded()) {
        expect(outcome).toBe('done')
        break
      }
      ends += 1
    }
    expect(ends).toBeGreaterThan(15)
  })
})
