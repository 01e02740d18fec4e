/** Runs the examples of the adapters unchanged, with the real frameworks. */

import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { HttpAgent } from '@ag-ui/client'
import { afterAll, expect, it } from 'vitest'
import { writeInspector } from '../../src/build/library.ts'
import { colloquy } from '../cli/run-command.ts'
import { project, ROOT } from '../pages.ts'

const { folder, write, remove } = project()
const copy = (path: string): string =>
  write(path.split('/').at(-1) ?? '', readFileSync(join(ROOT, path), 'utf8'))
const [LANGGRAPH, CLAUDE, OPENAI, AG_UI] = ['langgraph', 'claude-agent', 'openai-agents', 'ag-ui'].map(
  (name) => copy(`examples/${name}.ts`),
)
/** Kills the process when it prints the line KILL_AT. First saves the compiled code, so that the next process starts faster. */
const KILLER = write(
  'killer.mjs',
  `import { flushCompileCache } from 'node:module'
const { log } = console
console.log = (line) => {
  log(line)
  if (line !== process.env.KILL_AT) return
  flushCompileCache()
  process.kill(process.pid, 'SIGKILL')
}`,
)

afterAll(remove)

function start(
  args: readonly (string | undefined)[],
  env: NodeJS.ProcessEnv = {},
): { signal: string | null; last: string | undefined } {
  const { signal, stdout } = spawnSync(process.execPath, args.map(String), {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 600_000,
  })
  return { signal, last: stdout.trim().split('\n').at(-1) }
}

it('LangGraph: the example resumes after a kill in each step, without repeating steps', () => {
  const database = { FILE: join(folder, 'graph.db') }
  const run = (killAt = '') => start(['--import', KILLER, LANGGRAPH], { ...database, KILL_AT: killAt })
  for (const step of ['step 1', 'step 2', 'step 3', 'step 4'])
    expect(run(step)).toEqual({ signal: 'SIGKILL', last: step })
  expect(run()).toEqual({ signal: null, last: 'asked, did 1, did 2, did 3, did 4' })
})

it('Claude Agent SDK: each start resumes the previous session, and the command line can read it', async () => {
  const page = join(ROOT, 'dist/inspector/page.html')
  if (!existsSync(page)) await writeInspector(page)
  const executable = copy('test/adapters/fake-claude-code.mjs')
  chmodSync(executable, 0o755)
  const file = join(folder, 'agent.db')
  const env = { CLAUDE_CODE: executable, CLAUDE_CONFIG_DIR: join(folder, 'claude'), FILE: file }
  const run = async (...args: string[]) => (await colloquy([...args, '--db', file])).out
  for (const [text, reply] of [
    ['One', 'I began with 0 lines.'],
    ['Two', 'I began with 5 lines.'],
  ] as const) {
    expect(start([CLAUDE, text], env).last).toBe(reply)
    const [id = ''] = /[\w-]{60,}/.exec(await run('conversations', '--json')) ?? []
    expect(await run('why', '--conversation', id, '--json')).toContain('"findings":[]')
    expect(await run('messages', '--conversation', id)).toContain(reply)
    const html = join(folder, 'page.html')
    await run('inspect', '--conversation', id, '--html', html, '--force')
    expect(readFileSync(html, 'utf8')).toContain(reply)
  }
})

it('OpenAI Agents SDK: each start has the messages of the previous starts', () => {
  const [one, two] = ['One', 'Two'].map((text) => start([OPENAI, text], { FILE: join(folder, 'agents.db') }))
  expect([one?.last, two?.last]).toEqual(['You have sent 1 items.', 'You have sent 3 items.'])
})

it('AG-UI: the AG-UI client receives the replies of the example server', async () => {
  const child = spawn(process.execPath, [String(AG_UI)], {
    cwd: folder,
    env: { ...process.env, FILE: join(folder, 'pages.db'), PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    let url = ''
    for await (const line of createInterface({ input: child.stdout })) {
      url = line
      break
    }
    const agent = new HttpAgent({ url, threadId: 'thread-1' })
    for (const id of ['m1', 'm2']) {
      agent.addMessage({ id, role: 'user', content: 'Hi' })
      await agent.runAgent({ runId: id })
    }
    expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  } finally {
    child.kill()
  }
})
