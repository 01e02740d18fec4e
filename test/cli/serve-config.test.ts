import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as z from 'zod'
import { addressOf } from '../../src/cli/db/address.ts'
import { settings } from '../../src/cli/serve/config-schema.ts'
import { sandboxFolder } from '../../src/cli/serve/serve.ts'
import { DEFAULT_PORT } from '../../src/service/node/server.ts'
import { blocks } from '../pages.ts'
import { Receiver, SECRET as HOOK_SECRET } from '../service/receiver.ts'
import { processesIn, server as serverCommand, until } from '../service/sandbox-commands.ts'
import { SECRET, serveInProcess, startServer } from './start-server.ts'
import { colloquy, folder } from './run-command.ts'

/** Sends a request and returns the JSON response. */
async function request<T>(url: string, method = 'GET', body?: object): Promise<T> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) }
  return (await fetch(url, { method, ...init })).json() as Promise<T>
}

interface Sandbox {
  readonly id: string
  readonly status: string
  readonly exposed_urls: readonly { readonly url: string }[] | null
}

interface Task {
  readonly id: string
  readonly status: string
  readonly sandbox_id: string
  readonly app_conversation_id: string
}

/** Waits for a sandbox to reach a status. */
const sandboxIn = (url: string, id: string, status: string): Promise<Sandbox> =>
  until(async () => {
    const [sandbox] = await request<Sandbox[]>(`${url}/api/v1/sandboxes?id=${id}`)
    return sandbox?.status === status ? sandbox : null
  })

describe('colloquy serve without options', () => {
  it('stores everything in the working directory, and creates the sandbox folder on demand', async () => {
    const path = folder({})
    const server = await startServer([], { cwd: path() })
    expect(readdirSync(path()).filter((name) => !name.startsWith('colloquy.db'))).toEqual([])
    const { id } = await request<Task>(`${server.url}/api/v1/app-conversations`, 'POST', {})
    const task = await until(async () => {
      const [startTask] = await request<Task[]>(
        `${server.url}/api/v1/app-conversations/start-tasks?ids=${id}`,
      )
      return startTask?.status === 'READY' ? startTask : null
    })
    expect(readdirSync(path('colloquy-sandboxes'))).toEqual([task.sandbox_id])
    const { code, out } = await server.stop('SIGTERM')
    expect(code).toBe(0)
    expect(out).toContain(`sandboxes are processes of this machine, in ${path('colloquy-sandboxes')}\n`)
    expect(out).toContain(`API keys of models are not stored (set ${SECRET} to store them encrypted)\n`)
    expect(readdirSync(path()).toSorted()).toEqual(['colloquy-sandboxes', 'colloquy.db'])
  })

  it('has no workspace and no editor, and rejects an API key', async () => {
    const path = folder({})
    const { url } = await serveInProcess(['--db', path('x.db')])
    const createUrl = `${url}/api/file/create_directory?path=${path('new')}`
    expect((await fetch(createUrl, { method: 'POST' })).status).toBe(403)
    expect(await request(`${url}/api/vscode/url`)).toEqual({ url: null })
    const profile = { method: 'POST', body: JSON.stringify({ llm: { model: 'm', api_key: 'the-key' } }) }
    expect((await fetch(`${url}/api/profiles/p`, profile)).status).toBe(409)
    expect(existsSync(path('new'))).toBe(false)
  })

  it('exits with an error when its port is in use', async () => {
    const path = folder({})
    const { url } = await serveInProcess(['--db', path('a.db')])
    const { port } = new URL(url)
    const second = startServer(['--db', 'b.db', '--port', port], { cwd: path() })
    await expect(second).rejects.toThrow(
      `ended: colloquy: port ${port} of 127.0.0.1 is in use: use another port, or 0 for any free one\n`,
    )
  })
})

describe('colloquy serve --config', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)(
    'runs the configured sandboxes, and leaves no process after %s',
    async (signal) => {
      const specs = [
        {
          id: 'server',
          command: serverCommand(),
          health: '/',
          initial_env: { GIVEN: 'yes' },
          working_dir: 'w',
        },
        { id: 'empty', command: null },
      ]
      const file = { sandbox_specs: specs, sandbox_directory: 'boxes', max_sandboxes: 2 }
      const path = folder({ 'etc/serve.json': JSON.stringify(file) })
      const server = await startServer(['--db', path('x.db'), '--config', path('etc/serve.json')])
      const sandboxes = `${server.url}/api/v1/sandboxes`
      const { items } = await request<{ items: object[] }>(`${server.url}/api/v1/sandbox-specs/search`)
      expect(items).toMatchObject([{ id: 'server', working_dir: 'w' }, { id: 'empty' }])
      const { id } = await request<Sandbox>(sandboxes, 'POST')
      const { exposed_urls: urls } = await sandboxIn(server.url, id, 'RUNNING')
      const reply = await request<{ cwd: string; env: string[] }>(urls?.[0]?.url ?? '')
      expect(reply.cwd).toBe(path(`etc/boxes/${id}/w`))
      expect(reply.env).toContain('GIVEN')
      const otherSandboxes = [
        await request<Sandbox>(sandboxes, 'POST'),
        await request<Sandbox>(sandboxes, 'POST'),
      ]
      await sandboxIn(server.url, id, 'PAUSED')
      await sandboxIn(server.url, otherSandboxes[1]?.id ?? '', 'RUNNING')
      expect(processesIn(path()).length).toBeGreaterThan(0)
      const { code } = await server.stop(signal)
      expect(code).toBe(signal === 'SIGKILL' ? null : 0)
      await until(() => processesIn(path()).length === 0)
      expect(existsSync(path(`etc/boxes/${id}/w`))).toBe(true)
    },
  )

  it('signs webhook deliveries with a secret from the environment, and logs failed ones', async () => {
    const receiver = await new Receiver().start()
    onTestFinished(() => receiver.stop())
    receiver.answers.push(500)
    const webhook = {
      url: receiver.url,
      secret_env: 'HOOK',
      id: 'hook',
      kinds: ['MessageEvent'],
      retry_delay: 10,
    }
    const path = folder({ 'c.json': JSON.stringify({ webhooks: [webhook] }) })
    const server = await serveInProcess(['--db', path('x.db'), '--config', path('c.json')], {
      HOOK: HOOK_SECRET,
    })
    await request(`${server.url}/api/conversations`, 'POST', { conversation_id: 'c' })
    await request(`${server.url}/api/conversations/c/events`, 'POST', {
      role: 'user',
      content: [{ text: 'Hi' }],
    })
    await until(() => receiver.events('c').length > 0)
    const { out, log } = await server.stop()
    expect(receiver.forged).toBe(0)
    expect(out).toContain('1 webhook receives events\n')
    expect(log.filter(({ level }) => level !== 'info')).toMatchObject([
      {
        level: 'warn',
        message: 'webhook delivery failed',
        webhook: 'hook',
        reason: expect.stringMatching(/^\/\w.* was rejected: the receiver responded with 500$/),
      },
    ])
    expect(out + JSON.stringify(log)).not.toContain(HOOK_SECRET)
  })

  it('logs a failed start of a conversation with the error of its sandbox', async () => {
    const specs = [{ id: 'none', command: ['no-such-program-of-mine'], health: '/alive' }]
    const path = folder({ 'c.json': JSON.stringify({ sandbox_specs: specs }) })
    const server = await serveInProcess(['--db', path('x.db'), '--config', path('c.json')])
    const { id } = await request<{ id: string }>(`${server.url}/api/v1/app-conversations`, 'POST', {})
    const tasks = `${server.url}/api/v1/app-conversations/start-tasks?ids=${id}`
    await until(async () => (await request<{ status: string }[]>(tasks))[0]?.status === 'ERROR')
    const { log } = await server.stop()
    expect(log.filter(({ level }) => level !== 'info')).toMatchObject([
      {
        level: 'warn',
        message: 'conversation not started',
        start_task_id: id,
        reason: expect.stringMatching(/The sandbox is ERROR: .*no-such-program-of-mine/),
      },
    ])
  })

  it('applies the workspace, the editor, the encryption of keys and the limits', async () => {
    const file = {
      editor: { port: 8443, token_env: 'TOKEN', base_path: 'code' },
      max_profiles: 1,
      max_body_bytes: 1_000,
      cache_bytes: 1,
      live: { max_total: 1 },
    }
    const location = folder({ 'c.json': JSON.stringify(file), 'work/a.txt': '' })
    const args = ['--db', location('x.db'), '--config', location('c.json'), '--workspace', location('work')]
    const env = { TOKEN: 'the-token', [SECRET]: 'a secret of some length' }
    const first = await serveInProcess(args, env)
    const post = async (path: string, body: object): Promise<number> =>
      (await fetch(`${first.url}${path}`, { method: 'POST', body: JSON.stringify(body) })).status
    expect(await request(`${first.url}/api/vscode/url`)).toEqual({
      url: 'http://localhost:8443/code/?tkn=the-token&folder=workspace',
    })
    expect(await post(`/api/file/create_directory?path=${location('work/b/c')}`, {})).toBe(200)
    expect(await post(`/api/file/create_directory?path=${location('other')}`, {})).toBe(403)
    expect([existsSync(location('work/b/c')), existsSync(location('other'))]).toEqual([true, false])
    expect(await post('/api/profiles/one', { llm: { model: 'm', api_key: 'sk-the-api-key' } })).toBe(201)
    expect(await post('/api/profiles/two', { llm: { model: 'm' } })).toBe(409)
    expect(await post('/api/conversations', { title: 'x'.repeat(1_000) })).toBe(413)
    expect(await post('/api/conversations', { conversation_id: 'c' })).toBe(201)
    expect(await inMemory(first.url)).toBe('1')
    const stream = `${first.url}/api/conversations/c/events/stream`
    const openStream = await fetch(stream)
    expect([openStream.status, (await fetch(stream)).status]).toEqual([200, 429])
    const { out } = await first.stop()
    expect(out).toContain(`clients may create directories in ${location('work')}\n`)
    expect(out).toContain(`API keys of models are stored, encrypted with ${SECRET}\n`)
    expect(readFileSync(location('x.db'), 'latin1')).not.toContain('sk-the-api-key')
    const second = await serveInProcess(args, { ...env, [SECRET]: 'another secret than before' })
    expect((await fetch(`${second.url}/api/profiles/one`)).status).toBe(409)
    const third = await serveInProcess([...args, '--memory', '16'], env)
    expect(await inMemory(third.url)).toBe('3')
    expect((await fetch(`${third.url}/api/profiles/one`)).status).toBe(200)
  })
})

const sendJson = async (url: string, method: string, body: object): Promise<number> =>
  (await fetch(url, { method, body: JSON.stringify(body) })).status

const readTexts = async (url: string): Promise<readonly [api: string, shared: string]> => [
  await (await fetch(`${url}/api/conversations/c/events/search`)).text(),
  await (await fetch(`${url}/api/shared-events/search?conversation_id=c`)).text(),
]

describe('colloquy serve with redaction', () => {
  const TOKEN = 'sk-ant-REALKEY0123456789abcdef'
  const text = { content: [{ type: 'text', text: `The key is ${TOKEN}.` }] }
  it.each([
    [['--redact'], '{}', true],
    [[], '{"redact":["stored"]}', true],
    [[], '{"redact":["public"]}', false],
  ])('masks shared events with %j and %s, and stored events: %s', async (flags, file, stored) => {
    const path = folder({ 'c.json': file })
    const args = ['--db', path('x.db'), '--config', path('c.json'), ...flags]
    const { url, stop } = await serveInProcess(args)
    const api = `${url}/api/conversations`
    expect(await sendJson(api, 'POST', { conversation_id: 'c', title: `On ${TOKEN}` })).toBe(201)
    expect(await sendJson(`${api}/c/events`, 'POST', text)).toBeLessThan(300)
    expect(await sendJson(`${url}/api/v1/app-conversations/c`, 'PATCH', { public: true })).toBe(200)
    const [privateText, shared] = await readTexts(url)
    expect([privateText.includes('REALKEY'), privateText.includes('The key is')]).toEqual([!stored, true])
    expect(shared).not.toContain('REALKEY')
    expect(shared).toContain('The key is [redacted].')
    await stop()
    for (const end of ['', '-wal'])
      if (existsSync(path(`x.db${end}`)))
        if (stored) expect(readFileSync(path(`x.db${end}`), 'latin1')).not.toContain('REALKEY')
  })
})

/** Returns how many of three conversations stay in memory. */
const inMemory = async (url: string): Promise<string | undefined> => {
  for (const id of ['c', 'd', 'e']) {
    await fetch(`${url}/api/conversations`, { method: 'POST', body: `{"conversation_id":"${id}"}` })
    expect((await fetch(`${url}/api/conversations/${id}`)).status).toBe(200)
  }
  const measures = await (await fetch(`${url}/metrics`)).text()
  return /^colloquy_conversations_in_memory (\d+)$/m.exec(measures)?.[1]
}

it.each([
  ['x.db', null, 'x-sandboxes'],
  ['data/my.events.sqlite', 'work', 'data/my.events-sandboxes'],
  ['plain', null, 'plain-sandboxes'],
  ['postgres://u@h/d', null, 'colloquy-sandboxes'],
  ['postgres://u@h/d', 'work', 'work/colloquy-sandboxes'],
])('the sandboxes of the database %s with the workspace %s are in %s', (db, workspace, result) => {
  expect(sandboxFolder(addressOf(db), workspace ?? undefined)).toBe(resolve(result))
})

it('the help page of serve names every field of the configuration file', async () => {
  const names = new Set<string>()
  const collect = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    for (const [key, value] of Object.entries(schema)) {
      if (key === 'properties') for (const name of Object.keys(value as object)) names.add(name)
      collect(value)
    }
  }
  collect(z.toJSONSchema(settings, { io: 'input' }))
  expect(names.size).toBeGreaterThan(30)
  const { out } = await colloquy(['serve', '--help'])
  const helpWords = new Set(out.match(/\w+/g))
  for (const name of names) expect(helpWords).toContain(name)
})

it('the help page of serve contains the default port', async () => {
  const { out } = await colloquy(['serve', '--help'])
  expect(out.replaceAll(/\s+/g, ' ')).toContain(`PORT ${DEFAULT_PORT};`)
})

it('the example in docs/service.md is a valid configuration file', () => {
  const [{ code: file = '' } = {}] = blocks('json', 'docs/service.md')
  expect(settings.parse(JSON.parse(file))).toEqual(JSON.parse(file))
})
