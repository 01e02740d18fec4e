import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { colloquy, folder, lines, output, called, answered } from './world.ts'
import { PAUSE, type Report, imported, conversation } from './imported.ts'

describe('a file', () => {
  const log = lines(output('m', 'hi'), called('a', 'ls'), answered('o', 'a', 'done'))

  it('is called by its name, wherever it lies, and added once', async () => {
    const index = folder({
      'some/where/my log.jsonl': log,
      'else/my log.json': `[${log.trim().split('\n').join(',')}]`,
    })
    const db = index('x.db')
    const first = await imported([index('some/where/my log.jsonl'), '--db', db])
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
    const again = await imported([index('else/my log.json'), '--db', db])
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
    const more = log + lines(output('n', 'more'), PAUSE)
    const index = folder({ 'a.jsonl': `${log}{"id":"n","kind":"Mess`, 'b/a.jsonl': more, 'c/a.jsonl': log })
    const db = index('x.db')
    await imported([index('c/a.jsonl'), '--db', db])
    expect((await imported([index('b/a.jsonl'), '--db', db])).report).toMatchObject({
      events: 5,
      added: 2,
      present: 3,
    })
    // A shorter copy of the same log adds nothing.
    expect((await imported([index('c/a.jsonl'), '--db', db])).report).toMatchObject({ added: 0, present: 3 })
    // Line 4 differs in this file.
    const cut = await imported([index('a.jsonl'), '--db', db])
    expect(cut).toMatchObject({ code: 1, report: { error: { code: 'other_log' } } })
    expect(cut.report.error?.message).toContain('line 4')
  })

  it('is refused where another log stands, and nothing is changed', async () => {
    const index = folder({ 'a.jsonl': log, 'b/a.jsonl': lines(output('m', 'hi'), output('other', 'no')) })
    const db = index('x.db')
    await imported([index('a.jsonl'), '--db', db])
    const before = await conversation(db, 'a')
    const { code, err, report } = await imported([index('b/a.jsonl'), '--db', db])
    expect(code).toBe(1)
    expect(err).toMatch(/^colloquy: [^\n]*line 2 differs from the stored event in conversation "a"[^\n]*\n$/)
    expect(report).toEqual({
      file: index('b/a.jsonl'),
      error: { code: 'other_log', message: expect.any(String) },
    })
    expect(await conversation(db, 'a')).toEqual(before)
    expect(await imported([index('b/a.jsonl'), '--db', db, '--conversation', 'b'])).toMatchObject({
      code: 0,
      report: { conversation: 'b', added: 2 },
    })
  })

  it('tells what was upcast, quarantined and repaired, and what no store keeps', async () => {
    const events = [
      output('m', 'hi', { activated_microagents: ['x'] }),
      { id: 'x', kind: 'Odd' },
      { ...PAUSE, parent_id: 'nobody' },
      PAUSE,
      { id: 'd', kind: 'StreamingDeltaEvent', content: 'h' },
      { id: 'i', kind: 'InterruptEvent', timestamp: 'noon' },
    ]
    const index = folder({ 'a.jsonl': lines(...events) })
    const argv = [index('a.jsonl'), '--db', index('x.db')]
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
      'duplicate id',
      'unreadable timestamp',
    ])
      expect(out).toContain(words)
    expect(out).toContain('1 streaming delta')
  })

  it('with a last line that was cut off is imported, and told of', async () => {
    const index = folder({ 'a.jsonl': `${log}{"id":"x","kind":"Pau` })
    const { code, err, report } = await imported([index('a.jsonl'), '--db', index('x.db')])
    expect({ code, report }).toMatchObject({ code: 1, report: { added: 4, quarantined: 1 } })
    expect(err).toMatch(/^colloquy: .*line 4 is not JSON \(truncated last line\?\).*\n$/)
  })

  it('reads times without a zone in the one that is given, and keeps it', async () => {
    const time = folder({ 'a.jsonl': lines({ ...PAUSE, timestamp: '2026-07-01T12:00:00' }) })
    const argv = [time('a.jsonl'), '--db', time('x.db')]
    await imported([...argv, '--timezone', 'Europe/Berlin'])
    const { record, log } = await conversation(time('x.db'), 'a')
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
    const index = folder({ 'a.jsonl': '' })
    expect((await imported([index('a.jsonl'), '--db', index('x.db')])).report).toMatchObject({
      created: true,
      events: 0,
    })
  })
})

describe('several files', () => {
  it('are each told about, and a bad one costs the others nothing', async () => {
    const index = folder({ 'a.jsonl': lines(PAUSE), 'b.jsonl': 'hello\n', 'c.jsonl': lines(PAUSE) })
    const files = [index('a.jsonl'), index('b.jsonl'), index('none.jsonl'), index('c.jsonl')]
    const { code, out, err } = await colloquy(['import', ...files, '--db', index('x.db'), '--json'])
    const reports: Report[] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(code).toBe(1)
    expect(reports.map(({ error, conversation }) => error?.code ?? conversation)).toEqual([
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
    const index = folder({
      'text.jsonl': 'hello\nworld\n',
      'binary.jsonl': Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 256)),
      'object.json': '{}',
      'empty/notes.txt': 'x',
      'fake.zip': 'PK no',
    })
    const {
      code: exit,
      err,
      report,
    } = await imported([...argv.map((name) => index(name)), '--db', index('x.db')])
    expect({ exit, error: report.error?.code }).toEqual({ exit: 1, error: code })
    expect(err).toMatch(/^colloquy: [^\n]+\n$/)
    expect(existsSync(index('x.db'))).toBe(false)
  })
})

it('a conversation of one event is listed as such', async () => {
  const index = folder({ 'one.jsonl': lines(PAUSE), 'two.jsonl': lines(output('m', 'hi'), PAUSE) })
  await colloquy(['import', index('one.jsonl'), index('two.jsonl'), '--db', index('x.db')])
  const { out } = await colloquy(['conversations', '--db', index('x.db')])
  expect(out).toMatch(/^ {2}one {2}1 event {3}20/m)
  expect(out).toMatch(/^ {2}two {2}2 events {2}20/m)
})
