/** The real command as a child process: streams, exit codes, and pipes that close early. */

import { spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, inject, it } from 'vitest'
import { withStore, readConversation } from './database.ts'
import { colloquy, folder, lines, type Outcome, SAMPLE, messageEvent } from './run-command.ts'

/**
 * The unbuilt command. Only the first test runs it, with `demo`, which starts a separate file; the other
 * tests use the built command.
 */
const SOURCE = resolve(import.meta.dirname, '../../src/cli/main.ts')
const MAIN = join(inject('built'), 'cli/main.js')

/** Runs the real command. `closeAfter`: close its output after this many bytes. */
function start(
  argv: readonly string[],
  options: {
    stdin?: string
    env?: Record<string, string>
    closeAfter?: number
    node?: readonly string[]
    main?: string
  } = {},
): Promise<Outcome> {
  const { stdin = '', env = {}, closeAfter = Infinity, node = [], main = MAIN } = options
  return new Promise((done, reject) => {
    const child = spawn(process.execPath, [...node, main, ...argv], {
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env },
    })
    let out = ''
    let err = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
      if (out.length >= closeAfter) child.stdout.destroy()
    })
    child.stderr.on('data', (chunk) => (err += chunk))
    child.stdin.on('error', () => {})
    child.stdin.end(stdin)
    child.on('error', reject)
    child.on('close', (code) => done({ code: code ?? -1, out, err }))
  })
}

const manyFiles = () =>
  folder(
    Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`all/c${i}.jsonl`, lines(messageEvent('m', `hello ${i}`))]),
    ),
  )

const countConversations = async (db: string): Promise<number> =>
  JSON.parse((await colloquy(['conversations', '--db', db, '--json'])).out).items.length

/** Runs the real command with its output on a full disk. */
const runOnFullDisk = (argv: readonly string[]) => {
  const sink = openSync('/dev/full', 'w')
  try {
    const { status, stderr } = spawnSync(process.execPath, [MAIN, ...argv], {
      stdio: ['ignore', sink, 'pipe'],
      encoding: 'utf8',
    })
    return { status, stderr }
  } finally {
    closeSync(sink)
  }
}

/** Starts an import of `total` events and kills it after its first writes. */
async function killedImport(total: number) {
  const log = lines(...Array.from({ length: total }, (_, i) => messageEvent(`m${i}`, 'hello '.repeat(100))))
  const pathOf = folder({ 'c.jsonl': log })
  const argv = ['import', pathOf('c.jsonl'), '--db', pathOf('x.db')]
  const victim = spawn(process.execPath, [MAIN, ...argv], { stdio: 'ignore' })
  const exited = new Promise((done) => victim.once('exit', done))
  const written = () => statSync(pathOf('x.db-wal'), { throwIfNoEntry: false })?.size ?? 0
  while (written() < 1_000_000 && victim.exitCode === null) await sleep(2)
  victim.kill('SIGKILL')
  await exited
  const partial = await withStore(pathOf('x.db'), (store) => store.getConversation('c'))
  return { total, log, pathOf, argv, partial, isWhole: partial?.version === total }
}

describe('the process', () => {
  it('prints and exits like `run()`', async () => {
    const commands = [
      ['replay', SAMPLE, '--json'],
      ['check', SAMPLE],
      ['frobnicate'],
      ['replay', 'none.jsonl', '--json'],
      ['demo'],
    ]
    const outcomes = await Promise.all(
      commands.map((argv) => start(argv, argv[0] === 'demo' ? { main: SOURCE } : {})),
    )
    for (const [index, argv] of commands.entries()) expect(outcomes[index]).toEqual(await colloquy(argv))
  })

  it.each(['20.19.5', '22.12.0'])(
    'names the required version of Node when it runs in Node %s',
    async (old) => {
      const versions = `data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'${old}'}})`
      const { code, out, err } = await start(['replay', SAMPLE], { node: ['--import', versions] })
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(new RegExp(`^colloquy needs Node [\\d.]+ or newer; this is ${old}\n$`))
    },
  )

  it('reads standard input', async () => {
    const log = lines(messageEvent('m', 'hi'))
    expect(await start(['tree', '-', '--json'], { stdin: log })).toEqual(
      await colloquy(['tree', '-', '--json'], { stdin: log }),
    )
  })

  it('respects FORCE_COLOR and NO_COLOR', async () => {
    const envs = [{ FORCE_COLOR: '1' }, { FORCE_COLOR: '1', NO_COLOR: '1' }, {}]
    const outcomes = await Promise.all(envs.map((env) => start(['replay', SAMPLE], { env })))
    expect(outcomes.map(({ out }) => out.includes('\u001b['))).toEqual([true, false, false])
  })

  it('exits with 0 when its output is closed early', async () => {
    const file = folder({
      'a.jsonl': lines(
        ...Array.from({ length: 6_000 }, (_, i) => messageEvent(`m${i}`, 'hello '.repeat(10))),
      ),
    })('a.jsonl')
    const commands = [
      ['tree', file],
      ['view', file, '--json'],
      ['messages', file, file, file],
    ]
    const outcomes = await Promise.all(commands.map((argv) => start(argv, { closeAfter: 1 })))
    for (const { code, out, err } of outcomes) {
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out.length).toBeGreaterThan(0)
    }
  })

  it('reads a log of 20,000 events from a pipe', async () => {
    const log = lines(...Array.from({ length: 20_000 }, (_, i) => ({ id: `p${i}`, kind: 'PauseEvent' })))
    const { code, out, err } = await start(['tree', '-', '--json'], { stdin: log })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(JSON.parse(out)).toMatchObject({ roots: ['p0'], events: { length: 20_000 } })
  })

  it('imports, searches and exports without a warning', async () => {
    const pathOf = folder({})
    const readConversation = ['--db', pathOf('x.db'), '--conversation', 'sample']
    const imported = await start(['import', SAMPLE, '--db', pathOf('x.db')])
    expect(imported).toMatchObject({ code: 0, err: '' })
    expect(imported.out).toContain('47 events, 47 added')
    for (const argv of [
      ['search', ...readConversation, '--kind', 'MessageEvent', '--limit', '2', '--json'],
      ['export', ...readConversation],
      ['export', ...readConversation, '--format', 'zip', '--output', pathOf('x.db')],
    ])
      expect(await start(argv)).toEqual(await colloquy(argv))
    const zip = ['export', ...readConversation, '--format', 'zip', '--output', pathOf('sample.zip')]
    expect(await start(zip)).toMatchObject({ code: 0, err: '' })
    const reimported = await start(['import', pathOf('sample.zip'), '--db', pathOf('zip.db'), '--json'])
    expect(reimported.err).toBe('')
    expect(JSON.parse(reimported.out)).toMatchObject({ conversation: 'sample', added: 47 })
  })

  it('reports a missing PostgreSQL driver in one line', async () => {
    const withoutPg = `import { registerHooks } from 'node:module'
      registerHooks({ resolve(name, context, next) {
        if (name === 'pg') throw new Error('Cannot find package')
        return next(name, context)
      } })`
    const node = ['--import', `data:text/javascript,${encodeURIComponent(withoutPg)}`]
    const { code, out, err } = await start(['conversations', '--db', 'postgres://me:s3cret@h/db'], { node })
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toBe(
      'colloquy: postgres://me:***@h/db: A PostgreSQL URL requires the package `pg`. Run `npm install pg`.\n',
    )
  })

  it('stops an export when its output is closed early', async () => {
    const log = lines(...Array.from({ length: 2_000 }, (_, i) => messageEvent(`m${i}`, 'hello '.repeat(10))))
    const db = folder({})('x.db')
    await colloquy(['import', '-', '--db', db, '--conversation', 'c'], { stdin: log })
    const { code, out, err } = await start(['export', '--db', db, '--conversation', 'c'], { closeAfter: 1 })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.length).toBeLessThan(log.length)
  })

  it('imports a whole folder even if its output is closed early', async () => {
    const pathOf = manyFiles()
    const { code, out, err } = await start(['import', pathOf('all'), '--db', pathOf('x.db')], {
      closeAfter: 1,
    })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.split('\n').length).toBeLessThan(60)
    expect(await countConversations(pathOf('x.db'))).toBe(30)
  })

  it.skipIf(!existsSync('/dev/full'))(
    'reports a full disk once, and not as the error of an input',
    async () => {
      const pathOf = manyFiles()
      const report = 'colloquy: standard output: the disk is full; free space, and repeat the command\n'
      for (const argv of [
        ['replay', SAMPLE, SAMPLE],
        ['tree', SAMPLE, SAMPLE, '--json'],
        ['import', pathOf('all'), '--db', pathOf('x.db')],
        ['conversations', '--db', pathOf('x.db')],
        ['export', '--db', pathOf('x.db'), '--conversation', 'c1'],
      ])
        expect([argv, runOnFullDisk(argv)]).toEqual([argv, { status: 1, stderr: report }])
      expect(await countConversations(pathOf('x.db'))).toBe(30)
    },
  )

  it('imports the remaining events after a killed import', async () => {
    let attempt = await killedImport(5_000)
    // On a busy machine the import can end before the kill.
    while (attempt.isWhole && attempt.total < 100_000) attempt = await killedImport(2 * attempt.total)
    const { total, log, pathOf, argv, partial } = attempt
    expect(partial?.version).toBeGreaterThan(0)
    expect(partial?.version).toBeLessThan(total)
    const { code, out } = await start([...argv, '--json'])
    expect({ code, report: JSON.parse(out) }).toMatchObject({
      code: 0,
      report: { events: total, present: partial?.version, created: false },
    })
    const { record } = await withStore(pathOf('x.db'), (store) => readConversation(store, 'c'))
    expect(record).toMatchObject({ version: total, headId: `m${total - 1}` })
    const exported = await start(['export', '--db', pathOf('x.db'), '--conversation', 'c'])
    expect(exported.out === log).toBe(true)
  })
})
