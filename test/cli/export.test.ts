import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { LAYOUTS } from '../../src/cli/commands.ts'
import { eventFileName, writeTo } from '../../src/cli/export.ts'
import { type Fact, loadValue } from '../../src/index.ts'
import { createStore, withStore, readConversation } from './database.ts'
import { callEvent, colloquy, runExport, folder, lines, messageEvent } from './run-command.ts'

const SECRET = 'gAAAAABsecretsecretsecret'

const facts: readonly Fact[] = [
  messageEvent('m', 'hi \u009b2J \u202e'),
  { id: 'x', kind: 'Odd' },
  callEvent('a', 'ls', { responses_reasoning_item: { id: 'r', summary: [], encrypted_content: SECRET } }),
].map((value) => loadValue(value).fact)

async function createDatabase(): Promise<(name?: string) => string> {
  const pathOf = folder({})
  await createStore(pathOf('x.db'), 'c 1', facts)
  return pathOf
}

/** Names in a folder, without the database and SQLite's files next to it. */
const namesIn = (path: string): string[] => readdirSync(path).filter((name) => !name.startsWith('x.db'))

describe('export to standard output', () => {
  it('prints one event per line, including quarantined lines and encrypted content', async () => {
    const { code, out, err } = await runExport(await createDatabase())
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { id: 'm', kind: 'MessageEvent' },
      { id: 'x', kind: 'Odd' },
      { id: 'a', responses_reasoning_item: { encrypted_content: SECRET } },
    ])
  })

  it('prints no control characters on a terminal, and imports as the same events', async () => {
    const pathOf = folder({})
    const broken: Fact = { quarantined: true, raw: '{"\u001b[2J', issues: [], id: 'q' }
    // Without an id it would be written unwrapped.
    const bare: Fact = { quarantined: true, raw: '{\u001b[3J', issues: [] }
    await createStore(pathOf('x.db'), 'c 1', [...facts, broken, bare])
    const { out } = await colloquy(['export', '--db', pathOf('x.db'), '--conversation', 'c 1'], { tty: true })
    // oxlint-disable-next-line no-control-regex -- the output must not contain them
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    writeFileSync(pathOf('copied.jsonl'), out)
    await colloquy(['import', pathOf('copied.jsonl'), '--db', pathOf('y.db'), '--conversation', 'c 1'])
    const [before, after] = await Promise.all(
      ['x.db', 'y.db'].map((db) => withStore(pathOf(db), (store) => readConversation(store, 'c 1'))),
    )
    expect(after?.log).toEqual(before?.log)
  })

  it('prints all events of a log of 500', async () => {
    const pathOf = folder({})
    await createStore(
      pathOf('x.db'),
      'c 1',
      Array.from({ length: 500 }, (_, i): Fact => ({ kind: 'PauseEvent', id: `p${i}` })),
    )
    const { out } = await runExport(pathOf)
    expect(out.split('\n')).toHaveLength(501)
  })
})

describe('export to a path', () => {
  it.each(LAYOUTS)(
    'writes a %s, overwrites it only with --force, and leaves no temporary file',
    async (layout) => {
      const pathOf = await createDatabase()
      const argv = ['--format', layout, '--output', pathOf('out')]
      const { code, out, err } = await runExport(pathOf, ...argv)
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).toBe(`${pathOf('out')}  3 events of c 1\n`)
      const before = namesIn(pathOf())
      const again = await runExport(pathOf, ...argv)
      expect(again).toMatchObject({ code: 1, out: '' })
      expect(again.err).toMatch(/^colloquy: [^\n]*already exists[^\n]*--force\n$/)
      expect((await runExport(pathOf, ...argv, '--force')).code).toBe(0)
      // No temporary file remains, hidden or not.
      expect(namesIn(pathOf())).toEqual(before)
    },
  )

  it('does not replace a directory with other files, even with --force', async () => {
    const pathOf = await createDatabase()
    mkdirSync(pathOf('out'))
    writeFileSync(pathOf('out/thesis.txt'), 'years of work')
    const { code, err } = await runExport(
      pathOf,
      '--format',
      'directory',
      '--output',
      pathOf('out'),
      '--force',
    )
    expect(code).toBe(1)
    expect(err).toContain('contains thesis.txt')
    expect(readFileSync(pathOf('out/thesis.txt'), 'utf8')).toBe('years of work')
  })

  it.skipIf(process.platform === 'win32')('does not replace a pipe, even with --force', async () => {
    const pathOf = await createDatabase()
    execFileSync('mkfifo', [pathOf('pipe')])
    const { code, err } = await runExport(pathOf, '--output', pathOf('pipe'), '--force')
    expect([code, err]).toEqual([1, `colloquy: ${pathOf('pipe')}: is not a regular file; use another path\n`])
    expect(statSync(pathOf('pipe')).isFIFO()).toBe(true)
  })

  it.each(['jsonl', 'zip'])('does not replace a database by a %s, even with --force', async (format) => {
    const pathOf = await createDatabase()
    const before = readFileSync(pathOf('x.db'))
    const argv = ['--format', format, '--output', pathOf('x.db'), '--force']
    const { code, err } = await runExport(pathOf, ...argv)
    expect([code, err]).toEqual([1, `colloquy: ${pathOf('x.db')}: is a SQLite database; use another path\n`])
    expect(readFileSync(pathOf('x.db'))).toEqual(before)
  })

  it.each([
    { argv: ['--format', 'zip', '--output', 'dir', '--force'], message: 'is a directory, not a file' },
    {
      argv: ['--format', 'directory', '--output', 'x.db', '--force'],
      message: 'not a directory',
    },
    { argv: ['--output', 'none/out.jsonl'], message: 'no such file or directory' },
  ])('fails with one line: $message', async ({ argv, message }) => {
    const pathOf = await createDatabase()
    mkdirSync(pathOf('dir'))
    const before = namesIn(pathOf())
    const { code, out, err } = await runExport(
      pathOf,
      ...argv.map((word, i) => (argv[i - 1] === '--output' ? pathOf(word) : word)),
    )
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/^colloquy: [^\n]+\n$/)
    expect(err).toContain(message)
    expect(namesIn(pathOf())).toEqual(before)
  })

  it('derives the format from the file name, and rejects a name that does not match', async () => {
    const pathOf = await createDatabase()
    for (const [name, prefix] of [
      ['out.zip', 'PK'],
      ['OUT.ZIP', 'PK'],
      ['out.jsonl', '{"'],
      ['out.log', '{"'],
    ] as const) {
      expect(await runExport(pathOf, '--output', pathOf(name))).toMatchObject({ code: 0, err: '' })
      expect(readFileSync(pathOf(name), 'latin1').slice(0, 2)).toBe(prefix)
    }
    for (const [argv, text] of [
      [['--output', pathOf('out.json')], /--output PATH\.jsonl/],
      [['--output', pathOf('b.zip'), '--format', 'jsonl'], /--output PATH\.jsonl/],
    ] as const) {
      const { code, err } = await runExport(pathOf, ...argv)
      expect([code, text.test(err)]).toEqual([2, true])
    }
  })

  it('leaves no file when the export fails midway', async () => {
    const pathOf = await createDatabase()
    await withStore(pathOf('x.db'), async (store) => {
      await store.append('c 1', [{ kind: 'PauseEvent', id: 'late' }], { mode: 'import' })
    })
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(pathOf('x.db'))
    database.exec(`UPDATE colloquy_event SET body = '{' WHERE seq = 3`)
    database.close()
    for (const layout of LAYOUTS) {
      const { code, err } = await runExport(pathOf, '--format', layout, '--output', pathOf('out'))
      expect(code).toBe(1)
      expect(err).toMatch(/^colloquy: [^\n]*position 3[^\n]*\n$/)
      expect(namesIn(pathOf())).toEqual([])
    }
  })
})

describe('exported documents', () => {
  it('contain changes that were made after the import', async () => {
    const meta = { id: '6f1c9f0e1a2b4c3d8e4f5a6b7c8d9e0f', title: 'Old', metrics: { cost: 0.5 } }
    const pathOf = folder({
      'c/meta.json': JSON.stringify(meta),
      'c/base_state.json': JSON.stringify({ agent: { kind: 'Agent' }, leaf_event_id: 'm' }),
      'c/event-00000-m.json': lines(messageEvent('m', 'hi')),
    })
    await colloquy(['import', pathOf('c'), '--db', pathOf('x.db')])
    await withStore(pathOf('x.db'), async (store) => {
      await store.updateConversation('6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f', { title: 'New', public: true })
      await store.append('6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f', [{ kind: 'PauseEvent', id: 'p' }], {
        mode: 'import',
      })
    })
    const argv = [
      'export',
      '--db',
      pathOf('x.db'),
      '--conversation',
      meta.id,
      '--format',
      'directory',
      '--output',
      pathOf('out'),
    ]
    expect((await colloquy(argv)).code).toBe(0)
    const read = (name: string): unknown => JSON.parse(readFileSync(pathOf(`out/${name}`), 'utf8'))
    expect(read('meta.json')).toMatchObject({ ...meta, title: 'New', public: true })
    expect(read('base_state.json')).toEqual({
      agent: { kind: 'Agent' },
      leaf_event_id: 'p',
      head_is_empty: false,
    })
    await colloquy(['import', pathOf('out'), '--db', pathOf('y.db')])
    const [before, after] = await Promise.all(
      ['x.db', 'y.db'].map((db) =>
        withStore(pathOf(db), (store) => readConversation(store, '6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f')),
      ),
    )
    expect(after).toEqual(before)
  })
})

describe('`eventFileName`', () => {
  const ids = [
    'a',
    'A',
    'a/b',
    'a%2Fb',
    '..',
    '.',
    '~',
    '*',
    'CON',
    'é',
    'a b',
    'é'.repeat(200),
    `${'é'.repeat(199)}f`,
  ]

  it('returns a unique name of safe characters, shorter than 256 characters', () => {
    const names = [...ids, null].map((id) => eventFileName(7, id))
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) {
      expect(name).toMatch(/^event-00007-[\w.%~-]+\.json$/)
      expect(name.length).toBeLessThan(256)
    }
    expect(eventFileName(123_456, '6f1c9f0e-1a2b')).toBe('event-123456-6f1c9f0e-1a2b.json')
  })
})

it('`writeTo` lets one of two concurrent writers succeed, with its whole text', async () => {
  const target = folder({})('out.jsonl')
  const written = await Promise.allSettled(
    ['first', 'second'].map((text) =>
      writeTo({ output: target, kind: 'file', force: false }, (path) =>
        writeFile(path, text, { flag: 'wx' }),
      ),
    ),
  )
  const winner = written.findIndex(({ status }) => status === 'fulfilled')
  expect(written[1 - winner]).toMatchObject({ status: 'rejected', reason: { code: 'exists' } })
  expect(readFileSync(target, 'utf8')).toBe(['first', 'second'][winner])
})

it('`writeTo` keeps the previous directory if replacing it fails', async () => {
  const path = folder({ 'out/meta.json': '{"id":"before"}' })
  const target = { output: path('out'), kind: 'directory', force: true } as const
  // Nothing is written, so that the last step fails.
  await expect(writeTo(target, async () => {})).rejects.toMatchObject({ code: 'not_found' })
  expect(readFileSync(path('out/meta.json'), 'utf8')).toBe('{"id":"before"}')
  expect(readdirSync(path())).toEqual(['out'])
})
