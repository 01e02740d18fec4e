import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { writeInspector } from '../../src/build/library.ts'
import { usageAt, usageIn } from '../../src/inspector/model/replayed.ts'
import { replayed } from '../inspector/replayed.ts'
import type { Fact } from '../../src/index.ts'
import { agent, user } from '../build.ts'
import { withStore } from './database.ts'
import { colloquy, folder, lines, messageEvent } from './run-command.ts'
import { documentOf } from '../inspector/document.ts'

const KEY = `sk-ant-api03-${'AbCdEfGh1234567890'.repeat(5)}-ABCDEFAA`

/** The built page, also used by a command run from source. */
const PAGE = resolve(import.meta.dirname, '../../dist/inspector/page.html')

beforeAll(async () => {
  if (!existsSync(PAGE)) await writeInspector(PAGE)
})

const call = (id: string, tool: string, command: unknown) => ({
  kind: 'ActionEvent',
  id,
  source: 'agent',
  thought: [],
  action: { kind: 'TerminalAction', command },
  tool_name: tool,
  tool_call_id: id,
  tool_call: { id, name: tool, arguments: '{}', origin: 'completion' },
  llm_response_id: id,
})

describe('inspect --redact', () => {
  it('masks secrets in the titles of a stored conversation and of its child', async () => {
    const pathOf = folder({})
    await withStore(pathOf('a.db'), async (store) => {
      await store.createConversation({ id: 'c', title: `Use ${KEY}` })
      await store.createConversation({ id: 'd', title: `Go on with ${KEY}`, parentConversationId: 'c' })
    })
    const page = async (...more: readonly string[]): Promise<string> => {
      const to = pathOf(`${more.length}.html`)
      const argv = ['inspect', '--db', pathOf('a.db'), '--conversation', 'c', '--html', to, ...more]
      expect(await colloquy(argv)).toMatchObject({ code: 0, err: '' })
      return readFileSync(to, 'utf8')
    }
    expect(await page()).toContain(KEY)
    const clean = await page('--redact')
    expect(clean).not.toContain(KEY)
    expect(clean).toContain('Go on with [redacted')
  })

  it('masks secrets in warnings and findings', async () => {
    const log = [
      call('a', 'terminal', [KEY]),
      call('b', KEY, 'ls'),
      { kind: 'PauseEvent', [KEY]: 1 },
      { [KEY]: 1 },
    ]
    const pathOf = folder({ 'log.jsonl': lines(log) })
    const page = async (to: string, ...more: readonly string[]): Promise<string> => {
      expect(await colloquy(['inspect', pathOf('log.jsonl'), '--html', pathOf(to), ...more])).toMatchObject({
        code: 0,
      })
      return readFileSync(pathOf(to), 'utf8')
    }
    expect((await page('all.html')).split(KEY).length).toBeGreaterThan(4)
    const clean = await page('clean.html', '--redact')
    expect(clean).not.toContain(KEY)
    expect(clean).not.toContain(KEY.slice(0, 30))
  })

  it('masks secrets in the title of another agent’s session', async () => {
    const startTime = '2026-01-01T00:00:00Z'
    const session = {
      sessionId: 's1',
      projectHash: 'h',
      startTime,
      lastUpdated: startTime,
      summary: `Debug ${KEY}`,
      messages: [{ id: '1', timestamp: startTime, type: 'user', content: 'hi' }],
    }
    const pathOf = folder({ 'session.json': JSON.stringify(session) })
    const page = async (to: string, ...more: readonly string[]): Promise<string> => {
      const outcome = await colloquy(['inspect', pathOf('session.json'), '--html', pathOf(to), ...more])
      expect(outcome).toMatchObject({ code: 0, err: '' })
      return readFileSync(pathOf(to), 'utf8')
    }
    expect(await page('all.html')).toContain(KEY)
    expect(await page('clean.html', '--redact')).not.toContain(KEY)
  })
})

describe('inspect --html', () => {
  it('names the output file in an error, not the input file', async () => {
    const pathOf = folder({ 'a.jsonl': lines(messageEvent('m', 'hi')), 'there.html': '' })
    for (const [name, message] of [
      ['there.html', 'already exists; use another path, or add --force'],
      ['none/x.html', 'no such file or directory'],
    ] as const) {
      const { code, out, err } = await colloquy(['inspect', pathOf('a.jsonl'), '--html', pathOf(name)])
      expect([code, out, err]).toEqual([1, '', `colloquy: ${pathOf(name)}: ${message}\n`])
    }
  })
})

describe('inspect --db', () => {
  it('reports that it shows only the newest 2,000 conversations', async () => {
    const pathOf = folder({})
    await withStore(pathOf('a.db'), async (store) => {
      const many = Array.from({ length: 2000 }, (_, n) => store.createConversation({ id: `c${n}` }))
      await Promise.all(many)
    })
    expect((await colloquy(['inspect', '--db', pathOf('a.db')])).err).toBe('')
    await withStore(pathOf('a.db'), (store) => store.createConversation({ id: 'one more' }))
    const { code, err } = await colloquy(['inspect', '--db', pathOf('a.db')])
    expect(code).toBe(0)
    expect(err).toContain('shows the newest 2,000 conversations; pass --conversation ID for another one')
  })
})

describe('`usageIn`', () => {
  it('counts a repeated id once, like `usageAt`', () => {
    const reply = {
      ...agent('g'),
      llm_message: { role: 'assistant', content: [], reply: { model: 'm', tokens: [1000, 50] } },
    } as const
    const facts: Fact[] = [user('m'), reply, reply]
    const log = documentOf(facts)
    expect(usageIn(log)).toMatchObject({ prompt_tokens: 1000, completion_tokens: 50 })
    expect(usageIn(log)).toEqual(usageAt(replayed(log), facts.length))
  })
})

describe('line numbers of a file', () => {
  it('replace positions in the output of why and check', async () => {
    const pathOf = folder({
      'a.jsonl': `\n${lines(messageEvent('a', 'one'), messageEvent('b', 'two'), messageEvent('a', 'three'))}`,
    })
    const file = pathOf('a.jsonl')
    const { out } = await colloquy(['why', file, '4'])
    expect(out).toContain('the event on line 2 already has its id')
    expect(out).toContain('id "a" already exists on line 2')
    expect((await colloquy(['why', file])).out).toContain(
      'is already the id of the event on line 2, which has other content',
    )
    const checked = await colloquy(['check', file, '--laws'])
    expect(checked.out).toContain('"a" is already the id of the event on line 2, which has other content')
    const orphan = folder({
      'b.jsonl': lines(messageEvent('a', 'one', { parent_id: 'b' }), messageEvent('b', 'two')),
    })
    expect((await colloquy(['check', orphan('b.jsonl'), '--laws'])).out).toContain(
      'is later in the log, on line 2',
    )
  })
})
