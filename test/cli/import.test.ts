import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { colloquy, folder, lines, messageEvent, callEvent, resultEvent } from './run-command.ts'
import { PAUSE, type Report, runImport, storedConversation } from './run-import.ts'

describe('import of a file', () => {
  const log = lines(messageEvent('m', 'hi'), callEvent('a', 'ls'), resultEvent('o', 'a', 'done'))

  it('uses the file name as the id in any folder, and adds the events once', async () => {
    const pathOf = folder({
      'some/where/my log.jsonl': log,
      'else/my log.json': `[${log.trim().split('\n').join(',')}]`,
    })
    const db = pathOf('x.db')
    const first = await runImport([pathOf('some/where/my log.jsonl'), '--db', db])
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
    const before = await storedConversation(db, 'my log')
    const again = await runImport([pathOf('else/my log.json'), '--db', db])
    expect(again.report).toMatchObject({
      conversation: 'my log',
      created: false,
      events: 3,
      added: 0,
      present: 3,
    })
    expect(await storedConversation(db, 'my log')).toEqual(before)
  })

  it('adds only new events, and rejects a copy whose line 4 differs', async () => {
    const more = log + lines(messageEvent('n', 'more'), PAUSE)
    const pathOf = folder({ 'a.jsonl': `${log}{"id":"n","kind":"Mess`, 'b/a.jsonl': more, 'c/a.jsonl': log })
    const db = pathOf('x.db')
    await runImport([pathOf('c/a.jsonl'), '--db', db])
    expect((await runImport([pathOf('b/a.jsonl'), '--db', db])).report).toMatchObject({
      events: 5,
      added: 2,
      present: 3,
    })
    // A shorter copy of the same log adds nothing.
    expect((await runImport([pathOf('c/a.jsonl'), '--db', db])).report).toMatchObject({
      added: 0,
      present: 3,
    })
    // Line 4 differs in this file.
    const cut = await runImport([pathOf('a.jsonl'), '--db', db])
    expect(cut).toMatchObject({ code: 1, report: { error: { code: 'other_log' } } })
    expect(cut.report.error?.message).toContain('line 4')
  })

  it('rejects a file that differs from the stored log, and changes nothing', async () => {
    const pathOf = folder({
      'a.jsonl': log,
      'b/a.jsonl': lines(messageEvent('m', 'hi'), messageEvent('other', 'no')),
    })
    const db = pathOf('x.db')
    await runImport([pathOf('a.jsonl'), '--db', db])
    const before = await storedConversation(db, 'a')
    const { code, err, report } = await runImport([pathOf('b/a.jsonl'), '--db', db])
    expect(code).toBe(1)
    expect(err).toMatch(/^colloquy: [^\n]*line 2 differs from the stored event in conversation "a"[^\n]*\n$/)
    expect(report).toEqual({
      file: pathOf('b/a.jsonl'),
      error: { code: 'other_log', message: expect.any(String) },
    })
    expect(await storedConversation(db, 'a')).toEqual(before)
    expect(await runImport([pathOf('b/a.jsonl'), '--db', db, '--conversation', 'b'])).toMatchObject({
      code: 0,
      report: { conversation: 'b', added: 2 },
    })
  })

  it('reports upcasts, quarantined lines, repairs and skipped streaming deltas', async () => {
    const events = [
      messageEvent('m', 'hi', { activated_microagents: ['x'] }),
      { id: 'x', kind: 'Odd' },
      { ...PAUSE, parent_id: 'nobody' },
      PAUSE,
      { id: 'd', kind: 'StreamingDeltaEvent', content: 'h' },
      { id: 'i', kind: 'InterruptEvent', timestamp: 'noon' },
    ]
    const pathOf = folder({ 'a.jsonl': lines(...events) })
    const argv = [pathOf('a.jsonl'), '--db', pathOf('x.db')]
    const { code, report } = await runImport(argv)
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
    for (const text of [
      '5 already stored',
      'older shape',
      'quarantined',
      'unknown parent',
      'duplicate id',
      'unreadable timestamp',
    ])
      expect(out).toContain(text)
    expect(out).toContain('1 streaming delta')
  })

  it('quarantines and reports a truncated last line', async () => {
    const pathOf = folder({ 'a.jsonl': `${log}{"id":"x","kind":"Pau` })
    const { code, err, report } = await runImport([pathOf('a.jsonl'), '--db', pathOf('x.db')])
    expect({ code, report }).toMatchObject({ code: 1, report: { added: 4, quarantined: 1 } })
    expect(err).toMatch(/^colloquy: .*line 4 is not JSON \(truncated last line\?\).*\n$/)
  })

  it('reads times in --timezone, stores the zone, and rejects another zone later', async () => {
    const time = folder({ 'a.jsonl': lines({ ...PAUSE, timestamp: '2026-07-01T12:00:00' }) })
    const argv = [time('a.jsonl'), '--db', time('x.db')]
    await runImport([...argv, '--timezone', 'Europe/Berlin'])
    const { record, log } = await storedConversation(time('x.db'), 'a')
    expect(record.timeZone).toBe('Europe/Berlin')
    expect(log).toMatchObject([
      { time: String(Date.UTC(2026, 6, 1, 10) * 1000), fact: { timestamp: '2026-07-01T12:00:00' } },
    ])
    expect(await runImport(argv)).toMatchObject({ code: 0, report: { added: 0 } })
    expect(await runImport([...argv, '--timezone', 'Asia/Tokyo'])).toMatchObject({
      code: 1,
      report: { error: { code: 'other_time_zone' } },
    })
  })

  it('adds 1,234 events from standard input once', async () => {
    const many = lines(...Array.from({ length: 1234 }, (_, i) => ({ id: `p${i}`, kind: 'PauseEvent' })))
    const db = folder({})('x.db')
    expect((await runImport(['-', '--db', db, '--conversation', 'c'], many)).report).toMatchObject({
      added: 1234,
    })
    expect((await runImport(['-', '--db', db, '--conversation', 'c'], many)).report).toMatchObject({
      present: 1234,
    })
  })

  it('creates an empty conversation for an empty file', async () => {
    const pathOf = folder({ 'a.jsonl': '' })
    expect((await runImport([pathOf('a.jsonl'), '--db', pathOf('x.db')])).report).toMatchObject({
      created: true,
      events: 0,
    })
  })
})

describe('import of several files', () => {
  it('reports each file, and imports the valid ones despite invalid ones', async () => {
    const pathOf = folder({ 'a.jsonl': lines(PAUSE), 'b.jsonl': 'hello\n', 'c.jsonl': lines(PAUSE) })
    const files = [pathOf('a.jsonl'), pathOf('b.jsonl'), pathOf('none.jsonl'), pathOf('c.jsonl')]
    const { code, out, err } = await colloquy(['import', ...files, '--db', pathOf('x.db'), '--json'])
    const reports: Report[] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(code).toBe(1)
    expect(
      reports.map(({ error, conversation: storedConversation }) => error?.code ?? storedConversation),
    ).toEqual(['a', 'not_json', 'not_found', 'c'])
    expect(err.split('\n')).toHaveLength(3)
  })
})

describe('a failed import', () => {
  it.each([
    { name: 'a missing file', argv: ['none.jsonl'], code: 'not_found' },
    { name: 'a text file', argv: ['text.jsonl'], code: 'not_json' },
    { name: 'a binary file', argv: ['binary.jsonl'], code: 'not_json' },
    { name: 'a JSON object', argv: ['object.json'], code: 'not_an_array' },
    { name: 'lines in another format', argv: ['history.jsonl'], code: 'no_events' },
    { name: 'a long list in another format', argv: ['list.json'], code: 'no_events' },
    { name: 'a directory without events', argv: ['empty'], code: 'no_events' },
    { name: 'a .zip file in another format', argv: ['fake.zip'], code: 'not_a_zip' },
  ])('creates no database for $name', async ({ argv, code }) => {
    const pathOf = folder({
      'text.jsonl': 'hello\nworld\n',
      'binary.jsonl': Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 256)),
      'object.json': '{}',
      'history.jsonl': '{"display":"hi","timestamp":1}\n{"cut\n',
      'list.json': JSON.stringify(Array.from({ length: 3000 }, (_, id) => ({ id, text: 'hi' }))),
      'empty/notes.txt': 'x',
      'fake.zip': 'PK no',
    })
    const {
      code: exit,
      err,
      report,
    } = await runImport([...argv.map((name) => pathOf(name)), '--db', pathOf('x.db')])
    expect({ exit, error: report.error?.code }).toEqual({ exit: 1, error: code })
    expect(err).toMatch(/^colloquy: [^\n]+\n$/)
    expect(existsSync(pathOf('x.db'))).toBe(false)
  })
})

it('conversations prints "1 event" and "2 events"', async () => {
  const pathOf = folder({ 'one.jsonl': lines(PAUSE), 'two.jsonl': lines(messageEvent('m', 'hi'), PAUSE) })
  await colloquy(['import', pathOf('one.jsonl'), pathOf('two.jsonl'), '--db', pathOf('x.db')])
  const { out } = await colloquy(['conversations', '--db', pathOf('x.db')])
  expect(out).toMatch(/^ {2}one {2}1 event {3}20/m)
  expect(out).toMatch(/^ {2}two {2}2 events {2}20/m)
})
