/** Sessions of other agents as input: detection of the format, import, conversion and compression. */

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { claudeCode, codex } from '../../properties/sessions/agents.ts'
import { openaiChat } from '../../properties/sessions/arrays.ts'
import type { Script } from '../../properties/sessions/script.ts'
import { replay } from '../../src/index.ts'
import { isQuarantined } from '../../src/event/index.ts'
import { readSession } from '../../src/sessions/index.ts'
import { checkGrammars } from '../../properties/checks/messages.ts'
import { runJson, colloquy, folder, messageEvent } from './run-command.ts'

const call = { name: 'bash', input: { path: 'a' }, result: 'done', isError: false }
const SCRIPT: Script = [
  {
    back: 0,
    user: 'list the files',
    replies: [
      { thinking: 'I look', text: 'looking', calls: [call, { ...call, result: 'more' }] },
      { thinking: null, text: 'there are two', calls: [] },
    ],
    compacted: null,
    drift: [true, true, false, true, true, false, false, false],
  },
]

const asLines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

describe('a session as a FILE', () => {
  it('is recognized by its content, as lines, an array, a document and a pipe', async () => {
    const pathOf = folder({
      'c.jsonl': asLines(claudeCode(SCRIPT)),
      'x.txt': asLines(codex(SCRIPT)),
      'array.json': JSON.stringify(openaiChat(SCRIPT)),
      'request.json': JSON.stringify({ model: 'm', messages: openaiChat(SCRIPT) }),
    })
    const files = ['c.jsonl', 'x.txt', 'array.json', 'request.json'].map((name) => pathOf(name))
    const { code, all } = await runJson<{ file: string; session: { format: string }; events: number }>([
      'replay',
      ...files,
    ])
    expect(code).toBe(0)
    expect(all.map(({ session }) => session.format)).toEqual([
      'claude-code',
      'codex',
      'openai-chat',
      'openai-chat',
    ])
    const piped = await colloquy(['messages', '--format', 'openai-chat', '-'], {
      stdin: asLines(codex(SCRIPT)),
    })
    expect(piped.out).toContain('"there are two"')
  })

  it('is shown with notes on what the log omits or contains in part', async () => {
    const output = [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'so far' }] },
    ]
    const reply = { object: 'response', id: 'r', output, status: 'cancelled' }
    const pathOf = folder({ 'a.json': JSON.stringify([{ role: 'user', content: 'hi' }, reply]) })
    const { out } = await colloquy(['check', pathOf('a.json')])
    expect(out).toMatch(/note: line 2 {2}not fully read {2}cancelled replies/)
  })

  it('is read in the format of --from, which also accepts events', async () => {
    const pathOf = folder({ 'a.json': JSON.stringify(openaiChat(SCRIPT).slice(0, 1)) })
    const one = await runJson<{ file: string; session: { format: string } }>([
      'view',
      pathOf('a.json'),
      '--from',
      'anthropic',
    ])
    expect(one.all[0].session.format).toBe('anthropic')
    const events = await colloquy(['check', pathOf('a.json'), '--from', 'events'])
    expect(events).toMatchObject({ code: 1, out: expect.stringContaining('cannot be loaded') })
    const argv = ['import', pathOf('a.json'), '--db', pathOf('i.db')]
    const refused = await colloquy([...argv, '--from', 'claude-code'])
    expect(refused.err).toContain('contains no record in the format claude-code: change --from')
    expect(refused.code).toBe(1)
    expect((await colloquy(argv)).code).toBe(0)
    const invalid = await colloquy(['check', pathOf('a.json'), '--from', 'cursor'])
    expect(invalid).toMatchObject({
      code: 2,
      err: expect.stringContaining("unknown --from 'cursor': use one of events, claude-code"),
    })
    const stored = await colloquy(['check', '--db', pathOf('x.db'), '--conversation', 'c', '--from', 'pi'])
    expect(stored).toMatchObject({ code: 2, err: expect.stringContaining('--from applies to a FILE') })
  })

  it('is checked for repeated blocks and unknown record types', async () => {
    const odd = { type: 'hologram', sessionId: 's', uuid: 'u', parentUuid: null }
    const pathOf = folder({ 'c.jsonl': asLines([...claudeCode(SCRIPT), odd]) })
    const { out, code } = await colloquy(['check', pathOf('c.jsonl')])
    expect(code).toBe(1)
    expect(out).toContain('written twice: a block of a reply')
    expect(out).toContain('Unknown record type "hologram".')
  })
})

const item = (payload: object) => ({ type: 'response_item', payload })

describe('a rollout of Codex', () => {
  it('has a call and a result for a local tool search, and text for a remote one', async () => {
    const toolSearch = {
      type: 'tool_search_call',
      call_id: 'c1',
      execution: 'local',
      arguments: { query: 'maps' },
    }
    const result = [{ type: 'function_group', name: 'maps' }]
    const lines = [
      { type: 'session_meta', payload: { id: 's' } },
      item(toolSearch),
      item({ type: 'tool_search_output', call_id: 'c1', status: 'completed', tools: result }),
      // The provider executed this call, so it is part of the reply.
      item({ ...toolSearch, call_id: 'c2' }),
      item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'found' }] }),
    ]
    const pathOf = folder({ 'r.jsonl': asLines(lines) })
    expect((await colloquy(['check', '--laws', pathOf('r.jsonl')])).code).toBe(0)
    const { out } = await colloquy(['messages', '--format', 'anthropic', pathOf('r.jsonl')])
    expect(out).toContain('"name": "tool_search"')
    expect(out).toContain('function_group')
    expect(out).toContain('[tool_search_call: ')
  })
})

describe('convert', () => {
  it('writes a readable trajectory, and spans with text only with --content', async () => {
    const pathOf = folder({ 'c.jsonl': asLines(claudeCode(SCRIPT)) })
    const { out } = await colloquy(['convert', pathOf('c.jsonl')])
    const again = folder({ 't.json': out })
    const { all } = await runJson<{ file: string; session: { format: string; id: string } }>([
      'replay',
      again('t.json'),
    ])
    expect(all[0].session).toMatchObject({ format: 'atif', id: 's' })
    const bare = await colloquy(['convert', '--to', 'otel', pathOf('c.jsonl')])
    expect(bare.out).toContain('"execute_tool bash"')
    expect(bare.out).not.toContain('there are two')
    const whole = await colloquy(['convert', '--to', 'otel', '--content', pathOf('c.jsonl')])
    expect(whole.out).toContain('there are two')
    const invalid = await colloquy(['convert', '--to', 'csv', pathOf('c.jsonl')])
    expect(invalid).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining("unknown --to 'csv': use one of atif, otel"),
    })
  })
})

describe('import of sessions', () => {
  it('imports a folder with the side chains of a file, and adds nothing the second time', async () => {
    const side = claudeCode(SCRIPT).map((line) => ({
      ...(line as object),
      isSidechain: true,
      agentId: 'helper',
    }))
    const renamed = side.map((line, index) => ({
      ...line,
      uuid: `side-${index}`,
      parentUuid: index === 0 ? null : `side-${index - 1}`,
    }))
    const pathOf = folder({
      'all/p/one.jsonl': asLines([...claudeCode(SCRIPT), ...renamed]),
      'all/q/chat.json': JSON.stringify(openaiChat(SCRIPT)),
      'all/r/chat.json': JSON.stringify(openaiChat([...SCRIPT, ...SCRIPT])),
      'all/r/notes.json': '{"a":1}',
      'all/r/only.json': JSON.stringify([...openaiChat(SCRIPT), 7]),
      'all/r/none.json': '',
    })
    const first = await colloquy(['import', '--db', pathOf('x.db'), pathOf('all')])
    expect(first.out).toContain('5 files read, 1 file with problems')
    expect(first.err).toContain(
      'notes.json: the file contains an object, but neither an array of events nor a session',
    )
    const conversations = await colloquy(['conversations', '--db', pathOf('x.db'), '--json'])
    const { items } = JSON.parse(conversations.out) as {
      items: { id: string; parent_conversation_id?: string }[]
    }
    expect(items.map(({ id }) => id).toSorted()).toEqual(['only', 'q-chat', 'r-chat', 's', 's-helper'])
    const empty = await colloquy(['import', '--db', pathOf('x.db'), folder({})('.')])
    expect(empty.err).toContain('the directory contains no files event-NNNNN-<id>.json')
    const again = await colloquy(['import', '--db', pathOf('x.db'), pathOf('all')])
    expect(again.out.match(/, 0 added/g)).toHaveLength(5)
    // Importing this file alone yields the same id, since its name is unique.
    const alone = await colloquy(['import', '--db', pathOf('x.db'), pathOf('all/r/only.json')])
    expect(alone.out).toContain(', 0 added')
  })

  it('rejects a second file with the name of an imported one', async () => {
    const other = JSON.stringify([{ role: 'user', content: 'another' }])
    const pathOf = folder({ 'a/chat.json': JSON.stringify(openaiChat(SCRIPT)), 'b/chat.json': other })
    await colloquy(['import', '--db', pathOf('x.db'), pathOf('a/chat.json')])
    const { code, err } = await colloquy(['import', '--db', pathOf('x.db'), pathOf('b/chat.json')])
    expect([code, err]).toEqual([1, expect.stringContaining(' (it was imported from another file);')])
  })
})

describe('import of a session that has grown', () => {
  it('adds the new events, or names the line where a reply was incomplete before', async () => {
    const lines = claudeCode(SCRIPT).map((line) => JSON.stringify(line))
    const outcomes = new Set<string>()
    for (let cut = 1; cut < lines.length; cut += 1) {
      const contents = { 'cut.jsonl': lines.slice(0, cut).join('\n'), 'whole.jsonl': lines.join('\n') }
      const pathOf = folder(contents)
      const into = ['import', '--db', pathOf('x.db'), '--conversation', 'c']
      await colloquy([...into, pathOf('cut.jsonl')])
      const { code, out, err } = await colloquy([...into, pathOf('whole.jsonl')])
      if (code === 0) expect(out).toContain('continued')
      else
        expect(err).toMatch(
          /line \d+ differs from the stored event .* \(perhaps a stored reply is incomplete/,
        )
      outcomes.add(code === 0 ? 'added' : 'refused')
    }
    expect([...outcomes].toSorted()).toEqual(['added', 'refused'])
  })
})

describe('import of a folder with empty files', () => {
  it('skips the empty files and names them', async () => {
    const pathOf = folder({
      'all/chat.json': JSON.stringify(openaiChat(SCRIPT)),
      'all/p/empty.jsonl': '',
      'all/blank.jsonl': '\ufeff\n \t\n',
      'all/blank.json': ' \n',
    })
    for (const more of [[], ['--json']]) {
      const { code, err } = await colloquy(['import', '--db', pathOf('x.db'), pathOf('all'), ...more])
      expect(code).toBe(0)
      expect(err).toBe(
        `colloquy: ${pathOf('all')}: left out 3 empty files: blank.json, blank.jsonl, ${join('p', 'empty.jsonl')}\n`,
      )
    }
    const conversations = await colloquy(['conversations', '--db', pathOf('x.db'), '--json'])
    expect(JSON.parse(conversations.out).items).toHaveLength(1)
  })
})

it.skipIf(process.platform === 'win32')(
  'import follows links to folders, and reads each folder once',
  async () => {
    const pathOf = folder({ 'all/x': '', 'other/chat.json': JSON.stringify(openaiChat(SCRIPT)) })
    symlinkSync(pathOf('other'), pathOf('all/linked'))
    symlinkSync(pathOf('other'), pathOf('all/again'))
    symlinkSync(pathOf('all'), pathOf('other/back'))
    symlinkSync(pathOf('none'), pathOf('all/broken.jsonl'))
    const { code, err } = await colloquy(['import', '--db', pathOf('x.db'), pathOf('all')])
    expect(code).toBe(1)
    expect(err).toContain('broken.jsonl: no such file or directory')
    const conversations = await colloquy(['conversations', '--db', pathOf('x.db'), '--json'])
    expect(JSON.parse(conversations.out).items).toHaveLength(1)
  },
)

describe.skipIf(process.platform === 'win32')(
  'import of a folder with a pipe and an unreadable subfolder',
  () => {
    it('reads the files, and reports only the subfolder', async () => {
      const pathOf = folder({ 'all/chat.json': JSON.stringify(openaiChat(SCRIPT)), 'all/deep/x': '' })
      const name = 'x'.repeat(250)
      // No process can open a path of more than 4,096 bytes, so the shell cannot enter the last subfolder either.
      const loop = `while mkdir ${name} && cd ${name} 2>/dev/null; do :; done`
      execFileSync('sh', ['-c', `mkfifo a.jsonl; mkdir b.jsonl; cd deep; ${loop}`], { cwd: pathOf('all') })
      try {
        const { code, out, err } = await colloquy(['import', '--db', pathOf('x.db'), pathOf('all')])
        expect(code).toBe(1)
        expect(out).toContain('chat.json  ')
        expect(err.split('\n')).toEqual([expect.stringContaining(`${name}/: `), ''])
      } finally {
        execFileSync('rm', ['-r', pathOf('all/deep')])
      }
    })
  },
)

const textParts = (words: string) => [{ type: 'input_text', text: words }]
const rollout = (id: string, from: number, turns: readonly string[], meta: object = {}): string =>
  asLines(
    [
      { type: 'session_meta', payload: { id, ...meta } },
      ...turns.flatMap((words) => [
        { type: 'response_item', payload: { type: 'message', role: 'user', content: textParts(words) } },
        { type: 'event_msg', payload: { type: 'user_message', message: words } },
        { type: 'response_item', payload: { type: 'message', role: 'assistant', content: textParts('ok') } },
        { type: 'token_usage_record', payload: { usage: { input_tokens: 10, output_tokens: 1 } } },
      ]),
    ].map((record, index) => ({ ordinal: from + index, ...record })),
  )
const basedOn = (thread_id: string, end: number) => ({
  history_base: { thread_id, end_ordinal_exclusive: end, end_byte_offset: 1 },
})
const promptsIn = async (...argv: string[]) => {
  const { out } = await colloquy(['messages', '--format', 'openai-chat', ...argv])
  return [...out.matchAll(/"text": "(\w+)"/g)].map(([, text]) => text).filter((text) => text !== 'ok')
}

describe('a Codex thread in several files', () => {
  const sessions = {
    '.codex/sessions/2026/09/01/rollout-1-aa.jsonl': rollout('aa', 0, ['one', 'two']),
    '.codex/sessions/2026/09/02/rollout-2-aa_bb.jsonl.zst': zstdCompressSync(
      rollout('aa', 9, ['three'], basedOn('aa', 9)),
    ),
    '.codex/sessions/2026/09/03/rollout-3-aa_cc.jsonl': rollout('aa', 14, ['four'], basedOn('bb', 14)),
    '.codex/archived_sessions/rollout-4-ff.jsonl': rollout('ff', 5, ['five'], {
      ...basedOn('aa', 5),
      forked_from_id: 'aa',
    }),
  }

  it('is imported whole; a fork has the turns before it, without their tokens', async () => {
    const pathOf = folder(sessions)
    const all = await colloquy(['import', '--db', pathOf('x.db'), pathOf('.codex')])
    expect(all).toMatchObject({ code: 0, err: '' })
    const stored = (id: string) => promptsIn('--db', pathOf('x.db'), '--conversation', id)
    expect(await stored('aa')).toEqual(['one', 'two', 'three', 'four'])
    expect(await stored('ff')).toEqual(['one', 'five'])
    expect(await promptsIn(pathOf('.codex/sessions/2026/09/03/rollout-3-aa_cc.jsonl'))).toEqual([
      'one',
      'two',
      'three',
      'four',
    ])
    const tokens = async (id: string) =>
      (await colloquy(['export', '--db', pathOf('x.db'), '--conversation', id])).out.match(/"tokens":/g)
        ?.length
    expect([await tokens('aa'), await tokens('ff')]).toEqual([4, 1])
  })

  it('has no tokens of the lines that its first file copied from a parent', async () => {
    const pathOf = folder({
      'sessions/rollout-1-aa.jsonl': rollout('aa', 0, ['one', 'two'], {
        parent_thread_id: 'pp',
        subagent_history_start_ordinal: 5,
      }),
      'sessions/rollout-2-aa_bb.jsonl': rollout('aa', 9, ['three'], basedOn('aa', 9)),
    })
    const { out } = await colloquy(['check', pathOf('sessions/rollout-2-aa_bb.jsonl')])
    expect(out).toMatch(/tokens of a copied reply$/m)
  })

  it('is reported as incomplete without its earlier files', async () => {
    const pathOf = folder({ 'rollout-4-ff.jsonl': rollout('ff', 5, ['five'], basedOn('aa', 5)) })
    const { out } = await colloquy(['check', pathOf('rollout-4-ff.jsonl')])
    expect(out).toContain('earlier history, in the rollout aa')
    const some = folder({
      'rollout-2-aa_bb.jsonl': rollout('aa', 9, ['three'], basedOn('aa', 9)),
      'rollout-3-aa_cc.jsonl': rollout('aa', 14, ['four'], basedOn('bb', 14)),
    })
    const joined = await colloquy(['check', some('rollout-3-aa_cc.jsonl')])
    expect(joined.out).toContain('earlier history, in the rollout aa')
  })

  it('is not searched in subfolders of a folder that is not in `sessions`', async () => {
    const pathOf = folder({
      'rollout-2-aa_bb.jsonl': rollout('aa', 9, ['three'], basedOn('aa', 9)),
      'projects/deep/rollout-1-aa.jsonl': rollout('aa', 0, ['one', 'two']),
    })
    const { out } = await colloquy(['check', pathOf('rollout-2-aa_bb.jsonl')])
    expect(out).toContain('earlier history, in the rollout aa')
  })
})

const withoutFile = (text: string): string => text.replaceAll(/"file":"[^"]*"/g, '"file":""')

describe('a zstd-compressed file', () => {
  const texts: Readonly<Record<string, string>> = {
    'events.jsonl': Array.from({ length: 3000 }, (_, nth) =>
      JSON.stringify(messageEvent(`m${nth}`, `${nth}`)),
    ).join('\n'),
    'claude.jsonl': asLines(claudeCode(SCRIPT)),
    'bom.jsonl': `\ufeff${asLines(claudeCode(SCRIPT))}\r\n`,
    'chat.json': JSON.stringify(openaiChat(SCRIPT), null, 2),
  }
  it.each(Object.keys(texts))('is read like the plain %s, also from standard input', async (name) => {
    const compressed = zstdCompressSync(texts[name] ?? '')
    const pathOf = folder({ [name]: texts[name] ?? '', [`${name}.zst`]: compressed })
    for (const command of ['replay', 'messages', 'check']) {
      const plain = await colloquy([command, '--json', pathOf(name)])
      expect(plain.code).toBe(0)
      const packed = await colloquy([command, '--json', pathOf(`${name}.zst`)])
      expect({ ...packed, out: withoutFile(packed.out) }).toEqual({ ...plain, out: withoutFile(plain.out) })
      const piped = await colloquy([command, '--json', '-'], { stdin: compressed })
      expect({ ...piped, out: withoutFile(piped.out) }).toEqual({ ...plain, out: withoutFile(plain.out) })
    }
  })

  it('is imported under the id of the plain file', async () => {
    const packed = Object.entries(texts).map(([name, text]) => [`all/${name}.zst`, zstdCompressSync(text)])
    const pathOf = folder({ ...Object.fromEntries(packed), 'chat.json': texts['chat.json'] ?? '' })
    const { code, out } = await colloquy(['import', '--db', pathOf('x.db'), pathOf('all')])
    expect([code, out]).toEqual([0, expect.stringContaining('4 files read')])
    const again = await colloquy(['import', '--db', pathOf('x.db'), pathOf('chat.json')])
    expect(again.out).toContain(', 0 added')
  })

  it('fails with the error of the plain file', async () => {
    const text = '{\n"messages": ['
    const pathOf = folder({ 'x.json': text, 'x.json.zst': zstdCompressSync(text) })
    const plain = await colloquy(['replay', pathOf('x.json')])
    const packed = await colloquy(['replay', pathOf('x.json.zst')])
    expect(plain.code).toBe(1)
    expect({ ...packed, err: packed.err.replaceAll('.zst', '') }).toEqual(plain)
  })

  it('fails if it is damaged or has several frames', async () => {
    const bytes = zstdCompressSync(texts['events.jsonl'] ?? '')
    const flipped = Buffer.from(bytes.map((byte, at) => (at > 20 && at < 40 ? byte ^ 0xff : byte)))
    // The decompressor of Node.js drops a second frame in a chunk.
    const two = Buffer.concat([bytes, bytes])
    const pathOf = folder({
      'cut.jsonl.zst': bytes.subarray(0, bytes.length / 2),
      'flipped.zst': flipped,
      'two.zst': two,
    })
    for (const name of ['cut.jsonl.zst', 'flipped.zst', 'two.zst']) {
      const { code, err } = await colloquy(['replay', pathOf(name)])
      expect(code).toBe(1)
      expect(err).toContain('is a zstd file that is damaged or has several frames; unpack it with `zstd -d`')
    }
  })
})

const SESSIONS = resolve(import.meta.dirname, '../../../shared/sessions')
const hasSessions = existsSync(SESSIONS)
const files = hasSessions
  ? readdirSync(SESSIONS, { recursive: true, encoding: 'utf8' }).filter((name) => /\.jsonl?$/.test(name))
  : []
const title = hasSessions
  ? 'every recorded session'
  : 'recorded sessions (none here: the folder shared/sessions is missing)'

describe.skipIf(!hasSessions)(title, () => {
  it('the folder shared/sessions contains at least one', () => {
    expect(files.length).toBeGreaterThan(0)
  })

  it.each(files)('%s is read the same twice, and is valid in every grammar', (name) => {
    const text = readFileSync(join(SESSIONS, name), 'utf8')
    const raws = name.endsWith('.jsonl') ? text.split('\n').filter((line) => line !== '') : [text]
    const records = () => raws.map((raw, index) => ({ line: index + 1, raw, value: valueOf(raw) }))
    const session = readSession(records())
    expect(readSession(records())).toEqual(session)
    for (const { facts } of [session, ...session.children]) {
      const events = facts.map(({ fact }) => fact)
      const state = replay(events)
      expect(state.log.entries.length).toBe(facts.length)
      // Checking the longest log takes long; its beginning is representative.
      checkGrammars(events.slice(0, 300))
      // Only unknown lines are quarantined: two files were damaged by hand, one catalogue has masked steps.
      const strange = events.filter(isQuarantined).length
      expect(strange).toBeLessThanOrEqual(/agentsview-pi|polylogue/.test(name) ? 5 : 0)
    }
  })
})

function valueOf(raw: string) {
  try {
    return JSON.parse(raw)
  } catch {
    return undefined
  }
}
