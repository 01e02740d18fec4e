/** A database of any version becomes one of today's, at once or not at all; one of tomorrow's is left alone. */

import { afterAll, describe, expect, it } from 'vitest'
import { Connection } from '../../src/store/sqlite/connection.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { type Migration, MIGRATIONS } from '../../src/store/sqlite/migrations.ts'
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
