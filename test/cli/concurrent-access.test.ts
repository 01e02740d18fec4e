/** Commands read a database concurrently with each other and with a writer. */

import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { colloquy, folder, lines, messageEvent } from './run-command.ts'

const MAIN = join(inject('built'), 'cli/main.js')

const LOG = lines(messageEvent('m', 'Hello'), messageEvent('n', 'Hello again'))

/** Runs a command; rejects if it fails. */
const runProcess = (...argv: readonly string[]): Promise<{ stdout: string }> =>
  promisify(execFile)(process.execPath, [MAIN, ...argv])

/** A folder with `db/my.db`, which has one conversation, `c`. */
async function createDatabase(): Promise<(name?: string) => string> {
  const pathOf = folder({ 'c.jsonl': LOG })
  mkdirSync(pathOf('db'))
  expect((await colloquy(['import', pathOf('c.jsonl'), '--db', pathOf('db/my.db')])).code).toBe(0)
  return pathOf
}

describe('reading a database', () => {
  it('prints the same in four concurrent processes', async () => {
    const pathOf = await createDatabase()
    const argv = ['search', '--db', pathOf('db/my.db'), '--conversation', 'c']
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => runProcess(...argv)))
    expect(new Set(outcomes.map(({ stdout }) => stdout)).size).toBe(1)
  })

  it('creates no files, and leaves another open store writable', async () => {
    const pathOf = await createDatabase()
    const database = new DatabaseSync(pathOf('db/my.db'))
    onTestFinished(() => database.close())
    const store = sqliteStore({ database })
    await store.append('c', [{ kind: 'PauseEvent', id: 'p' }])
    const names = readdirSync(pathOf('db')).toSorted()
    const { stdout } = await runProcess('conversations', '--db', pathOf('db/my.db'), '--json')
    expect(JSON.parse(stdout).items).toMatchObject([{ id: 'c', events: 3 }])
    expect(readdirSync(pathOf('db')).toSorted()).toEqual(names)
    expect((await store.append('c', [{ kind: 'PauseEvent', id: 'q' }])).version).toBe(4)
  })
})
