/** What a release has written is read by every later version: logs, and databases of SQLite and PostgreSQL. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { superDatabase } from '../postgres/database.ts'
import { folder } from '../store/sqlite-drivers.ts'
import { type Logs, readStore, summariesOf } from './data.ts'
import { type Dump, restoreSchema } from './dump.ts'

const RELEASES = readdirSync(import.meta.dirname).filter((name) => /^\d+\.\d+\.\d+$/.test(name))

interface Expected {
  readonly logs: object
  readonly sqlite: object
  readonly postgres: object
}

const bytesOf = (release: string, name: string): Buffer =>
  readFileSync(join(import.meta.dirname, release, name))

const readJson = (release: string, name: string): unknown => JSON.parse(bytesOf(release, name).toString())

/** Reads the data, and then writes to it. */
async function expectWorking(store: Store, expected: object): Promise<void> {
  expect(await readStore(store)).toEqual(expected)
  const engine = createEngine({ store })
  const conversation = await engine.open('talk')
  const before = (await conversation.record()).version
  await conversation.sendMessage('It still grows.')
  expect((await conversation.record()).version).toBe(before + 1)
  await engine.delete('many')
  expect(await store.getConversation('many')).toBeNull()
  await engine.close()
}

it('the current version has its data, or none was published', () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  expect(RELEASES).toContain(version)
})

describe.each(RELEASES)('of %s', (release) => {
  const expected = readJson(release, 'expected.json') as Expected

  it('logs are folded to the same states', () => {
    expect(summariesOf(readJson(release, 'logs.json') as Logs)).toEqual(expected.logs)
  })

  it('a database of SQLite is read and written', async () => {
    const files = folder()
    onTestFinished(() => files.remove())
    const file = files.next()
    writeFileSync(file, gunzipSync(bytesOf(release, 'sqlite.db.gz')))
    const store = sqliteStore({ file, fullText: true })
    onTestFinished(() => store.close())
    await expectWorking(store, expected.sqlite)
  })

  it('a database of PostgreSQL is read and written', async () => {
    const database = await superDatabase()
    onTestFinished(() => database.drop())
    const pool = new pg.Pool({ connectionString: database.url })
    await restoreSchema(
      pool,
      'colloquy',
      JSON.parse(gunzipSync(bytesOf(release, 'postgres.json.gz')).toString()) as Dump,
    )
    await pool.end()
    const store = postgresStore({ url: database.url, fullText: true })
    onTestFinished(() => store.close())
    await expectWorking(store, expected.postgres)
  })
})
