/** A new grammar needs only a folder and a line in the registry. Tested in a copy of the sources. */

import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

const TOY = `
import { defineGrammar } from '../grammar.ts'
import { argumentObject, halves, type SpokenProvider } from '../fake.ts'
import { replyEvents } from '../reply.ts'
import { allOf, COMMON_KINDS } from '../reply-parts.ts'
import { objectsOf, stringOf } from '../text.ts'
import type { Limits } from '../limits.ts'
import { replyBlocks, type Writer, writeRequest } from '../write.ts'

const LIMITS: Limits = {
  grammar: 'toy', table: {},
  callId: { illegal: /[^a-z0-9]/gu, maxLength: 20 }, acceptsImage: () => false,
  parts: { user: false, result: false, kinds: {}, write: () => null },
  kinds: COMMON_KINDS,
  order: (message) => allOf(message, 'text', 'call'),
  isSigned: () => false, more: {}, pairOf: () => null, pairs: (turns) => turns,
  hasOutput: ({ texts }) => texts.length > 0,
}

type Line = { readonly type: 'text'; readonly text: string } | { readonly call: string; readonly id: string; readonly args: object } | { readonly result: string; readonly id: string }

const PROVIDER: SpokenProvider = {
  route: (path) => (path.endsWith('/toy') ? false : null),
  arrange: (output) => output,
  contents: (part, id) => typeof part === 'string' ? [{ type: 'text', text: part }] : 'call' in part ? [{ call: part.call, id, args: argumentObject(part.args) }] : [],
  whole: (output) => ({ output }), stream: (output) => output.flatMap(({ text }) => halves(String(text)).map((half) => ({ text: half }))),
  namedBy: null, ends: 0,
  error: (_, message) => ({ status: 400, body: { error: message } }),
}

export const TOY = defineGrammar({
  name: 'toy', title: 'Toy', law: 'M1', limits: LIMITS, list: 'lines', provider: PROVIDER,
  write(messages, options = {}) {
    const start = (list: { role: string; content: Line[] }[]): Writer<Line> & { request: (lines: object[]) => { lines: object[] } } => ({
      piece: (piece) => ({ type: 'text', text: piece.type === 'text' ? piece.text : '' }),
      reply: (turn, keeps) => replyBlocks<Line>(turn, keeps, {
        text: ({ text }) => ({ type: 'text', text }),
        call: ({ id, name, source }) => ({ call: name, id, args: argumentObject(source.arguments) }),
        other: () => null,
        more: () => null,
      }),
      result: ({ call, pieces }) => ({ result: pieces.map((piece) => (piece.type === 'text' ? piece.text : '')).join(''), id: call.id }),
      add: (role, content) => list.push({ role, content }),
      request: (lines) => ({ lines }),
    })
    return writeRequest({ limits: LIMITS, start }, messages, options)
  },
  reply: (reply: { readonly output: readonly object[] }, options = {}) => replyEvents({
    id: '', model: 'toy', stopReason: '', usage: {}, reasoning: '', ending: null,
    parts: objectsOf(reply.output).map(({ text }) => ({ is: 'text', text: stringOf(text), more: null })),
  }, LIMITS, options),
  stream: () => ({ push: () => [], end: () => ({ events: [], outcome: { type: 'broken_off', text: '' } }) }),
  rules: (request) => (JSON.stringify(request).includes('forbidden') ? [{ rule: 'no-forbidden', path: 'lines', message: 'forbidden' }] : []),
})
`

const PROBE = `
import { playTurns } from './src/messages/model.ts'
import { fakeProvider } from './src/testing/provider/provider.ts'
import { FORMS } from './src/inspector/model/request.ts'
import { findings } from './src/explain/index.ts'
import { run } from './src/cli/run.ts'
const command = async (...argv) => {
  const texts = { out: '', err: '' }
  const to = (name) => ({ isTTY: false, write: async (text) => void (texts[name] += text) })
  await run(argv, { stdin: (async function* () {})(), stdout: to('out'), stderr: to('err'), env: {} })
  return texts
}
const provider = fakeProvider(playTurns([{ says: ['hi'] }]))
const response = await provider.fetch('http://any/toy', { method: 'POST', body: '{"lines":[]}' })
const user = { kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: [{ text: 'hello' }] } }
console.log(JSON.stringify({
  reply: await response.json(), grammar: provider.requests[0]?.grammar, form: FORMS['toy'],
  findings: findings([user], { grammars: ['toy'] }).length,
  messages: await command('messages', '--format', 'toy', 'log.jsonl'),
  violations: await command('check', '--laws', '--grammar', 'toy', 'log.jsonl'),
}))
`

let folder = ''
const run = (command: string, ...args: readonly string[]) =>
  spawnSync(command, args, { cwd: folder, encoding: 'utf8', maxBuffer: 1e8 })

beforeAll(() => {
  // Node does not strip types below node_modules.
  folder = mkdtempSync(join(tmpdir(), 'colloquy-toy-'))
  cpSync(join(ROOT, 'src'), join(folder, 'src'), { recursive: true })
  for (const file of ['package.json', 'properties', 'node_modules'])
    symlinkSync(join(ROOT, file), join(folder, file))
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
    readonly compilerOptions: object
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['src'], exclude: ['src/inspector/page'] }),
  )
  mkdirSync(join(folder, 'src/messages/toy'))
  writeFileSync(join(folder, 'src/messages/toy/grammar.ts'), TOY)
  const registry = join(folder, 'src/messages/grammars.ts')
  const text = readFileSync(registry, 'utf8')
  writeFileSync(
    registry,
    `import { TOY } from './toy/grammar.ts'\n${text.replace(/AI_SDK,\s*\]/, 'AI_SDK, TOY]')}`,
  )
  writeFileSync(join(folder, 'probe.ts'), PROBE)
  const user = { role: 'user', content: [{ text: 'Hello, forbidden.' }] }
  writeFileSync(
    join(folder, 'log.jsonl'),
    `${JSON.stringify({ kind: 'MessageEvent', source: 'user', llm_message: user })}\n`,
  )
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('a new grammar compiles without other edits', () => {
  const { stdout } = run(
    join(ROOT, 'node_modules/.bin/tsc'),
    '--noEmit',
    '--singleThreaded',
    '--pretty',
    'false',
    '-p',
    '.',
  )
  expect(stdout).toBe('')
}, 600_000)

it('the fake provider, the inspector, the findings and the CLI support a new grammar', () => {
  const { stdout, stderr } = run(process.execPath, 'probe.ts')
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({
    reply: { output: [{ type: 'text', text: 'hi' }] },
    grammar: 'toy',
    form: 'Toy',
    findings: expect.any(Number),
    messages: { out: expect.stringContaining('"lines"'), err: '' },
    violations: { out: expect.stringContaining('no-forbidden'), err: expect.any(String) },
  })
})
