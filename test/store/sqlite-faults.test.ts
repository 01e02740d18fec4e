/** Every fault leads to one clear error, and the next call works once the fault is removed. */

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

const expectError = (call: Promise<unknown>, expected: string, message?: RegExp) =>
  expect(call).rejects.toEqual(code(expected, message))

function closeAfterTest(store: Store): Store {
  onTestFinished(() => store.close())
  return store
}

/** The timeout is shorter than the default only for calls that must fail. */
async function openWithEvent(driver: Driver, file: string, busyTimeout = 60_000): Promise<Store> {
  const store = closeAfterTest(openStore(driver, file, { busyTimeout }))
  await store.createConversation({ id: 'c' })
  await store.append('c', [pause('a')])
  return store
}

/** A connection of another process that locks the database. */
function openLocker(driver: Driver, file: string): SqliteDatabase {
  const database = openDatabase(driver, file)
  database.exec('PRAGMA busy_timeout = 1000')
  return database
}

const put = (id: string, keys = { name: id }) => ({
  collection: 'k',
  id,
  put: { body: { id }, keys, dueIn: 0 },
})

describe.each(DRIVERS)('the SQLite store with %s', (driver) => {
  it('fails with store_newer for a database of a newer schema version, without changing it', async () => {
    const file = FILES.next()
    await (await openWithEvent(driver, file)).close()
    const database = openLocker(driver, file)
    database.exec('UPDATE colloquy_schema SET version = version + 1; PRAGMA wal_checkpoint(TRUNCATE)')
    const bytes = readFileSync(file)
    const store = closeAfterTest(openStore(driver, file))
    await expectError(store.append('c', [pause('b')]), 'store_newer', /Upgrade the library/)
    expect(readFileSync(file).equals(bytes)).toBe(true)
    database.close()
  })

  it('fails with store_full while the database is full, and appends no part of the batch', async () => {
    const database = openDatabase(driver, FILES.next())
    const store = closeAfterTest(sqliteStore({ database }))
    await store.createConversation({ id: 'c' })
    await store.append('c', [pause('a')])
    const { page_count: pages } = database.prepare('PRAGMA page_count').all()[0] as { page_count: number }
    database.exec(`PRAGMA max_page_count = ${pages + 12}`)
    await expectError(
      store.append('c', [pause('b'), ...['c', 'd', 'e'].map(long)]),
      'store_full',
      /Free space/,
    )
    expect((await store.read('c')).map(({ id }) => id)).toEqual(['a'])
    expect(await store.getConversation('c')).toMatchObject({ version: 1, headId: 'a' })
    // Small appends still fit; larger ones are still rejected.
    await store.append('c', [pause('b')])
    await expectError(store.append('c', ['d', 'e', 'f'].map(long)), 'store_full')
    database.exec('PRAGMA max_page_count = 1000000')
    const { version } = await store.append('c', ['d', 'e', 'f'].map(long))
    expect(version).toBe(5)
  })

  it('fails writes with store_read_only in a read-only database, but not reads', async () => {
    const file = FILES.next()
    await openWithEvent(driver, file)
    const store = closeAfterTest(sqliteStore({ database: openDatabase(driver, file, true), readOnly: true }))
    await expectError(store.append('c', [pause('b')]), 'store_read_only', /Open it without/)
    await expectError(store.createConversation({ id: 'd' }), 'store_read_only')
    await expectError(store.updateConversation('c', { title: 'x' }), 'store_read_only')
    await expectError(store.deleteConversation('c'), 'store_read_only')
    await expectError(store.acquireLease('c', 'me', 1000), 'store_read_only')
    expect((await store.read('c')).map(({ id }) => id)).toEqual(['a'])
    expect((await store.search({ conversationId: 'c' })).items).toHaveLength(1)
    // Also with a driver: callers can set query_only on their own connection.
    const database = openDatabase(driver, file)
    const callerStore = closeAfterTest(sqliteStore({ database }))
    await callerStore.getConversation('c')
    database.exec('PRAGMA query_only = 1')
    await expectError(callerStore.append('c', [pause('b')]), 'store_read_only')
    database.exec('PRAGMA query_only = 0')
    expect((await callerStore.append('c', [pause('b')])).version).toBe(2)
  })

  it('waits for a lock without blocking the event loop, then fails with store_busy', async () => {
    const file = FILES.next()
    const store = await openWithEvent(driver, file, 60)
    const other = openLocker(driver, file)
    other.exec('BEGIN IMMEDIATE')
    let ticks = 0
    const timer = setInterval(() => (ticks += 1), 5)
    await expectError(store.append('c', [pause('b')]), 'store_busy', /Retry/)
    expect(ticks).toBeGreaterThan(0)
    clearInterval(timer)
    expect((await store.read('c')).map(({ id }) => id)).toEqual(['a'])
    other.exec('COMMIT')
    expect((await store.append('c', [pause('b')])).version).toBe(2)
    other.close()
  })

  it('performs writes that wait for a lock in the order of their calls', async () => {
    const file = FILES.next()
    const store = await openWithEvent(driver, file)
    const other = openLocker(driver, file)
    other.exec('BEGIN IMMEDIATE')
    const ids = ['b', 'c', 'd', 'e', 'f']
    const appends = ids.map((id) => store.append('c', [pause(id)]))
    await new Promise((resolve) => setTimeout(resolve, 20))
    other.exec('COMMIT')
    await Promise.all(appends)
    expect((await store.read('c')).map(({ id }) => id)).toEqual(['a', ...ids])
    other.close()
  })

  it('applies the timeout to each waiting call separately', async () => {
    const file = FILES.next()
    await openWithEvent(driver, file)
    const store = closeAfterTest(openStore(driver, file, { busyTimeout: 600 }))
    await store.getConversation('c')
    const other = openLocker(driver, file)
    other.exec('BEGIN IMMEDIATE')
    const first = expectError(store.append('c', [pause('b')]), 'store_busy')
    await new Promise((resolve) => setTimeout(resolve, 50))
    const second = expectError(store.append('c', [pause('c')]), 'store_busy')
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

  it('completes waiting calls before it closes, and rejects new ones with store_closed', async () => {
    const file = FILES.next()
    const store = await openWithEvent(driver, file)
    const other = openLocker(driver, file)
    other.exec('BEGIN IMMEDIATE')
    const waiting = store.append('c', [pause('b')])
    const closed = store.close()
    await expectError(store.get('c', 'a'), 'store_closed')
    other.exec('COMMIT')
    expect((await waiting).version).toBe(2)
    await closed
    other.close()
  })

  it('fails with store_busy if a new file is locked', async () => {
    const file = FILES.next()
    const other = openLocker(driver, file)
    other.exec('BEGIN EXCLUSIVE')
    const store = closeAfterTest(openStore(driver, file, { busyTimeout: 30 }))
    await expectError(store.createConversation({ id: 'c' }), 'store_busy')
    other.exec('COMMIT')
    await store.createConversation({ id: 'c' })
    other.close()
  })

  it('fails with store_unavailable for an event with a damaged body, but not for others', async () => {
    const file = FILES.next()
    const store = await openWithEvent(driver, file)
    await store.append('c', [pause('b')])
    const other = openLocker(driver, file)
    other.exec(`UPDATE colloquy_event SET body = '{"kind' WHERE id = 'a'`)
    await expectError(store.get('c', 'a'), 'store_unavailable', /position 0 of "c" is not a JSON/)
    expect((await store.get('c', 'b'))?.seq).toBe(1)
    other.close()
  })

  it('names a damaged record or item in its error, and can replace or delete it', async () => {
    const file = FILES.next()
    const store = await openWithEvent(driver, file)
    for (const id of ['d', 'e']) await store.createConversation({ id, metadata: { a: 1 }, tags: { a: 'x' } })
    await store.changeItems(['a', 'b', 'c', 'd'].map((id) => put(id)))
    const other = openLocker(driver, file)
    other.exec(`UPDATE colloquy_conversation SET metadata = '{"a":' WHERE conversation_id = 'd'`)
    other.exec(`UPDATE colloquy_conversation SET metadata = '7' WHERE conversation_id = 'e'`)
    other.exec(`UPDATE colloquy_item SET body = '{"a":' WHERE id = 'b'`)
    other.exec(`UPDATE colloquy_item SET keys = '{"a":' WHERE id IN ('c', 'd')`)
    await expectError(store.getConversation('d'), 'store_unavailable', /metadata of conversation "d"/)
    await expectError(store.getConversation('e'), 'store_unavailable', /metadata of conversation "e"/)
    await expectError(store.listConversations(), 'store_unavailable', /metadata of conversation "[de]"/)
    await expectError(store.createConversation({ id: 'd' }), 'conversation_exists')
    await expectError(store.getItem('k', 'b'), 'store_unavailable', /item "b" of k/)
    await expectError(store.getItem('k', 'c'), 'store_unavailable', /item "c" of k/)
    await expectError(store.listItems('k'), 'store_unavailable', /item "b" of k/)
    const before = await store.getItem('k', 'a')
    await expectError(store.claimItems('k', { ttl: 60_000 }), 'store_unavailable', /item "b" of k/)
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

  it('rejects a database with UTF-16 encoding', async () => {
    const database = openDatabase(driver, FILES.next())
    database.exec(`PRAGMA encoding = 'UTF-16le'`)
    const store = closeAfterTest(sqliteStore({ database }))
    await expectError(store.createConversation({ id: 'c' }), 'store_unavailable', /UTF-16le.*UTF-8/)
  })

  it('reads the large bodies of a page from the same database state as the page', async () => {
    const file = FILES.next()
    // Each text is too short for a blob.
    const text = 'o'.repeat(40_000)
    const llm_message = { role: 'user' as const, content: [{ text }, { text }] }
    const writing = await openWithEvent(driver, file)
    await writing.append('c', [{ kind: 'MessageEvent', id: 'old', source: 'user', llm_message }])
    const other = openLocker(driver, file)
    const database = openDatabase(driver, file)
    // Runs between two statements of a search, as another process could.
    const meanwhile: (() => unknown)[] = []
    const store = closeAfterTest(
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

  it('fails with store_unavailable if the caller closes its database', async () => {
    const database = openDatabase(driver, FILES.next())
    const store = closeAfterTest(sqliteStore({ database }))
    await store.createConversation({ id: 'c' })
    database.close()
    await expectError(store.append('c', [pause('a')]), 'store_unavailable')
    await expectError(store.read('c'), 'store_unavailable')
  })
})

describe('the file of a SQLite store', () => {
  const settings = { busyTimeout: 30 }

  it('causes store_unavailable while it is not a database', async () => {
    const file = FILES.next()
    writeFileSync(file, 'This is a text, and a rather long one at that. '.repeat(40))
    const store = closeAfterTest(sqliteStore({ file, ...settings }))
    await expectError(store.createConversation({ id: 'c' }), 'store_unavailable', /not a SQLite database/)
    await expectError(store.listConversations(), 'store_unavailable')
    rmSync(file)
    await store.createConversation({ id: 'c' })
  })

  it('causes store_unavailable while its folder is missing', async () => {
    const path = join(FILES.path, 'later')
    const store = closeAfterTest(sqliteStore({ file: join(path, 'a.db'), ...settings }))
    await expectError(store.createConversation({ id: 'c' }), 'store_unavailable', /folder/)
    mkdirSync(path)
    await store.createConversation({ id: 'c' })
  })

  it('causes store_unavailable while it is damaged or truncated', async () => {
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
    const store = closeAfterTest(sqliteStore({ file, ...settings }))
    await expectError(store.read('c'), 'store_unavailable', /damaged/)
    copyFileSync(backup, file)
    expect(await store.read('c')).toHaveLength(50)
    await store.close()
    truncateSync(file, 10_000)
    const truncated = closeAfterTest(sqliteStore({ file, ...settings }))
    await expectError(truncated.read('c'), 'store_unavailable')
  })

  it('causes store_unavailable if it is opened read-only while it is missing', async () => {
    const file = FILES.next()
    const store = closeAfterTest(sqliteStore({ file, readOnly: true }))
    await expectError(store.read('c'), 'store_unavailable')
    await (await openWithEvent('node:sqlite', file)).close()
    expect(await store.read('c')).toHaveLength(1)
  })
})

describe('read-only errors of SQLite', () => {
  it.each([
    { errcode: 1544, message: 'attempt to write a readonly database' },
    { errcode: 1288, message: 'attempt to write a readonly database' },
    { code: 'SQLITE_READONLY_RECOVERY', message: 'attempt to write a readonly database' },
    { code: 'SQLITE_READONLY_CANTLOCK', message: 'attempt to write a readonly database' },
  ])('advise on folder permissions if SQLite cannot write its WAL files: %o', (thrown) => {
    expect(toStoreError(thrown)).toEqual(code('store_read_only', /folder of the database file.*permission/))
    expect(toStoreError(thrown)).not.toEqual(code('store_read_only', /Open it without/))
  })

  it.each([{ errcode: 776 }, { code: 'SQLITE_READONLY_ROLLBACK' }])(
    'advise on opening without `readOnly` if a journal must be rolled back: %o',
    (thrown) => {
      const message = 'attempt to write a readonly database'
      expect(toStoreError({ ...thrown, message })).toEqual(code('store_read_only', /Open it without/))
    },
  )
})

describe('options of `sqliteStore`', () => {
  it('fail with invalid_argument if they are invalid', () => {
    const invalid = [
      ['synchronous', 'off'],
      ['busyTimeout', -1],
      ['busyTimeout', '5'],
      ...[0, -1, NaN, 2 ** 31, Infinity, '5', null].map((value) => ['pollInterval', value] as const),
    ] as const
    for (const [name, value] of invalid) {
      const make = (): Store => sqliteStore({ file: ':memory:', [name]: value as never })
      expect(make).toThrow(code('invalid_argument', new RegExp(name)))
    }
    for (const input of [undefined, {}, 'x.db', { path: 'x.db' }, { file: '' }, { database: {} }])
      expect(() => sqliteStore(input as never)).toThrow(code('invalid_argument', /file/))
  })

  it.each(DRIVERS)('set the PRAGMAs synchronous, journal_mode and foreign_keys (%s)', async (driver) => {
    for (const [synchronous, level] of [
      [undefined, 2],
      ['full', 2],
      ['normal', 1],
    ] as const) {
      const database = openDatabase(driver, FILES.next())
      const store = closeAfterTest(
        sqliteStore({ database, ...(synchronous !== undefined && { synchronous }) }),
      )
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

describe('an open SQLite file', () => {
  const replaced: Readonly<Record<string, (file: string, backup: string) => void>> = {
    deleted: (file) => rmSync(file),
    moved: (file) => renameSync(file, `${file}.moved`),
    replaced: (file, backup) => renameSync(backup, file),
  }

  it.each(
    Object.entries(replaced).flatMap(([name, change]) => [
      [name, 'path', change] as const,
      [name, 'URI', change] as const,
    ]),
  )('rejects appends after it is %s, if it was opened by its %s', async (name, how, change) => {
    const file = FILES.next()
    const store = await openWithEvent('node:sqlite', how === 'URI' ? `file:${file}?mode=rwc` : file)
    const backup = `${file}.backup`
    const stored = sqliteStore({ file: backup })
    await stored.createConversation({ id: 'c' })
    await stored.close()
    change(file, backup)
    await expectError(store.append('c', [pause('b')]), 'store_unavailable', /deleted, moved or replaced/)
    if (name === 'replaced') {
      for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true })
      expect((await store.append('c', [pause('b')])).version).toBe(1)
      return
    }
    await expectError(store.append('c', [pause('b')]), 'store_unavailable', /deleted, moved or replaced/)
    expect(existsSync(file)).toBe(false)
  })

  it('rejects an append after its write-ahead log is deleted, and then loses no event', async () => {
    const file = FILES.next()
    const store = await openWithEvent('node:sqlite', file)
    for (const end of ['-wal', '-shm']) rmSync(file + end)
    await expectError(store.append('c', [pause('b')]), 'store_unavailable', /deleted, moved or replaced/)
    expect((await store.append('c', [pause('b')])).version).toBe(2)
    // As after a kill: the first store is still open, and has not copied its log to the database.
    const other = sqliteStore({ file })
    expect(await other.count({ conversationId: 'c' })).toBe(2)
    await other.close()
  })

  it.each(['?mode=memory', '?cache=shared&mode=memory', '?vfs=memdb'])(
    'is in memory with a URI that ends in %s, even if a file of this name appears',
    async (end) => {
      const file = FILES.next()
      const store = await openWithEvent('node:sqlite', `file:${file}${end}`)
      writeFileSync(file, '')
      expect((await store.append('c', [pause('b')])).version).toBe(2)
    },
  )

  it('is a path, not a URI, if its name begins with FILE:', async () => {
    const directory = process.cwd()
    process.chdir(FILES.path)
    onTestFinished(() => process.chdir(directory))
    const store = await openWithEvent('node:sqlite', 'FILE:a.db')
    renameSync('FILE:a.db', 'moved.db')
    await expectError(store.append('c', [pause('b')]), 'store_unavailable', /deleted, moved or replaced/)
  })

  it('remains in use after the working directory changes', async () => {
    const [file, directory] = [FILES.next(), process.cwd()]
    process.chdir(FILES.path)
    onTestFinished(() => process.chdir(directory))
    const store = await openWithEvent('node:sqlite', basename(file))
    process.chdir(directory)
    expect((await store.append('c', [pause('b')])).version).toBe(2)
  })
})

const secret = (n: number): string => `secret-${n}-${'s'.repeat(300)}`

describe('a deleted conversation in SQLite', () => {
  it('leaves no bytes in the file, and the write-ahead log is truncated', async () => {
    const file = FILES.next()
    const store = closeAfterTest(sqliteStore({ file, synchronous: 'normal' }))
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
    for (const text of ['secret-1', 'secret-tag', 'secret-title', 'secret-snapshot', 'sssssssss'])
      expect(bytes.includes(text), text).toBe(false)
  })
})
