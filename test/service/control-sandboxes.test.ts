import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { createService } from '../../src/service/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { wrapStore } from '../conversation/stores.ts'
import { STORES } from './client.ts'
import {
  app,
  BASE,
  begin,
  client,
  endAll,
  ends,
  ID,
  STORED,
  path,
  type Page,
  output,
  type Sandbox,
  SANDBOXES,
  say,
  send,
  start,
  task,
  type Task,
  update,
} from './control-fixture.ts'
import { recordsIn } from './stored-records.ts'
import { folder, processesIn, server, until } from './sandbox-commands.ts'

afterEach(endAll)

const SPECS = [
  { id: 'server', command: server(), health: '/alive', initial_env: { MODE: 'test', API_TOKEN: 'hush' } },
  { id: 'idle', command: ['sleep', '1000'] },
  { id: 'broken', command: ['/bin/sh', '-c', 'echo no license >&2; exit 1'], health: '/alive' },
] as const

/** For tests that pause sandboxes, but send no request to their processes. */
const IDLE = [SPECS[1]]

const sandbox = async (id: string): Promise<Sandbox | null> =>
  (await client.get<(Sandbox | null)[]>(SANDBOXES, { id: [id] })).body[0] ?? null

const startSandbox = async (spec?: string): Promise<string> =>
  (
    await client.send<Sandbox>(`${SANDBOXES}${spec === undefined ? '' : `?sandbox_spec_id=${spec}`}`, {
      method: 'POST',
    })
  ).body.id

const statusesOfAll = async (): Promise<Record<string, string>> => {
  const { items } = (await client.get<Page<Sandbox>>(`${SANDBOXES}/search`)).body
  return Object.fromEntries(items.map((one) => [one.id, one.status]))
}

describe('sandboxes', () => {
  it.each([BASE, '/api/conversations'])(
    'are shared by child conversations, and deleted with the last one: DELETE %s',
    async (face) => {
      const store = memoryStore()
      await begin(store, { specs: SPECS })
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
      const fork = (await client.post<{ id: string }>(`/api/conversations/${first}/fork`, {})).body
      for (const [gone, remaining] of [
        [first, child.app_conversation_id],
        [child.app_conversation_id, fork.id],
      ]) {
        await send('DELETE', `${face}/${gone}`)
        await until(async () => (await recordsIn<object>(store, 'deletions').all()).size === 0)
        expect(await app(remaining ?? '')).toMatchObject({ sandbox_id: id, sandbox_status: 'RUNNING' })
      }
      await send('DELETE', `${face}/${fork.id}`)
      await until(async () => (await sandbox(id ?? '')) === null)
      for (const stored of ['start-tasks', 'deletions'])
        await until(async () => (await recordsIn<object>(store, stored).all()).size === 0)
    },
  )

  it('report why they failed, in the sandbox and in the start task', async () => {
    await begin(memoryStore(), { specs: [SPECS[2]] })
    const { status, detail, sandbox_id: id } = await start()
    expect(status).toBe('ERROR')
    expect(detail).toMatch(/ERROR: The command exited with code 1.*no license/s)
    expect((await sandbox(id ?? ''))?.status_detail).toContain('no license')
  })

  it('are deleted when their start task fails for another reason', async () => {
    const store = memoryStore()
    await begin(store, { specs: [{ id: 'slow', command: server(200), health: '/alive' }] })
    const { id, sandbox_id: box } = (await client.post<Task>(BASE, { conversation_id: ID })).body
    expect((await client.post('/api/conversations', { conversation_id: ID })).status).toBe(201)
    await until(async () => (await task(id)).status === 'ERROR')
    await until(async () => (await sandbox(box ?? '')) === null)
  })

  it('accept messages while they run; a paused one returns 409, a deleted one 410', async () => {
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
    await until(async () => (await output(id ?? '')).includes('Later'))
    await send('DELETE', `${SANDBOXES}/${box}?sandbox_id=${box}`)
    statuses.push(await says(), (await client.post(path(id ?? ''), say('Never'))).status)
    statuses.push((await client.post(`${BASE}/x/send-message`, say('Hello'))).status)
    expect(statuses).toEqual([200, 409, 410, 410, 404])
    expect(await app(id ?? '')).toMatchObject({ sandbox_status: 'MISSING' })
  })

  it('return 503 with the reason after they failed', async () => {
    const location = folder()
    ends.push(location.remove)
    const command = ['/bin/sh', '-c', 'until [ -e end ]; do sleep 0.01; done; echo boom; exit 9']
    await begin(memoryStore(), { directory: location.path, specs: [{ id: 'dies', command }] })
    const { app_conversation_id: id, sandbox_id: box } = await start()
    writeFileSync(join(location.path, box ?? '', 'workspace/end'), '')
    await until(async () => (await app(id ?? ''))?.sandbox_status === 'ERROR')
    const { status, body } = await client.post<{ detail: string }>(`${BASE}/${id}/send-message`, say('Hello'))
    expect([status, body.detail]).toEqual([503, expect.stringMatching(/code 9.*boom/s)])
  })

  it('never exceed `maxSandboxes`: the oldest running one is paused', async () => {
    await begin(memoryStore(), { specs: SPECS, max: 2 })
    const ids = await Promise.all(['idle', 'idle', 'idle', 'idle'].map((spec) => startSandbox(spec)))
    // Started together, they are still created one after another.
    const order = (await client.service.controlPlane.sandboxes.list(null, 9)).items
      .map(({ id }) => id)
      .toReversed()
    expect(new Set(order)).toEqual(new Set(ids))
    const [a = '', b = '', c = '', d = ''] = order
    expect(await statusesOfAll()).toEqual({ [a]: 'PAUSED', [b]: 'PAUSED', [c]: 'RUNNING', [d]: 'RUNNING' })
    await client.post(`${SANDBOXES}/${a}/resume`)
    expect(await statusesOfAll()).toEqual({ [a]: 'RUNNING', [b]: 'PAUSED', [c]: 'PAUSED', [d]: 'RUNNING' })
    await client.post(`${SANDBOXES}/${a}/resume`)
    expect(await statusesOfAll()).toEqual({ [a]: 'RUNNING', [b]: 'PAUSED', [c]: 'PAUSED', [d]: 'RUNNING' })
  })

  it('without a process do not count for `maxSandboxes`, and run again after a restart', async () => {
    const location = folder()
    ends.push(location.remove)
    const store = memoryStore()
    const specs = { directory: location.path, specs: [{ id: 'folder', command: null }], max: 1 }
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

  it('are not paused while they start if another one runs', async () => {
    await begin(memoryStore(), {
      max: 2,
      specs: [{ id: 'slow', command: server(300), health: '/alive' }, SPECS[1]],
    })
    const old = await startSandbox('idle')
    const tasks = await Promise.all([start(), start()])
    expect(tasks.map(({ status }) => status)).toEqual(['READY', 'READY'])
    expect((await sandbox(old))?.status).toBe('PAUSED')
  })

  it('end their processes when another service deletes them', async () => {
    const store = memoryStore()
    const { service } = await begin(store, { specs: SPECS })
    const id = await startSandbox('idle')
    expect((await service.controlPlane.sandboxes.state(id)).status).toBe('RUNNING')
    await recordsIn<object>(store, 'sandboxes').remove(id)
    await service.controlPlane.sandboxes.sweep()
    expect(await service.controlPlane.sandboxes.state(id)).toMatchObject({ status: 'MISSING' })
    expect(processesIn(id)).toEqual([])
  })

  it('are listed in pages, and their specs in order with masked environments', async () => {
    await begin(memoryStore(), { specs: SPECS, max: 9 })
    const ids = [await startSandbox('idle'), await startSandbox('idle'), await startSandbox('idle')]
    expect((await client.send(`${SANDBOXES}?sandbox_spec_id=nope`, { method: 'POST' })).status).toBe(404)
    const first = (await client.get<Page<Sandbox>>(`${SANDBOXES}/search`, { limit: 2 })).body
    const second = (
      await client.get<Page<Sandbox>>(`${SANDBOXES}/search`, { limit: 2, page_id: first.next_page_id ?? '' })
    ).body
    expect([...first.items, ...second.items].map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    const specs = await client.get<Page<{ id: string; initial_env: object }>>('/api/v1/sandbox-specs/search')
    expect(specs.body.items.map(({ id }) => id)).toEqual(['server', 'idle', 'broken'])
    const list = '/api/v1/sandbox-specs/search'
    const { items, next_page_id } = (await client.get<Page<object>>(list, { limit: 2 })).body
    const rest = (await client.get<Page<object>>(list, { limit: 1, page_id: next_page_id ?? '' })).body
    expect([...items, ...rest.items, rest.next_page_id]).toEqual([...specs.body.items, null])
    expect(specs.body.items[0]?.initial_env).toEqual({ MODE: '**********', API_TOKEN: '**********' })
    expect(
      (await client.get<({ id: string } | null)[]>('/api/v1/sandbox-specs', { id: ['idle', 'x'] })).body.map(
        (one) => one?.id ?? null,
      ),
    ).toEqual(['idle', null])
  })
})

it('pending messages get 429 when several exceed four million characters', async () => {
  await begin(memoryStore(), { specs: IDLE })
  const { sandbox_id: box } = await start({ conversation_id: ID })
  await client.post(`${SANDBOXES}/${box}/pause`)
  for (const [length, status] of [2 ** 21, 2 ** 21, 9].map((one, index) => [one, [201, 429, 201][index]]))
    expect((await client.post(path(ID), say('x'.repeat(length ?? 0)))).status).toBe(status)
})

describe.each(Object.entries(STORES))('pending messages over %s', (_, make) => {
  it('are delivered in order when the conversation is ready; more than ten get 429', async () => {
    const store = make()
    const location = folder()
    ends.push(location.remove)
    const pause = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)'
    const command = server(0, `while (!require('node:fs').existsSync('begin')) ${pause}`)
    const specs = [{ id: 'slow', command, health: '/alive' }]
    await begin(store, { directory: location.path, specs })
    const { id, sandbox_id: box } = (await client.post<Task>(BASE, { conversation_id: ID })).body
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        client.post<{ position: number }>(path(index % 2 === 0 ? id : ID), say(`m${index}`)),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 10 }, () => 201),
      429,
      429,
    ])
    const placed = answers
      .flatMap(({ status, body }, index) => (status === 201 ? [{ at: index, position: body.position }] : []))
      .toSorted((a, b) => a.position - b.position)
    expect(placed.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(await app(ID)).toBeNull()
    const workspace = join(location.path, box ?? '', 'workspace')
    await until(() => existsSync(workspace))
    writeFileSync(join(workspace, 'begin'), '')
    const texts = await until(async () => {
      const now = (await app(ID)) === null ? [] : await output(ID)
      return now.length === 10 ? now : null
    })
    expect(texts).toEqual(placed.map(({ at: index }) => `m${index}`))
    // A delivered message counts until its removal is stored.
    await until(async () => (await recordsIn<object>(store, 'pending-messages').all()).size === 0)
    expect((await client.post(path('unknown'), say('x'))).status).toBe(404)
    expect((await client.post<{ position: number }>(path(ID), say('now'))).body.position).toBe(1)
    await until(async () => (await output(ID)).includes('now'))
  })

  it('are dropped when the engine deletes their conversation, and never reach the next one', async () => {
    const store = make()
    await begin(store, { specs: IDLE })
    const { sandbox_id: box } = await start({ conversation_id: ID })
    await client.post(`${SANDBOXES}/${box}/pause`)
    expect((await client.post(path(ID), say('old'))).status).toBe(201)
    await client.engine.delete(STORED)
    client.service.controlPlane.pending.deliver(ID)
    await until(async () => (await recordsIn<object>(store, 'pending-messages').all()).size === 0)
    await start({ conversation_id: ID })
    expect((await client.post(path(ID), say('new'))).status).toBe(201)
    await until(async () => (await output(ID)).length > 0)
    expect(await output(ID)).toEqual(['new'])
  })

  it('survive when their conversation is created before the deletion of the first ends', async () => {
    const real = make()
    let next: (() => Promise<unknown>) | null = null
    const deleteConversation: Store['deleteConversation'] = async (id) => {
      const existed = await real.deleteConversation(id)
      await next?.()
      return existed
    }
    await begin(wrapStore(real, { deleteConversation }), { specs: IDLE })
    const other = await start()
    await start({ conversation_id: ID })
    await client.post(`${SANDBOXES}/${other.sandbox_id}/pause`)
    next = async () => {
      next = null
      await real.createConversation({ id: STORED, metadata: { app: { sandbox_id: other.sandbox_id } } })
      expect((await client.post(path(ID), say('new'))).status).toBe(201)
    }
    expect((await client.send(`${BASE}/${ID}`, { method: 'DELETE' })).status).toBe(200)
    await client.post(`${SANDBOXES}/${other.sandbox_id}/resume`)
    await until(async () => (await output(ID)).includes('new'))
  })

  it('never reach a conversation that was recreated before the next delivery', async () => {
    await begin(make(), { specs: IDLE })
    const { id: old, sandbox_id: box } = await start({ conversation_id: ID })
    await client.post(`${SANDBOXES}/${box}/pause`)
    expect((await client.post(path(ID), say('old'))).status).toBe(201)
    await client.engine.delete(STORED)
    await start({ conversation_id: ID })
    // The first conversation's task does not refer to the second.
    expect((await client.post(path(old), say('old'))).status).toBe(404)
    const { status, body } = await client.post<{ position: number }>(path(ID), say('new'))
    expect([status, body.position]).toEqual([201, 1])
    await until(async () => (await output(ID)).length > 0)
    expect(await output(ID)).toEqual(['new'])
  })

  it('start one run, also if it fails and they are delivered again after a crash', async () => {
    const store = make()
    let requestCount = 0
    await begin(store, undefined, {
      agent: () => () => {
        requestCount += 1
        throw new Error('The model is on strike.')
      },
    })
    await start({ conversation_id: ID })
    const { status, body } = await client.post<{ id: string }>(path(ID), say('Hello'))
    expect(status).toBe(201)
    const stored = {
      messages: [{ id: body.id, ...say('Hello'), created_at: '2020-01-01' }],
      sandbox_id: null,
    }
    const waiting = recordsIn<object>(store, 'pending-messages')
    await until(async () => (await app(ID))?.execution_status === 'error' && (await waiting.all()).size === 0)
    const conversation = await client.engine.open(STORED)
    const isHeld = async (): Promise<boolean> =>
      [...(await conversation.state()).log.entries].every(({ event }) => event !== null)
    for (const current of [true, false]) {
      // Enough events that the state drops bodies outside the view.
      if (!current)
        await conversation.append(Array.from({ length: 1_100 }, (_, index) => update(`note ${index}`)))
      await until(async () => (await isHeld()) === current)
      // As if the service had died between delivery and removal.
      await waiting.put(ID, stored, { dueIn: 0 })
      await client.service.controlPlane.pending.worker.startDue()
      await until(async () => (await waiting.all()).size === 0)
      expect([requestCount, await output(ID)]).toEqual([1, ['Hello']])
    }
  })

  it('are delivered once after a restart', async () => {
    const store = make()
    await begin(store)
    await start({ conversation_id: ID })
    const waiting = recordsIn<object>(store, 'pending-messages')
    const message = { id: 'p1', content: [{ type: 'text', text: 'left' }], created_at: '2020-01-01' }
    const [incarnation = ''] = (await recordsIn(store, 'start-tasks').all()).keys()
    const stored = { messages: [message], sandbox_id: null, incarnation }
    await waiting.put(ID, stored, { dueIn: 0 })
    const engine = createEngine({ store })
    const again = createService({ engine, agent: scriptedAgent() })
    await again.controlPlane.start()
    await until(async () => (await waiting.all()).size === 0)
    // As if the first had died between delivery and removal.
    await waiting.put(ID, stored, { dueIn: 0 })
    await again.controlPlane.pending.worker.startDue()
    await until(async () => (await waiting.all()).size === 0)
    expect(await output(ID)).toEqual(['left'])
    await again.controlPlane.close()
    await engine.close()
  })
})
