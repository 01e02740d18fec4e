import { existsSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { addressOf } from '../../src/cli/db/address.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { colloquy, folder, lines, SAMPLE } from './run-command.ts'

let postgres: TestDatabase

beforeAll(async () => {
  postgres = await testDatabase()
})

afterAll(() => postgres.drop())

describe('failed database commands', () => {
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
    { argv: ['search', '--db', 'x.db', '--conversation', 'c', '--cursor', 'nope'], code: 'invalid_cursor' },
    { argv: ['conversations', '--db', 'x.db', '--cursor', 'nope'], code: 'invalid_cursor' },
    { argv: ['import', 'c.jsonl', '--db', 'text.db'], code: 'store_unavailable' },
    { argv: ['import', 'c.jsonl', '--db', 'none/x.db'], code: 'store_unavailable' },
    { argv: ['import', 'c.jsonl', '--db', 'folder.db'], code: 'unreadable' },
  ])('$argv fails with $code in one line', async ({ argv, code }) => {
    const pathOf = folder({
      'c.jsonl': lines({ id: 'p', kind: 'PauseEvent' }),
      'text.db': 'no database, but some text that is long enough to be looked at. '.repeat(20),
      'empty.db': '',
      'folder.db/x': '',
    })
    await colloquy(['import', pathOf('c.jsonl'), '--db', pathOf('x.db')])
    const before = readdirSync(pathOf()).filter((name) => !name.startsWith('x.db'))
    const resolvedArgv = argv.map((word, i) => (/\.(db|jsonl)$/.test(word) && i > 0 ? pathOf(word) : word))
    const { code: exit, out, err } = await colloquy([...resolvedArgv, '--json'])
    expect(exit).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ error: { code } })
    // oxlint-disable-next-line no-control-regex -- the output must not contain them
    expect(err).toMatch(/^colloquy: [^\u0000-\u001f]+\n$/)
    expect((await colloquy(resolvedArgv)).out).toBe('')
    // Reading neither creates nor damages a database.
    expect(readdirSync(pathOf()).filter((name) => !name.startsWith('x.db'))).toEqual(before)
    expect(existsSync(pathOf('none.db'))).toBe(false)
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

  it.each(urls)('is not printed: %s', async (url) => {
    for (const command of commands) {
      const json = command[0] === 'export' ? [[]] : [[], ['--json']]
      for (const flags of json) {
        const { code, out, err } = await colloquy([...command, url, ...flags])
        expect(code).toBeGreaterThan(0)
        expect(out + err).not.toMatch(/pass( |%20)word/)
        expect(err).toMatch(/^colloquy: [^\n]+\n$/)
      }
    }
  })

  it('is removed from messages of the driver', () => {
    const { label, withoutPassword } = addressOf('postgres://me:pass%20word@h/db?password=other')
    expect(label).toBe('postgres://me:***@h/db?password=***')
    expect(
      withoutPassword('no: postgres://me:pass%20word@h/db?password=other, "pass word", pass%20word, other'),
    ).toBe(`no: ${label}, "***", ***, ***`)
    expect(addressOf('postgres://me@h/db').label).toBe('postgres://me@h/db')
    expect(addressOf('postgres:///db').label).toBe('postgres:///db')
  })

  it('is not printed after a failed login, or by commands on a reachable database', async () => {
    const url = new URL(postgres.url)
    const wrong = new URL(postgres.url)
    wrong.password = 'wr0ng!pass'
    const { code, err } = await colloquy(['conversations', '--db', wrong.href])
    expect(code).toBe(1)
    expect(err).toContain('password authentication failed')
    expect(err).not.toContain('wr0ng')
    const pathOf = folder({ 'p.jsonl': lines(...['a', 'b'].map((id) => ({ id, kind: 'PauseEvent' }))) })
    await colloquy(['import', pathOf('p.jsonl'), '--db', url.href])
    for (const argv of [['conversations'], ['search', '--conversation', 'p', '--limit', '1']]) {
      const { out } = await colloquy([...argv, '--db', url.href])
      expect(out).toContain('***')
      expect(out).not.toContain(url.password)
    }
  })
})

it('a read-only PostgreSQL database is reported as such', async () => {
  const empty = await testDatabase()
  onTestFinished(() => empty.drop())
  const url = new URL(empty.url)
  url.searchParams.set('options', '-c default_transaction_read_only=on')
  const { code, err } = await colloquy(['conversations', '--db', url.href])
  expect(code).toBe(1)
  expect(err).toContain('PostgreSQL does not allow this write.')
})

describe('invalid database commands', () => {
  it.each([
    { argv: ['import', SAMPLE], message: 'import needs --db' },
    { argv: ['import', '--db', 'x.db'], message: 'import needs a FILE' },
    { argv: ['import', '-', '--db', 'x.db'], message: 'add --conversation ID' },
    {
      argv: ['import', SAMPLE, SAMPLE, '--db', 'x.db', '--conversation', 'c'],
      message: 'applies to a single FILE',
    },
    {
      argv: ['import', SAMPLE, '--db', 'x.db', '--timezone', 'Mars/Base'],
      message: '--timezone must be an IANA time zone',
    },
    { argv: ['inspect', '--db', 'x.db', '--html', 'x.html'], message: 'add --conversation ID' },
    { argv: ['import', SAMPLE, '--db', ':memory:'], message: 'use a file' },
    { argv: ['import', SAMPLE, '--db', 'mysql://h/db'], message: 'must be a file or a postgres:// URL' },
    { argv: ['export', '--db', 'x.db'], message: 'export needs --conversation ID' },
    {
      argv: ['export', '--db', 'x.db', '--conversation', 'c', '--format', 'zip'],
      message: 'needs --output PATH',
    },
    {
      argv: ['export', '--db', 'x.db', '--conversation', 'c', '--format', 'tar'],
      message: "unknown --format 'tar'",
    },
    { argv: ['export', '--db', 'x.db', '--conversation', 'c', '--output', 'x.json'], message: 'PATH.jsonl' },
    { argv: ['export', '--db', 'x.db', '--conversation', 'c', '--force'], message: '--force needs --output' },
    { argv: ['export', SAMPLE, '--db', 'x.db', '--conversation', 'c'], message: 'export accepts no FILE' },
    {
      argv: ['export', '--db', 'x.db', '--conversation', 'c', '--json'],
      message: 'export has no option --json',
    },
    { argv: ['search', '--db', 'x.db'], message: 'search needs --conversation ID' },
    {
      argv: ['search', '--db', 'x.db', '--conversation', 'c', '--kind', 'Odd'],
      message: "unknown --kind 'Odd'",
    },
    {
      argv: ['search', '--db', 'x.db', '--conversation', 'c', '--source', 'me'],
      message: "unknown --source 'me'",
    },
    {
      argv: ['search', '--db', 'x.db', '--conversation', 'c', '--since', 'noon'],
      message: '--since must be a date',
    },
    {
      argv: ['search', '--db', 'x.db', '--conversation', 'c', '--until', '2026-02-30'],
      message: '--until must be a date',
    },
    ...['0', '101', '-1', '1.5', 'x', '1e1'].map((limit) => ({
      argv: ['search', '--db', 'x.db', '--conversation', 'c', `--limit=${limit}`],
      message: '--limit must be an integer from 1 to 100',
    })),
    { argv: ['conversations'], message: 'conversations needs --db' },
    {
      argv: ['conversations', '--db', 'x.db', '--conversation', 'c'],
      message: 'has no option --conversation',
    },
    { argv: ['replay', SAMPLE, '--db', 'x.db', '--conversation', 'c'], message: 'a FILE or --db, not both' },
    { argv: ['replay', '--db', 'x.db'], message: '--db needs --conversation ID' },
    { argv: ['replay', SAMPLE, '--conversation', 'c'], message: '--conversation needs --db' },
  ])('$argv exits with 2 and prints one line', async ({ argv, message }) => {
    const { code, out, err } = await colloquy(argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    // oxlint-disable-next-line no-control-regex -- the output must not contain them
    expect(err).toMatch(/^colloquy: [^\u0000-\u001f]+ \(see: colloquy help [a-z]+\)\n$/)
    expect(err).toContain(message)
  })
})
