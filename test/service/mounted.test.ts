import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createContext, runInContext } from 'node:vm'
import { Hono } from 'hono'
import { rolldown } from 'rolldown'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import { writeProbe } from '../../src/service/observe/server-operations.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { createService, type Service } from '../../src/service/index.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { VERSION } from '../../src/service/version.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { virtually } from './run-request-cases.ts'

type Handler = (request: Request) => Response | Promise<Response>

const KEY = { 'x-session-api-key': 'the-key' }

const serviceOfTest = (): Service => {
  const engine = createEngine({ store: memoryStore() })
  onTestFinished(() => engine.close())
  return createService({ engine, keys: ['the-key'], agent: scriptedAgent(), version: '9.8.7' })
}

it('`createService` rejects options without an engine', () => {
  for (const options of [{ store: memoryStore() }, {}, undefined])
    expect(() => createService(options as never)).toThrow('`engine` must be an engine')
})

it('passing a step as `agent` sets an error with the correct usage', async () => {
  const engine = createEngine({ store: memoryStore() })
  onTestFinished(() => engine.close())
  const agent = async function* () {} as never
  const service = createService({ engine, agent, onFailure: () => undefined })
  const body = JSON.stringify({ conversation_id: 'c', initial_message: { content: [{ text: 'Hi' }] } })
  await service.fetch(new Request('http://localhost/api/conversations', { method: 'POST', body }))
  const { header } = await (await engine.open('c')).waitFor('error')
  expect(header.error?.detail).toBe('The agent returned no step. Pass `agent: () => step`.')
})

/** Ways to serve a service below `/sub`, next to other routes. */
const MOUNTS: Readonly<Record<string, (service: Service) => Handler>> = {
  'a route of a Hono app': ({ app }) => new Hono().get('/own', appResponse).route('/sub', app).fetch,
  'a mount of a Hono app': ({ fetch }) => new Hono().get('/own', appResponse).mount('/sub', fetch).fetch,
  'a handler of requests': ({ fetch }) => {
    return (input) => {
      const url = new URL(input.url)
      if (!url.pathname.startsWith('/sub/')) return appResponse()
      url.pathname = url.pathname.slice('/sub'.length)
      return fetch(new Request(url, input))
    }
  },
}

const appResponse = (): Response => new Response('own')

const request = (path: string, init: RequestInit = {}): Request =>
  new Request(`https://example.org/sub/api/conversations${path}`, { headers: KEY, ...init })

describe.each(Object.keys(MOUNTS))('a service as %s', (way) => {
  it('handles requests below its path, and leaves other paths to the app', async () => {
    const handle = MOUNTS[way]?.(serviceOfTest()) as Handler
    const ask = async (path: string, init: RequestInit = {}) => {
      const response = await handle(new Request(`https://example.org${path}`, { headers: KEY, ...init }))
      return {
        status: response.status,
        id: response.headers.get('x-request-id'),
        text: await response.text(),
      }
    }
    const json = async (path: string, init?: RequestInit) => JSON.parse((await ask(path, init)).text)
    const post = (path: string, body: object) => json(path, { method: 'POST', body: JSON.stringify(body) })
    expect(await ask('/own')).toEqual({ status: 200, id: null, text: 'own' })
    const conversations = '/sub/api/conversations'
    expect(await post(conversations, { conversation_id: 'a/b' })).toMatchObject({ id: 'a/b' })
    const conversation = `${conversations}/a%2Fb`
    await post(`${conversation}/events`, { content: [{ type: 'text', text: 'Hello' }], run: true })
    await expect.poll(async () => (await json(conversation)).execution_status as string).toBe('finished')
    expect(await json(`${conversation}/events/count?kind=MessageEvent`)).toBe(2)
    expect(await ask(`${conversation}/events`, { method: 'POST', body: '{' })).toMatchObject({ status: 422 })
    expect(await ask(conversations, { headers: {} })).toMatchObject({ status: 401, id: expect.any(String) })
    expect(await ask('/sub/api/shared-events/search?limit=0', { headers: {} })).toMatchObject({ status: 422 })
    expect(await json('/sub/openapi.json')).toMatchObject({ openapi: '3.1.0' })
    expect(await ask('/sub/nowhere')).toMatchObject({ status: 404 })
  })

  it('streams events, and releases a reader that cancels', async () => {
    const service = serviceOfTest()
    const handle = MOUNTS[way]?.(service) as Handler
    await handle(request('', { method: 'POST', body: '{"conversation_id":"c"}' }))
    const response = await handle(request('/c/events/stream'))
    const reader = response.body?.getReader()
    const { value } = (await reader?.read()) ?? {}
    expect(new TextDecoder().decode(value)).toContain('full_state')
    expect(service.live.size).toBe(1)
    await reader?.cancel()
    expect(service.live.size).toBe(0)
  })
})

describe('the server information', () => {
  it('contains the versions of the interface, the application and the library', async () => {
    const manifest = JSON.parse(await readFile(resolve(import.meta.dirname, '../../package.json'), 'utf8'))
    const response = await serviceOfTest().fetch(new Request('http://localhost/server_info'))
    expect(await response.json()).toMatchObject({
      version: '1.44.0',
      application_version: '9.8.7',
      colloquy_version: manifest.version,
    })
    expect(VERSION).toBe(manifest.version)
  })
})

describe('`/ready`', () => {
  it('returns 503 while the store fails or hangs, and after a shutdown; `/health` 200', async () => {
    const store = memoryStore()
    let broken = false
    let silent = false
    const calls: Partial<Store> = {
      listConversations: (query) =>
        silent
          ? new Promise(() => undefined)
          : broken
            ? Promise.reject(new Error('secret place'))
            : store.listConversations(query),
    }
    const engine = createEngine({ store: { ...store, ...calls } })
    onTestFinished(() => engine.close())
    const { fetch, live } = createService({ engine })
    const ask = async (path: string) => {
      const response = await fetch(new Request(`http://localhost${path}`))
      return [response.status, await response.json()]
    }
    expect(await ask('/ready')).toEqual([200, { status: 'ready' }])
    broken = true
    expect(await ask('/ready')).toEqual([503, { detail: 'The store cannot be read. Check its database.' }])
    broken = false
    expect(await ask('/ready')).toEqual([200, { status: 'ready' }])
    silent = true
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { value, took } = await virtually(ask('/ready'))
    vi.useRealTimers()
    expect(value).toEqual([503, { detail: 'The store cannot be read. Check its database.' }])
    // Load balancers wait for two seconds.
    expect(took).toBeLessThan(2_000)
    silent = false
    expect(await ask('/ready')).toEqual([200, { status: 'ready' }])
    live.close()
    expect(await ask('/ready')).toEqual([503, { detail: 'The service is shutting down.' }])
    expect(await ask('/health')).toEqual([200, { status: 'ok' }])
  })
})

const isReadOnly = async (): Promise<never> => {
  throw new ColloquyError('store_read_only', 'The database is read-only.')
}

it.each([{ keys: [' '] }, { secret: '' }, { secret: ' ' }])(
  '`createService` rejects the blank option %j',
  async (options) => {
    const engine = createEngine({ store: memoryStore() })
    onTestFinished(() => engine.close())
    expect(() => createService({ engine, ...options })).toThrow(/must (?:contain only non-blank strings|not)/)
  },
)

describe('a full store', () => {
  it('fails the write probe, which checks again every five seconds', async () => {
    const store = memoryStore()
    let full = false
    let writes = 0
    const changeItems: Store['changeItems'] = async (...input) => {
      writes += 1
      if (full) throw new ColloquyError('store_full', 'The disk is full.')
      return store.changeItems(...input)
    }
    let time = 0
    const canWrite = writeProbe({ ...store, changeItems }, () => time)
    expect([await canWrite(), await canWrite(), writes]).toEqual([true, true, 1])
    full = true
    expect(await canWrite()).toBe(true)
    time = 5_000
    expect([await canWrite(), await canWrite(), writes]).toEqual([false, false, 2])
    full = false
    time = 10_000
    expect([await canWrite(), writes]).toEqual([true, 3])
    expect(await writeProbe({ ...store, changeItems: isReadOnly })()).toBe(false)
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const probe = writeProbe({ ...store, changeItems })
    expect(await probe()).toBe(true)
    full = true
    vi.setSystemTime(Date.now() - 3_600_000)
    vi.advanceTimersByTime(5_000)
    expect(await probe()).toBe(false)
    vi.useRealTimers()
    full = true
    const engine = createEngine({ store: { ...store, changeItems } })
    onTestFinished(() => engine.close())
    const service = createService({ engine })
    const response = await service.fetch(new Request('http://localhost/ready'))
    expect([response.status, await response.json()]).toEqual([
      503,
      { detail: 'The store is full or read-only. Free disk space, or connect to a primary.' },
    ])
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('makes `/ready` return 503 while a SQLite database has no room left', async () => {
    const database = new DatabaseSync(':memory:')
    const store = sqliteStore({ database })
    const engine = createEngine({ store })
    onTestFinished(() => engine.close().then(() => store.close()))
    await store.createConversation({ id: 'c' })
    const { page_count: pages } = database.prepare('PRAGMA page_count').get() as {
      readonly page_count: number
    }
    database.exec(`PRAGMA max_page_count = ${pages}`)
    const ask = async (path: string) =>
      createService({ engine }).fetch(new Request(`http://localhost${path}`))
    expect((await ask('/ready')).status).toBe(503)
    database.exec('PRAGMA max_page_count = 1000000')
    expect((await ask('/ready')).status).toBe(200)
    // The readiness probe writes no event and no visible conversation.
    expect(await (await ask('/api/conversations/count')).json()).toBe(1)
  })
})

/** The globals of a runtime with `fetch` but without Node. */
const STANDARD = {
  AbortController,
  AbortSignal,
  Headers,
  ReadableStream,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  atob,
  btoa,
  clearInterval,
  clearTimeout,
  console,
  crypto,
  fetch,
  performance,
  queueMicrotask,
  setInterval,
  setTimeout,
  structuredClone,
}

describe('the entry colloquy/service', () => {
  it('imports no Node module, and serves requests in a runtime without Node', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'colloquy-service-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const root = resolve(import.meta.dirname, '../../src')
    const bundle = await rolldown({
      input: 'both',
      platform: 'browser',
      external: ['@opentelemetry/api'],
      logLevel: 'silent',
      plugins: [
        {
          name: 'both',
          resolveId: (id) => (id === 'both' ? id : null),
          load: (id) =>
            id === 'both'
              ? `export * from ${JSON.stringify(`${root}/index.ts`)}; export * from ${JSON.stringify(`${root}/service/index.ts`)}`
              : null,
        },
      ],
      transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    })
    const { output } = await bundle.write({ dir: folder, format: 'iife', name: 'colloquy' })
    await bundle.close()
    expect(output).toHaveLength(1)
    const { code } = output[0]
    expect(code).not.toMatch(/['"`]node:|\brequire\(/)
    const result: unknown = await runInContext(
      `${code};
      (async () => {
        const engine = colloquy.createEngine({ store: colloquy.memoryStore() })
        const reply = { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] }
        const step = () => [{ kind: 'MessageEvent', source: 'agent', llm_message: reply }]
        const service = colloquy.createService({ engine, keys: ['k'], agent: () => step })
        const ask = async (path, init = {}) => {
          const headers = { 'x-session-api-key': 'k' }
          const response = await service.fetch(new Request('https://example.org' + path, { headers, ...init }))
          return [response.status, await response.json()]
        }
        const [created] = await ask('/api/conversations', { method: 'POST', body: '{"conversation_id":"c"}' })
        const message = JSON.stringify({ content: [{ type: 'text', text: 'Hello' }], run: true })
        const [sent] = await ask('/api/conversations/c/events', { method: 'POST', body: message })
        await service.runs.settle()
        const [listed, page] = await ask('/api/conversations/c/events/search?kind=MessageEvent')
        const [unauthorized] = await ask('/api/conversations/c', { headers: {} })
        const [invalid] = await ask('/api/conversations', { method: 'POST', body: '{' })
        await engine.close()
        return JSON.stringify([created, sent, listed, page.items.map(({ source }) => source), unauthorized, invalid])
      })()`,
      createContext({ ...STANDARD }),
    )
    expect(JSON.parse(String(result))).toEqual([201, 200, 200, ['user', 'agent'], 401, 422])
  })
})
