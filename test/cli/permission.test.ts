/** Read-only databases, and what reading one leaves behind. */

import { execFile, spawn } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { colloquy, folder, lines, type Outcome, output } from './world.ts'

const CHILD = join(inject('built'), 'test/as-nobody.ts')

const MAIN = join(inject('built'), 'cli/main.ts')

const LOG = lines(output('m', 'Hello'), output('n', 'Hello again'))

/** Runs commands one after another as an unprivileged user. */
const nobody = spawn(process.execPath, [CHILD], { stdio: ['pipe', 'pipe', 'inherit'] })
const outcomes = createInterface({ input: nobody.stdout })[Symbol.asyncIterator]()
afterAll(() => void nobody.stdin.end())

async function asNobody(...argv: readonly string[]): Promise<Outcome> {
  nobody.stdin.write(`${JSON.stringify(argv)}\n`)
  const { value = '' } = await outcomes.next()
  return JSON.parse(value) as Outcome
}

/** Runs a command as the user of the tests; rejects if it fails. */
const start = (...argv: readonly string[]): Promise<{ stdout: string }> =>
  promisify(execFile)(process.execPath, [MAIN, ...argv])

/** A folder with `db/my.db` (one conversation, `c`) and a world-writable `free/`. */
async function position(): Promise<(name?: string) => string> {
  const index = folder({ 'c.jsonl': LOG })
  for (const name of ['db', 'free']) mkdirSync(index(name))
  chmodSync(index(), 0o755)
  chmodSync(index('free'), 0o777)
  expect((await colloquy(['import', index('c.jsonl'), '--db', index('db/my.db')])).code).toBe(0)
  return index
}

/** Sets the permissions of a file and its folder. */
function shut(file: string, rights: { readonly file: number; readonly folder: number }): void {
  chmodSync(file, rights.file)
  chmodSync(dirname(file), rights.folder)
  onTestFinished(() => chmodSync(dirname(file), 0o755))
}

const READERS = [
  ['conversations'],
  ['search', '--conversation', 'c'],
  ['replay', '--conversation', 'c'],
  ['check', '--conversation', 'c'],
  ['export', '--conversation', 'c'],
]

describe('a database that may only be read', () => {
  it('is read with what another is still writing', async () => {
    const index = await position()
    const store = sqliteStore({ file: index('db/my.db') })
    onTestFinished(() => store.close())
    await store.append('c', [{ kind: 'PauseEvent', id: 'p' }])
    expect(readdirSync(index('db')).toSorted()).toEqual(['my.db', 'my.db-shm', 'my.db-wal'])
    shut(index('db/my.db'), { file: 0o444, folder: 0o555 })
    const { code, out } = await asNobody('search', '--db', index('db/my.db'), '--conversation', 'c', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out).items.map(({ id }: { readonly id: string }) => id)).toContain('p')
  })

  it.each(READERS)('is refused by name where its folder cannot be written: %s', async (...argv) => {
    const index = await position()
    shut(index('db/my.db'), { file: 0o444, folder: 0o555 })
    const [name = '', ...rest] = argv
    expect(await asNobody(name, '--db', index('db/my.db'), ...rest)).toEqual({
      code: 1,
      out: '',
      err: `colloquy: ${index('db/my.db')}: cannot be read: SQLite needs files next to it, and permission to write there is denied; get that, or copy the database\n`,
    })
    expect(readdirSync(index('db'))).toEqual(['my.db'])
  })

  it('is refused by name while its latest changes cannot be read', async () => {
    const index = await position()
    const store = sqliteStore({ file: index('db/my.db') })
    await store.append('c', [{ kind: 'PauseEvent', id: 'p' }])
    // As after a crash: only a user with write permission can recover the write-ahead log.
    mkdirSync(index('torn'))
    for (const name of ['my.db', 'my.db-wal']) copyFileSync(index(`db/${name}`), index(`torn/${name}`))
    await store.close()
    shut(index('torn/my.db'), { file: 0o444, folder: 0o555 })
    const says = `colloquy: ${index('torn/my.db')}: cannot be read: SQLite needs files next to it, and permission to write there is denied; get that, or copy the database\n`
    expect(await asNobody('conversations', '--db', index('torn/my.db'))).toEqual({
      code: 1,
      out: '',
      err: says,
    })
    const output = index('free/x.jsonl')
    const argv = ['export', '--db', index('torn/my.db'), '--conversation', 'c', '--output', output]
    expect(await asNobody(...argv)).toEqual({ code: 1, out: '', err: says })
    expect(readdirSync(index('free'))).toEqual([])
    expect(readdirSync(index('torn')).toSorted()).toEqual(['my.db', 'my.db-wal'])
  })

  it('names an output that cannot be written', async () => {
    const index = await position()
    chmodSync(index('db'), 0o755)
    const argv = ['export', '--db', index('free/my.db'), '--conversation', 'c', '--output']
    copyFileSync(index('db/my.db'), index('free/my.db'))
    expect(await asNobody(...argv, index('db/x.jsonl'))).toMatchObject({
      code: 1,
      err: `colloquy: ${index('db/x.jsonl')}: cannot be written (EACCES)\n`,
    })
  })

  it('is refused to those who want to write it, in the same words by every command', async () => {
    const index = await position()
    shut(index('db/my.db'), { file: 0o444, folder: 0o555 })
    const cases = [
      ['db/my.db', 'cannot be written: permission is denied (EACCES)'],
      ['db/new.db', 'cannot be created: permission to write in its folder is denied (EACCES)'],
      ['db', 'is a directory, not a database'],
      ['none/x.db', 'cannot be created: its folder does not exist'],
    ] as const
    for (const [name, says] of cases) {
      const db = index(name)
      expect(await asNobody('serve', '--port', '0', '--db', db)).toEqual({
        code: 1,
        out: '',
        err: `colloquy: ${db}: ${says}\n`,
      })
      const { code, out, err } = await asNobody('import', index('c.jsonl'), '--db', db, '--json')
      expect([code, err]).toEqual([1, `colloquy: ${index('c.jsonl')}: ${db}: ${says}\n`])
      expect(JSON.parse(out)).toMatchObject({ file: index('c.jsonl'), error: { message: `${db}: ${says}` } })
    }
  })

  it('is refused to those who may not read it', async () => {
    const index = await position()
    chmodSync(index('db/my.db'), 0)
    const argvs = [['conversations'], ['serve', '--port', '0'], ['import', index('c.jsonl')]]
    for (const argv of argvs) {
      const { code, err } = await asNobody(...argv, '--db', index('db/my.db'))
      expect([code, err]).toEqual([
        1,
        expect.stringContaining(`${index('db/my.db')}: permission denied (EACCES)\n`),
      ])
    }
  })
})

describe('reading a database', () => {
  it('leaves nothing beside it, and no change in it', async () => {
    const index = await position()
    const { mtimeMs } = statSync(index('db/my.db'))
    for (const [name = '', ...argv] of READERS) {
      expect((await colloquy([name, '--db', index('db/my.db'), ...argv])).code).toBe(0)
      expect(readdirSync(index('db'))).toEqual(['my.db'])
    }
    expect((await colloquy(['search', '--db', index('db/my.db'), '--conversation', 'none'])).code).toBe(1)
    expect(readdirSync(index('db'))).toEqual(['my.db'])
    expect(statSync(index('db/my.db')).mtimeMs).toBe(mtimeMs)
  })

  it('works for several at once', async () => {
    const index = await position()
    const argv = ['search', '--db', index('db/my.db'), '--conversation', 'c']
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => start(...argv)))
    expect(new Set(outcomes.map(({ stdout }) => stdout)).size).toBe(1)
  })

  it('takes nothing from those who use it', async () => {
    const index = await position()
    const database = new DatabaseSync(index('db/my.db'))
    onTestFinished(() => database.close())
    const store = sqliteStore({ database })
    await store.append('c', [{ kind: 'PauseEvent', id: 'p' }])
    const names = readdirSync(index('db')).toSorted()
    const { stdout } = await start('conversations', '--db', index('db/my.db'), '--json')
    expect(JSON.parse(stdout).items).toMatchObject([{ id: 'c', events: 3 }])
    expect(readdirSync(index('db')).toSorted()).toEqual(names)
    expect((await store.append('c', [{ kind: 'PauseEvent', id: 'q' }])).version).toBe(4)
  })
})
