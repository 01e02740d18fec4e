/** Databases that the user may read and not write, and what reading one leaves behind. */

import { execFile } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { colloquy, folder, lines, type Outcome, said } from './world.ts'

const CHILD = join(inject('built'), 'test/as-nobody.ts')

const MAIN = join(inject('built'), 'cli/main.ts')

const LOG = lines(said('m', 'Hello'), said('n', 'Hello again'))

/** Runs commands as a user who owns nothing and may write nowhere but where all may, one after another. */
async function allAsNobody(argvs: readonly (readonly string[])[]): Promise<Outcome[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD, JSON.stringify(argvs)])
  return JSON.parse(stdout) as Outcome[]
}

async function asNobody(...argv: readonly string[]): Promise<Outcome> {
  const [outcome] = await allAsNobody([argv])
  return outcome as Outcome
}

/** Runs a command as whoever runs the tests; rejects when it fails. */
const start = (...argv: readonly string[]): Promise<{ stdout: string }> =>
  promisify(execFile)(process.execPath, [MAIN, ...argv])

/** A folder with `db/my.db` of one conversation, `c`, and `free/`, where all may write. */
async function place(): Promise<(name?: string) => string> {
  const at = folder({ 'c.jsonl': LOG })
  for (const name of ['db', 'free']) mkdirSync(at(name))
  chmodSync(at(), 0o755)
  chmodSync(at('free'), 0o777)
  expect((await colloquy(['import', at('c.jsonl'), '--db', at('db/my.db')])).code).toBe(0)
  return at
}

/** Takes the right to write from the folder of a file and, with `file`, from the file. */
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
    const at = await place()
    const store = sqliteStore({ file: at('db/my.db') })
    onTestFinished(() => store.close())
    await store.append('c', [{ kind: 'PauseEvent', id: 'p' }])
    expect(readdirSync(at('db')).toSorted()).toEqual(['my.db', 'my.db-shm', 'my.db-wal'])
    shut(at('db/my.db'), { file: 0o444, folder: 0o555 })
    const { code, out } = await asNobody('search', '--db', at('db/my.db'), '--conversation', 'c', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out).items.map(({ id }: { readonly id: string }) => id)).toContain('p')
  })

  it.each(READERS)('is refused by name where its folder cannot be written: %s', async (...argv) => {
    const at = await place()
    shut(at('db/my.db'), { file: 0o444, folder: 0o555 })
    const [name = '', ...rest] = argv
    expect(await asNobody(name, '--db', at('db/my.db'), ...rest)).toEqual({
      code: 1,
      out: '',
      err: `colloquy: ${at('db/my.db')}: cannot be read: SQLite needs files next to it, and permission to write there is denied; get that, or copy the database\n`,
    })
    expect(readdirSync(at('db'))).toEqual(['my.db'])
  })

  it('is refused by name while its latest changes cannot be read', async () => {
    const at = await place()
    const store = sqliteStore({ file: at('db/my.db') })
    await store.append('c', [{ kind: 'PauseEvent', id: 'p' }])
    // As after a crash: a log that only somebody with the right to write there can take in.
    mkdirSync(at('torn'))
    for (const name of ['my.db', 'my.db-wal']) copyFileSync(at(`db/${name}`), at(`torn/${name}`))
    await store.close()
    shut(at('torn/my.db'), { file: 0o444, folder: 0o555 })
    const says = `colloquy: ${at('torn/my.db')}: cannot be read: SQLite needs files next to it, and permission to write there is denied; get that, or copy the database\n`
    expect(await asNobody('conversations', '--db', at('torn/my.db'))).toEqual({ code: 1, out: '', err: says })
    const output = at('free/x.jsonl')
    const argv = ['export', '--db', at('torn/my.db'), '--conversation', 'c', '--output', output]
    expect(await asNobody(...argv)).toEqual({ code: 1, out: '', err: says })
    expect(readdirSync(at('free'))).toEqual([])
    expect(readdirSync(at('torn')).toSorted()).toEqual(['my.db', 'my.db-wal'])
  })

  it('names an output that cannot be written', async () => {
    const at = await place()
    chmodSync(at('db'), 0o755)
    const argv = ['export', '--db', at('free/my.db'), '--conversation', 'c', '--output']
    copyFileSync(at('db/my.db'), at('free/my.db'))
    expect(await asNobody(...argv, at('db/x.jsonl'))).toMatchObject({
      code: 1,
      err: `colloquy: ${at('db/x.jsonl')}: cannot be written (EACCES)\n`,
    })
  })

  it('is refused to those who want to write it, in the same words by every command', async () => {
    const at = await place()
    shut(at('db/my.db'), { file: 0o444, folder: 0o555 })
    const cases = [
      ['db/my.db', 'cannot be written: permission is denied (EACCES)'],
      ['db/new.db', 'cannot be created: permission to write in its folder is denied (EACCES)'],
      ['db', 'is a directory, not a database'],
      ['none/x.db', 'cannot be created: its folder does not exist'],
    ] as const
    const outcomes = await allAsNobody(
      cases.flatMap(([name]) => [
        ['serve', '--port', '0', '--db', at(name)],
        ['import', at('c.jsonl'), '--db', at(name), '--json'],
      ]),
    )
    for (const [n, [name, says]] of cases.entries()) {
      const db = at(name)
      expect(outcomes[2 * n]).toEqual({ code: 1, out: '', err: `colloquy: ${db}: ${says}\n` })
      const { code = 0, out = '', err = '' } = outcomes[2 * n + 1] ?? {}
      expect([code, err]).toEqual([1, `colloquy: ${at('c.jsonl')}: ${db}: ${says}\n`])
      expect(JSON.parse(out)).toMatchObject({ file: at('c.jsonl'), error: { message: `${db}: ${says}` } })
    }
  })

  it('is refused to those who may not read it', async () => {
    const at = await place()
    chmodSync(at('db/my.db'), 0)
    const argvs = [['conversations'], ['serve', '--port', '0'], ['import', at('c.jsonl')]]
    for (const { code, err } of await allAsNobody(argvs.map((argv) => [...argv, '--db', at('db/my.db')]))) {
      expect([code, err]).toEqual([
        1,
        expect.stringContaining(`${at('db/my.db')}: permission denied (EACCES)\n`),
      ])
    }
  })
})

describe('reading a database', () => {
  it('leaves nothing beside it, and no change in it', async () => {
    const at = await place()
    const { mtimeMs } = statSync(at('db/my.db'))
    for (const [name = '', ...argv] of READERS) {
      expect((await colloquy([name, '--db', at('db/my.db'), ...argv])).code).toBe(0)
      expect(readdirSync(at('db'))).toEqual(['my.db'])
    }
    expect((await colloquy(['search', '--db', at('db/my.db'), '--conversation', 'none'])).code).toBe(1)
    expect(readdirSync(at('db'))).toEqual(['my.db'])
    expect(statSync(at('db/my.db')).mtimeMs).toBe(mtimeMs)
  })

  it('works for several at once', async () => {
    const at = await place()
    const argv = ['search', '--db', at('db/my.db'), '--conversation', 'c']
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => start(...argv)))
    expect(new Set(outcomes.map(({ stdout }) => stdout)).size).toBe(1)
  })

  it('takes nothing from those who use it', async () => {
    const at = await place()
    const database = new DatabaseSync(at('db/my.db'))
    onTestFinished(() => database.close())
    const store = sqliteStore({ database })
    await store.append('c', [{ kind: 'PauseEvent', id: 'p' }])
    const names = readdirSync(at('db')).toSorted()
    const { stdout } = await start('conversations', '--db', at('db/my.db'), '--json')
    expect(JSON.parse(stdout).items).toMatchObject([{ id: 'c', events: 3 }])
    expect(readdirSync(at('db')).toSorted()).toEqual(names)
    expect((await store.append('c', [{ kind: 'PauseEvent', id: 'q' }])).version).toBe(4)
  })
})
