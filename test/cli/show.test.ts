/**
 * Human-readable output: colours, widths, trees, views, transcripts, and text that cannot control the
 * terminal.
 */

import { DatabaseSync } from 'node:sqlite'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { FORMATS } from '../../src/cli/commands.ts'
import { width } from '../../src/cli/print/text.ts'
import { loadLine } from '../../src/index.ts'
import { createStore, withStore } from './database.ts'
import { resultEvent, callEvent, colloquy, folder, lines, messageEvent, SAMPLE } from './run-command.ts'

const ESCAPE = '\u001b'
const COMMANDS = ['check', 'replay', 'view', 'messages', 'tree', 'stuck', 'why'] as const
const stripped = (text: string): string => stripVTControlCharacters(text)

const pause = (id: string, parent: string): object => ({ id, parent_id: parent, kind: 'PauseEvent' })

/** Output of a command for these events. */
async function printed(command: string, events: readonly object[], ...flags: string[]): Promise<string> {
  const file = folder({ 'log.jsonl': lines(...events) })('log.jsonl')
  const { out } = await colloquy([command, file, ...flags], { columns: 200 })
  return out.replaceAll(file, 'log.jsonl')
}

const printsColours = async (tty: boolean, env: Readonly<Record<string, string>>): Promise<boolean> =>
  (await colloquy(['replay', SAMPLE], { tty, env })).out.includes(ESCAPE)

describe('colours', () => {
  it('are printed only on terminals, except dumb ones', async () => {
    expect(await printsColours(true, {})).toBe(true)
    expect(await printsColours(false, {})).toBe(false)
    expect(await printsColours(true, { TERM: 'dumb' })).toBe(false)
  })

  it('respect NO_COLOR and FORCE_COLOR', async () => {
    expect(await printsColours(true, { NO_COLOR: '1' })).toBe(false)
    expect(await printsColours(true, { NO_COLOR: '' })).toBe(true)
    expect(await printsColours(false, { FORCE_COLOR: '1' })).toBe(true)
    expect(await printsColours(true, { FORCE_COLOR: '0' })).toBe(false)
    expect(await printsColours(true, { NO_COLOR: '1', FORCE_COLOR: '1' })).toBe(false)
  })

  it('are not printed in JSON', async () => {
    for (const command of COMMANDS) {
      const { out } = await colloquy([command, SAMPLE, '--json'], { tty: true, env: { FORCE_COLOR: '1' } })
      expect(out).not.toContain(ESCAPE)
      expect(out.split('\n')).toHaveLength(2)
    }
  })

  it('do not change the text', async () => {
    for (const command of [...COMMANDS, 'demo']) {
      const argv = command === 'demo' ? [command] : [command, SAMPLE]
      const plain = await colloquy(argv, { tty: true, columns: 90, env: { NO_COLOR: '1' } })
      const colored = await colloquy(argv, { tty: true, columns: 90 })
      expect(colored.out).not.toBe(plain.out)
      expect(stripped(colored.out)).toBe(plain.out)
    }
  })
})

describe('the width of the terminal', () => {
  it.each([72, 100, 160])('limits the lines to %i columns', async (columns) => {
    for (const command of COMMANDS) {
      const { out } = await colloquy([command, SAMPLE], { tty: true, columns, env: { NO_COLOR: '1' } })
      for (const line of out.split('\n').slice(1)) expect(width(line)).toBeLessThanOrEqual(columns)
    }
  })

  it('defaults to 100 without a terminal, or with an unknown width', async () => {
    const { out } = await colloquy(['view', SAMPLE])
    expect(Math.max(...out.split('\n').map(width))).toBeLessThanOrEqual(100)
    expect((await colloquy(['view', SAMPLE], { columns: 0 })).out).toBe(out)
    expect((await colloquy(['view', SAMPLE], { columns: 100 })).out).toBe(out)
  })
})

describe('event text', () => {
  const evil = `${ESCAPE}]0;title\u0007${ESCAPE}[2J\u009b31m\u202eevil\u2028\nnext`
  const events = [
    messageEvent(`id${'\u202e'}`, evil),
    callEvent('a', evil, { summary: evil, tool_name: evil, llm_response_id: evil }),
    { id: 'e', tool_name: evil, tool_call_id: evil, error: evil, kind: 'AgentErrorEvent' },
    callEvent('b', evil),
    resultEvent('o', 'b', evil),
    { id: 'k', kind: evil },
    { id: 's', key: evil, value: evil, kind: 'ConversationStateUpdateEvent' },
    {
      id: 'h',
      hook_event_type: 'Stop',
      hook_command: evil,
      success: false,
      exit_code: 2,
      kind: 'HookExecutionEvent',
    },
    { id: 'c', llm_response_id: 'r', summary: evil, summary_offset: 0, kind: 'Condensation' },
    { id: 'f', source: 'environment', code: evil, detail: evil, kind: 'ConversationErrorEvent' },
    { id: 'p', parent_id: evil, kind: 'PauseEvent', timestamp: evil },
    { id: 'p', [evil]: 1, kind: 'PauseEvent' },
  ]

  it('is printed without control characters', async () => {
    // `stuck` shows only events of a loop, and has its own test.
    for (const command of COMMANDS.filter((name) => name !== 'stuck')) {
      for (const flags of command === 'messages'
        ? [[], ['--format', 'anthropic'], ['--format', 'openai-chat']]
        : [[]]) {
        const out = await printed(command, events, ...flags)
        expect(out).toContain('evil')
        expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028\u2029\u202e]/u)
      }
    }
  })

  it('a file name is printed without control characters', async () => {
    const { err } = await colloquy(['check', `no${evil}`])
    expect(err.slice(0, -1)).not.toMatch(/[\p{Cc}\u2028\u2029\u202e]/u)
  })
})

const sessionLine = (
  uuid: string,
  parentUuid: string | null,
  type: string,
  content: unknown,
  more = {},
): object => ({
  uuid,
  parentUuid,
  type,
  sessionId: 's',
  timestamp: '2026-01-01T00:00:00Z',
  message: { id: uuid, role: type, content, stop_reason: 'tool_use' },
  ...more,
})

describe('tree', () => {
  it('draws a branch next to the line it leaves, and marks HEAD', async () => {
    const out = await printed('tree', [
      messageEvent('a', 'first'),
      messageEvent('b', 'left alone'),
      { id: 'u', key: 'leaf_event_id', value: 'a', kind: 'ConversationStateUpdateEvent' },
      pause('x', 'b'),
      messageEvent('c', 'second try', { parent_id: 'a' }),
      messageEvent('d', 'a new root', { parent_id: '__root__' }),
      { id: 'v', key: 'leaf_event_id', value: 'c', kind: 'ConversationStateUpdateEvent' },
    ])
    expect(out.split('\n').map((line) => line.replace(/ +(.)$/, ' $1'))).toEqual([
      'log.jsonl  7 events, 3 branches',
      '  6 ○ user        a new root d',
      '  7 · state       leaf_event_id  c v',
      '',
      '  1 ● user        first a',
      '  2 ├─○ user        left alone b',
      '  3 │ · state       leaf_event_id  a u',
      '  4 │ ○ pause       the run is paused x',
      '  5 ● user        second try ◀ HEAD c',
      '  ● leads to HEAD   ○ on another branch   · state update',
      '',
    ])
  })

  it('marks the calls that opened subagents, in a file and in a database', async () => {
    const task = { type: 'tool_use', id: 't', name: 'Task', input: { prompt: 'task' } }
    const side = { isSidechain: true }
    const pathOf = folder({
      's.jsonl': lines(
        sessionLine('m', null, 'user', 'go'),
        sessionLine('a', 'm', 'assistant', [task]),
        sessionLine('x', null, 'user', 'task', side),
        sessionLine('y', null, 'user', 'no such task', side),
      ),
    })
    await colloquy(['import', pathOf('s.jsonl'), '--db', pathOf('x.db')])
    for (const input of [[pathOf('s.jsonl')], ['--db', pathOf('x.db'), '--conversation', 's']]) {
      const { out } = await colloquy(['tree', ...input], { columns: 200 })
      expect(out).toMatch(/● call +Task {2}task ↳ s-side-1 ◀ HEAD +a$/m)
      expect(out).toContain('↳ s-side-2 was not opened by a call of this log')
      const { out: json } = await colloquy(['tree', ...input, '--json'])
      expect(JSON.parse(json).subagents).toEqual([
        { id: 's-side-1', action_id: 'a' },
        { id: 's-side-2', action_id: null },
      ])
    }
  })

  it('lists the subagents of a database without reading their logs', async () => {
    const file = folder({})('x.db')
    await createStore(file, 'p', [loadLine('{"kind":"PauseEvent","id":"a"}').fact])
    await withStore(file, async (store) => {
      for (const [id, parentConversationId] of [
        ['damaged', 'p'],
        ['grandchild', 'damaged'],
        ['own', 'own'],
      ] as const)
        await store.createConversation({ id, parentConversationId, tags: { subagent: 'true' } })
      await store.append('damaged', [loadLine('{"kind":"PauseEvent"}').fact], { mode: 'import', expected: 0 })
    })
    const database = new DatabaseSync(file)
    database.exec(`UPDATE colloquy_event SET body = '{' WHERE id <> 'a'`)
    database.close()
    const idsIn = async (conversation: string): Promise<unknown> => {
      const { out } = await colloquy(['tree', '--db', file, '--conversation', conversation, '--json'])
      return JSON.parse(out).subagents
    }
    expect(await idsIn('p')).toEqual([{ id: 'damaged', action_id: null }])
    expect(await idsIn('own')).toEqual([])
  })

  it('names the lines that are not in the tree', async () => {
    const out = await printed('tree', [pause('a', '__root__'), pause('a', 'a'), { kind: 'Odd' }])
    expect(out).toContain('line 2 is not in the tree: its id a exists already')
    expect(out).toContain('line 3 is not in the tree: it has no readable id')
  })

  it('does not indent a chain of 10,000 events', async () => {
    const events = Array.from({ length: 10_000 }, (_, i) =>
      pause(`e${i}`, i === 0 ? '__root__' : `e${i - 1}`),
    )
    const rows = (await printed('tree', events)).split('\n').slice(1, -1)
    expect(rows).toHaveLength(10_000)
    for (const row of rows) expect(row).toMatch(/^ +\d+ ● pause /)
  })

  it('stays narrow for 5,000 events with many forks', async () => {
    // The parent is the event before, or the event at half or a third of its position.
    const events = Array.from({ length: 5_000 }, (_, i) =>
      pause(`e${i}`, i === 0 ? '__root__' : `e${Math.floor((i - 1) / (1 + (i % 3)))}`),
    )
    const out = await printed('tree', events)
    expect(Math.max(...out.split('\n').map((line) => line.indexOf('○ ')))).toBeLessThan(
      8 + 2 * Math.log2(5_000),
    )
  })

  it('reports a HEAD before every event', async () => {
    const out = await printed('tree', [
      messageEvent('a', 'x'),
      { id: 'u', key: 'leaf_event_id', value: null, kind: 'ConversationStateUpdateEvent' },
    ])
    expect(out).toContain('HEAD is before every event')
  })
})

describe('view', () => {
  it('brackets batches, marks cuts, and lists pending calls and dropped results', async () => {
    const batch = { llm_response_id: 'r' }
    const out = await printed('view', [
      messageEvent('m', 'do it'),
      callEvent('a', 'ls', batch),
      callEvent('b', 'pwd', batch),
      resultEvent('oa', 'a', 'one\nfiles'),
      resultEvent('ob', 'b', '/'),
      resultEvent('again', 'a', 'late'),
      callEvent('c', 'sleep'),
    ])
    expect(out.split('\n').map((line) => line.replace(/ +(\S+)$/, ' $1'))).toEqual([
      'log.jsonl  the view at c: 5 events',
      '  ✂ 0   user        do it m',
      '  ✂ 1 ┌ call        terminal  ls a',
      '    2 │ call        terminal  pwd b',
      '    3 │ result      terminal  files oa',
      '    4 └ result      terminal  / ob',
      '  ✂ 5   end   ✂ marks where the view may be cut',
      '',
      'Pending  calls that are out of the view until they have results',
      '    ╶ call        terminal  sleep ◌ waiting c',
      '',
      'Left out  results that end no call',
      '      result      terminal  late duplicate_result again',
      '',
    ])
  })

  it('prints "nothing" for an empty log', async () => {
    expect(await printed('view', [])).toContain('nothing')
  })
})

describe('replay', () => {
  it('lists the repairs by line', async () => {
    const out = await printed('replay', [
      messageEvent('m', 'hi', { activated_microagents: ['x'] }),
      { id: 'm', kind: 'PauseEvent' },
      { id: 'n', parent_id: 'nobody', kind: 'PauseEvent', timestamp: 'noon' },
      { id: 'q', kind: 'Odd' },
      resultEvent('o', 'nobody', 'x'),
      { id: 'u', key: 'leaf_event_id', value: 'nobody', kind: 'ConversationStateUpdateEvent' },
    ])
    for (const row of [
      /line 1 {2}older shape +early\.activated_microagents: /,
      /line 2 {2}duplicate id +left out of the tree: line 1 already has the id m/,
      /line 3 {2}unknown parent +/,
      /line 3 {2}unreadable timestamp +/,
      /line 4 {2}quarantined +kind: Unknown kind/,
      /line 5 {2}orphan result +/,
      /line 6 {2}head ignored +/,
    ]) {
      expect(out).toMatch(row)
    }
  })

  it('lists the first 12 of 40 repairs, and counts the others', async () => {
    const out = await printed(
      'replay',
      Array.from({ length: 40 }, () => ({ kind: 'Odd' })),
    )
    expect(out.match(/quarantined +/g)).toHaveLength(12)
    expect(out).toContain('and 28 more')
  })

  it('names the event of --at', async () => {
    expect(await printed('replay', [messageEvent('a', 'x'), messageEvent('b', 'y')], '--at', 'a')).toContain(
      'as it was at a',
    )
  })
})

describe('check', () => {
  it('reports valid and invalid events, and notes what a replay repairs', async () => {
    expect(await printed('check', [messageEvent('a', 'x')])).toBe('log.jsonl  1 event  ✓ every event loads\n')
    expect((await colloquy(['check', '-'])).out).toBe(
      '-  0 events  nothing to check: the log has no events\n',
    )
    const bad = [
      { kind: 'PauseEvent', extra: 1 },
      { kind: 'PauseEvent', timestamp: 1 },
    ]
    const out = await printed('check', [messageEvent('a', 'x'), messageEvent('a', 'y'), ...bad])
    expect(out).toContain('4 events  ✗ 1 cannot be loaded')
    expect(out).toMatch(/line 4 {2}PauseEvent {2}timestamp: Must be a string/)
    expect(out).toContain('note: line 2  duplicate id')
    expect(out).toMatch(/note: line 3 {2}unknown field +extra: Unknown field/)
  })
})

describe('messages', () => {
  it('prints a transcript and truncates long text', async () => {
    const out = await printed('messages', [
      messageEvent('m', Array.from({ length: 20 }, (_, i) => `line ${i}`).join('\n')),
      callEvent('a', 'ls', {
        thought: [{ text: 'looking' }],
        thinking_blocks: [{ type: 'thinking', thinking: 'hmm', signature: 's' }],
      }),
      resultEvent('o', 'a', '', { observation: { kind: 'Custom', is_error: true } }),
    ])
    expect(out).toContain('user       line 0\n             line 1\n')
    expect(out).toContain('… 14 more lines')
    expect(out).toMatch(
      /assistant {2}\(thinks\) hmm\n {13}looking\n {13}→ terminal \{"command":"ls"\} {2}call-a/,
    )
    expect(out).toMatch(/tool {7}terminal call-a {2}failed/)
  })

  it('prints a provider’s request on a terminal as indented JSON', async () => {
    const log = folder({ 'log.jsonl': lines(messageEvent('m', 'hi')) })('log.jsonl')
    const argv = ['messages', log, '--format', 'openai-chat']
    const { out } = await colloquy(argv, { tty: true, env: { NO_COLOR: '1' } })
    const [heading, ...json] = out.split('\n')
    expect(heading).toBe(`${log}  openai-chat`)
    expect(JSON.parse(json.join('\n'))).toMatchObject([{ role: 'user' }])
    expect(json.length).toBeGreaterThan(3)
  })

  it.each(FORMATS.filter((format) => format !== 'neutral'))(
    'prints a request in the format %s to a pipe as one JSON document',
    async (format) => {
      const log = [messageEvent('m', 'hi'), callEvent('a', 'ls'), resultEvent('o', 'a', 'done')]
      const file = folder({ 'log.jsonl': lines(...log) })('log.jsonl')
      const argv = ['messages', '--format', format, file]
      const { code, out, err } = await colloquy(argv)
      expect([code, err]).toEqual([0, ''])
      expect(JSON.parse(out)).toEqual(JSON.parse((await colloquy([...argv, '--json'])).out).messages)
    },
  )
})

describe('an empty log', () => {
  it('replay prints "none" as the number of events', async () => {
    const out = await printed('replay', [])
    expect(out).toMatch(/^ {2}events +none$/m)
    expect(out).not.toMatch(/: *$/m)
  })
})

it('check separates several files with a blank line', async () => {
  const { out } = await colloquy(['check', SAMPLE, SAMPLE])
  expect(out.match(/^$/gm)).toHaveLength(2)
})
