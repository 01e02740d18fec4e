/**
 * `colloquy serve` passes the server cases over SQLite, and the stop and kill cases over PostgreSQL too;
 * the sample of docs/testing.md runs over memory.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChildProcess } from 'node:child_process'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { serverConformance } from '../../src/testing/server/index.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { end, spawnServer } from './example-server.ts'
import { startModel } from './scripted-model.ts'

const MAIN = join(inject('built'), 'cli/main.js')
const AGENT = join(inject('built'), 'test/colloquy-agent.js')

const KEY = 'the-key-of-the-test'
const folder = mkdtempSync(join(tmpdir(), 'colloquy-served-'))
const model = await startModel()
const databases: TestDatabase[] = []
const running = new Set<ChildProcess>()
afterAll(async () => {
  for (const child of running) await end(child, 'SIGKILL')
  await model.close()
  for (const database of databases) await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

const NOTES = join(folder, 'notes.txt')
writeFileSync(NOTES, '')

const DATABASES: Readonly<Record<string, () => Promise<string>>> = {
  SQLite: async () => join(folder, 'served.db'),
  PostgreSQL: async () => {
    const database = await testDatabase()
    databases.push(database)
    return database.url
  },
}

describe.each(Object.entries(DATABASES))('`colloquy serve` over %s', (name, open) => {
  let db: string | null = null
  let child: ChildProcess | null = null
  const ending = (signal: NodeJS.Signals) => async (): Promise<void> => {
    if (child !== null) await end(child, signal)
  }
  const cases = serverConformance({
    name: `colloquy serve over ${name}`,
    async start() {
      db ??= await open()
      const args = [MAIN, 'serve', '--port', '0', '--db', db, '--agent', AGENT]
      const started = await spawnServer(args, { NOTES, MODEL_URL: model.url, COLLOQUY_SESSION_API_KEYS: KEY })
      ;({ child } = started)
      running.add(child)
      return { url: started.url, apiKey: KEY }
    },
    stop: ending('SIGTERM'),
    kill: ending('SIGKILL'),
    notes: () => readFileSync(NOTES, 'utf8').split('\n').slice(0, -1),
    requests: model.requests,
    timeout: 300_000,
  })
  // Every store passes its own kit. Over PostgreSQL, only the cases of a stopped or killed server add to it.
  const selected = cases.filter((one) => name === 'SQLite' || /^after a (?:restart|crash)/.test(one.name))
  it.each(selected)('$name', async ({ run, skipped }) => {
    expect(skipped).toBeNull()
    await run()
  })
})
