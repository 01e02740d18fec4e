/**
 * Records the data of a release. Run this once, as the last step of the release.
 *
 * Usage: npx node test/releases/make.ts
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import pg from 'pg'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { startServer } from '../postgres/server.ts'
import { fillStore, type Logs, makeLogs, readStore, summariesOf } from './data.ts'
import { dumpSchema } from './dump.ts'

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
const folder = join(import.meta.dirname, version)

if (existsSync(folder)) {
  console.error(
    `The data of ${version} is recorded: it must not change. Delete its folder only before the release.`,
  )
  process.exit(1)
}
mkdirSync(folder)

const writeJson = (name: string, value: unknown): void =>
  writeFileSync(join(folder, name), `${JSON.stringify(value, null, 1)}\n`)

const writeCompressed = (name: string, bytes: string | Uint8Array): void =>
  writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }))

async function recordSqlite(logs: Logs): Promise<object> {
  const temporary = mkdtempSync(join(tmpdir(), 'colloquy-release-'))
  const file = join(temporary, 'sqlite.db')
  const store = sqliteStore({ file, fullText: true })
  await fillStore(store, logs)
  const expected = await readStore(store)
  await store.close()
  // Writes all data to one file, without a write-ahead log.
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = DELETE; VACUUM')
  database.close()
  writeCompressed('sqlite.db', readFileSync(file))
  rmSync(temporary, { recursive: true })
  return expected
}

async function recordPostgres(logs: Logs): Promise<object> {
  const server = await startServer()
  const pool = new pg.Pool({ connectionString: server.url })
  let creation = ''
  pool.on('connect', (client) => {
    const { query } = client
    client.query = ((...args: [unknown]) => {
      const [first] = args
      if (typeof first === 'string' && first.includes('CREATE TABLE')) creation = first
      return Reflect.apply(query, client, args)
    }) as typeof client.query
  })
  const store = postgresStore({ client: pool, fullText: true })
  try {
    await fillStore(store, logs)
    const expected = await readStore(store)
    await store.close()
    writeCompressed('postgres.json', JSON.stringify(await dumpSchema(pool, 'colloquy', creation)))
    return expected
  } finally {
    await pool.end()
    await server.stop()
  }
}

const logs = makeLogs()
writeJson('logs.json', logs)
writeJson('expected.json', {
  logs: summariesOf(logs),
  sqlite: await recordSqlite(logs),
  postgres: await recordPostgres(logs),
})
