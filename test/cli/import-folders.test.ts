import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { colloquy, folder, lines, output } from './world.ts'
import { makeZip } from './zip.ts'
import { createEngine, memoryStore } from '../../src/index.ts'
import { createService } from '../../src/service/index.ts'
import { PAUSE, imported, conversation } from './imported.ts'

const HEX = '6f1c9f0e1a2b4c3d8e4f5a6b7c8d9e0f'

const UUID = '6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f'

const inC = (input: Readonly<Record<string, string>>) =>
  folder(Object.fromEntries(Object.entries(input).map(([name, text]) => [`c/${name}`, text])))

/** More tags than a record accepts. */
const MANY = Object.fromEntries(Array.from({ length: 120 }, (_, nth) => [`t${nth}`, 'x']))

describe('a directory', () => {
  const meta = {
    id: HEX,
    title: 'Fix the build',
    metrics: null,
    created_at: '2026-01-02T03:04:05.678901Z',
    updated_at: '2026-01-03T00:00:00Z',
    parent_conversation_id: 'aaaaaaaaaaaa4aaa8aaaaaaaaaaaaaaa',
    tags: { team: 'core', 'Not a tag': 'x', ['long'.repeat(26)]: 'x', ...MANY },
    workspace: { working_dir: '/w' },
  }
  const base = { id: UUID, agent: { llm: { model: 'm', api_key: 'sk-secret' } }, execution_status: 'idle' }
  const events = {
    'events/event-00000-m.json': JSON.stringify(output('m', 'hi')),
    'events/event-00001-n.json': JSON.stringify(output('n', 'more')),
    'events/event-00002-p.json': JSON.stringify(PAUSE),
  }
  const files = (baseState: object = base, rest: object = {}): Record<string, string> => ({
    'meta.json': JSON.stringify(meta),
    'base_state.json': JSON.stringify(baseState),
    ...events,
    ...rest,
  })

  it('becomes the conversation that its documents describe', async () => {
    const index = inC(
      files(base, { 'events/.eventlog.lock': '', 'owner_lease.json': '{}', 'observations/big.txt': 'x' }),
    )
    const { code, report } = await imported([index('c'), '--db', index('x.db'), '--conversation', 'other'])
    expect({ code, report }).toMatchObject({ code: 0, report: { conversation: UUID, added: 3, head: null } })
    expect(report.notes.join('\n')).toContain('--conversation is ignored')
    expect(report.notes.join('\n')).toContain('left out: observations')
    expect((await conversation(index('x.db'), UUID)).record).toEqual({
      id: UUID,
      title: 'Fix the build',
      public: false,
      sandboxId: null,
      owner: null,
      status: null,
      tags: { team: 'core', ...Object.fromEntries(Object.entries(MANY).slice(0, 99)) },
      metadata: { persisted: { meta, base_state: base } },
      timeZone: null,
      parentConversationId: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
      createdAt: '2026-01-02T03:04:05.678901Z',
      version: 3,
      headId: 'p',
    })
  })

  it('moves HEAD to where base_state.json has it, once', async () => {
    const index = inC(files({ ...base, leaf_event_id: 'm', head_is_empty: false }))
    const argv = [index('c'), '--db', index('x.db')]
    const first = await imported(argv)
    expect(first.report).toMatchObject({ events: 3, added: 4, present: 0, head: { value: 'm', added: true } })
    const before = await conversation(index('x.db'), UUID)
    expect(before.record).toMatchObject({ version: 4, headId: 'm' })
    expect(await imported(argv)).toMatchObject({
      code: 0,
      report: { events: 3, added: 0, present: 3, head: { value: 'm', added: false } },
    })
    expect(await conversation(index('x.db'), UUID)).toEqual(before)
    const { out } = await colloquy(['import', ...argv])
    expect(out).toContain('HEAD at m, by base_state.json')
  })

  it.each([
    { says: { head_is_empty: true }, head: null, version: 4 },
    { says: { leaf_event_id: 'p' }, head: 'p', version: 3 },
    { says: { leaf_event_id: null, head_is_empty: false }, head: 'p', version: 3 },
    { says: { leaf_event_id: 'nobody' }, head: 'p', version: 3, note: 'unknown event "nobody"' },
    // A state update refers to the event before it.
    { says: { leaf_event_id: 'u' }, head: 'p', version: 4, update: 'p' },
    { says: { leaf_event_id: 'u' }, head: 'm', version: 5, update: 'm' },
  ])('replays to what base_state.json says: $says', async ({ says, head, version, note = '', update }) => {
    const state = { id: 'u', kind: 'ConversationStateUpdateEvent', key: 'x', value: 1, parent_id: update }
    const more = update === undefined ? {} : { 'events/event-00003-u.json': JSON.stringify(state) }
    const index = inC(files({ ...base, ...says }, more))
    const { report } = await imported([index('c'), '--db', index('x.db')])
    expect(report.notes.join()).toContain(note)
    expect((await conversation(index('x.db'), UUID)).record).toMatchObject({ headId: head, version })
  })

  it('leaves HEAD to a conversation that has gone on since', async () => {
    const index = inC(files({ ...base, leaf_event_id: 'm' }))
    const db = index('x.db')
    await colloquy(['import', '-', '--db', db, '--conversation', UUID], {
      stdin: lines(output('m', 'hi'), output('n', 'more'), PAUSE, output('q', 'on')),
    })
    const { report } = await imported([index('c'), '--db', db])
    expect(report).toMatchObject({ added: 0, head: null })
    expect(report.notes.join()).toContain('has continued since')
    expect((await conversation(db, UUID)).record).toMatchObject({ version: 4, headId: 'q' })
  })

  it('continues after the move of HEAD by an earlier import', async () => {
    const start = files({ ...base, leaf_event_id: 'm' })
    const index = inC(start)
    const db = index('x.db')
    await imported([index('c'), '--db', db])
    const more = output('q', 'on', { parent_id: 'm' })
    writeFileSync(index('c/events/event-00003-q.json'), JSON.stringify(more))
    writeFileSync(index('c/base_state.json'), JSON.stringify({ ...base, leaf_event_id: 'q' }))
    for (const added of [1, 0]) {
      const { code, report } = await imported([index('c'), '--db', db])
      expect({ code, report }).toMatchObject({ code: 0, report: { added, head: null } })
      expect((await conversation(db, UUID)).record).toMatchObject({ version: 5, headId: 'q' })
    }
    writeFileSync(index('c/base_state.json'), JSON.stringify({ ...base, leaf_event_id: 'n' }))
    for (const added of [1, 0]) {
      const { report } = await imported([index('c'), '--db', db])
      expect(report).toMatchObject({ added, head: { value: 'n', added: added === 1 } })
      expect((await conversation(db, UUID)).record).toMatchObject({ version: 6, headId: 'n' })
    }
  })

  it('is written back as it was', async () => {
    for (const says of [{}, { leaf_event_id: 'p', head_is_empty: false }]) {
      const index = inC(files({ ...base, ...says }))
      await imported([index('c'), '--db', index('x.db')])
      const argv = [
        'export',
        '--db',
        index('x.db'),
        '--conversation',
        HEX,
        '--format',
        'directory',
        '--output',
        index('out'),
      ]
      expect((await colloquy(argv)).code).toBe(0)
      expect(readdirSync(index('out')).toSorted()).toEqual(['base_state.json', 'events', 'meta.json'])
      for (const [name, text] of Object.entries(files({ ...base, ...says })))
        expect(readFileSync(index(`out/${name}`), 'utf8')).toBe(text)
    }
  })

  it('may be a bare folder of events, called by the folder above', async () => {
    const index = folder(
      Object.fromEntries(Object.entries(events).map(([name, text]) => [`${HEX}/${name}`, text])),
    )
    const { report } = await imported([index(`${HEX}/events`), '--db', index('x.db')])
    expect(report).toMatchObject({ conversation: UUID, added: 3 })
  })

  it('with documents that cannot be read still has its events', async () => {
    const index = inC({ ...files(), 'meta.json': '{"id', 'base_state.json': '[]' })
    const { code, report } = await imported([index('c'), '--db', index('x.db'), '--conversation', 'c'])
    expect({ code, report }).toMatchObject({ code: 0, report: { conversation: 'c', added: 3 } })
    expect(report.notes).toEqual([
      'meta.json is not a JSON object, and is ignored',
      'base_state.json is not a JSON object, and is ignored',
    ])
  })
})

describe('a zip', () => {
  const hosted = {
    'event_000001_b.json': JSON.stringify(output('b', 'two'), null, 2),
    'event_000000_a.json': JSON.stringify(output('a', 'one'), null, 2),
    'meta.json': JSON.stringify({ id: HEX, title: 'Hosted', created_at: '2026-01-01T00:00:00Z' }, null, 2),
  }

  it('of the hosted service has its events at the root', async () => {
    const index = folder({ 'x.zip': makeZip(hosted) })
    const { report } = await imported([index('x.zip'), '--db', index('x.db')])
    expect(report).toMatchObject({ conversation: UUID, added: 2, notes: [] })
    const { record, log } = await conversation(index('x.db'), UUID)
    expect(record).toMatchObject({ title: 'Hosted', createdAt: '2026-01-01T00:00:00.000000Z', headId: 'b' })
    expect(log).toMatchObject([{ id: 'a' }, { id: 'b', parentId: 'a' }])
  })

  it('of an agent server has the conversation’s folder', async () => {
    const files = {
      [`${HEX}/meta.json`]: JSON.stringify({ id: HEX, title: 'Served' }),
      [`${HEX}/base_state.json`]: JSON.stringify({ id: UUID, leaf_event_id: 'a' }),
      [`${HEX}/events/event-00000-a.json`]: JSON.stringify(output('a', 'one')),
      [`${HEX}/events/event-00001-b.json`]: JSON.stringify(output('b', 'two')),
      [`${HEX}/acp/state.json`]: '{}',
    }
    const index = folder({ trajectory: makeZip(files) })
    const { report } = await imported([index('trajectory'), '--db', index('x.db')])
    expect(report).toMatchObject({ conversation: UUID, added: 3, head: { value: 'a', added: true } })
    expect(report.notes).toEqual([`left out: ${HEX}/acp/state.json`])
  })

  it('is also read by the commands over files', async () => {
    const index = folder({ 'x.zip': makeZip(hosted) })
    const { code, out } = await colloquy(['replay', index('x.zip'), '--json'])
    expect({ code, answer: JSON.parse(out) }).toMatchObject({ code: 0, answer: { events: 2, head: 'b' } })
  })

  it('of a service is imported whole', async () => {
    const service = createService({ engine: createEngine({ store: memoryStore() }) })
    const ask = async (path: string, body?: object): Promise<Response> =>
      service.fetch(
        new Request(`http://localhost${path}`, body && { method: 'POST', body: JSON.stringify(body) }),
      )
    await ask('/api/conversations', { conversation_id: UUID })
    const llm_message = { role: 'user', content: [{ text: 'Grüße, 你好' }] }
    await ask(`/api/conversations/${UUID}/events`, { role: 'user', content: llm_message.content, run: false })
    const zip = await (await ask(`/api/file/download-trajectory/${UUID}`)).arrayBuffer()
    const index = folder({ 'x.zip': Buffer.from(zip) })
    const { report } = await imported([index('x.zip'), '--db', index('x.db')])
    expect(report).toMatchObject({ conversation: UUID })
    const { out } = await colloquy(['export', '--db', index('x.db'), '--conversation', UUID])
    expect(out).toContain('Grüße, 你好')
  })

  it('without documents is called by its folder, or its own name', async () => {
    const event = JSON.stringify(PAUSE)
    const index = folder({
      'a.zip': makeZip({ 'run 7/events/event-00000-p.json': event }),
      'b.zip': makeZip({ 'event_000000_p.json': event }),
    })
    expect((await imported([index('a.zip'), '--db', index('x.db')])).report.conversation).toBe('run 7')
    expect((await imported([index('b.zip'), '--db', index('x.db')])).report.conversation).toBe('b')
  })

  it('is refused while one file is damaged', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [
        `c/events/event-${String(i).padStart(5, '0')}-m${i}.json`,
        JSON.stringify(output(`m${i}`, 'word '.repeat(4000))),
      ]),
    )
    const whole = makeZip(many)
    // Changes one byte, so that one file's checksum is wrong.
    const broken = Buffer.from(whole)
    const index = folder({})
    const where = whole.indexOf('event-00400-m400.json') + 40
    broken[where] = (broken[where] as number) ^ 0xff
    writeFileSync(index('c.zip'), broken)
    const failed = await imported([index('c.zip'), '--db', index('x.db')])
    expect(failed).toMatchObject({ code: 1, report: { error: { code: 'not_a_zip' } } })
    writeFileSync(index('c.zip'), whole)
    const { report } = await imported([index('c.zip'), '--db', index('x.db')])
    expect(report).toMatchObject({ conversation: 'c', events: 500, added: 500 })
    const { record } = await conversation(index('x.db'), 'c')
    expect(record).toMatchObject({ version: 500, headId: 'm499' })
  })
})

it('files of events with the same name in a directory are named by their paths', async () => {
  const path = folder({
    'all/a/log.jsonl': lines(output('m', 'one')),
    'all/b/log.jsonl': lines(output('n', 'two')),
    'all/other.jsonl': lines(output('o', 'three')),
  })
  const { code, err } = await colloquy(['import', path('all'), '--db', path('x.db')])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const { out } = await colloquy(['conversations', '--db', path('x.db'), '--json'])
  const ids = (JSON.parse(out).items as { readonly id: string }[]).map(({ id }) => id)
  expect(ids.toSorted()).toEqual(['a-log', 'b-log', 'other'])
})
