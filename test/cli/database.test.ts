/** Commands print the same for a database as for the imported file, and page through databases. */

import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FORMATS } from '../../src/cli/commands.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { recordedLogs } from '../recorded.ts'
import { withStore } from './database.ts'
import {
  resultEvent,
  runJson,
  callEvent,
  colloquy,
  folder,
  lines,
  SAMPLE,
  messageEvent,
} from './run-command.ts'

let postgres: TestDatabase

beforeAll(async () => {
  postgres = await testDatabase()
})

afterAll(() => postgres.drop())

const SECRET = 'gAAAAABsecretsecretsecret'

const item = { id: 'rs_1', summary: ['thought'], encrypted_content: SECRET, status: 'completed' }

/** Every command that reads a conversation. */
const COMMANDS = [
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

async function page(argv: readonly string[]): Promise<{ items: { id: string }[]; cursor: string | null }> {
  const { code, out, err } = await colloquy([...argv, '--json'])
  expect({ code, err, lines: out.split('\n').length }).toEqual({ code: 0, err: '', lines: 2 })
  const answer = JSON.parse(out)
  expect(Object.keys(answer)).toEqual(['items', 'cursor'])
  return answer
}

async function pages(argv: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (let next: string | null = ''; next !== null;) {
    const { items, cursor } = await page(next === '' ? argv : [...argv, '--cursor', next])
    ids.push(...items.map(({ id }) => id))
    next = cursor
  }
  return ids
}

describe.each([
  { backend: 'SQLite', db: (pathOf: (name: string) => string) => pathOf('x.db') },
  { backend: 'PostgreSQL', db: () => postgres.url },
])('a conversation in $backend', ({ db }) => {
  it('has the same output as its file in every command', async () => {
    const pathOf = folder({})
    const stored = ['--db', db(pathOf), '--conversation', 'sample']
    expect((await colloquy(['import', SAMPLE, '--db', db(pathOf)])).code).toBe(0)
    const { events } = JSON.parse((await colloquy(['tree', SAMPLE, '--json'])).out)
    for (const filters of [...COMMANDS, `replay --at ${events[5].id}`, `view --leaf ${events[9].id}`]) {
      const argv = filters.split(' ')
      const [file, from] = [
        await colloquy([...argv, SAMPLE, '--json']),
        await colloquy([...argv, ...stored, '--json']),
      ]
      const { file: _name, ...expected } = JSON.parse(file.out)
      const { file: label, conversation, ...answer } = JSON.parse(from.out)
      expect({ filters, code: from.code, conversation, answer }).toEqual({
        filters,
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
  it.each(logs)('$file has the same output in a database as in its file', async ({ file, path }) => {
    const pathOf = folder({})
    expect((await colloquy(['import', path, '--db', pathOf('x.db')])).code).toBe(0)
    const stored = ['--db', pathOf('x.db'), '--conversation', file.replace('.jsonl', '')]
    // A few commands are enough: law E covers the imported log, and the test above covers every command.
    for (const filters of ['check', 'replay', 'why', 'messages --format anthropic']) {
      const argv = [...filters.split(' '), '--json']
      const { file: _a, ...expected } = JSON.parse((await colloquy([...argv, path])).out)
      const { file: _b, conversation: _c, ...answer } = JSON.parse((await colloquy([...argv, ...stored])).out)
      expect(answer).toEqual(expected)
    }
  })
})

describe('search', () => {
  const log = lines(
    messageEvent('m', 'Hello there', { timestamp: '2026-01-01T00:00:00Z' }),
    callEvent('a', 'ls', { timestamp: '2026-01-01T00:00:01.000002' }),
    resultEvent('o', 'a', 'done', { timestamp: '2026-01-01T00:00:02Z' }),
    messageEvent('n', 'it’s HELLO again', { timestamp: '2026-01-02T01:00:00+01:00', parent_id: 'm' }),
    { kind: 'PauseEvent' },
  )

  async function createDatabase(): Promise<readonly string[]> {
    const pathOf = folder({ 'c.jsonl': log })
    await colloquy(['import', pathOf('c.jsonl'), '--db', pathOf('x.db')])
    return ['search', '--db', pathOf('x.db'), '--conversation', 'c']
  }

  it.each([
    { filters: [], ids: ['m', 'a', 'o', 'n', expect.stringMatching(/^derived-4-/)] },
    { filters: ['--desc'], ids: [expect.any(String), 'n', 'o', 'a', 'm'] },
    { filters: ['--kind', 'MessageEvent'], ids: ['m', 'n'] },
    { filters: ['--kind', 'ActionEvent', '--kind', 'ObservationEvent'], ids: ['a', 'o'] },
    { filters: ['--source', 'agent'], ids: ['a'] },
    { filters: ['--source', 'environment'], ids: ['o'] },
    { filters: ['--since', '2026-01-01T00:00:01.000002Z', '--until', '2026-01-02'], ids: ['a', 'o'] },
    { filters: ['--since', '2026-01-01T00:00:01.000003Z', '--kind', 'ActionEvent'], ids: [] },
    { filters: ['--since', '2026-01-01T00:01', '--kind', 'MessageEvent'], ids: ['n'] },
    { filters: ['--until', '2026-01-01 01:01+01:00'], ids: ['m', 'a', 'o'] },
    { filters: ['--text', 'hello'], ids: ['m', 'n'] },
    { filters: ['--leaf', 'n'], ids: ['m', 'n'] },
  ])('finds the matching events with $filters', async ({ filters, ids }) => {
    const argv = [...(await createDatabase()), ...filters]
    expect(await pages(argv)).toEqual(ids)
    expect(await pages([...argv, '--limit', '1'])).toEqual(ids)
    const printed = await colloquy(argv)
    expect(printed.code).toBe(0)
    for (const id of ids) expect(printed.out).toContain(typeof id === 'string' ? id : 'derived-4-')
  })

  it('prints a row for each event, and a working cursor of the next page', async () => {
    const argv = [
      ...(await createDatabase()),
      '--text',
      'hello',
      '--kind',
      'MessageEvent',
      '--desc',
      '--limit',
      '1',
    ]
    const { out } = await colloquy(argv)
    expect(out).toContain('2026-01-02 00:00:00  user        it’s HELLO again')
    const cursor = /--cursor=\S+$/.exec(out.trimEnd())?.[0] ?? ''
    const next = await colloquy([...argv, cursor])
    expect(next.out).toContain('Hello there')
    expect(next.out).not.toContain('--cursor')
  })

  it('prints no encrypted content and no control characters', async () => {
    const events = [
      callEvent('a', `x \u001b[2J \u202e {"encrypted_content":"${SECRET}"}`, {
        responses_reasoning_item: item,
      }),
      messageEvent('m', `said {"encrypted_content": "${SECRET}"}`),
      { id: 'bad \u202e id', kind: 'PauseEvent' },
    ]
    const pathOf = folder({ 'c.jsonl': lines(...events) })
    await colloquy(['import', pathOf('c.jsonl'), '--db', pathOf('x.db')])
    const argv = ['search', '--db', pathOf('x.db'), '--conversation', 'c']
    for (const more of [[], ['--json']]) {
      const { out, err } = await colloquy([...argv, ...more], {
        tty: true,
        env: { NO_COLOR: '1' },
        columns: 4000,
      })
      expect(out + err).not.toContain('secretsecret')
      // oxlint-disable-next-line no-control-regex -- the output must not contain them
      expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    }
    expect((await colloquy([...argv, '--json'])).out).toContain('"encrypted_content":null')
    for (const filters of COMMANDS.flatMap((filters) => [filters, `${filters} --json`])) {
      const { out, err } = await colloquy([...filters.split(' '), ...argv.slice(1)], { columns: 4000 })
      expect(out + err).not.toContain('secretsecret')
    }
    // An export keeps it, since a provider needs it again.
    expect((await colloquy(['export', ...argv.slice(1)])).out).toContain(SECRET)
  })
})

describe('conversations', () => {
  it('are listed in pages, newest first', async () => {
    const names = ['one', 'two', 'three']
    const pathOf = folder({
      ...Object.fromEntries(names.map((name) => [`${name}.jsonl`, lines({ id: 'p', kind: 'PauseEvent' })])),
      'old/meta.json': JSON.stringify({
        title: 'An \u001b[2J old one',
        created_at: '2020-02-03T04:05:06.000007Z',
      }),
      'old/base_state.json': JSON.stringify({ agent: { llm: { api_key: 'sk-verysecret' } } }),
      'old/event-00000-p.json': lines({ id: 'p', kind: 'PauseEvent' }),
    })
    for (const name of [...names.map((name) => `${name}.jsonl`), 'old'])
      await colloquy(['import', pathOf(name), '--db', pathOf('x.db')])
    const argv = ['conversations', '--db', pathOf('x.db')]
    const ids = await pages([...argv, '--limit', '3'])
    expect(ids.toSorted()).toEqual(['old', 'one', 'three', 'two'])
    expect(ids.at(-1)).toBe('old')
    const { items } = await page(argv)
    expect(items.at(-1)).toEqual({
      id: 'old',
      title: 'An \u001b[2J old one',
      public: false,
      tags: {},
      owner: null,
      time_zone: null,
      parent_conversation_id: null,
      created_at: '2020-02-03T04:05:06.000007Z',
      updated_at: expect.any(String),
      events: 1,
      head: 'p',
    })
    const printed = await colloquy([...argv, '--limit', '3'])
    expect(printed.out).toContain('3 conversations, more follow')
    const next = await colloquy([
      ...argv,
      '--limit',
      '3',
      /--cursor=\S+$/.exec(printed.out.trimEnd())?.[0] ?? '',
    ])
    expect(next.out).toContain('2020-02-03 04:05:06  An ␛[2J old one')
    for (const json of [[], ['--json']])
      expect((await colloquy([...argv, ...json])).out).not.toContain('verysecret')
  })

  it('are listed without an empty last page', async () => {
    const pathOf = folder({})
    await withStore(pathOf('x.db'), async (store) => {
      for (const id of ['a', 'b']) await store.createConversation({ id })
    })
    const argv = ['conversations', '--db', pathOf('x.db')]
    expect((await pages(argv)).toSorted()).toEqual(['a', 'b'])
    const first = await page([...argv, '--limit', '1'])
    const last = await page([...argv, '--limit', '1', '--cursor', first.cursor ?? ''])
    expect([first.items.length, last.items.length, last.cursor]).toEqual([1, 1, null])
  })

  it('are found with and without the dashes of their UUID', async () => {
    const pathOf = folder({
      '6f1c9f0e1a2b4c3d8e4f5a6b7c8d9e0f.jsonl': lines({ id: 'p', kind: 'PauseEvent' }),
    })
    await colloquy(['import', pathOf('6f1c9f0e1a2b4c3d8e4f5a6b7c8d9e0f.jsonl'), '--db', pathOf('x.db')])
    for (const id of ['6f1c9f0e1a2b4c3d8e4f5a6b7c8d9e0f', '6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f'])
      expect(await pages(['search', '--db', pathOf('x.db'), '--conversation', id])).toEqual(['p'])
  })
})

describe('a file name with a control character', () => {
  it('is printed without the character, and its hash is the conversation id', async () => {
    const pathOf = folder({})
    writeFileSync(pathOf('a\u001b[2J.jsonl'), lines({ id: 'p', kind: 'PauseEvent' }))
    const { code, out } = await colloquy(['import', pathOf('a\u001b[2J.jsonl'), '--db', pathOf('x.db')])
    expect(code).toBe(0)
    // oxlint-disable-next-line no-control-regex -- the output must not contain them
    expect(out).not.toMatch(/\u001b/)
    // Ids have no control characters, so the id is a hash of the name.
    expect((await page(['conversations', '--db', pathOf('x.db')])).items[0]?.id).toMatch(
      /^import-[0-9a-f]{32}$/,
    )
    expect(
      (
        await runJson<{ file: string; added: number }>([
          'import',
          pathOf('a\u001b[2J.jsonl'),
          '--db',
          pathOf('x.db'),
        ])
      ).all[0].added,
    ).toBe(0)
  })
})
