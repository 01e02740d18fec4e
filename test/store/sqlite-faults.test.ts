/** Every fault ends in one clear error, and the next call works once its cause is gone. */

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PauseEvent } from '../../src/event/types.ts'
import { toStoreError } from '../../src/store/sqlite/errors.ts'
import { type SqliteDatabase, sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { DRIVERS, type Driver, folder, openDatabase, openStore } from './sqlite-drivers.ts'

const FILES = folder()
afterAll(FILES.remove)

const pause = (id: string): PauseEvent => ({ kind: 'PauseEvent', id })

const long = (id: string) => ({
  kind: 'MessageEvent' as const,
  id,
  source: 'user' as const,
  llm_message: { role: 'user' as const, content: [{ text: 'x'.repeat(20_000) }] },
})

const code = (expected: string, message = /\S/) =>
  expect.objectContaining({ name: 'ColloquyError', code: expected, message: expect.stringMatching(message) })

const fails = (call: Promise<unknown>, expected: string, message?: RegExp) =>
  expect(call).rejects.toEqual(code(expected, message))

function closing(store: Store): Store {
  onTestFinished(() => store.close())
  return store
}

/** The timeout is shorter than the default only for calls that must fail. */
async function begin(driver: Driver, file: string, busyTimeout = 60_000): Promise<Store> {
  const store = closing(openStore(driver, file, { busyTimeout }))
  await store.createConversation({ id: 'c' })
  await store.append('c', [pause('a')])
  return store
}

/** A connection of another process that locks the database. */
function holder(driver: Driver, file: string): SqliteDatabase {
  const database = openDatabase(driver, file)
  database.exec('PRAGMA busy_timeout = 1000')
  return database
}

const put = (id: string, keys = { name: id }) => ({
  collection: 'k',
  id,
  put: { body: { id }, keys, dueIn: 0 },
})

describe.each(DRIVERS)('faults with %s', (driver) => {
  it('a database of a newer library is refused, and nothing is changed', async () => {
    const file = FILES.next()
    await (await begin(driver, file)).close()
    const database = holder(driver, file)
    database.exec('UPDATE colloquy_schema SET version = version + 1; PRAGMA wal_checkpoint(TRUNCATE)')
    const bytes = readFileSync(file)
    const store = closing(openStore(driver, file))
    await fails(store.append('c', [pause('b')]), 'store_newer', /Upgrade the library/)
    expect(readFileSync(file).equals(bytes)).toBe(true)
    database.close()
  })

  it('a full database is store_full, for a batch as a whole, until there is room', async () => {
    const database = openDatabase(driver, FILES.next())
    const store = closing(sqliteStore({ database }))
    await store.createConversation({ id: 'c' })
    await store.append('c', [pause('a')])
    const { page_count: pages } = database.prepare('PRAGMA page_count').all()[0] as { page_count: number }
    database.exec(`PRAGMA max_page_count = ${pages + 12}`)
    await fails(store.append('c', [pause('b'), ...['c', 'd', 'e'].map(long)]), 'store_full', /Free space/)
    expect((await store.read('c')).map(({ id }) => id)).toEqual(['a'])
    expect(await store.getConversation('c')).toMatchObject({ version: 1, headId: 'a' })
    // Small appends still fit; larger ones are still rejected.
    await store.append('c', [pause('b')])
    await fails(store.append('c', ['d', 'e', 'f'].map(long)), 'store_full')
    database.exec('PRAGMA max_page_count = 1000000')
    const { version } = await store.append('c', ['d', 'e', 'f'].map(long))
    expect(version).toBe(5)
  })

  it('a database that may only be read is store_read_only, for all that writes and nothing that reads', async () => {
    const file = FILES.next()
    await begin(driver, file)
    const store = closing(sqliteStore({ database: openDatabase(driver, file, true), readOnly: true }))
    await fails(store.append('c', [pause('b')]), 'store_read_only', /Open it without/)
    await fails(store.createConversation({ id: 'd' }), 'store_read_only')
    await fails(store.updateConversation('c', { title: 'x' }), 'store_read_only')
    await fails(store.deleteConversation('c'), 'store_read_only')
    await fails(store.acquireLease('c', 'me', 1000), 'store_read_only')
    expect((await store.read('c')).map(({ id }) => id)).toEqual(['a'])
    expect((await store.search({ conversationId: 'c' })).items).toHaveLength(1)
    // Also with a driver: callers can set query_only on their own connection.
    const database = openDatabase(driver, file)
    const ownConditions = closing(sqliteStore({ database }))
    await ownConditions.getConversation('c')
    database.exec('PRAGMA query_only = 1')
    await fails(ownConditions.append('c', [pause('b')]), 'store_read_only')
    database.exec('PRAGMA query_only = 0')
    expect((await ownConditions.append('c', [pause('b')])).version).toBe(2)
  })

  it('a locked database is waited for, without holding up the event loop, and then store_busy', async () => {
    const file = FILES.next()
    const store = await begin(driver, file, 60)
    const other = holder(driver, file)
    other.exec('BEGIN IMMEDIATE')
    let ticks = 0
    const timer = setInterval(() => (ticks += 1), 5)
    await fails(store.append('c', [pause('b')]), 'store_busy', /Retry/)
    expect(ticks).toBeGreaterThan(0)
    clearInterval(timer)
    expect((await store.read('c')).map(({ id }) => id)).toEqual(['a'])
    other.exec('COMMIT')
    expect((await store.append('c', [pause('b')])).version).toBe(2)
    other.close()
  })

  it('writes that wait keep the order of their calls, and those that come meanwhile come after them', async () => {
    const file = FILES.next()
    const store = await begin(driver, file)
    const other = holder(driver, file)
    other.exec('BEGIN IMMEDIATE')
    const ids = ['b', 'c', 'd', 'e', 'f']
    const appends = ids.map((id) => store.append('c', [pause(id)]))
    await new Promise((resolve) => setTimeout(resolve, 20))
    other.exec('COMMIT')
    await Promise.all(appends)
    expect((await store.read('c')).map(({ id }) => id)).toEqual(['a', ...ids])
    other.close()
  })

  it('a call waits as long as its own timeout, whatever others wait with it', async () => {
    const file = FILES.next()
    await begin(driver, file)
    const store = closing(openStore(driver, file, { busyTimeout: 600 }))
    await store.getConversation('c')
    const other = holder(driver, file)
    other.exec('BEGIN IMMEDIATE')
    const first = fails(store.append('c', [pause('b')]), 'store_busy')
    await new Promise((resolve) => setTimeout(resolve, 50))
    const second = fails(store.append('c', [pause('c')]), 'store_busy')
    await new Promise((resolve) => setTimeout(resolve, 500))
    const start = performance.now()
    const third = store.append('c', [pause('d')]).then(
      ({ version }) => version === 2,
      // A pause of the whole process can be longer than the timeout.
      () => performance.now() - start >= 600,
    )
    await Promise.all([first, second])
    other.exec('COMMIT')
    expect(await third).toBe(true)
    other.close()
  })

  it('calls that wait are answered before the store closes', async () => {
    const file = FILES.next()
    const store = await begin(driver, file)
    const other = holder(driver, file)
    other.exec('BEGIN IMMEDIATE')
    const waiting = store.append('c', [pause('b')])
    const closed = store.close()
    await fails(store.get('c', 'a'), 'store_closed')
    other.exec('COMMIT')
    expect((await waiting).version).toBe(2)
    await closed
    other.close()
  })

  it('a database in use elsewhere since its creation is store_busy as well', async () => {
    const file = FILES.next()
    const other = holder(driver, file)
    other.exec('BEGIN EXCLUSIVE')
    const store = closing(openStore(driver, file, { busyTimeout: 30 }))
    await fails(store.createConversation({ id: 'c' }), 'store_busy')
    other.exec('COMMIT')
    await store.createConversation({ id: 'c' })
    other.close()
  })

  it('a body that was damaged is store_unavailable, and hides no other event', async () => {
    const file = FILES.next()
    const store = await begin(driver, file)
    await store.append('c', [pause('b')])
    const other = holder(driver, file)
    other.exec(`UPDATE colloquy_event SET body = '{"kind' WHERE id = 'a'`)
    await fails(store.get('c', 'a'), 'store_unavailable', /position 0 of "c" is not a JSON/)
    expect((await store.get('c', 'b'))?.seq).toBe(1)
    other.close()
  })

  it('a record or an item that was damaged is store_unavailable and says which, and is replaced or deleted', async () => {
    const file = FILES.next()
    const store = await begin(driver, file)
    for (const id of ['d', 'e']) await store.createConversation({ id, metadata: { a: 1 }, tags: { a: 'x' } })
    await store.changeItems(['a', 'b', 'c', 'd'].map((id) => put(id)))
    const other = holder(driver, file)
    other.exec(`UPDATE colloquy_conversation SET metadata = '{"a":' WHERE conversation_id = 'd'`)
    other.exec(`UPDATE colloquy_conversation SET metadata = '7' WHERE conversation_id = 'e'`)
    other.exec(`UPDATE colloquy_item SET body = '{"a":' WHERE id = 'b'`)
    other.exec(`UPDATE colloquy_item SET keys = '{"a":' WHERE id IN ('c', 'd')`)
    await fails(store.getConversation('d'), 'store_unavailable', /metadata of conversation "d"/)
    await fails(store.getConversation('e'), 'store_unavailable', /metadata of conversation "e"/)
    await fails(store.listConversations(), 'store_unavailable', /metadata of conversation "[de]"/)
    await fails(store.createConversation({ id: 'd' }), 'conversation_exists')
    await fails(store.getItem('k', 'b'), 'store_unavailable', /item "b" of k/)
    await fails(store.getItem('k', 'c'), 'store_unavailable', /item "c" of k/)
    await fails(store.listItems('k'), 'store_unavailable', /item "b" of k/)
    const before = await store.getItem('k', 'a')
    await fails(store.claimItems('k', { ttl: 60_000 }), 'store_unavailable', /item "b" of k/)
    expect(await store.getItem('k', 'a')).toEqual(before)
    await store.changeItems([put('b'), put('c', { name: 'new' }), { collection: 'k', id: 'd', put: null }])
    const byName = await store.listItems('k', { by: 'name' })
    expect(byName.items.map(({ id, keys }) => [id, keys['name']])).toEqual([
      ['a', 'a'],
      ['b', 'b'],
      ['c', 'new'],
    ])
    expect(await store.countItems('k', { by: 'name' })).toMatchObject({ count: 3 })
    expect(await Promise.all(['d', 'e'].map((id) => store.deleteConversation(id)))).toEqual([true, true])
    expect((await store.listConversations()).items.map(({ id }) => id)).toEqual(['c'])
    other.close()
  })

  it('a database whose text is UTF-16 is refused: ids would stand in another order', async () => {
    const database = openDatabase(driver, FILES.next())
    database.exec(`PRAGMA encoding = 'UTF-16le'`)
    const store = closing(sqliteStore({ database }))
    await fails(store.createConversation({ id: 'c' }), 'store_unavailable', /UTF-16le.*UTF-8/)
  })

  it('a large body is of the same state of the database as its page', async () => {
    const file = FILES.next()
    // Each text is too short for a blob.
    const text = 'o'.repeat(40_000)
    const llm_message = { role: 'user' as const, content: [{ text }, { text }] }
    const writing = await begin(driver, file)
    await writing.append('c', [{ kind: 'MessageEvent', id: 'old', source: 'user', llm_message }])
    const other = holder(driver, file)
    const database = openDatabase(driver, file)
    // Runs between two statements of a search, as another process could.
    const meanwhile: (() => unknown)[] = []
    const store = closing(
      sqliteStore({
        database: {
          exec: (sql) => database.exec(sql),
          prepare(sql) {
            if (sql.includes('e.seq IN')) meanwhile.pop()?.()
            return database.prepare(sql)
          },
          close: () => database.close(),
        },
      }),
    )
    await store.getConversation('c')
    meanwhile.push(() =>
      other.exec(`UPDATE colloquy_event SET body = '{"kind":"PauseEvent","id":"new"}' WHERE seq = 1`),
    )
    const { items } = await store.search({ conversationId: 'c' })
    expect(items.map(({ id, fact }) => [id, fact.id])).toEqual([
      ['a', 'a'],
      ['old', 'old'],
    ])
    expect(meanwhile).toEqual([])
    expect((await store.get('c', 'old'))?.fact.id).toBe('new')
    other.close()
    database.close()
  })

  it('a connection that was closed under the store is store_unavailable', async () => {
    const database = openDatabase(driver, FILES.next())
    const store = closing(sqliteStore({ database }))
    await store.createConversation({ id: 'c' })
    database.close()
    await fails(store.append('c', [pause('a')]), 'store_unavailable')
    await fails(store.read('c'), 'store_unavailable')
  })
})

describe('a file that cannot be used', () => {
  const settings = { busyTimeout: 30 }

  it('is store_unavailable while it is no database, and works once it is one', async () => {
    const file = FILES.next()
    writeFileSync(file, 'This is a text, and a rather long one at that. '.repeat(40))
    const store = closing(sqliteStore({ file, ...settings }))
    await fails(store.createConversation({ id: 'c' }), 'store_unavailable', /not an SQLite database/)
    await fails(store.listConversations(), 'store_unavailable')
    rmSync(file)
    await store.createConversation({ id: 'c' })
  })

  it('is store_unavailable while its folder is missing, and works once it is there', async () => {
    const path = join(FILES.path, 'later')
    const store = closing(sqliteStore({ file: join(path, 'a.db'), ...settings }))
    await fails(store.createConversation({ id: 'c' }), 'store_unavailable', /folder/)
    mkdirSync(path)
    await store.createConversation({ id: 'c' })
  })

  it('is store_unavailable while it is damaged, and works once it is restored', async () => {
    const file = FILES.next()
    const backup = FILES.next()
    const first = sqliteStore({ file, synchronous: 'normal' })
    await first.createConversation({ id: 'c' })
    await first.append(
      'c',
      Array.from({ length: 50 }, (_, i) => long(`m${i}`)),
    )
    await first.close()
    copyFileSync(file, backup)
    const bytes = readFileSync(file)
    bytes.fill(0x5a, 4096)
    writeFileSync(file, bytes)
    const store = closing(sqliteStore({ file, ...settings }))
    await fails(store.read('c'), 'store_unavailable', /damaged/)
    copyFileSync(backup, file)
    expect(await store.read('c')).toHaveLength(50)
    await store.close()
    truncateSync(file, 10_000)
    const cut = closing(sqliteStore({ file, ...settings }))
    await fails(cut.read('c'), 'store_unavailable')
  })

  it('is store_unavailable when it is opened to be read and is not there', async () => {
    const file = FILES.next()
    const store = closing(sqliteStore({ file, readOnly: true }))
    await fails(store.read('c'), 'store_unavailable')
    await (await begin('node:sqlite', file)).close()
    expect(await store.read('c')).toHaveLength(1)
  })
})

describe('files beside a database that may not be made or used', () => {
  it.each([
    { errcode: 1544, message: 'attempt to write a readonly database' },
    { errcode: 1288, message: 'attempt to write a readonly database' },
    { code: 'SQLITE_READONLY_RECOVERY', message: 'attempt to write a readonly database' },
    { code: 'SQLITE_READONLY_CANTLOCK', message: 'attempt to write a readonly database' },
  ])('are told of by permission, not by how it was opened: %o', (thrown) => {
    expect(toStoreError(thrown)).toEqual(code('store_read_only', /folder of the database file.*permission/))
    expect(toStoreError(thrown)).not.toEqual(code('store_read_only', /Open it without/))
  })

  it.each([{ errcode: 776 }, { code: 'SQLITE_READONLY_ROLLBACK' }])(
    'need writing where a crashed writer must be undone: %o',
    (thrown) => {
      const message = 'attempt to write a readonly database'
      expect(toStoreError({ ...thrown, message })).toEqual(code('store_read_only', /Open it without/))
    },
  )
})

describe('options', () => {
  it('that are none are refused at once', () => {
    const wrong = [
      ['synchronous', 'off'],
      ['busyTimeout', -1],
      ...[0, -1, NaN, 2 ** 31, Infinity, '5', null].map((value) => ['pollInterval', value] as const),
    ] as const
    for (const [name, value] of wrong) {
      const make = (): Store => sqliteStore({ file: ':memory:', [name]: value as never })
      expect(make).toThrow(code('invalid_argument', new RegExp(name)))
    }
    for (const input of [undefined, {}, 'x.db', { path: 'x.db' }, { file: '' }, { database: {} }])
      expect(() => sqliteStore(input as never)).toThrow(code('invalid_argument', /file/))
  })

  it.each(DRIVERS)('say how durable an append is (%s)', async (driver) => {
    for (const [synchronous, level] of [
      [undefined, 2],
      ['full', 2],
      ['normal', 1],
    ] as const) {
      const database = openDatabase(driver, FILES.next())
      const store = closing(sqliteStore({ database, ...(synchronous !== undefined && { synchronous }) }))
      await store.createConversation({ id: 'c' })
      expect(database.prepare('PRAGMA synchronous').all()[0]).toEqual(
        expect.objectContaining({ synchronous: level }),
      )
      expect(database.prepare('PRAGMA journal_mode').all()[0]).toEqual(
        expect.objectContaining({ journal_mode: 'wal' }),
      )
      expect(database.prepare('PRAGMA foreign_keys').all()[0]).toEqual(
        expect.objectContaining({ foreign_keys: 1 }),
      )
    }
  })
})

describe('a file that is not what its path names any more', () => {
  const replaced: Readonly<Record<string, (file: string, backup: string) => void>> = {
    deleted: (file) => rmSync(file),
    moved: (file) => renameSync(file, `${file}.moved`),
    replaced: (file, backup) => renameSync(backup, file),
  }

  it.each(Object.entries(replaced))('%s, takes no write that is acknowledged', async (name, change) => {
    const file = FILES.next()
    const store = await begin('node:sqlite', file)
    const backup = `${file}.backup`
    const stored = sqliteStore({ file: backup })
    await stored.createConversation({ id: 'c' })
    await stored.close()
    change(file, backup)
    await fails(store.append('c', [pause('b')]), 'store_unavailable', /deleted, moved or replaced/)
    if (name === 'replaced') {
      for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true })
      expect((await store.append('c', [pause('b')])).version).toBe(1)
      return
    }
    await fails(store.append('c', [pause('b')]), 'store_unavailable', /deleted, moved or replaced/)
    expect(existsSync(file)).toBe(false)
  })

  it('is the same one after the working directory has changed', async () => {
    const [file, directory] = [FILES.next(), process.cwd()]
    process.chdir(FILES.path)
    onTestFinished(() => process.chdir(directory))
    const store = await begin('node:sqlite', basename(file))
    process.chdir(directory)
    expect((await store.append('c', [pause('b')])).version).toBe(2)
  })
})

const secret = (n: number): string => `secret-${n}-${'s'.repeat(300)}`

describe('what was deleted', () => {
  it('is in no byte of the file, nor in its write-ahead log, which shrinks', async () => {
    const file = FILES.next()
    const store = closing(sqliteStore({ file, synchronous: 'normal' }))
    for (const id of ['gone', 'kept']) {
      const tags = id === 'gone' ? { user: 'secret-tag' } : {}
      await store.createConversation({ id, title: id === 'gone' ? 'secret-title' : 'T', tags })
      const text = (n: number): string => (id === 'gone' ? secret(n) : `public-${n}`)
      for (let batch = 0; batch < 40; batch += 1)
        await store.append(
          id,
          Array.from({ length: 50 }, (_, i) => ({
            kind: 'MessageEvent' as const,
            id: `${id} ${batch} ${i}`,
            source: 'user' as const,
            llm_message: { role: 'user' as const, content: [{ text: text(batch * 50 + i) }] },
          })),
        )
    }
    await store.saveSnapshot('gone', [{ part: 0, bytes: new TextEncoder().encode('secret-snapshot') }])
    await store.deleteConversation('gone')
    await expect.poll(() => statSync(`${file}-wal`).size).toBe(0)
    const bytes = readFileSync(file)
    expect(bytes.includes('public-1999')).toBe(true)
    for (const words of ['secret-1', 'secret-tag', 'secret-title', 'secret-snapshot', 'sssssssss'])
      expect(bytes.includes(words), words).toBe(false)
  })
})
