/** Import: what a file, a directory and a zip become, what is told of them, and that repeating it changes nothing. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { inFile, kept } from './database.ts'
import { colloquy, folder, lines, said, called, answered } from './world.ts'
import { makeZip } from './zip.ts'

const HEX = '6f1c9f0e1a2b4c3d8e4f5a6b7c8d9e0f'
const UUID = '6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f'
const PAUSE = { id: 'p', kind: 'PauseEvent' }

/** What `import --json` says of one file. */
interface Report {
  readonly conversation: string
  readonly notes: readonly string[]
  readonly error?: { readonly code: string; readonly message: string }
}

async function imported(
  argv: readonly string[],
  stdin = '',
): Promise<{ code: number; err: string; report: Report }> {
  const { code, out, err } = await colloquy(['import', ...argv, '--json'], { stdin })
  expect(out.split('\n')).toHaveLength(2)
  return { code, err, report: JSON.parse(out) }
}

const conversation = (file: string, id: string) => inFile(file, (store) => kept(store, id))

/** A folder with the files in its subfolder c. */
const inC = (given: Readonly<Record<string, string>>) =>
  folder(Object.fromEntries(Object.entries(given).map(([name, text]) => [`c/${name}`, text])))

describe('a file', () => {
  const log = lines(said('m', 'hi'), called('a', 'ls'), answered('o', 'a', 'done'))

  it('is called by its name, wherever it lies, and added once', async () => {
    const at = folder({
      'some/where/my log.jsonl': log,
      'else/my log.json': `[${log.trim().split('\n').join(',')}]`,
    })
    const db = at('x.db')
    const first = await imported([at('some/where/my log.jsonl'), '--db', db])
    expect(first).toMatchObject({
      code: 0,
      err: '',
      report: {
        conversation: 'my log',
        created: true,
        events: 3,
        added: 3,
        present: 0,
        quarantined: 0,
        head: null,
      },
    })
    const before = await conversation(db, 'my log')
    const again = await imported([at('else/my log.json'), '--db', db])
    expect(again.report).toMatchObject({
      conversation: 'my log',
      created: false,
      events: 3,
      added: 0,
      present: 3,
    })
    expect(await conversation(db, 'my log')).toEqual(before)
  })

  it('goes on where it broke off, and with what was recorded since', async () => {
    const more = log + lines(said('n', 'more'), PAUSE)
    const at = folder({ 'a.jsonl': `${log}{"id":"n","kind":"Mess`, 'b/a.jsonl': more, 'c/a.jsonl': log })
    const db = at('x.db')
    await imported([at('c/a.jsonl'), '--db', db])
    expect((await imported([at('b/a.jsonl'), '--db', db])).report).toMatchObject({
      events: 5,
      added: 2,
      present: 3,
    })
    // A shorter copy of the same log says nothing new.
    expect((await imported([at('c/a.jsonl'), '--db', db])).report).toMatchObject({ added: 0, present: 3 })
    // What stands in the fourth place there is another line here.
    const cut = await imported([at('a.jsonl'), '--db', db])
    expect(cut).toMatchObject({ code: 1, report: { error: { code: 'other_log' } } })
    expect(cut.report.error?.message).toContain('line 4')
  })

  it('is refused where another log stands, and nothing is changed', async () => {
    const at = folder({ 'a.jsonl': log, 'b/a.jsonl': lines(said('m', 'hi'), said('other', 'no')) })
    const db = at('x.db')
    await imported([at('a.jsonl'), '--db', db])
    const before = await conversation(db, 'a')
    const { code, err, report } = await imported([at('b/a.jsonl'), '--db', db])
    expect(code).toBe(1)
    expect(err).toMatch(/^colloquy: [^\n]*line 2 is another event than conversation "a" has there[^\n]*\n$/)
    expect(report).toEqual({
      file: at('b/a.jsonl'),
      error: { code: 'other_log', message: expect.any(String) },
    })
    expect(await conversation(db, 'a')).toEqual(before)
    expect(await imported([at('b/a.jsonl'), '--db', db, '--conversation', 'b'])).toMatchObject({
      code: 0,
      report: { conversation: 'b', added: 2 },
    })
  })

  it('tells what was upcast, quarantined and repaired, and what no store keeps', async () => {
    const events = [
      said('m', 'hi', { activated_microagents: ['x'] }),
      { id: 'x', kind: 'Odd' },
      { ...PAUSE, parent_id: 'nobody' },
      PAUSE,
      { id: 'd', kind: 'StreamingDeltaEvent', content: 'h' },
      { id: 'i', kind: 'InterruptEvent', timestamp: 'noon' },
    ]
    const at = folder({ 'a.jsonl': lines(...events) })
    const argv = [at('a.jsonl'), '--db', at('x.db')]
    const { code, report } = await imported(argv)
    expect(code).toBe(0)
    expect(report).toMatchObject({
      events: 5,
      added: 5,
      skipped: 1,
      upcasts: [{ name: 'early.activated_microagents', count: 1, line: 1 }],
      quarantined: 1,
      issues: [{ line: 2, kind: 'Odd', loc: ['kind'], type: 'union_tag_invalid' }],
      repairs: [
        { code: 'unknown_parent', count: 1, line: 3 },
        { code: 'duplicate_id', count: 1, line: 4 },
        { code: 'unreadable_timestamp', count: 1, line: 6 },
      ],
    })
    const { out } = await colloquy(['import', ...argv])
    for (const words of [
      '5 there already',
      'older shape',
      'quarantined',
      'unknown parent',
      'repeated id',
      'unreadable time',
    ])
      expect(out).toContain(words)
    expect(out).toContain('1 streaming delta')
  })

  it('with a last line that was cut off is imported, and told of', async () => {
    const at = folder({ 'a.jsonl': `${log}{"id":"x","kind":"Pau` })
    const { code, err, report } = await imported([at('a.jsonl'), '--db', at('x.db')])
    expect({ code, report }).toMatchObject({ code: 1, report: { added: 4, quarantined: 1 } })
    expect(err).toMatch(/^colloquy: .*line 4 is not JSON \(truncated last line\?\).*\n$/)
  })

  it('reads times without a zone in the one that is given, and keeps it', async () => {
    const at = folder({ 'a.jsonl': lines({ ...PAUSE, timestamp: '2026-07-01T12:00:00' }) })
    const argv = [at('a.jsonl'), '--db', at('x.db')]
    await imported([...argv, '--timezone', 'Europe/Berlin'])
    const { record, log } = await conversation(at('x.db'), 'a')
    expect(record.timeZone).toBe('Europe/Berlin')
    expect(log).toMatchObject([
      { time: String(Date.UTC(2026, 6, 1, 10) * 1000), fact: { timestamp: '2026-07-01T12:00:00' } },
    ])
    expect(await imported(argv)).toMatchObject({ code: 0, report: { added: 0 } })
    expect(await imported([...argv, '--timezone', 'Asia/Tokyo'])).toMatchObject({
      code: 1,
      report: { error: { code: 'other_time_zone' } },
    })
  })

  it('may come in on standard input, and has more than a batch', async () => {
    const many = lines(...Array.from({ length: 1234 }, (_, i) => ({ id: `p${i}`, kind: 'PauseEvent' })))
    const db = folder({})('x.db')
    expect((await imported(['-', '--db', db, '--conversation', 'c'], many)).report).toMatchObject({
      added: 1234,
    })
    expect((await imported(['-', '--db', db, '--conversation', 'c'], many)).report).toMatchObject({
      present: 1234,
    })
  })

  it('without events is a conversation without events', async () => {
    const at = folder({ 'a.jsonl': '' })
    expect((await imported([at('a.jsonl'), '--db', at('x.db')])).report).toMatchObject({
      created: true,
      events: 0,
    })
  })
})

describe('several files', () => {
  it('are each told about, and a bad one costs the others nothing', async () => {
    const at = folder({ 'a.jsonl': lines(PAUSE), 'b.jsonl': 'hello\n', 'c.jsonl': lines(PAUSE) })
    const files = [at('a.jsonl'), at('b.jsonl'), at('none.jsonl'), at('c.jsonl')]
    const { code, out, err } = await colloquy(['import', ...files, '--db', at('x.db'), '--json'])
    const told: Report[] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(code).toBe(1)
    expect(told.map(({ error, conversation }) => error?.code ?? conversation)).toEqual([
      'a',
      'not_json',
      'not_found',
      'c',
    ])
    expect(err.split('\n')).toHaveLength(3)
  })
})

describe('nothing is begun', () => {
  it.each([
    { name: 'a file that is not there', argv: ['none.jsonl'], code: 'not_found' },
    { name: 'a file of another kind', argv: ['text.jsonl'], code: 'not_json' },
    { name: 'a binary file', argv: ['binary.jsonl'], code: 'not_json' },
    { name: 'an object', argv: ['object.json'], code: 'not_an_array' },
    { name: 'an empty directory', argv: ['empty'], code: 'no_events' },
    { name: 'what only calls itself a zip', argv: ['fake.zip'], code: 'not_a_zip' },
  ])('for $name', async ({ argv, code }) => {
    const at = folder({
      'text.jsonl': 'hello\nworld\n',
      'binary.jsonl': Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 256)),
      'object.json': '{}',
      'empty/notes.txt': 'x',
      'fake.zip': 'PK no',
    })
    const { code: exit, err, report } = await imported([...argv.map((name) => at(name)), '--db', at('x.db')])
    expect({ exit, error: report.error?.code }).toEqual({ exit: 1, error: code })
    expect(err).toMatch(/^colloquy: [^\n]+\n$/)
    expect(existsSync(at('x.db'))).toBe(false)
  })
})

describe('a directory', () => {
  const meta = {
    id: HEX,
    title: 'Fix the build',
    metrics: null,
    created_at: '2026-01-02T03:04:05.678901Z',
    updated_at: '2026-01-03T00:00:00Z',
    parent_conversation_id: 'aaaaaaaaaaaa4aaa8aaaaaaaaaaaaaaa',
    tags: { team: 'core', 'Not a tag': 'x' },
    workspace: { working_dir: '/w' },
  }
  const base = { id: UUID, agent: { llm: { model: 'm', api_key: 'sk-secret' } }, execution_status: 'idle' }
  const events = {
    'events/event-00000-m.json': JSON.stringify(said('m', 'hi')),
    'events/event-00001-n.json': JSON.stringify(said('n', 'more')),
    'events/event-00002-p.json': JSON.stringify(PAUSE),
  }
  const files = (baseState: object = base, rest: object = {}): Record<string, string> => ({
    'meta.json': JSON.stringify(meta),
    'base_state.json': JSON.stringify(baseState),
    ...events,
    ...rest,
  })

  it('becomes the conversation that its documents describe', async () => {
    const at = inC(
      files(base, { 'events/.eventlog.lock': '', 'owner_lease.json': '{}', 'observations/big.txt': 'x' }),
    )
    const { code, report } = await imported([at('c'), '--db', at('x.db'), '--conversation', 'other'])
    expect({ code, report }).toMatchObject({ code: 0, report: { conversation: UUID, added: 3, head: null } })
    expect(report.notes.join('\n')).toContain('--conversation is not used')
    expect(report.notes.join('\n')).toContain('left out: observations')
    expect((await conversation(at('x.db'), UUID)).record).toEqual({
      id: UUID,
      title: 'Fix the build',
      public: false,
      sandboxId: null,
      status: null,
      tags: { team: 'core' },
      metadata: { persisted: { meta, base_state: base } },
      timeZone: null,
      parentConversationId: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
      createdAt: '2026-01-02T03:04:05.678901Z',
      version: 3,
      headId: 'p',
    })
  })

  it('moves HEAD to where base_state.json has it, once', async () => {
    const at = inC(files({ ...base, leaf_event_id: 'm', head_is_empty: false }))
    const argv = [at('c'), '--db', at('x.db')]
    const first = await imported(argv)
    expect(first.report).toMatchObject({ events: 3, added: 4, present: 0, head: { value: 'm', added: true } })
    const before = await conversation(at('x.db'), UUID)
    expect(before.record).toMatchObject({ version: 4, headId: 'm' })
    expect(await imported(argv)).toMatchObject({
      code: 0,
      report: { events: 3, added: 0, present: 3, head: { value: 'm', added: false } },
    })
    expect(await conversation(at('x.db'), UUID)).toEqual(before)
    const { out } = await colloquy(['import', ...argv])
    expect(out).toContain('HEAD at m, as base_state.json has it')
  })

  it.each([
    { says: { head_is_empty: true }, head: null, version: 4 },
    { says: { leaf_event_id: 'p' }, head: 'p', version: 3 },
    { says: { leaf_event_id: null, head_is_empty: false }, head: 'p', version: 3 },
    { says: { leaf_event_id: 'nobody' }, head: 'p', version: 3, note: 'which is not there' },
    // A state update stands for the event before it.
    { says: { leaf_event_id: 'u' }, head: 'p', version: 4, update: 'p' },
    { says: { leaf_event_id: 'u' }, head: 'm', version: 5, update: 'm' },
  ])('replays to what base_state.json says: $says', async ({ says, head, version, note = '', update }) => {
    const state = { id: 'u', kind: 'ConversationStateUpdateEvent', key: 'x', value: 1, parent_id: update }
    const more = update === undefined ? {} : { 'events/event-00003-u.json': JSON.stringify(state) }
    const at = inC(files({ ...base, ...says }, more))
    const { report } = await imported([at('c'), '--db', at('x.db')])
    expect(report.notes.join()).toContain(note)
    expect((await conversation(at('x.db'), UUID)).record).toMatchObject({ headId: head, version })
  })

  it('leaves HEAD to a conversation that has gone on since', async () => {
    const at = inC(files({ ...base, leaf_event_id: 'm' }))
    const db = at('x.db')
    await colloquy(['import', '-', '--db', db, '--conversation', UUID], {
      stdin: lines(said('m', 'hi'), said('n', 'more'), PAUSE, said('q', 'on')),
    })
    const { report } = await imported([at('c'), '--db', db])
    expect(report).toMatchObject({ added: 0, head: null })
    expect(report.notes.join()).toContain('has gone on since')
    expect((await conversation(db, UUID)).record).toMatchObject({ version: 4, headId: 'q' })
  })

  it('is written back as it was', async () => {
    for (const says of [{}, { leaf_event_id: 'p', head_is_empty: false }]) {
      const at = inC(files({ ...base, ...says }))
      await imported([at('c'), '--db', at('x.db')])
      const argv = [
        'export',
        '--db',
        at('x.db'),
        '--conversation',
        HEX,
        '--format',
        'directory',
        '--output',
        at('out'),
      ]
      expect((await colloquy(argv)).code).toBe(0)
      expect(readdirSync(at('out')).toSorted()).toEqual(['base_state.json', 'events', 'meta.json'])
      for (const [name, text] of Object.entries(files({ ...base, ...says })))
        expect(readFileSync(at(`out/${name}`), 'utf8')).toBe(text)
    }
  })

  it('may be a bare folder of events, called by the folder above', async () => {
    const at = folder(
      Object.fromEntries(Object.entries(events).map(([name, text]) => [`${HEX}/${name}`, text])),
    )
    const { report } = await imported([at(`${HEX}/events`), '--db', at('x.db')])
    expect(report).toMatchObject({ conversation: UUID, added: 3 })
  })

  it('with documents that cannot be read still has its events', async () => {
    const at = inC({ ...files(), 'meta.json': '{"id', 'base_state.json': '[]' })
    const { code, report } = await imported([at('c'), '--db', at('x.db'), '--conversation', 'c'])
    expect({ code, report }).toMatchObject({ code: 0, report: { conversation: 'c', added: 3 } })
    expect(report.notes).toEqual([
      'meta.json is no JSON object, and left out',
      'base_state.json is no JSON object, and left out',
    ])
  })
})

describe('a zip', () => {
  const hosted = {
    'event_000001_b.json': JSON.stringify(said('b', 'two'), null, 2),
    'event_000000_a.json': JSON.stringify(said('a', 'one'), null, 2),
    'meta.json': JSON.stringify({ id: HEX, title: 'Hosted', created_at: '2026-01-01T00:00:00Z' }, null, 2),
  }

  it('of the hosted service has its events at the root', async () => {
    const at = folder({ 'x.zip': makeZip(hosted) })
    const { report } = await imported([at('x.zip'), '--db', at('x.db')])
    expect(report).toMatchObject({ conversation: UUID, added: 2, notes: [] })
    const { record, log } = await conversation(at('x.db'), UUID)
    expect(record).toMatchObject({ title: 'Hosted', createdAt: '2026-01-01T00:00:00.000000Z', headId: 'b' })
    expect(log).toMatchObject([{ id: 'a' }, { id: 'b', parentId: 'a' }])
  })

  it('of an agent server has the conversation’s folder', async () => {
    const files = {
      [`${HEX}/meta.json`]: JSON.stringify({ id: HEX, title: 'Served' }),
      [`${HEX}/base_state.json`]: JSON.stringify({ id: UUID, leaf_event_id: 'a' }),
      [`${HEX}/events/event-00000-a.json`]: JSON.stringify(said('a', 'one')),
      [`${HEX}/events/event-00001-b.json`]: JSON.stringify(said('b', 'two')),
      [`${HEX}/acp/state.json`]: '{}',
    }
    const at = folder({ trajectory: makeZip(files) })
    const { report } = await imported([at('trajectory'), '--db', at('x.db')])
    expect(report).toMatchObject({ conversation: UUID, added: 3, head: { value: 'a', added: true } })
    expect(report.notes).toEqual([`left out: ${HEX}/acp/state.json`])
  })

  it('is also read by the commands over files', async () => {
    const at = folder({ 'x.zip': makeZip(hosted) })
    const { code, out } = await colloquy(['replay', at('x.zip'), '--json'])
    expect({ code, answer: JSON.parse(out) }).toMatchObject({ code: 0, answer: { events: 2, head: 'b' } })
  })

  it('without documents is called by its folder, or its own name', async () => {
    const event = JSON.stringify(PAUSE)
    const at = folder({
      'a.zip': makeZip({ 'run 7/events/event-00000-p.json': event }),
      'b.zip': makeZip({ 'event_000000_p.json': event }),
    })
    expect((await imported([at('a.zip'), '--db', at('x.db')])).report.conversation).toBe('run 7')
    expect((await imported([at('b.zip'), '--db', at('x.db')])).report.conversation).toBe('b')
  })

  it('goes on where it broke off', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [
        `c/events/event-${String(i).padStart(5, '0')}-m${i}.json`,
        JSON.stringify(said(`m${i}`, 'word '.repeat(4000))),
      ]),
    )
    const whole = makeZip(many)
    // One byte in the middle of the archive is another: the file that it belongs to has a wrong checksum.
    const broken = Buffer.from(whole)
    const at = folder({})
    const where = whole.indexOf('event-00400-m400.json') + 40
    broken[where] = (broken[where] as number) ^ 0xff
    writeFileSync(at('c.zip'), broken)
    const failed = await imported([at('c.zip'), '--db', at('x.db')])
    expect(failed).toMatchObject({ code: 1, report: { error: { code: 'not_a_zip' } } })
    const { record: half } = await conversation(at('x.db'), 'c')
    expect(half.version).toBeGreaterThan(0)
    expect(half.version).toBeLessThan(400)
    writeFileSync(at('c.zip'), whole)
    const { report } = await imported([at('c.zip'), '--db', at('x.db')])
    expect(report).toMatchObject({ conversation: 'c', events: 500, present: half.version })
    const { record } = await conversation(at('x.db'), 'c')
    expect(record).toMatchObject({ version: 500, headId: 'm499' })
  })
})
