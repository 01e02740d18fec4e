import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { colloquy, folder, lines, messageEvent } from './run-command.ts'
import { makeZip } from './zip.ts'
import { createEngine, memoryStore } from '../../src/index.ts'
import { createService } from '../../src/service/index.ts'
import { PAUSE, runImport, storedConversation } from './run-import.ts'

const HEX = '6f1c9f0e1a2b4c3d8e4f5a6b7c8d9e0f'

const UUID = '6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f'

const inC = (input: Readonly<Record<string, string>>) =>
  folder(Object.fromEntries(Object.entries(input).map(([name, text]) => [`c/${name}`, text])))

/** More tags than a record accepts. */
const MANY = Object.fromEntries(Array.from({ length: 120 }, (_, nth) => [`t${nth}`, 'x']))

describe('import of a directory', () => {
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
    'events/event-00000-m.json': JSON.stringify(messageEvent('m', 'hi')),
    'events/event-00001-n.json': JSON.stringify(messageEvent('n', 'more')),
    'events/event-00002-p.json': JSON.stringify(PAUSE),
  }
  const files = (baseState: object = base, rest: object = {}): Record<string, string> => ({
    'meta.json': JSON.stringify(meta),
    'base_state.json': JSON.stringify(baseState),
    ...events,
    ...rest,
  })

  it('creates the conversation that its documents describe', async () => {
    const pathOf = inC(
      files(base, { 'events/.eventlog.lock': '', 'owner_lease.json': '{}', 'observations/big.txt': 'x' }),
    )
    const { code, report } = await runImport([pathOf('c'), '--db', pathOf('x.db'), '--conversation', 'other'])
    expect({ code, report }).toMatchObject({ code: 0, report: { conversation: UUID, added: 3, head: null } })
    expect(report.notes.join('\n')).toContain('--conversation is ignored')
    expect(report.notes.join('\n')).toContain('left out: observations')
    expect((await storedConversation(pathOf('x.db'), UUID)).record).toEqual({
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

  it('moves HEAD to the leaf in base_state.json, once', async () => {
    const pathOf = inC(files({ ...base, leaf_event_id: 'm', head_is_empty: false }))
    const argv = [pathOf('c'), '--db', pathOf('x.db')]
    const first = await runImport(argv)
    expect(first.report).toMatchObject({ events: 3, added: 4, present: 0, head: { value: 'm', added: true } })
    const before = await storedConversation(pathOf('x.db'), UUID)
    expect(before.record).toMatchObject({ version: 4, headId: 'm' })
    expect(await runImport(argv)).toMatchObject({
      code: 0,
      report: { events: 3, added: 0, present: 3, head: { value: 'm', added: false } },
    })
    expect(await storedConversation(pathOf('x.db'), UUID)).toEqual(before)
    const { out } = await colloquy(['import', ...argv])
    expect(out).toContain('HEAD at m, by base_state.json')
  })

  it.each([
    { leaf: { head_is_empty: true }, head: null, version: 4 },
    { leaf: { leaf_event_id: 'p' }, head: 'p', version: 3 },
    { leaf: { leaf_event_id: null, head_is_empty: false }, head: 'p', version: 3 },
    { leaf: { leaf_event_id: 'nobody' }, head: 'p', version: 3, note: 'unknown event "nobody"' },
    // A state update refers to the event before it.
    { leaf: { leaf_event_id: 'u' }, head: 'p', version: 4, update: 'p' },
    { leaf: { leaf_event_id: 'u' }, head: 'm', version: 5, update: 'm' },
  ])(
    'sets HEAD to $head for $leaf in base_state.json',
    async ({ leaf, head, version, note = '', update }) => {
      const state = { id: 'u', kind: 'ConversationStateUpdateEvent', key: 'x', value: 1, parent_id: update }
      const more = update === undefined ? {} : { 'events/event-00003-u.json': JSON.stringify(state) }
      const pathOf = inC(files({ ...base, ...leaf }, more))
      const { report } = await runImport([pathOf('c'), '--db', pathOf('x.db')])
      expect(report.notes.join()).toContain(note)
      expect((await storedConversation(pathOf('x.db'), UUID)).record).toMatchObject({ headId: head, version })
    },
  )

  it('does not move HEAD of a conversation that has continued since', async () => {
    const pathOf = inC(files({ ...base, leaf_event_id: 'm' }))
    const db = pathOf('x.db')
    await colloquy(['import', '-', '--db', db, '--conversation', UUID], {
      stdin: lines(messageEvent('m', 'hi'), messageEvent('n', 'more'), PAUSE, messageEvent('q', 'on')),
    })
    const { report } = await runImport([pathOf('c'), '--db', db])
    expect(report).toMatchObject({ added: 0, head: null })
    expect(report.notes.join()).toContain('has continued since')
    expect((await storedConversation(db, UUID)).record).toMatchObject({ version: 4, headId: 'q' })
  })

  it('continues after an earlier import that moved HEAD', async () => {
    const start = files({ ...base, leaf_event_id: 'm' })
    const pathOf = inC(start)
    const db = pathOf('x.db')
    await runImport([pathOf('c'), '--db', db])
    const more = messageEvent('q', 'on', { parent_id: 'm' })
    writeFileSync(pathOf('c/events/event-00003-q.json'), JSON.stringify(more))
    writeFileSync(pathOf('c/base_state.json'), JSON.stringify({ ...base, leaf_event_id: 'q' }))
    for (const added of [1, 0]) {
      const { code, report } = await runImport([pathOf('c'), '--db', db])
      expect({ code, report }).toMatchObject({ code: 0, report: { added, head: null } })
      expect((await storedConversation(db, UUID)).record).toMatchObject({ version: 5, headId: 'q' })
    }
    writeFileSync(pathOf('c/base_state.json'), JSON.stringify({ ...base, leaf_event_id: 'n' }))
    for (const added of [1, 0]) {
      const { report } = await runImport([pathOf('c'), '--db', db])
      expect(report).toMatchObject({ added, head: { value: 'n', added: added === 1 } })
      expect((await storedConversation(db, UUID)).record).toMatchObject({ version: 6, headId: 'n' })
    }
  })

  it('keeps the text of every file for an export', async () => {
    for (const leaf of [{}, { leaf_event_id: 'p', head_is_empty: false }]) {
      const pathOf = inC(files({ ...base, ...leaf }))
      await runImport([pathOf('c'), '--db', pathOf('x.db')])
      const argv = [
        'export',
        '--db',
        pathOf('x.db'),
        '--conversation',
        HEX,
        '--format',
        'directory',
        '--output',
        pathOf('out'),
      ]
      expect((await colloquy(argv)).code).toBe(0)
      expect(readdirSync(pathOf('out')).toSorted()).toEqual(['base_state.json', 'events', 'meta.json'])
      for (const [name, text] of Object.entries(files({ ...base, ...leaf })))
        expect(readFileSync(pathOf(`out/${name}`), 'utf8')).toBe(text)
    }
  })

  it('accepts a bare events folder, and uses its parent’s name as the id', async () => {
    const pathOf = folder(
      Object.fromEntries(Object.entries(events).map(([name, text]) => [`${HEX}/${name}`, text])),
    )
    const { report } = await runImport([pathOf(`${HEX}/events`), '--db', pathOf('x.db')])
    expect(report).toMatchObject({ conversation: UUID, added: 3 })
  })

  it('ignores unreadable documents and imports the events', async () => {
    const pathOf = inC({ ...files(), 'meta.json': '{"id', 'base_state.json': '[]' })
    const { code, report } = await runImport([pathOf('c'), '--db', pathOf('x.db'), '--conversation', 'c'])
    expect({ code, report }).toMatchObject({ code: 0, report: { conversation: 'c', added: 3 } })
    expect(report.notes).toEqual([
      'meta.json is not a JSON object, and is ignored',
      'base_state.json is not a JSON object, and is ignored',
    ])
  })
})

describe('import of a zip', () => {
  const hosted = {
    'event_000001_b.json': JSON.stringify(messageEvent('b', 'two'), null, 2),
    'event_000000_a.json': JSON.stringify(messageEvent('a', 'one'), null, 2),
    'meta.json': JSON.stringify({ id: HEX, title: 'Hosted', created_at: '2026-01-01T00:00:00Z' }, null, 2),
  }

  it('reads events at the root, where the hosted service writes them', async () => {
    const pathOf = folder({ 'x.zip': makeZip(hosted) })
    const { report } = await runImport([pathOf('x.zip'), '--db', pathOf('x.db')])
    expect(report).toMatchObject({ conversation: UUID, added: 2, notes: [] })
    const { record, log } = await storedConversation(pathOf('x.db'), UUID)
    expect(record).toMatchObject({ title: 'Hosted', createdAt: '2026-01-01T00:00:00.000000Z', headId: 'b' })
    expect(log).toMatchObject([{ id: 'a' }, { id: 'b', parentId: 'a' }])
  })

  it('reads events in a conversation’s folder, where an agent server writes them', async () => {
    const files = {
      [`${HEX}/meta.json`]: JSON.stringify({ id: HEX, title: 'Served' }),
      [`${HEX}/base_state.json`]: JSON.stringify({ id: UUID, leaf_event_id: 'a' }),
      [`${HEX}/events/event-00000-a.json`]: JSON.stringify(messageEvent('a', 'one')),
      [`${HEX}/events/event-00001-b.json`]: JSON.stringify(messageEvent('b', 'two')),
      [`${HEX}/acp/state.json`]: '{}',
    }
    const pathOf = folder({ trajectory: makeZip(files) })
    const { report } = await runImport([pathOf('trajectory'), '--db', pathOf('x.db')])
    expect(report).toMatchObject({ conversation: UUID, added: 3, head: { value: 'a', added: true } })
    expect(report.notes).toEqual([`left out: ${HEX}/acp/state.json`])
  })

  it('replay reads a zip too', async () => {
    const pathOf = folder({ 'x.zip': makeZip(hosted) })
    const { code, out } = await colloquy(['replay', pathOf('x.zip'), '--json'])
    expect({ code, answer: JSON.parse(out) }).toMatchObject({ code: 0, answer: { events: 2, head: 'b' } })
  })

  it('reads a trajectory downloaded from the service', async () => {
    const service = createService({ engine: createEngine({ store: memoryStore() }) })
    const request = async (path: string, body?: object): Promise<Response> =>
      service.fetch(
        new Request(`http://localhost${path}`, body && { method: 'POST', body: JSON.stringify(body) }),
      )
    await request('/api/conversations', { conversation_id: UUID })
    const llm_message = { role: 'user', content: [{ text: 'Grüße, 你好' }] }
    await request(`/api/conversations/${UUID}/events`, {
      role: 'user',
      content: llm_message.content,
      run: false,
    })
    const zip = await (await request(`/api/file/download-trajectory/${UUID}`)).arrayBuffer()
    const pathOf = folder({ 'x.zip': Buffer.from(zip) })
    const { report } = await runImport([pathOf('x.zip'), '--db', pathOf('x.db')])
    expect(report).toMatchObject({ conversation: UUID })
    const { out } = await colloquy(['export', '--db', pathOf('x.db'), '--conversation', UUID])
    expect(out).toContain('Grüße, 你好')
  })

  it('derives the id from the folder or file name if meta.json is missing', async () => {
    const event = JSON.stringify(PAUSE)
    const pathOf = folder({
      'a.zip': makeZip({ 'run 7/events/event-00000-p.json': event }),
      'b.zip': makeZip({ 'event_000000_p.json': event }),
    })
    expect((await runImport([pathOf('a.zip'), '--db', pathOf('x.db')])).report.conversation).toBe('run 7')
    expect((await runImport([pathOf('b.zip'), '--db', pathOf('x.db')])).report.conversation).toBe('b')
  })

  it('rejects a zip with one damaged file, then imports the intact zip', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [
        `c/events/event-${String(i).padStart(5, '0')}-m${i}.json`,
        JSON.stringify(messageEvent(`m${i}`, 'word '.repeat(4000))),
      ]),
    )
    const whole = makeZip(many)
    // Changes one byte, so that one file's checksum is wrong.
    const broken = Buffer.from(whole)
    const pathOf = folder({})
    const where = whole.indexOf('event-00400-m400.json') + 40
    broken[where] = (broken[where] as number) ^ 0xff
    writeFileSync(pathOf('c.zip'), broken)
    const failed = await runImport([pathOf('c.zip'), '--db', pathOf('x.db')])
    expect(failed).toMatchObject({ code: 1, report: { error: { code: 'not_a_zip' } } })
    writeFileSync(pathOf('c.zip'), whole)
    const { report } = await runImport([pathOf('c.zip'), '--db', pathOf('x.db')])
    expect(report).toMatchObject({ conversation: 'c', events: 500, added: 500 })
    const { record } = await storedConversation(pathOf('x.db'), 'c')
    expect(record).toMatchObject({ version: 500, headId: 'm499' })
  })
})

it('import of a directory derives the ids of equally named files from their paths', async () => {
  const path = folder({
    'all/a/log.jsonl': lines(messageEvent('m', 'one')),
    'all/b/log.jsonl': lines(messageEvent('n', 'two')),
    'all/other.jsonl': lines(messageEvent('o', 'three')),
  })
  const { code, err } = await colloquy(['import', path('all'), '--db', path('x.db')])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const { out } = await colloquy(['conversations', '--db', path('x.db'), '--json'])
  const ids = (JSON.parse(out).items as { readonly id: string }[]).map(({ id }) => id)
  expect(ids.toSorted()).toEqual(['a-log', 'b-log', 'other'])
})
