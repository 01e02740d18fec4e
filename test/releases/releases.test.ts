/** Later versions read the logs and the SQLite and PostgreSQL databases that each release has written. */

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

/** Compares all data with the expected data, then appends, deletes and reads. */
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

it('there is recorded data of the current version', () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  expect(RELEASES).toContain(version)
})

describe.each(RELEASES)('data of release %s', (release) => {
  const expected = readJson(release, 'expected.json') as Expected

  it('includes logs that replay to the recorded states', () => {
    expect(summariesOf(readJson(release, 'logs.json') as Logs)).toEqual(expected.logs)
  })

  it('includes a SQLite database that can be read and written', async () => {
    const files = folder()
    onTestFinished(() => files.remove())
    const file = files.next()
    writeFileSync(file, gunzipSync(bytesOf(release, 'sqlite.db.gz')))
    const store = sqliteStore({ file, fullText: true })
    onTestFinished(() => store.close())
    await expectWorking(store, expected.sqlite)
  })

  it('includes a PostgreSQL database that can be read and written', async () => {
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
