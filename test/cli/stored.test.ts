/** The commands over a database: the same answers as over the file that was imported, pages, and what is refused. */

import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FORMATS } from '../../src/cli/args/commands.ts'
import { addressOf } from '../../src/cli/db/address.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { recordedLogs } from '../recorded.ts'
import { inFile } from './database.ts'
import { answered, answers, called, colloquy, folder, lines, SAMPLE, said } from './world.ts'

let postgres: TestDatabase

beforeAll(async () => {
  postgres = await testDatabase()
})

afterAll(() => postgres.drop())

const SECRET = 'gAAAAABsecretsecretsecret'
const item = { id: 'rs_1', summary: ['thought'], encrypted_content: SECRET, status: 'completed' }

/** Every command over conversations, as it is asked. */
const ASKS = [
  'check',
  'replay',
  'view',
  'tree',
  'stuck',
  'why',
  'condense --max-events 8',
  'messages --budget 300',
  ...FORMATS.map((format) => `messages --format ${format}`),
]

/** One page as JSON. */
async function page(
  argv: readonly string[],
): Promise<{ items: { id: string }[]; next_page_id: string | null }> {
  const { code, out, err } = await colloquy([...argv, '--json'])
  expect({ code, err, lines: out.split('\n').length }).toEqual({ code: 0, err: '', lines: 2 })
  const answer = JSON.parse(out)
  expect(Object.keys(answer)).toEqual(['items', 'next_page_id'])
  return answer
}

/** Every page, one after the other. */
async function pages(argv: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (let next: string | null = ''; next !== null;) {
    const { items, next_page_id } = await page(next === '' ? argv : [...argv, '--page', next])
    ids.push(...items.map(({ id }) => id))
    next = next_page_id
  }
  return ids
}

describe.each([
  { over: 'SQLite', db: (at: (name: string) => string) => at('x.db') },
  { over: 'PostgreSQL', db: () => postgres.url },
])('over $over', ({ db }) => {
  it('every command answers as over the file', async () => {
    const at = folder({})
    const stored = ['--db', db(at), '--conversation', 'sample']
    expect((await colloquy(['import', SAMPLE, '--db', db(at)])).code).toBe(0)
    const { events } = JSON.parse((await colloquy(['tree', SAMPLE, '--json'])).out)
    for (const ask of [...ASKS, `replay --at ${events[5].id}`, `view --leaf ${events[9].id}`]) {
      const argv = ask.split(' ')
      const [file, from] = [
        await colloquy([...argv, SAMPLE, '--json']),
        await colloquy([...argv, ...stored, '--json']),
      ]
      const { file: _name, ...expected } = JSON.parse(file.out)
      const { file: label, conversation, ...answer } = JSON.parse(from.out)
      expect({ ask, code: from.code, conversation, answer }).toEqual({
        ask,
        code: file.code,
        conversation: 'sample',
        answer: expected,
      })
      expect(from.err).toBe('')
      expect(label).not.toMatch(/:[^*/@]+@/)
      expect((await colloquy([...argv, ...stored])).out.length).toBeGreaterThan(0)
    }
  })
})

const logs = recordedLogs().filter(({ file }) => file !== 'snippets.jsonl')

describe.skipIf(logs.length === 0)('recorded logs', () => {
  it.each(logs)('$file answers from a database as from its file', async ({ file, path }) => {
    const at = folder({})
    expect((await colloquy(['import', path, '--db', at('x.db')])).code).toBe(0)
    const stored = ['--db', at('x.db'), '--conversation', file.replace('.jsonl', '')]
    // That a database gives the log of the file is a law (E), and that every command reads both alike is said above.
    for (const ask of ['check', 'replay', 'why', 'messages --format anthropic']) {
      const argv = [...ask.split(' '), '--json']
      const { file: _a, ...expected } = JSON.parse((await colloquy([...argv, path])).out)
      const { file: _b, conversation: _c, ...answer } = JSON.parse((await colloquy([...argv, ...stored])).out)
      expect(answer).toEqual(expected)
    }
  })
})

describe('search', () => {
  const log = lines(
    said('m', 'Hello there', { timestamp: '2026-01-01T00:00:00Z' }),
    called('a', 'ls', { timestamp: '2026-01-01T00:00:01.000002' }),
    answered('o', 'a', 'done', { timestamp: '2026-01-01T00:00:02Z' }),
    said('n', 'it’s HELLO again', { timestamp: '2026-01-02T01:00:00+01:00', parent_id: 'm' }),
    { kind: 'PauseEvent' },
  )

  async function filled(): Promise<readonly string[]> {
    const at = folder({ 'c.jsonl': log })
    await colloquy(['import', at('c.jsonl'), '--db', at('x.db')])
    return ['search', '--db', at('x.db'), '--conversation', 'c']
  }

  it.each([
    { ask: [], ids: ['m', 'a', 'o', 'n', expect.stringMatching(/^derived-4-/)] },
    { ask: ['--desc'], ids: [expect.any(String), 'n', 'o', 'a', 'm'] },
    { ask: ['--kind', 'MessageEvent'], ids: ['m', 'n'] },
    { ask: ['--kind', 'ActionEvent', '--kind', 'ObservationEvent'], ids: ['a', 'o'] },
    { ask: ['--source', 'agent'], ids: ['a'] },
    { ask: ['--source', 'environment'], ids: ['o'] },
    { ask: ['--since', '2026-01-01T00:00:01.000002Z', '--until', '2026-01-02'], ids: ['a', 'o'] },
    { ask: ['--since', '2026-01-01T00:00:01.000003Z', '--kind', 'ActionEvent'], ids: [] },
    { ask: ['--text', 'hello'], ids: ['m', 'n'] },
    { ask: ['--leaf', 'n'], ids: ['m', 'n'] },
  ])('finds what is asked for: $ask', async ({ ask, ids }) => {
    const argv = [...(await filled()), ...ask]
    expect(await pages(argv)).toEqual(ids)
    expect(await pages([...argv, '--limit', '1'])).toEqual(ids)
    const shown = await colloquy(argv)
    expect(shown.code).toBe(0)
    for (const id of ids) expect(shown.out).toContain(typeof id === 'string' ? id : 'derived-4-')
  })

  it('gives people a row for each event, and the command for the next page, which works', async () => {
    const argv = [...(await filled()), '--text', 'hello', '--kind', 'MessageEvent', '--desc', '--limit', '1']
    const { out } = await colloquy(argv)
    expect(out).toContain('2026-01-02 00:00:00  user        it’s HELLO again')
    const command = out.trimEnd().split('\n').at(-1)?.trim() ?? ''
    expect(command).toMatch(/^npm run -s colloquy -- search --db /)
    const next = await colloquy(command.split(' ').slice(5))
    expect(next.out).toContain('Hello there')
    expect(next.out).not.toContain('--page')
  })

  it('quotes what the shell would take for something else', async () => {
    const at = folder({ 'it’s $HOME.jsonl': lines(...['a', 'b'].map((id) => ({ id, kind: 'PauseEvent' }))) })
    await colloquy(['import', at('it’s $HOME.jsonl'), '--db', at('x.db')])
    const argv = ['search', '--db', at('x.db'), '--conversation', 'it’s $HOME', '--limit', '1']
    expect((await colloquy(argv)).out).toContain(`--conversation 'it’s $HOME' --limit 1 --page `)
  })

  it('shows no secret, and nothing that drives a terminal', async () => {
    const events = [
      called('a', `x \u001b[2J \u202e {"encrypted_content":"${SECRET}"}`, { responses_reasoning_item: item }),
      said('m', `said {"encrypted_content": "${SECRET}"}`),
      { id: 'bad \u202e id', kind: 'PauseEvent' },
    ]
    const at = folder({ 'c.jsonl': lines(...events) })
    await colloquy(['import', at('c.jsonl'), '--db', at('x.db')])
    const argv = ['search', '--db', at('x.db'), '--conversation', 'c']
    for (const more of [[], ['--json']]) {
      const { out, err } = await colloquy([...argv, ...more], {
        tty: true,
        env: { NO_COLOR: '1' },
        columns: 4000,
      })
      expect(out + err).not.toContain('secretsecret')
      // oxlint-disable-next-line no-control-regex -- they are what must not be there
      expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    }
    expect((await colloquy([...argv, '--json'])).out).toContain('"encrypted_content":null')
    for (const ask of ASKS.flatMap((ask) => [ask, `${ask} --json`])) {
      const { out, err } = await colloquy([...ask.split(' '), ...argv.slice(1)], { columns: 4000 })
      expect(out + err).not.toContain('secretsecret')
    }
    // An export is no rendering: it is what a provider will be sent again.
    expect((await colloquy(['export', ...argv.slice(1)])).out).toContain(SECRET)
  })
})

describe('conversations', () => {
  it('are listed, the newest first, a page at a time', async () => {
    const names = ['one', 'two', 'three']
    const at = folder({
      ...Object.fromEntries(names.map((name) => [`${name}.jsonl`, lines({ id: 'p', kind: 'PauseEvent' })])),
      'old/meta.json': JSON.stringify({
        title: 'An \u001b[2J old one',
        created_at: '2020-02-03T04:05:06.000007Z',
      }),
      'old/base_state.json': JSON.stringify({ agent: { llm: { api_key: 'sk-verysecret' } } }),
      'old/event-00000-p.json': lines({ id: 'p', kind: 'PauseEvent' }),
    })
    for (const name of [...names.map((name) => `${name}.jsonl`), 'old'])
      await colloquy(['import', at(name), '--db', at('x.db')])
    const argv = ['conversations', '--db', at('x.db')]
    const ids = await pages([...argv, '--limit', '3'])
    expect(ids.toSorted()).toEqual(['old', 'one', 'three', 'two'])
    expect(ids.at(-1)).toBe('old')
    const { items } = await page(argv)
    expect(items.at(-1)).toEqual({
      id: 'old',
      title: 'An \u001b[2J old one',
      public: false,
      tags: {},
      time_zone: null,
      parent_conversation_id: null,
      created_at: '2020-02-03T04:05:06.000007Z',
      updated_at: expect.any(String),
      events: 1,
      head: 'p',
    })
    const shown = await colloquy([...argv, '--limit', '3'])
    expect(shown.out).toContain('3 conversations, more follow')
    const next = await colloquy((shown.out.trimEnd().split('\n').at(-1) ?? '').trim().split(' ').slice(5))
    expect(next.out).toContain('2020-02-03 04:05:06  An ␛[2J old one')
    for (const json of [[], ['--json']])
      expect((await colloquy([...argv, ...json])).out).not.toContain('verysecret')
  })

  it('are listed, every page full', async () => {
    const at = folder({})
    await inFile(at('x.db'), async (store) => {
      for (const id of ['a', 'b']) await store.createConversation({ id })
    })
    const argv = ['conversations', '--db', at('x.db')]
    expect((await pages(argv)).toSorted()).toEqual(['a', 'b'])
    const first = await page([...argv, '--limit', '1'])
    const last = await page([...argv, '--limit', '1', '--page', first.next_page_id ?? ''])
    expect([first.items.length, last.items.length, last.next_page_id]).toEqual([1, 1, null])
  })

  it('are found with and without the dashes of their UUID', async () => {
    const at = folder({ '6f1c9f0e1a2b4c3d8e4f5a6b7c8d9e0f.jsonl': lines({ id: 'p', kind: 'PauseEvent' }) })
    await colloquy(['import', at('6f1c9f0e1a2b4c3d8e4f5a6b7c8d9e0f.jsonl'), '--db', at('x.db')])
    for (const id of ['6f1c9f0e1a2b4c3d8e4f5a6b7c8d9e0f', '6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f'])
      expect(await pages(['search', '--db', at('x.db'), '--conversation', id])).toEqual(['p'])
  })
})

describe('what has no answer', () => {
  it.each([
    { argv: ['replay', '--db', 'none.db', '--conversation', 'c'], code: 'not_found' },
    { argv: ['search', '--db', 'none.db', '--conversation', 'c'], code: 'not_found' },
    { argv: ['conversations', '--db', 'none.db'], code: 'not_found' },
    { argv: ['conversations', '--db', 'text.db'], code: 'store_unavailable' },
    { argv: ['conversations', '--db', 'empty.db'], code: 'no_conversations' },
    { argv: ['conversations', '--db', 'folder.db'], code: 'unreadable' },
    { argv: ['replay', '--db', 'x.db', '--conversation', 'nope'], code: 'unknown_conversation' },
    { argv: ['search', '--db', 'x.db', '--conversation', 'nope'], code: 'unknown_conversation' },
    { argv: ['search', '--db', 'x.db', '--conversation', '\u001b'], code: 'unknown_conversation' },
    { argv: ['search', '--db', 'x.db', '--conversation', 'c', '--leaf', 'nope'], code: 'unknown_event' },
    { argv: ['search', '--db', 'x.db', '--conversation', 'c', '--leaf', '\u001b'], code: 'unknown_event' },
    { argv: ['view', '--db', 'x.db', '--conversation', 'c', '--leaf', 'nope'], code: 'unknown_event' },
    { argv: ['search', '--db', 'x.db', '--conversation', 'c', '--page', 'nope'], code: 'invalid_cursor' },
    { argv: ['conversations', '--db', 'x.db', '--page', 'nope'], code: 'invalid_cursor' },
    { argv: ['import', 'c.jsonl', '--db', 'text.db'], code: 'store_unavailable' },
    { argv: ['import', 'c.jsonl', '--db', 'none/x.db'], code: 'not_found' },
    { argv: ['import', 'c.jsonl', '--db', 'c.jsonl/x.db'], code: 'not_found' },
    { argv: ['import', 'c.jsonl', '--db', 'folder.db'], code: 'unreadable' },
  ])('$argv is one line, $code', async ({ argv, code }) => {
    const at = folder({
      'c.jsonl': lines({ id: 'p', kind: 'PauseEvent' }),
      'text.db': 'no database, but some text that is long enough to be looked at. '.repeat(20),
      'empty.db': '',
      'folder.db/x': '',
    })
    await colloquy(['import', at('c.jsonl'), '--db', at('x.db')])
    const before = readdirSync(at()).filter((name) => !name.startsWith('x.db'))
    const words = argv.map((word, i) => (/\.(db|jsonl)$/.test(word) && i > 0 ? at(word) : word))
    const { code: exit, out, err } = await colloquy([...words, '--json'])
    expect(exit).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ error: { code } })
    // oxlint-disable-next-line no-control-regex -- they are what must not be there
    expect(err).toMatch(/^colloquy: [^\u0000-\u001f]+\n$/)
    expect((await colloquy(words)).out).toBe('')
    // Reading makes no database, and harms none.
    expect(readdirSync(at()).filter((name) => !name.startsWith('x.db'))).toEqual(before)
    expect(existsSync(at('none.db'))).toBe(false)
  })
})

describe('the password of a URL', () => {
  const urls = [
    'postgres://me:pass%20word@127.0.0.1:1/db',
    'postgresql://me:pass%20word@127.0.0.1:1/db?application_name=x',
    'postgres://me:pass word/#@127.0.0.1:1/db',
    'postgres://me@127.0.0.1:1/db?password=pass%20word',
    'postgres://127.0.0.1:1/db?user=me&password=it’s#pass word',
    'postgres://me:pass%20word@[::1/db',
  ]
  const commands = [
    ['conversations', '--db'],
    ['search', '--conversation', 'c', '--db'],
    ['export', '--conversation', 'c', '--db'],
    ['replay', '--conversation', 'c', '--db'],
    ['import', SAMPLE, '--db'],
    ['check'],
    ['import', '--db'],
    [],
  ]

  it.each(urls)('is in no output: %s', async (url) => {
    for (const command of commands) {
      const json = command[0] === 'export' ? [[]] : [[], ['--json']]
      for (const more of json) {
        const { code, out, err } = await colloquy([...command, url, ...more])
        expect(code).toBeGreaterThan(0)
        expect(out + err).not.toMatch(/pass( |%20)word/)
        expect(err).toMatch(/^colloquy: [^\n]+\n$/)
      }
    }
  })

  it('is taken out of what a driver says', () => {
    const { label, withoutPassword } = addressOf('postgres://me:pass%20word@h/db?password=other')
    expect(label).toBe('postgres://me:***@h/db?password=***')
    expect(
      withoutPassword('no: postgres://me:pass%20word@h/db?password=other, "pass word", pass%20word, other'),
    ).toBe(`no: ${label}, "***", ***, ***`)
    expect(addressOf('postgres://me@h/db').label).toBe('postgres://me@h/db')
    expect(addressOf('postgres:///db').label).toBe('postgres:///db')
  })

  it('is in no output of a database that answers', async () => {
    const url = new URL(postgres.url)
    const wrong = new URL(postgres.url)
    wrong.password = 'wr0ng!pass'
    const { code, err } = await colloquy(['conversations', '--db', wrong.href])
    expect(code).toBe(1)
    expect(err).toContain('password authentication failed')
    expect(err).not.toContain('wr0ng')
    const at = folder({ 'p.jsonl': lines(...['a', 'b'].map((id) => ({ id, kind: 'PauseEvent' }))) })
    await colloquy(['import', at('p.jsonl'), '--db', url.href])
    for (const argv of [['conversations'], ['search', '--conversation', 'p', '--limit', '1']]) {
      const { out } = await colloquy([...argv, '--db', url.href])
      expect(out).toContain('***')
      expect(out).not.toContain(url.password)
    }
  })
})

describe('a command over a database that makes no sense', () => {
  it.each([
    { argv: ['import', SAMPLE], says: 'import needs --db' },
    { argv: ['import', '--db', 'x.db'], says: 'import needs a FILE' },
    { argv: ['import', '-', '--db', 'x.db'], says: 'say --conversation ID' },
    {
      argv: ['import', SAMPLE, SAMPLE, '--db', 'x.db', '--conversation', 'c'],
      says: 'names one conversation',
    },
    {
      argv: ['import', SAMPLE, '--db', 'x.db', '--timezone', 'Mars/Base'],
      says: "unknown time zone 'Mars/Base'",
    },
    {
      argv: ['import', SAMPLE, '--db', 'x.db', '--conversation', 'a\u0007'],
      says: 'without control characters',
    },
    { argv: ['import', SAMPLE, '--db', ':memory:'], says: 'needs a file' },
    { argv: ['import', SAMPLE, '--db', 'mysql://h/db'], says: 'takes a file or a postgres:// URL' },
    { argv: ['export', '--db', 'x.db'], says: 'export needs --conversation ID' },
    {
      argv: ['export', '--db', 'x.db', '--conversation', 'c', '--format', 'zip'],
      says: 'needs --output PATH',
    },
    {
      argv: ['export', '--db', 'x.db', '--conversation', 'c', '--format', 'tar'],
      says: "unknown format 'tar'",
    },
    { argv: ['export', '--db', 'x.db', '--conversation', 'c', '--output', 'x.json'], says: 'PATH.jsonl' },
    { argv: ['export', '--db', 'x.db', '--conversation', 'c', '--force'], says: '--force needs --output' },
    { argv: ['export', SAMPLE, '--db', 'x.db', '--conversation', 'c'], says: 'export takes no FILE' },
    {
      argv: ['export', '--db', 'x.db', '--conversation', 'c', '--json'],
      says: 'export has no option --json',
    },
    { argv: ['search', '--db', 'x.db'], says: 'search needs --conversation ID' },
    { argv: ['search', '--db', 'x.db', '--conversation', 'c', '--kind', 'Odd'], says: "unknown kind 'Odd'" },
    {
      argv: ['search', '--db', 'x.db', '--conversation', 'c', '--source', 'me'],
      says: "unknown source 'me'",
    },
    {
      argv: ['search', '--db', 'x.db', '--conversation', 'c', '--since', 'noon'],
      says: '--since must be a date',
    },
    {
      argv: ['search', '--db', 'x.db', '--conversation', 'c', '--until', '2026-02-30'],
      says: '--until must be a date',
    },
    ...['0', '101', '-1', '1.5', 'x', '1e1'].map((limit) => ({
      argv: ['search', '--db', 'x.db', '--conversation', 'c', `--limit=${limit}`],
      says: '--limit must be a number from 1 to 100',
    })),
    { argv: ['conversations'], says: 'conversations needs --db' },
    { argv: ['conversations', '--db', 'x.db', '--conversation', 'c'], says: 'has no option --conversation' },
    { argv: ['replay', SAMPLE, '--db', 'x.db', '--conversation', 'c'], says: 'a FILE or --db, not both' },
    { argv: ['replay', '--db', 'x.db'], says: '--db needs --conversation ID' },
    { argv: ['replay', SAMPLE, '--conversation', 'c'], says: '--conversation needs --db' },
  ])('$argv exits with 2 and one line', async ({ argv, says }) => {
    const { code, out, err } = await colloquy(argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    // oxlint-disable-next-line no-control-regex -- they are what must not be there
    expect(err).toMatch(/^colloquy: [^\u0000-\u001f]+ \(see: colloquy help\)\n$/)
    expect(err).toContain(says)
  })
})

describe('an input that changes', () => {
  it('of a name with a control character is told of harmlessly', async () => {
    const at = folder({})
    writeFileSync(at('a\u001b[2J.jsonl'), lines({ id: 'p', kind: 'PauseEvent' }))
    const { code, out } = await colloquy(['import', at('a\u001b[2J.jsonl'), '--db', at('x.db')])
    expect(code).toBe(0)
    // oxlint-disable-next-line no-control-regex -- they are what must not be there
    expect(out).not.toMatch(/\u001b/)
    // No id has one, so this one is made of the name in another way, the same each time.
    expect((await page(['conversations', '--db', at('x.db')])).items[0]?.id).toMatch(/^import-[0-9a-f]{32}$/)
    expect(
      (await answers<{ file: string; added: number }>(['import', at('a\u001b[2J.jsonl'), '--db', at('x.db')]))
        .all[0].added,
    ).toBe(0)
  })
})
