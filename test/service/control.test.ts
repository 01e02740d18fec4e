import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { dashedId } from '../../src/service/conversations/find-conversation.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { wrapStore } from '../conversation/stores.ts'
import { type Query, STORES } from './client.ts'
import {
  type App,
  app,
  BASE,
  begin,
  client,
  endAll,
  ID,
  path,
  type Page,
  output,
  type Sandbox,
  SANDBOXES,
  STORED,
  say,
  send,
  start,
  task,
  type Task,
} from './control-fixture.ts'
import { gate } from './gate.ts'
import { recordsIn } from './stored-records.ts'
import { until } from './sandbox-commands.ts'

afterEach(endAll)

describe.each(Object.entries(STORES))('starting a conversation over %s', (_, make) => {
  it('returns a task, and creates the requested conversation in the background', async () => {
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
    expect(await output(ID)).toEqual(['Hello'])
    expect((await client.post(BASE, { conversation_id: ID })).status).toBe(409)
  })

  it.each([
    ['https', 'https'],
    ['HTTPS, http', 'https'],
    ['http,https', 'http'],
    ['javascript', 'http'],
  ])('with the header X-Forwarded-Proto %j, returns URLs with %s', async (proto, scheme) => {
    await begin(make())
    await client.post(BASE, { conversation_id: ID })
    await until(() => app(ID))
    const headers = { 'X-Forwarded-Proto': proto }
    const { body } = await client.send<readonly App[]>(`${BASE}?ids=${ID}`, { headers })
    expect(body[0]?.conversation_url).toBe(`${scheme}://localhost/api/conversations/${ID}`)
    const started = await client.send<Task>(BASE, { method: 'POST', headers, body: '{}' })
    expect(started.body.agent_server_url).toBe(`${scheme}://localhost`)
    // Another client reads the task at its own address.
    const { id } = started.body
    for (const path of [`?ids=${id}`, `/search?limit=1`]) {
      const { body: read } = await client.get<Task[] | { items: Task[] }>(`${BASE}/start-tasks${path}`)
      const [task] = Array.isArray(read) ? read : read.items
      expect(task).toMatchObject({ id, agent_server_url: 'http://localhost' })
    }
  })

  it.each([
    ['the id of its task', (id: string) => id],
    ['the id of its task with dashes', dashedId],
    ['the task- name of OpenHands', (id: string) => `task-${id}`],
    ['the task- name of OpenHands with dashes', (id: string) => `task-${dashedId(id)}`],
  ])('accepts pending messages under %s, before and after the task ends', async (_name, nameOf) => {
    await begin(make())
    const { body } = await client.post<Task>(BASE, { conversation_id: ID })
    const queue = async (text: string): Promise<number> =>
      (await client.post(`/api/v1/conversations/${nameOf(body.id)}/pending-messages`, say(text))).status
    expect(await queue('One')).toBe(201)
    await until(() => app(ID))
    await until(async () => (await output(ID)).includes('One'))
    expect(await queue('Two')).toBe(201)
    await until(async () => (await output(ID)).includes('Two'))
  })

  it('creates a conversation for every id that it accepts', async () => {
    await begin(make())
    // So short that the title is cut anywhere.
    const id = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
    const property = fc.asyncProperty(id, async (conversation_id) => {
      const { status, body } = await client.post<Task>(BASE, { conversation_id })
      expect([200, 409, 422]).toContain(status)
      if (status !== 200) return
      const { detail, ...ended } = await until(async () => {
        const now = await task(body.id)
        return ['READY', 'ERROR'].includes(now.status) ? now : null
      })
      expect([ended.app_conversation_id, detail]).toEqual([conversation_id, null])
    })
    await fc.assert(property, { numRuns: 30, examples: [['abcd\u{1F600}xyz']] })
  })

  it('streams each status of its task', async () => {
    await begin(make())
    const response = await client.service.fetch(
      new Request(`http://localhost${BASE}/stream-start`, { method: 'POST', body: '{}' }),
    )
    const tasks = (await response.json()) as Task[]
    expect(tasks.map(({ status }) => status)).toEqual(['WORKING', 'STARTING_CONVERSATION', 'READY'])
    expect(tasks.at(-1)?.app_conversation_id).toMatch(/^[0-9a-f]{32}$/)
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1)
  })

  it('resumes the tasks of a dead service, and repeats no creation and no message', async () => {
    const store = make()
    await begin(store)
    const { id, app_conversation_id: conversation } = await start({ initial_message: say('Once') })
    const records = recordsIn<Readonly<Record<string, unknown>>>(store, 'start-tasks')
    const stored = (await records.all()).get(id) as Record<string, unknown>
    const remaining = { ...stored, updated_at: '2020-01-01T00:00:00.000Z', app_conversation_id: null }
    const due = { dueIn: 0 }
    // As if one service had died right after creating the conversation, and another before doing anything.
    await records.put(id, { ...remaining, status: 'STARTING_CONVERSATION' }, due)
    await records.put('t2', { ...remaining, id: 't2', planned_id: 'planned', status: 'WORKING' }, due)
    await client.service.controlPlane.tasks.worker.startDue()
    await until(async () => (await task(id)).status === 'READY' && (await task('t2')).status === 'READY')
    expect([await output(conversation ?? ''), await output('planned')]).toEqual([['Once'], ['Once']])
    expect((await client.get(`${BASE}/count`)).body).toBe(2)
  })

  it('is undone when the conversation is deleted at the moment of its creation', async () => {
    const real = make()
    let creations = 0
    const createConversation: Store['createConversation'] = async (input) => {
      if (input?.id !== STORED) return real.createConversation(input)
      // As if another service had created and deleted it while this one was held.
      await client.service.controlPlane.tasks.forget(ID)
      const record = await real.createConversation(input)
      creations += 1
      return record
    }
    await begin(wrapStore(real, { createConversation }))
    expect((await client.post(BASE, { conversation_id: ID })).status).toBe(200)
    await until(async () => creations === 1 && (await real.getConversation(STORED)) === null)
    expect((await recordsIn<object>(real, 'start-tasks').all()).size).toBe(0)
  })

  it('treats every form of a UUID as the same id, and uses it once', async () => {
    await begin(make())
    const dashed = '0F8FAD5B-D9CB-469F-A165-70867728950E'
    const both = await Promise.all(
      [dashed, ID, dashed].map((id) => client.post<Task>(BASE, { conversation_id: id })),
    )
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
    expect((await client.post(path(dashed), say('x'))).status).toBe(201)
    const { id = '' } = both.find(({ status }) => status === 200)?.body ?? {}
    const ended = await until(async () => {
      const now = await task(id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'))
      return now.status === 'READY' ? now : null
    })
    expect(ended.app_conversation_id).toBe(ID)
    await until(async () => (await output(ID)).includes('x'))
    expect((await client.post(BASE, { conversation_id: dashed })).status).toBe(409)
  })

  it('waits for a free slot at the maximum number of runs', async () => {
    const current = gate()
    const { service } = await begin(make(), undefined, { agent: () => current.step, maxRuns: 1 })
    const first = await start({ initial_message: say('First') })
    const { body: second } = await client.post<Task>(BASE, { initial_message: say('Second') })
    await until(async () => (await task(second.id)).status === 'STARTING_CONVERSATION')
    expect((await app(first.app_conversation_id ?? ''))?.execution_status).toBe('running')
    current.open()
    const { app_conversation_id: id } = await until(async () => {
      const now = await task(second.id)
      return now.status === 'READY' ? now : null
    })
    await until(async () => (await app(id ?? ''))?.execution_status === 'finished')
    await service.runs.settle()
  })

  it('removes an erased message from its task while the run waits for a slot', async () => {
    const current = gate()
    const { service } = await begin(make(), undefined, { agent: () => current.step, maxRuns: 1 })
    await start({ initial_message: say('First') })
    const { body: second } = await client.post<Task>(BASE, { initial_message: say('My password is 1234') })
    await until(async () => (await task(second.id)).status === 'STARTING_CONVERSATION')
    const event = await until(async () => {
      const { body } = await client.get<Page<App>>(`${BASE}/search`)
      const { id = '' } = body.items.find(({ execution_status }) => execution_status === 'idle') ?? {}
      const events = await client.get<Page<{ id: string }>>(`/api/conversations/${id}/events/search`, {
        kind: 'MessageEvent',
      })
      const [message] = events.status === 200 ? events.body.items : []
      return message === undefined ? null : { conversation: id, id: message.id }
    })
    const path = `/api/conversations/${event.conversation}/events/${event.id}/erase`
    expect((await client.post(path)).status).toBe(200)
    expect(JSON.stringify(await task(second.id))).not.toContain('1234')
    current.open()
    await service.controlPlane.tasks.worker.startDue()
    await until(async () => (await task(second.id)).status === 'READY')
    await service.runs.settle()
    expect(JSON.stringify(await task(second.id))).not.toContain('1234')
  })

  it('leaves a task that another service has claimed unchanged', async () => {
    const store = make()
    await begin(store)
    const { id } = await start()
    const records = recordsIn<Readonly<Record<string, unknown>>>(store, 'start-tasks')
    const stored = (await records.all()).get(id) as Record<string, unknown>
    await records.put('t2', { ...stored, id: 't2', status: 'WORKING' }, { dueIn: 60_000 })
    await client.service.controlPlane.tasks.worker.startDue()
    expect((await task('t2')).status).toBe('WORKING')
  })

  it('creates tasks that can be searched, counted and read by id', async () => {
    await begin(make())
    const ids: string[] = []
    for (let index = 0; index < 5; index += 1) ids.push((await start()).id)
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
    const none = await client.get(`${BASE}/start-tasks/count`, { conversation_id__eq: 'x'.repeat(201) })
    expect([none.status, none.body]).toEqual([200, 0])
    expect((await client.get(`${BASE}/start-tasks/search`, { page_id: next_page_id ?? '' })).status).toBe(422)
    // The last one is in the year 10000.
    for (const created_at__gte of ['2100-01-01', '9999-12-31T23:59:59-01:00'])
      expect((await client.get(`${BASE}/start-tasks/count`, { created_at__gte })).body).toBe(0)
    expect(
      (await client.get<(Task | null)[]>(`${BASE}/start-tasks`, { ids: ['x', ids[0] ?? ''] })).body.map(
        (one) => one?.id ?? null,
      ),
    ).toEqual([null, ids[0]])
  })
})

describe.each(Object.entries(STORES))('app conversations over %s', (_, make) => {
  it('have counts equal to their pages for every filter, without system conversations', async () => {
    const store = make()
    await begin(store)
    const parent = (await start({ title: '100% sure_thing' })).app_conversation_id ?? ''
    for (const title of ['One', 'Two', '100x sureXthing']) await start({ title })
    for (const title of ['Child one', 'Child two']) await start({ title, parent_conversation_id: parent })
    await client.service.keys.create({ name: 'k', not_before: null, expires_at: null, org_id: null })
    const matches: number[] = []
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
      matches.push(ids.length)
    }
    expect(matches).toEqual([4, 6, 2, 1, 1, 0, 6, 0])
    expect(await app(parent)).toMatchObject({
      sub_conversation_ids: [expect.any(String), expect.any(String)],
    })
    const page = (await client.get<Page<App>>(`${BASE}/search`, { limit: 2 })).body.next_page_id ?? ''
    for (const wrong of [{ title__contains: 'x' }, { include_sub_conversations: 'true' }]) {
      expect((await client.get(`${BASE}/search`, { ...wrong, page_id: page })).status).toBe(422)
    }
    expect((await client.get(`${BASE}/search`, { page_id: '3' })).status).toBe(422)
  })

  it('return null for an unknown id in a read, and 404 in a change', async () => {
    await begin(make())
    await start({ conversation_id: ID })
    const { body } = await client.get<(App | null)[]>(BASE, { ids: [ID, 'x', 'y', ID] })
    expect(body.map((one) => one?.id ?? null)).toEqual([ID, null, null, ID])
    expect((await client.get(BASE, { ids: Array.from({ length: 101 }, String) })).status).toBe(400)
    for (const [method, path, sent] of [
      ['PATCH', BASE, { public: true }],
      ['DELETE', BASE, undefined],
    ] as const) {
      expect((await send(method, `${path}/x`, sent)).status).toBe(404)
    }
    const shared = await client.get<Page<unknown>>('/api/shared-events/search', {
      conversation_id: 'x',
    })
    expect(shared.body.items).toEqual([])
  })

  it('have the repository and the model of their parent, unless their own request names others', async () => {
    await begin(make())
    const fields = {
      selected_repository: 'a/b',
      selected_branch: 'main',
      git_provider: 'github',
      llm_model: 'm',
    }
    const { app_conversation_id: parent } = await start({ ...fields, pr_number: [1] })
    const child = await start({ parent_conversation_id: parent, selected_branch: 'other', llm_model: null })
    expect(await app(child.app_conversation_id ?? '')).toMatchObject({
      ...fields,
      selected_branch: 'other',
      pr_number: [],
    })
  })

  it('can be changed, which appends events, and are deleted with their start task', async () => {
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

describe('concurrent changes', () => {
  it('are all stored', async () => {
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

describe('invalid requests', () => {
  it.each([
    ['the id ".."', { conversation_id: '..' }, ['body', 'conversation_id']],
    ['an unknown parent', { parent_conversation_id: 'x' }, ['body', 'parent_conversation_id']],
    ['an unknown sandbox', { sandbox_id: 'x' }, ['body', 'sandbox_id']],
    [
      'an assistant message',
      { initial_message: { role: 'assistant', content: [{ text: 'x' }] } },
      ['body', 'initial_message', 'role'],
    ],
    ['an empty message', { initial_message: { content: [] } }, ['body', 'initial_message', 'content']],
    ['an invalid tag', { tags: { 'A b': 'x' } }, ['body', 'tags', 'A b']],
    [
      'a tag that is too long',
      { tags: { ['x'.repeat(6_000)]: '' } },
      ['body', 'tags', expect.stringMatching(/^x/)],
    ],
  ])('a start with %s gets 422', async (_, body, loc) => {
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
  ])('%s: 101 ids get 400, and invalid pages 422', async (list, name) => {
    await begin()
    const ids = (length: number): Query => ({ [name]: Array.from({ length }, String) })
    expect([await answer(list, ids(100)), await answer(list, ids(101))]).toEqual([200, 400])
    for (const query of [{ limit: 0 }, { limit: -1 }, { limit: 101 }, { limit: 'x' }, { page_id: '2' }]) {
      expect([query, await answer(`${list}/search`, query)]).toEqual([query, 422])
    }
  })

  it('starting a sandbox without a provider gets 409, and the lists are empty', async () => {
    await begin()
    expect((await client.post(SANDBOXES)).status).toBe(409)
    expect((await client.get<Page<Sandbox>>(`${SANDBOXES}/search`)).body.items).toEqual([])
    expect((await client.post(`${SANDBOXES}/x/pause`)).status).toBe(404)
    expect((await client.get('/api/v1/sandbox-specs/search')).body).toEqual({ items: [], next_page_id: null })
  })
})
