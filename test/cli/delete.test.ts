/** Deletes conversations and erases an event from the command line. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { createService } from '../../src/service/service.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { colloquy, folder } from './run-command.ts'

const WORDS = 'unforgettable'
const DAY = 86_400_000

/** A database with conversations of two owners, the oldest first, and one that a service started. */
async function database(): Promise<string> {
  const file = folder({})('x.db')
  const now = { ms: Date.now() - 100 * DAY }
  const store = sqliteStore({ file, fullText: true, clock: () => BigInt(now.ms) * 1_000n })
  const engine = createEngine({ store, clock: () => BigInt(now.ms) * 1_000n })
  for (const [id, owner, team] of [
    ['a', 'ann', 'red'],
    ['b', 'ann', 'blue'],
    ['c', 'bob', 'red'],
  ] as const) {
    const conversation = await engine.create({ id, owner, tags: { team } })
    await conversation.sendMessage(`${id} says ${WORDS}`, { key: 'hello' })
    now.ms += 30 * DAY
  }
  await engine.create({ id: 'a-child', parentConversationId: 'a', tags: { subagent: 'true' } })
  const service = createService({ engine, secret: 'what it is sealed with' })
  const body = { conversation_id: 'started', secrets: { T: 'hush' } }
  await service.fetch(
    new Request('http://x/api/conversations', { method: 'POST', body: JSON.stringify(body) }),
  )
  await engine.close()
  await store.close()
  return file
}

const idsIn = async (file: string): Promise<string[]> => {
  const { out } = await colloquy(['conversations', '--db', file, '--json'])
  return (JSON.parse(out).items as { readonly id: string }[]).map(({ id }) => id).toSorted()
}

const bytesOf = (file: string): string =>
  readdirSync(dirname(file))
    .filter((name) => name.startsWith(basename(file)))
    .map((name) => readFileSync(join(dirname(file), name), 'latin1'))
    .join('\n')

const eventIn = async (file: string): Promise<string> => {
  const { out } = await colloquy(['search', '--db', file, '--conversation', 'a', '--json'])
  return JSON.parse(out).items[0].id
}

describe('delete', () => {
  it.each<readonly [readonly string[], readonly string[]]>([
    [
      ['--owner', 'ann'],
      ['c', 'started'],
    ],
    [
      ['--tag', 'team:red'],
      ['b', 'started'],
    ],
    [
      ['--tag', 'team:red', '--owner', 'ann'],
      ['b', 'c', 'started'],
    ],
    [
      ['--tag', 'team:red', '--tag', 'other:x'],
      ['a', 'a-child', 'b', 'c', 'started'],
    ],
    [
      ['--conversation', 'a'],
      ['b', 'c', 'started'],
    ],
    [
      ['--conversation', 'b', '--conversation', 'c'],
      ['a', 'a-child', 'started'],
    ],
    [
      ['--older-than', '60'],
      ['c', 'started'],
    ],
    [
      ['--keep-last', '2'],
      ['c', 'started'],
    ],
    [
      ['--older-than', '60', '--keep-last', '3'],
      ['b', 'c', 'started'],
    ],
    [
      ['--owner', 'nobody'],
      ['a', 'a-child', 'b', 'c', 'started'],
    ],
    [
      ['--before', new Date(Date.now() - 50 * DAY).toISOString()],
      ['c', 'started'],
    ],
  ])('selects by %j, leaves %j, and changes nothing in a dry run', async (criteria, remaining) => {
    const file = await database()
    const before = await idsIn(file)
    const dryRun = await colloquy(['delete', '--db', file, ...criteria, '--dry-run', '--json'])
    expect([dryRun.code, dryRun.err]).toEqual([0, ''])
    expect(await idsIn(file)).toEqual(before)
    const result = await colloquy(['delete', '--db', file, ...criteria, '--yes', '--json'])
    expect([result.code, result.err]).toEqual([0, ''])
    expect(await idsIn(file)).toEqual(remaining)
    const report = JSON.parse(result.out)
    expect(report).toMatchObject({ conversations: before.length - remaining.length, dry_run: false })
    expect(JSON.parse(dryRun.out)).toEqual({ ...report, dry_run: true })
    const again = await colloquy(['delete', '--db', file, ...criteria, '--yes'])
    const isById = criteria[0] === '--conversation'
    expect(again.code).toBe(isById ? 1 : 0)
    expect(isById ? again.err : again.out).toContain(isById ? 'no conversation' : 'deleted 0 conversations')
  })

  it('leaves no deleted text in the file, and deletes the items of the service', async () => {
    const file = await database()
    expect(bytesOf(file)).toContain(`a says ${WORDS}`)
    const preview = await colloquy(['delete', '--db', file, '--owner', 'ann', '--dry-run'])
    expect(preview.out).toContain('would delete 3 conversations with 2 events')
    const result = await colloquy(['delete', '--db', file, '--owner', 'ann', '--yes'])
    expect(result.out).toContain('deleted 3 conversations with 2 events')
    expect(bytesOf(file)).not.toContain(`a says ${WORDS}`)
    expect(bytesOf(file)).toContain(`c says ${WORDS}`)
    await colloquy(['delete', '--db', file, '--conversation', 'started', '--yes'])
    const store = sqliteStore({ file })
    for (const name of ['conversation-starts', 'deletions', 'retention'])
      expect((await store.countItems(name)).count, name).toBe(0)
    await store.close()
  })

  it('deletes 225 of 230 conversations with one command', async () => {
    const file = folder({})('many.db')
    const store = sqliteStore({ file })
    for (let nth = 0; nth < 230; nth += 1) await store.createConversation({ id: `c${nth}`, owner: 'ann' })
    await store.close()
    const dryRun = await colloquy(['delete', '--db', file, '--owner', 'ann', '--dry-run', '--json'])
    expect(JSON.parse(dryRun.out).conversations).toBe(230)
    const result = await colloquy(['delete', '--db', file, '--keep-last', '5', '--yes', '--json'])
    expect(JSON.parse(result.out).conversations).toBe(225)
    expect(await idsIn(file)).toHaveLength(5)
  })

  it('fails while another process applies a retention policy, and for a missing database', async () => {
    const file = await database()
    const store = sqliteStore({ file })
    await store.changeItems([{ collection: 'retention', id: 'retention', put: { body: {}, dueIn: 60_000 } }])
    await store.close()
    const busy = await colloquy(['delete', '--db', file, '--keep-last', '0', '--yes', '--json'])
    expect(busy.code).toBe(1)
    expect(JSON.parse(busy.out).error.message).toContain('Another process is applying a retention policy')
    const missing = folder({})('none.db')
    for (const flag of ['--yes', '--dry-run']) {
      const outcome = await colloquy(['delete', '--db', missing, '--owner', 'ann', flag])
      expect([outcome.code, outcome.err]).toEqual([1, expect.stringContaining('no such file')])
    }
    expect(existsSync(missing)).toBe(false)
  })

  it.each([
    [[], 'needs --db'],
    [['--db', 'x.db', '--yes'], 'needs a criterion'],
    [['--db', 'x.db', '--owner', 'ann'], 'needs either --yes or --dry-run'],
    [['--db', 'x.db', '--owner', 'ann', '--yes', '--dry-run'], 'needs either --yes or --dry-run'],
    [['--db', 'x.db', '--owner', ' ', '--yes'], '--owner must not be blank'],
    [['--db', 'x.db', '--owner', '', '--yes'], '--owner needs a value'],
    [['--db', 'x.db', '--tag', 'red', '--yes'], '--tag must be a key, a colon and a value'],
    [['--db', 'x.db', '--tag', 'a-b:c', '--yes'], '--tag must be a key, a colon and a value'],
    [
      ['--db', 'x.db', '--tag', 'a:b', '--tag', 'a:c', '--yes'],
      'two --tag options have the same key: use each key once',
    ],
    [['--db', 'x.db', '--before', 'soon', '--yes'], '--before must be a date'],
    [['--db', 'x.db', '--keep-last', '-1', '--yes'], '--keep-last must be'],
    [['--db', 'x.db', '--older-than', 'old', '--yes'], '--older-than must be'],
    [['c', '--db', 'x.db', '--yes'], 'accepts no FILE'],
  ])('rejects the usage %j with exit code 2', async (argv, message) => {
    const { code, out, err } = await colloquy(['delete', ...argv])
    expect([code, out, err]).toEqual([2, '', expect.stringContaining(message)])
  })

  it.each([
    [['--conversation', 'a', '--owner', 'ann'], 'without other criteria'],
    [['--before', '2999-01-01', '--keep-last', '1'], 'before'],
  ])('rejects %j and deletes nothing', async (criteria, message) => {
    const file = await database()
    const { code, err } = await colloquy(['delete', '--db', file, ...criteria, '--yes'])
    expect([code, err]).toEqual([1, expect.stringContaining(message)])
    expect(await idsIn(file)).toHaveLength(5)
  })
})

describe('erase', () => {
  it('shows the event in a dry run, then erases it once, also from the file', async () => {
    const file = await database()
    const id = await eventIn(file)
    const argv = ['erase', '--db', file, '--conversation', 'a', '--event', id, '--reason', 'a password']
    const preview = await colloquy([...argv, '--dry-run'])
    expect([preview.code, preview.out]).toEqual([0, expect.stringContaining(`a says ${WORDS}`)])
    expect(bytesOf(file)).toContain(`a says ${WORDS}`)
    const result = await colloquy([...argv, '--yes', '--json'])
    expect([result.code, JSON.parse(result.out)]).toEqual([
      0,
      { conversation: 'a', event: id, dry_run: false },
    ])
    const again = await colloquy([...argv, '--yes'])
    expect([again.code, again.out, again.err]).toEqual([0, `erased "${id}"\n`, ''])
    expect(bytesOf(file)).not.toContain(`a says ${WORDS}`)
    const { out } = await colloquy(['export', '--db', file, '--conversation', 'a'])
    expect(out.match(/"key":"erased"/g)).toHaveLength(1)
    expect(out).toContain('a password')
  })

  it('rejects unknown ids, a prefix of an id, and invalid usage', async () => {
    const file = await database()
    const id = await eventIn(file)
    const argv = ['erase', '--db', file]
    for (const [conversation, event, message] of [
      ['x', id, 'no conversation "x"'],
      ['a', 'x', 'no event "x"'],
      ['a', id.slice(0, 8), 'write the whole id'],
      ['a', '__root__', 'event "__root__"'],
    ] as const) {
      const command = [...argv, '--conversation', conversation, '--event', event, '--yes']
      const { code, out, err } = await colloquy(command)
      expect([code, out, err], event).toEqual([1, '', expect.stringContaining(message)])
    }
    for (const command of [
      ['--conversation', 'a', '--yes'],
      ['--event', id, '--yes'],
      ['--conversation', 'a', '--event', id],
      ['--conversation', 'a', '--event', id, '--reason', ' ', '--yes'],
    ])
      expect((await colloquy([...argv, ...command])).code).toBe(2)
    const long = ['--conversation', 'a', '--event', id, '--reason', 'x'.repeat(1_001), '--yes']
    expect((await colloquy([...argv, ...long])).code).toBe(1)
    expect(bytesOf(file)).toContain(`a says ${WORDS}`)
  })
})
