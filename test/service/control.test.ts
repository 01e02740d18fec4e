/** The control plane: conversations are started in the background, found, counted, changed and deleted; messages wait until they can be said. */

import { afterEach, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { scriptedAgent } from '../../src/service/scripted-agent.ts'
import { createService, type ServiceOptions } from '../../src/service/index.ts'
import { processSandboxes, type ProcessSandboxesOptions } from '../../src/service/node/process-sandboxes.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type Answer, type Client, clientOver, type Query, STORES } from './client.ts'
import { gate } from './gate.ts'
import { keptIn } from './kept.ts'
import { folder, processesIn, server, until } from './sandbox-commands.ts'

const BASE = '/api/v1/app-conversations'
const SANDBOXES = '/api/v1/sandboxes'
const ID = '0f8fad5bd9cb469fa16570867728950e'

interface Task {
  readonly id: string
  readonly status: string
  readonly detail: string | null
  readonly app_conversation_id: string | null
  readonly sandbox_id: string | null
  readonly request: unknown
}
interface App {
  readonly id: string
  readonly title: string | null
  readonly public: boolean
  readonly sandbox_id: string | null
  readonly sandbox_status: string
  readonly execution_status: string | null
  readonly sub_conversation_ids: readonly string[]
  readonly parent_conversation_id: string | null
  readonly [key: string]: unknown
}
interface Page<T> {
  readonly items: readonly T[]
  readonly next_page_id: string | null
}
interface Sandbox {
  readonly id: string
  readonly status: string
  readonly status_detail: string | null
}

let client: Client
const ends: (() => Promise<void> | void)[] = []

async function begin(
  store: Store = memoryStore(),
  specs?: Partial<ProcessSandboxesOptions> & { most?: number },
  options: Partial<ServiceOptions> = {},
): Promise<Client> {
  const { most, ...rest } = specs ?? {}
  const place = specs === undefined ? null : folder()
  const provider =
    place === null
      ? null
      : processSandboxes({ directory: place.path, killTimeout: 200, healthInterval: 50, ...rest })
  client = await clientOver(store, {
    agent: scriptedAgent(),
    ...options,
    controlPlane: {
      ...(provider !== null && { provider }),
      ...(most !== undefined && { maxSandboxes: most }),
      sandboxTimeout: 10_000,
    },
  })
  const { service, engine } = client
  await service.controlPlane.start()
  ends.push(async () => {
    await service.controlPlane.close()
    await engine.close()
    await service.runs.settle()
    if (place !== null) {
      expect(processesIn(place.path)).toEqual([])
      place.remove()
    }
  })
  return client
}

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

const say = (text: string): object => ({ role: 'user', content: [{ type: 'text', text }] })
const update = (key: string) =>
  ({ kind: 'ConversationStateUpdateEvent', source: 'environment', key, value: 1 }) as const
const send = (method: string, path: string, body?: unknown): Promise<Answer<Record<string, unknown>>> =>
  client.send(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) })

const task = async (id: string): Promise<Task> =>
  (await client.get<(Task | null)[]>(`${BASE}/start-tasks`, { ids: [id] })).body[0] as Task

async function start(body: object = {}): Promise<Task> {
  const { body: begun, status } = await client.post<Task>(BASE, body)
  expect([status, begun.status, begun.app_conversation_id]).toEqual([200, 'WORKING', null])
  return until(async () => {
    const now = await task(begun.id)
    return now.status === 'READY' || now.status === 'ERROR' ? now : null
  })
}

const app = async (id: string): Promise<App | null> =>
  (await client.get<(App | null)[]>(BASE, { ids: [id] })).body[0] ?? null

const said = async (id: string): Promise<string[]> => {
  const { items } = (
    await client.get<Page<{ source: string; llm_message: { content: { text: string }[] } }>>(
      `/api/v1/conversation/${id}/events/search`,
      { kind__eq: 'MessageEvent' },
    )
  ).body
  return items
    .filter(({ source }) => source === 'user')
    .map(({ llm_message }) => llm_message.content[0]?.text ?? '')
}

describe.each(Object.entries(STORES))('starting, over %s', (_, make) => {
  it('answers with a task, works in the background, and tells what it made', async () => {
    await begin(make())
    const { app_conversation_id: id, request } = await start({
      conversation_id: ID,
      title: 'First',
      public: true,
      selected_repository: 'a/b',
      pr_number: [7],
      observability_tags: ['x'],
      initial_message: say('Hello'),
    })
    expect(id).toBe(ID)
    expect(request).toMatchObject({ title: 'First' })
    await until(async () => (await app(ID))?.execution_status === 'finished')
    expect(await app('0F8FAD5B-D9CB-469F-A165-70867728950E')).toMatchObject({
      id: ID,
      title: 'First',
      public: true,
      selected_repository: 'a/b',
      pr_number: [7],
      observability_tags: ['x'],
      sandbox_id: null,
      sandbox_status: 'RUNNING',
      conversation_url: `http://localhost/api/conversations/${ID}`,
    })
    expect(await said(ID)).toEqual(['Hello'])
    expect((await client.post(BASE, { conversation_id: ID })).status).toBe(409)
  })

  it('can be followed as a list that grows', async () => {
    await begin(make())
    const response = await client.service.fetch(
      new Request(`http://localhost${BASE}/stream-start`, { method: 'POST', body: '{}' }),
    )
    const tasks = (await response.json()) as Task[]
    expect(tasks.map(({ status }) => status)).toEqual(['WORKING', 'STARTING_CONVERSATION', 'READY'])
    expect(tasks.at(-1)?.app_conversation_id).toMatch(/^[0-9a-f]{32}$/)
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1)
  })

  it('goes on with what a service left behind, and makes nothing twice', async () => {
    const store = make()
    await begin(store)
    const { id, app_conversation_id: made } = await start({ initial_message: say('Once') })
    const records = keptIn<Readonly<Record<string, unknown>>>(store, 'start-tasks')
    const kept = (await records.all()).get(id) as Record<string, unknown>
    const left = { ...kept, updated_at: '2020-01-01T00:00:00.000Z', app_conversation_id: null }
    const due = { dueIn: 0 }
    // As if the service had ended right after it made the conversation, and another before it did anything.
    await records.put(id, { ...left, status: 'STARTING_CONVERSATION' }, due)
    await records.put('t2', { ...left, id: 't2', planned_id: 'planned', status: 'WORKING' }, due)
    await client.service.controlPlane.tasks.takeOver()
    await until(async () => (await task(id)).status === 'READY' && (await task('t2')).status === 'READY')
    expect([await said(made ?? ''), await said('planned')]).toEqual([['Once'], ['Once']])
    expect((await client.get(`${BASE}/count`)).body).toBe(2)
  })

  it('is undone where somebody has deleted what it makes in the moment in which it is made', async () => {
    const real = make()
    let made = 0
    const createConversation: Store['createConversation'] = async (given) => {
      if (given?.id !== ID) return real.createConversation(given)
      // As if another service had made it, and deleted it again, while this one was held.
      await client.service.controlPlane.tasks.forget(ID)
      const record = await real.createConversation(given)
      made += 1
      return record
    }
    await begin(
      new Proxy(real, {
        get(target, name) {
          const value: unknown =
            name === 'createConversation' ? createConversation : Reflect.get(target, name)
          return typeof value === 'function' ? value.bind(target) : value
        },
      }),
    )
    expect((await client.post(BASE, { conversation_id: ID })).status).toBe(200)
    await until(async () => made === 1 && (await real.getConversation(ID)) === null)
    expect((await keptIn<object>(real, 'start-tasks').all()).size).toBe(0)
  })

  it('knows a UUID in each of its forms, and gives it out once', async () => {
    await begin(make())
    const dashed = '0F8FAD5B-D9CB-469F-A165-70867728950E'
    const both = await Promise.all(
      [dashed, ID, dashed].map((id) => client.post<Task>(BASE, { conversation_id: id })),
    )
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
    expect((await client.post(path(dashed), say('x'))).status).toBe(201)
    const { id = '' } = both.find(({ status }) => status === 200)?.body ?? {}
    const made = await until(async () => {
      const now = await task(id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'))
      return now.status === 'READY' ? now : null
    })
    expect(made.app_conversation_id).toBe(ID)
    await until(async () => (await said(ID)).includes('x'))
    expect((await client.post(BASE, { conversation_id: dashed })).status).toBe(409)
  })

  it('waits for room, where there are as many runs as may be', async () => {
    const held = gate()
    const { service } = await begin(make(), undefined, { agent: () => held.step, maxRuns: 1 })
    const first = await start({ initial_message: say('First') })
    const { body: second } = await client.post<Task>(BASE, { initial_message: say('Second') })
    await until(async () => (await task(second.id)).status === 'STARTING_CONVERSATION')
    expect((await app(first.app_conversation_id ?? ''))?.execution_status).toBe('running')
    held.open()
    const { app_conversation_id: id } = await until(async () => {
      const now = await task(second.id)
      return now.status === 'READY' ? now : null
    })
    await until(async () => (await app(id ?? ''))?.execution_status === 'finished')
    await service.runs.settle()
  })

  it('leaves alone what another service works on', async () => {
    const store = make()
    await begin(store)
    const { id } = await start()
    const records = keptIn<Readonly<Record<string, unknown>>>(store, 'start-tasks')
    const kept = (await records.all()).get(id) as Record<string, unknown>
    await records.put('t2', { ...kept, id: 't2', status: 'WORKING' }, { dueIn: 60_000 })
    await client.service.controlPlane.tasks.takeOver()
    expect((await task('t2')).status).toBe('WORKING')
  })

  it('finds and counts tasks', async () => {
    await begin(make())
    const ids: string[] = []
    for (let at = 0; at < 5; at += 1) ids.push((await start()).id)
    const { items, next_page_id } = (
      await client.get<Page<Task>>(`${BASE}/start-tasks/search`, { limit: 2, sort_order: 'CREATED_AT' })
    ).body
    expect((await client.get(`${BASE}/start-tasks/count`)).body).toBe(5)
    const rest = await client.get<Page<Task>>(`${BASE}/start-tasks/search`, {
      sort_order: 'CREATED_AT',
      page_id: next_page_id ?? '',
    })
    expect(new Set([...items, ...rest.body.items].map((one) => one.id))).toEqual(new Set(ids))
    expect(rest.body.next_page_id).toBeNull()
    const of = (await task(ids[2] ?? '')).app_conversation_id ?? ''
    expect((await client.get(`${BASE}/start-tasks/count`, { conversation_id__eq: of })).body).toBe(1)
    expect((await client.get(`${BASE}/start-tasks/search`, { page_id: next_page_id ?? '' })).status).toBe(422)
    expect((await client.get(`${BASE}/start-tasks/count`, { created_at__gte: '2100-01-01' })).body).toBe(0)
    expect(
      (await client.get<(Task | null)[]>(`${BASE}/start-tasks`, { ids: ['x', ids[0] ?? ''] })).body.map(
        (one) => one?.id ?? null,
      ),
    ).toEqual([null, ids[0]])
  })
})

describe.each(Object.entries(STORES))('finding, over %s', (_, make) => {
  it('counts what it finds, page by page, whatever the filter; system conversations are not among them', async () => {
    const store = make()
    await begin(store)
    const parent = (await start({ title: '100% sure_thing' })).app_conversation_id ?? ''
    for (const title of ['One', 'Two', '100x sureXthing']) await start({ title })
    for (const title of ['Child one', 'Child two']) await start({ title, parent_conversation_id: parent })
    await client.service.keys.create({ name: 'k', not_before: null, expires_at: null, org_id: null })
    const found: number[] = []
    for (const filter of [
      {},
      { include_sub_conversations: 'true' },
      { title__contains: 'one', include_sub_conversations: 'true' },
      { title__contains: '100% sure_' },
      { title__contains: '%' },
      { created_at__gte: '2100-01-01' },
      { updated_at__lt: '2100-01-01T00:00:00Z', include_sub_conversations: 'true' },
      { sandbox_id__eq: 'x' },
    ] as Record<string, string>[]) {
      const ids: string[] = []
      let page_id: string | undefined
      do {
        const { body } = await client.get<Page<App>>(`${BASE}/search`, {
          ...filter,
          limit: 2,
          ...(page_id !== undefined && { page_id }),
        })
        expect(body.items.length === 2 || body.next_page_id === null).toBe(true)
        ids.push(...body.items.map(({ id }) => id))
        page_id = body.next_page_id ?? undefined
      } while (page_id !== undefined)
      expect(new Set(ids).size).toBe(ids.length)
      expect((await client.get(`${BASE}/count`, filter)).body).toBe(ids.length)
      expect((await client.get<Page<App>>(BASE, filter)).body.items).toHaveLength(ids.length)
      found.push(ids.length)
    }
    expect(found).toEqual([4, 6, 2, 1, 1, 0, 6, 0])
    expect(await app(parent)).toMatchObject({
      sub_conversation_ids: [expect.any(String), expect.any(String)],
    })
    const page = (await client.get<Page<App>>(`${BASE}/search`, { limit: 2 })).body.next_page_id ?? ''
    for (const wrong of [{ title__contains: 'x' }, { include_sub_conversations: 'true' }]) {
      expect((await client.get(`${BASE}/search`, { ...wrong, page_id: page })).status).toBe(422)
    }
    expect((await client.get(`${BASE}/search`, { page_id: '3' })).status).toBe(422)
  })

  it('gives null for what is missing, and never the records of the service', async () => {
    await begin(make())
    await start({ conversation_id: ID })
    const { body } = await client.get<(App | null)[]>(BASE, { ids: [ID, 'x', 'colloquy:start-tasks', ID] })
    expect(body.map((one) => one?.id ?? null)).toEqual([ID, null, null, ID])
    expect((await client.get(BASE, { ids: Array.from({ length: 101 }, String) })).status).toBe(400)
    for (const [method, path, sent] of [
      ['PATCH', BASE, { public: true }],
      ['DELETE', BASE, undefined],
    ] as const) {
      expect((await send(method, `${path}/colloquy:start-tasks`, sent)).status).toBe(404)
    }
    const shared = await client.get<Page<unknown>>('/api/shared-events/search', {
      conversation_id: 'colloquy:start-tasks',
    })
    expect(shared.body.items).toEqual([])
  })

  it('changes what is given, tells live readers, and deletes all of it', async () => {
    await begin(make())
    const { id: taskId } = await start({ conversation_id: ID, title: 'A', selected_branch: 'main' })
    const { body } = await send('PATCH', `${BASE}/${ID}`, { public: true, selected_repository: 'x/y' })
    expect(body).toMatchObject({
      title: 'A',
      public: true,
      selected_repository: 'x/y',
      selected_branch: 'main',
    })
    expect((await send('PATCH', `${BASE}/${ID}`, { title: null })).body).toMatchObject({
      title: null,
      public: true,
    })
    const { items } = (await client.get<Page<{ key: string }>>(`/api/v1/conversation/${ID}/events/search`))
      .body
    expect(items.map(({ key }) => key)).toEqual(['public', 'title'])
    expect((await send('DELETE', `${BASE}/${ID}`)).body).toEqual({ success: true })
    expect([await app(ID), await task(taskId)]).toEqual([null, null])
    expect((await send('DELETE', `${BASE}/${ID}`)).status).toBe(404)
    expect((await send('PATCH', `${BASE}/${ID}`, {})).status).toBe(404)
  })
})

describe('changes at the same time', () => {
  it('are all kept', async () => {
    await begin()
    await start({ conversation_id: ID })
    const fields = {
      title: 'T',
      public: true,
      selected_repository: 'a/b',
      selected_branch: 'main',
      git_provider: 'github',
    }
    await Promise.all(
      Object.entries(fields).map(([name, value]) => send('PATCH', `${BASE}/${ID}`, { [name]: value })),
    )
    expect(await app(ID)).toMatchObject(fields)
    expect((await send('PATCH', `${BASE}/${ID}`, {})).body).toEqual(await app(ID))
  })
})

const answer = async (list: string, query: Query): Promise<number> =>
  (await client.get(`/api/v1/${list}`, query)).status

describe('refused', () => {
  it.each([
    ['an id of the service', { conversation_id: 'colloquy:x' }, ['body', 'conversation_id']],
    ['a parent that is not there', { parent_conversation_id: 'x' }, ['body', 'parent_conversation_id']],
    ['a sandbox that is not there', { sandbox_id: 'x' }, ['body', 'sandbox_id']],
    [
      'a message of the agent',
      { initial_message: { role: 'assistant', content: [{ text: 'x' }] } },
      ['body', 'initial_message', 'role'],
    ],
    ['an empty message', { initial_message: { content: [] } }, ['body', 'initial_message', 'content']],
    ['a tag that cannot be', { tags: { 'A b': 'x' } }, ['body', 'tags', 'A b']],
  ])('%s', async (_, body, loc) => {
    await begin()
    const { status, body: problem } = await client.post<{ detail: { loc: string[] }[] }>(BASE, body)
    expect([status, problem.detail[0]?.loc]).toEqual([422, loc])
    expect((await client.get(`${BASE}/start-tasks/count`)).body).toBe(0)
  })

  it.each([
    ['app-conversations', 'ids'],
    ['app-conversations/start-tasks', 'ids'],
    ['sandboxes', 'id'],
    ['sandbox-specs', 'id'],
  ])('more than 100 ids, and pages that cannot be: %s', async (list, name) => {
    await begin()
    const ids = (length: number): Query => ({ [name]: Array.from({ length }, String) })
    expect([await answer(list, ids(100)), await answer(list, ids(101))]).toEqual([200, 400])
    for (const query of [{ limit: 0 }, { limit: -1 }, { limit: 101 }, { limit: 'x' }, { page_id: '2' }]) {
      expect([query, await answer(`${list}/search`, query)]).toEqual([query, 422])
    }
  })

  it('sandboxes where there is nobody to run them', async () => {
    await begin()
    expect((await client.post(SANDBOXES)).status).toBe(409)
    expect((await client.get<Page<Sandbox>>(`${SANDBOXES}/search`)).body.items).toEqual([])
    expect((await client.post(`${SANDBOXES}/x/pause`)).status).toBe(404)
    expect((await client.get('/api/v1/sandbox-specs/search')).body).toEqual({ items: [], next_page_id: null })
  })
})

const SPECS = [
  { id: 'server', command: server(), health: '/alive', initial_env: { MODE: 'test', API_TOKEN: 'hush' } },
  { id: 'idle', command: ['sleep', '1000'] },
  { id: 'broken', command: ['/bin/sh', '-c', 'echo no license >&2; exit 1'], health: '/alive' },
] as const

const sandbox = async (id: string): Promise<Sandbox | null> =>
  (await client.get<(Sandbox | null)[]>(SANDBOXES, { id: [id] })).body[0] ?? null

const startSandbox = async (spec?: string): Promise<string> =>
  (
    await client.send<Sandbox>(`${SANDBOXES}${spec === undefined ? '' : `?sandbox_spec_id=${spec}`}`, {
      method: 'POST',
    })
  ).body.id

describe('sandboxes', () => {
  it('are started with conversations, shared by children, and go with the last of them', async () => {
    await begin(memoryStore(), { specs: SPECS })
    const { sandbox_id: id, app_conversation_id: first } = await start()
    expect(await sandbox(id ?? '')).toMatchObject({
      status: 'RUNNING',
      sandbox_spec_id: 'server',
      session_api_key: expect.any(String),
    })
    const child = await start({ parent_conversation_id: first })
    expect(child.sandbox_id).toBe(id)
    expect(
      (await client.get(`${BASE}/count`, { sandbox_id__eq: id ?? '', include_sub_conversations: 'true' }))
        .body,
    ).toBe(2)
    const info = await client.get<{ workspace: { working_dir: string } }>(`/api/conversations/${first}`)
    expect(info.body.workspace.working_dir).toContain(id)
    await send('DELETE', `${BASE}/${first}`)
    expect((await app(child.app_conversation_id ?? ''))?.sandbox_status).toBe('RUNNING')
    await send('DELETE', `${BASE}/${child.app_conversation_id}`)
    await until(async () => (await sandbox(id ?? '')) === null)
  })

  it('that fail tell why, in the sandbox and in the task', async () => {
    await begin(memoryStore(), { specs: [SPECS[2]] })
    const { status, detail, sandbox_id: id } = await start()
    expect(status).toBe('ERROR')
    expect(detail).toMatch(/ERROR: The command exited with code 1.*no license/s)
    expect((await sandbox(id ?? ''))?.status_detail).toContain('no license')
  })

  it('decide what may be said', async () => {
    await begin(memoryStore(), { specs: SPECS })
    const { sandbox_id: box, app_conversation_id: id } = await start()
    const says = async (): Promise<number> =>
      (await client.post(`${BASE}/${id}/send-message`, say('Hello'))).status
    const statuses = [await says()]
    await client.post(`${SANDBOXES}/${box}/pause`)
    expect(await app(id ?? '')).toMatchObject({
      sandbox_status: 'PAUSED',
      execution_status: null,
      conversation_url: null,
    })
    statuses.push(await says())
    expect(
      (await client.post(`/api/v1/conversations/${id}/pending-messages`, say('Later'))).body,
    ).toMatchObject({ queued: true, position: 1 })
    await client.post(`${SANDBOXES}/${box}/resume`)
    await until(async () => (await said(id ?? '')).includes('Later'))
    await send('DELETE', `${SANDBOXES}/${box}?sandbox_id=${box}`)
    statuses.push(await says(), (await client.post(`${BASE}/x/send-message`, say('Hello'))).status)
    expect(statuses).toEqual([200, 409, 410, 404])
    expect(await app(id ?? '')).toMatchObject({ sandbox_status: 'MISSING' })
  })

  it('say 503 when they have failed', async () => {
    await begin(memoryStore(), {
      specs: [{ id: 'dies', command: ['/bin/sh', '-c', 'sleep 0.3; echo boom; exit 9'] }],
    })
    const { app_conversation_id: id } = await start()
    await until(async () => (await app(id ?? ''))?.sandbox_status === 'ERROR')
    const { status, body } = await client.post<{ detail: string }>(`${BASE}/${id}/send-message`, say('Hello'))
    expect([status, body.detail]).toEqual([503, expect.stringMatching(/code 9.*boom/s)])
  })

  it('never run in greater number than they may: the oldest is paused', async () => {
    await begin(memoryStore(), { specs: SPECS, most: 2 })
    const ids = await Promise.all(['idle', 'idle', 'idle', 'idle'].map((spec) => startSandbox(spec)))
    const statuses = async (): Promise<Record<string, string>> => {
      const { items } = (await client.get<Page<Sandbox>>(`${SANDBOXES}/search`)).body
      return Object.fromEntries(items.map((one) => [one.id, one.status]))
    }
    // Begun at once, they have come one after the other all the same.
    const order = (await client.service.controlPlane.sandboxes.list(null, 9)).items
      .map(({ id }) => id)
      .toReversed()
    expect(new Set(order)).toEqual(new Set(ids))
    const [a = '', b = '', c = '', d = ''] = order
    expect(await statuses()).toEqual({ [a]: 'PAUSED', [b]: 'PAUSED', [c]: 'RUNNING', [d]: 'RUNNING' })
    await client.post(`${SANDBOXES}/${a}/resume`)
    expect(await statuses()).toEqual({ [a]: 'RUNNING', [b]: 'PAUSED', [c]: 'PAUSED', [d]: 'RUNNING' })
    await client.post(`${SANDBOXES}/${a}/resume`)
    expect(await statuses()).toEqual({ [a]: 'RUNNING', [b]: 'PAUSED', [c]: 'PAUSED', [d]: 'RUNNING' })
  })

  it('in which nothing runs take no place, and are there again after a restart', async () => {
    const place = folder()
    ends.push(place.remove)
    const store = memoryStore()
    const specs = { directory: place.path, specs: [{ id: 'folder', command: null }], most: 1 }
    const first = await begin(store, specs)
    const tasks = [await start(), await start(), await start()]
    const statuses = async () => {
      const boxes = await Promise.all(tasks.map((task) => sandbox(task.sandbox_id ?? '')))
      return boxes.map((box) => box?.status)
    }
    expect(await statuses()).toEqual(['RUNNING', 'RUNNING', 'RUNNING'])
    await first.service.controlPlane.close()
    await begin(store, specs)
    expect(await statuses()).toEqual(['RUNNING', 'RUNNING', 'RUNNING'])
    for (const task of tasks) {
      const path = `${BASE}/${task.app_conversation_id}/send-message`
      expect((await client.post(path, say('Are you there?'))).status).toBe(200)
    }
  })

  it('that are starting are not paused for others while there is one that runs', async () => {
    await begin(memoryStore(), {
      most: 2,
      specs: [{ id: 'slow', command: server(300), health: '/alive' }, SPECS[1]],
    })
    const old = await startSandbox('idle')
    const tasks = await Promise.all([start(), start()])
    expect(tasks.map(({ status }) => status)).toEqual(['READY', 'READY'])
    expect((await sandbox(old))?.status).toBe('PAUSED')
  })

  it('end where they run when another service deletes them', async () => {
    const store = memoryStore()
    const { service } = await begin(store, { specs: SPECS })
    const id = await startSandbox('idle')
    expect((await service.controlPlane.sandboxes.state(id)).status).toBe('RUNNING')
    await keptIn<object>(store, 'sandboxes').remove(id)
    await service.controlPlane.sandboxes.sweep()
    expect(await service.controlPlane.sandboxes.state(id)).toMatchObject({ status: 'MISSING' })
    expect(processesIn(id)).toEqual([])
  })

  it('are listed, the newest first, and their specs in order, secrets masked', async () => {
    await begin(memoryStore(), { specs: SPECS, most: 9 })
    const ids = [await startSandbox('idle'), await startSandbox('idle'), await startSandbox('idle')]
    expect((await client.send(`${SANDBOXES}?sandbox_spec_id=nope`, { method: 'POST' })).status).toBe(404)
    const first = (await client.get<Page<Sandbox>>(`${SANDBOXES}/search`, { limit: 2 })).body
    const second = (
      await client.get<Page<Sandbox>>(`${SANDBOXES}/search`, { limit: 2, page_id: first.next_page_id ?? '' })
    ).body
    expect([...first.items, ...second.items].map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    const specs = await client.get<Page<{ id: string; initial_env: object }>>('/api/v1/sandbox-specs/search')
    expect(specs.body.items.map(({ id }) => id)).toEqual(['server', 'idle', 'broken'])
    expect(specs.body.items[0]?.initial_env).toEqual({ MODE: 'test', API_TOKEN: '**********' })
    expect(
      (await client.get<({ id: string } | null)[]>('/api/v1/sandbox-specs', { id: ['idle', 'x'] })).body.map(
        (one) => one?.id ?? null,
      ),
    ).toEqual(['idle', null])
  })
})

const path = (name: string): string => `/api/v1/conversations/${name}/pending-messages`

describe.each(Object.entries(STORES))('messages that wait, over %s', (_, make) => {
  it('are said in order when the conversation is ready, ten at most', async () => {
    const store = make()
    await begin(store, { specs: [{ id: 'slow', command: server(1_500), health: '/alive' }] })
    const { id } = (await client.post<Task>(BASE, { conversation_id: ID })).body
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        client.post<{ position: number }>(path(at % 2 === 0 ? id : ID), say(`m${at}`)),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 10 }, () => 201),
      429,
      429,
    ])
    const placed = answers
      .flatMap(({ status, body }, at) => (status === 201 ? [{ at, position: body.position }] : []))
      .toSorted((a, b) => a.position - b.position)
    expect(placed.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(await app(ID)).toBeNull()
    const texts = await until(async () => {
      const now = (await app(ID)) === null ? [] : await said(ID)
      return now.length === 10 ? now : null
    })
    expect(texts).toEqual(placed.map(({ at }) => `m${at}`))
    // One that was said counts until that is written down.
    await until(async () => (await keptIn<object>(store, 'pending-messages').all()).size === 0)
    expect((await client.post(path('unknown'), say('x'))).status).toBe(404)
    expect((await client.post<{ position: number }>(path(ID), say('now'))).body.position).toBe(1)
    await until(async () => (await said(ID)).includes('now'))
  })

  it('are dropped with their conversation, whoever deletes it, and never said to another one', async () => {
    const store = make()
    await begin(store, { specs: SPECS })
    const { sandbox_id: box } = await start({ conversation_id: ID })
    await client.post(`${SANDBOXES}/${box}/pause`)
    expect((await client.post(path(ID), say('old'))).status).toBe(201)
    await send('DELETE', `/api/conversations/${ID}`)
    client.service.controlPlane.pending.deliver(ID)
    await until(async () => (await keptIn<object>(store, 'pending-messages').all()).size === 0)
    await start({ conversation_id: ID })
    expect((await client.post(path(ID), say('new'))).status).toBe(201)
    await until(async () => (await said(ID)).length > 0)
    expect(await said(ID)).toEqual(['new'])
  })

  it('are run once, also when that run has failed and nobody has heard that they were said', async () => {
    const store = make()
    let asked = 0
    await begin(store, undefined, {
      agent: () => () => {
        asked += 1
        throw new Error('The model is on strike.')
      },
    })
    await start({ conversation_id: ID })
    const { status, body } = await client.post<{ id: string }>(path(ID), say('Hello'))
    expect(status).toBe(201)
    const kept = { messages: [{ id: body.id, ...say('Hello'), created_at: '2020-01-01' }], sandbox_id: null }
    const waiting = keptIn<object>(store, 'pending-messages')
    await until(async () => (await app(ID))?.execution_status === 'error' && (await waiting.all()).size === 0)
    const conversation = await client.engine.open(ID)
    const isHeld = async (): Promise<boolean> =>
      [...(await conversation.state()).log.entries].every(({ event }) => event !== null)
    for (const held of [true, false]) {
      // So much that the state lets go of what is not in view.
      if (!held) await conversation.append(Array.from({ length: 1_100 }, (_, at) => update(`note ${at}`)))
      expect(await isHeld()).toBe(held)
      // As if the service had ended between the saying and the taking out.
      await waiting.put(ID, kept, { dueIn: 0 })
      await client.service.controlPlane.pending.deliverDue()
      await until(async () => (await waiting.all()).size === 0)
      expect([asked, await said(ID)]).toEqual([1, ['Hello']])
    }
  })

  it('are said after a restart, once', async () => {
    const store = make()
    await begin(store)
    await start({ conversation_id: ID })
    const waiting = keptIn<object>(store, 'pending-messages')
    const message = { id: 'p1', content: [{ type: 'text', text: 'left' }], created_at: '2020-01-01' }
    const kept = { messages: [message], sandbox_id: null }
    await waiting.put(ID, kept, { dueIn: 0 })
    const engine = createEngine({ store })
    const again = createService({ engine, agent: scriptedAgent() })
    await again.controlPlane.start()
    await until(async () => (await waiting.all()).size === 0)
    // As if the first had ended between the saying and the taking out.
    await waiting.put(ID, kept, { dueIn: 0 })
    await again.controlPlane.pending.deliverDue()
    await until(async () => (await waiting.all()).size === 0)
    expect(await said(ID)).toEqual(['left'])
    await again.controlPlane.close()
    await engine.close()
  })
})
