/** Runs the page's curl commands in a shell against a real service. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { startServer } from '../cli/start-server.ts'
import { folder } from '../cli/run-command.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import { createService } from '../../src/service/service.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { providerServer } from '../../src/testing/node/provider-server.ts'
import { blocks, clientsOf, project, readPage } from '../pages.ts'
import { withCurl } from './curl.ts'
import { readDocument } from './document.ts'

const PAGE = 'docs/service.md'
const commands = blocks('sh', PAGE).filter(({ code }) => code.startsWith('api=http://127.0.0.1:8000/api\n'))

/** Matches the agent's event, not the message that causes it. */
const report = (text: string) =>
  new RegExp(`^data: \\{"kind":"MessageEvent","source":"agent".*"${text}"`, 'm')

/** The page's agent module. */
const agent = blocks('ts', PAGE).find(({ code }) => code.includes('export const step'))?.code ?? ''

it.each(['the built-in agent', 'the agent of the page'])(
  'the commands of the page succeed with %s',
  async (which) => {
    expect(commands).toHaveLength(1)
    const path = folder({})
    const [args, env] = which === 'the agent of the page' ? await pageAgent() : [[], {}]
    const { url } = await startServer(args, { cwd: path(), env })
    const lines = (commands[0]?.code ?? '').replace('http://127.0.0.1:8000', url)
    // In its own process group, so that the open stream ends with it.
    const shell = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', lines], {
      cwd: path(),
      env: withCurl(path()),
      detached: true,
    })
    onTestFinished(() => {
      try {
        if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL')
      } catch {
        // The group is gone if the stream could not start.
      }
    })
    let out = ''
    let err = ''
    shell.stderr.setEncoding('utf8').on('data', (text: string) => void (err += text))
    shell.stdout.setEncoding('utf8').on('data', (text: string) => void (out += text))
    const [code] = await once(shell, 'exit')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    await expect.poll(() => out).toMatch(report('And now\\?'))
    expect(out).toMatch(report('Hello'))
    expect(out).toContain('"public":true')
    const matches = out.split('\n').flatMap((line) => {
      const page = /\{"items":.*"next_page_id":null\}/.exec(line)?.[0]
      return page === undefined ? [] : [JSON.parse(page) as { items: { source: string }[] }]
    })
    expect(matches).toHaveLength(1)
    const messages = matches[0]?.items.map(({ source }) => source) ?? []
    // The walkthrough does not wait for the reply of a model.
    if (which === 'the agent of the page') return expect(messages.slice(0, 1)).toEqual(['user'])
    expect(messages.slice(0, 2)).toEqual(['user', 'agent'])
    expect(messages.length).toBeGreaterThanOrEqual(3)
  },
)

/** Options and environment that run the page's own agent against a local provider. */
async function pageAgent(): Promise<[string[], Record<string, string>]> {
  const provider = await providerServer()
  const { write, remove } = project()
  onTestFinished(async () => {
    await provider.close()
    remove()
  })
  return [['--agent', write('agent.ts', agent)], clientsOf(provider.url)]
}

it('the page names exactly the public paths', async () => {
  const text = /\*\*Public paths\*\* need no key: ([^]*?)\.\n/.exec(readPage(PAGE))?.[1] ?? ''
  const named = [...text.matchAll(/`(\S+)`/g)].map((match) => match[1] ?? '')
  const engine = createEngine({ store: memoryStore() })
  const { operations } = await readDocument(createService({ engine, keys: ['k'] }))
  const open = operations
    .filter(({ security = [] }) => security.length === 0)
    .map(({ path }) => named.find((name) => path === name || path.startsWith(`${name}/`)) ?? path)
  // The document does not describe itself.
  expect([...new Set(open), '/openapi.json'].toSorted()).toEqual(named.toSorted())
  await engine.close()
})
