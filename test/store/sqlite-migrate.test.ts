/** A database of any version becomes one of today's, at once or not at all; one of tomorrow's is left alone. */

import { afterAll, describe, expect, it } from 'vitest'
import { Connection } from '../../src/store/sqlite/connection.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { type Migration, MIGRATIONS } from '../../src/store/sqlite/migrations.ts'
import { expectFrozen, oldDatabase, versionsOf } from './frozen.ts'
import { DRIVERS, folder, openDatabase } from './sqlite-drivers.ts'

const FILES = folder()
afterAll(FILES.remove)

const versions = (connection: Connection): number[] =>
  connection
    .all<{ readonly version: number }>('SELECT version FROM colloquy_migration ORDER BY version')
    .map(({ version }) => version)

const tables = (connection: Connection): string[] =>
  connection
    .all<{ readonly name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
    .map(({ name }) => name)

/** All that is in a database, but for its rows. */
const everything = (connection: Connection): unknown[] =>
  connection.all('SELECT type, name, tbl_name FROM sqlite_master ORDER BY type, name')

/** The hash of each step that was published. */
const PUBLISHED = [
  '76138e037fe4da31',
  '511699be99bd348b',
  'daaef2065b63a9f4',
  'cb555b1d735a4d94',
  'f65832af99f8ba99',
  '058d6d230df9e450',
]

describe('the steps', () => {
  it('stay as they were published', () => {
    expectFrozen(
      'sqlite',
      MIGRATIONS.map(({ sql }) => sql),
      PUBLISHED,
    )
  })
})

describe.each(DRIVERS)('migrations with %s', (driver) => {
  const open = (file = ':memory:'): Connection => new Connection(openDatabase(driver, file))

  it('are numbered from 1 on without a gap', () => {
    expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, i) => i + 1))
  })

  it('are done once, in order, from where a database is', () => {
    const connection = open()
    const steps: Migration[] = [
      { version: 1, sql: 'CREATE TABLE one (a)' },
      { version: 2, sql: 'ALTER TABLE one ADD COLUMN b; CREATE TABLE two (a)' },
    ]
    migrate(connection, false, steps.slice(0, 1))
    expect(tables(connection)).toEqual(['colloquy_migration', 'one'])
    connection.run('INSERT INTO one VALUES (1)')
    migrate(connection, false, steps)
    migrate(connection, false, steps)
    expect(versions(connection)).toEqual([1, 2])
    expect(connection.all('SELECT a, b FROM one')).toEqual([expect.objectContaining({ a: 1, b: null })])
  })

  it('are done all or none', () => {
    const connection = open()
    const steps: Migration[] = [
      { version: 1, sql: 'CREATE TABLE one (a)' },
      { version: 2, sql: 'CREATE TABLE two (a); CREATE TABLE one (a)' },
    ]
    expect(() => migrate(connection, false, steps)).toThrow(/one already exists/)
    expect(tables(connection)).toEqual([])
    migrate(connection, false, steps.slice(0, 1))
    expect(() => migrate(connection, false, steps)).toThrow(/one already exists/)
    expect(tables(connection)).toEqual(['colloquy_migration', 'one'])
    expect(versions(connection)).toEqual([1])
  })

  it.each(versionsOf('sqlite'))(
    'bring a database of version %i to the last, with all that it keeps',
    async (version) => {
      const file = FILES.next()
      const connection = open(file)
      connection.database.exec(oldDatabase('sqlite', version))
      expect(versions(connection).length).toBe(version)
      connection.run(`INSERT INTO colloquy_conversation (conversation_id, public, tags, metadata, created_at)
      VALUES ('c', 0, '{"a":"x"}', '{"old":1,"app":{"sandbox_id":"s 1"}}', 7)`)
      connection.run(`INSERT INTO colloquy_log (conversation_id, version, updated_at, last_time, max_time, in_order, head_seq,
      head_id, head_lane, head_max_time, tip_lane, tip_end, kinds)
      VALUES ('c', 1, 7, 7, 7, 1, 0, 'a', 0, 7, 0, 0, '')`)
      connection.run(`INSERT INTO colloquy_event (conversation_id, seq, id, time, lane, can_be_head, max_time, kind, source, body)
      VALUES ('c', 0, 'a', 7, 0, 1, 7, 'PauseEvent', 'user', '{"kind":"PauseEvent","id":"a"}')`)
      connection.database.close()

      const store = sqliteStore({ database: openDatabase(driver, file) })
      expect(await store.getConversation('c')).toMatchObject({
        metadata: expect.objectContaining({ old: 1 }),
        version: 1,
        headId: 'a',
      })
      expect(await store.read('c')).toMatchObject([{ seq: 0, fact: { kind: 'PauseEvent', id: 'a' } }])
      if (version < 5) {
        const lists = [
          { sandboxId: 's 1' },
          { tags: { a: 'x' } },
          { status: '' },
          { parentConversationId: '' },
        ]
        for (const filter of lists)
          expect((await store.listConversations(filter)).items, JSON.stringify(filter)).toHaveLength(1)
      }
      expect((await store.listConversations({ order: 'updated_at' })).items).toHaveLength(1)
      // From the fourth on a trigger tells what is appended, and a row that is put there by hand is no append.
      if (version < 4)
        expect((await store.feed()).items).toMatchObject([
          { type: 'changed', conversationId: 'c' },
          { type: 'event', conversationId: 'c', event: { seq: 0, id: 'a' } },
        ])
      expect(await store.loadSnapshot('c')).toEqual([])
      const parts = [{ part: 0, bytes: new Uint8Array([0, 255]) }]
      await store.saveSnapshot('c', parts)
      expect(await store.loadSnapshot('c')).toEqual(parts)
      expect((await store.append('c', [{ kind: 'PauseEvent', id: 'b' }])).events[0]?.parentId).toBe('a')
      await store.close()
      expect(versions(open(file))).toEqual(MIGRATIONS.map((step) => step.version))
      const fresh = open()
      migrate(fresh, false)
      expect(everything(open(file))).toEqual(everything(fresh))
    },
  )

  it('are refused where they may not be done', async () => {
    const file = FILES.next()
    open(file).database.exec('CREATE TABLE other (a)')
    const store = sqliteStore({ database: openDatabase(driver, file, true), readOnly: true })
    await expect(store.read('c')).rejects.toMatchObject({
      code: 'store_read_only',
      message: expect.stringMatching(/migrated first/),
    })
    await store.close()
  })

  it('leave a database of a newer version alone', async () => {
    const file = FILES.next()
    const first = sqliteStore({ database: openDatabase(driver, file) })
    await first.createConversation({ id: 'c' })
    await first.close()
    const connection = open(file)
    const newer = MIGRATIONS.length + 1
    connection.run('INSERT INTO colloquy_migration (version) VALUES (?)', newer)
    for (const readOnly of [false, true]) {
      const store = sqliteStore({ database: openDatabase(driver, file, readOnly), readOnly })
      const calls = [store.getConversation('c'), store.append('c', [{ kind: 'PauseEvent', id: 'a' }])]
      for (const call of calls) {
        await expect(call).rejects.toMatchObject({
          code: 'store_newer',
          data: { version: newer, newest: newer - 1 },
        })
      }
      await store.close()
    }
    expect(connection.all('SELECT * FROM colloquy_event')).toEqual([])
    // The older library has done no harm: gone back to its version, it works.
    connection.run('DELETE FROM colloquy_migration WHERE version = ?', newer)
    const again = sqliteStore({ database: openDatabase(driver, file) })
    expect(await again.getConversation('c')).toMatchObject({ id: 'c' })
    await again.close()
  })

  it('live beside the tables and the version number of others', async () => {
    const database = openDatabase(driver, FILES.next())
    database.exec('CREATE TABLE event (a); PRAGMA user_version = 77')
    const store = sqliteStore({ database })
    await store.createConversation({ id: 'c' })
    await store.append('c', [{ kind: 'PauseEvent', id: 'a' }])
    expect(database.prepare('PRAGMA user_version').get()).toEqual(
      expect.objectContaining({ user_version: 77 }),
    )
    expect(database.prepare('SELECT count(*) AS count FROM event').get()).toEqual(
      expect.objectContaining({ count: 0 }),
    )
    await store.close()
    database.close()
  })
})
