import { describe, expect, it } from 'vitest'
import type { ScriptedReply } from './scripted-agent.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { clientOver, STORES } from './client.ts'
import { BASE, type Info, lifecycleFixture, say } from './lifecycle-fixture.ts'

const fixture = lifecycleFixture()
const { begin, codes, create, eventsOf, info, kindsOf, waitForStatus, startHangingRun } = fixture

describe('creating a conversation', () => {
  it.each(Object.entries(STORES))(
    'returns 201 for a new id, and 200 for an existing one, over %s',
    async (_, make) => {
      await begin([], make())
      const body = {
        conversation_id: '0F8FAD5B-D9CB-469F-A165-70867728950E',
        title: 'First',
        tags: { team: 'Core' },
        workspace: { working_dir: '/tmp/w' },
      }
      const created = await fixture.client.post<Info>(BASE, body)
      expect(created.status).toBe(201)
      expect(created.body).toMatchObject({ title: 'First', execution_status: 'idle', event_count: 0 })
      const again = await fixture.client.post<Info>(BASE, {
        ...body,
        title: 'Other',
        initial_message: say('Hello'),
      })
      expect([again.status, again.body.title, again.body.event_count]).toEqual([200, 'First', 0])
      expect(await codes([BASE, {}], [BASE])).toEqual([201, 201])
      const [fresh, unknown] = (
        await fixture.client.get<(Info | null)[]>(BASE, { ids: [created.body.id, 'nobody'] })
      ).body
      expect([fresh?.tags, fresh?.workspace, unknown]).toEqual([
        { team: 'Core' },
        { kind: 'LocalWorkspace', working_dir: '/tmp/w' },
        null,
      ])
    },
  )

  it('runs the initial message', async () => {
    await begin(['Good morning.'])
    const id = await create({ initial_message: say('Hello'), max_iterations: 3 })
    expect(await waitForStatus(id)).toMatchObject({ execution_status: 'finished', error: null })
    expect(await kindsOf(id)).toEqual(['MessageEvent', 'MessageEvent'])
  })

  it('stores a document part unchanged, and rejects a text part without text', async () => {
    await begin()
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' }
    const file = { type: 'document', source, title: 'Plan' }
    const id = await create({ initial_message: { content: [file] } })
    const text = { content: [{ type: 'text', text: 'And?' }, file] }
    expect((await fixture.client.post(`${BASE}/${id}/events`, text)).status).toBeLessThan(300)
    const stored = (await eventsOf(id, 'MessageEvent')).flatMap((event) =>
      event.kind === 'MessageEvent' && event.source === 'user' ? [event.llm_message.content] : [],
    )
    expect(stored).toEqual([[file], text.content])
    const broken = await fixture.client.post(`${BASE}/${id}/events`, { content: [{ type: 'text' }] })
    expect(broken.status).toBe(422)
  })
})

/** One tag above the maximum. */
const MANY = Object.fromEntries(Array.from({ length: 101 }, (_, nth) => [`t${nth}`, 'x']))

const BAD: readonly (readonly [string, unknown, number, readonly unknown[] | null])[] = [
  ['', { title: '' }, 422, ['body', 'title']],
  ['', { title: 'x'.repeat(201) }, 422, ['body', 'title']],
  ['', { title: 'a\u0000' }, 422, ['body', 'title']],
  ['', { tags: { _team: 'a' } }, 422, ['body', 'tags', '_team']],
  ['', { owner: 'a\u0000' }, 422, ['body', 'owner']],
  ['', { tags: { team: 'x'.repeat(257) } }, 422, ['body', 'tags', 'team']],
  ['', { tags: { [`${'long'.repeat(25)}r`]: 'x' } }, 422, ['body', 'tags', expect.stringMatching(/^long/)]],
  ['', { tags: MANY }, 422, ['body', 'tags']],
  ['/c/fork', { tags: MANY }, 422, ['body', 'tags']],
  ['', { conversation_id: '__root__' }, 422, ['body', 'conversation_id']],
  ['', { parent_conversation_id: 'nobody' }, 422, ['body', 'parent_conversation_id']],
  ['', { max_iterations: 0 }, 422, ['body', 'max_iterations']],
  ['', { initial_message: { content: [] } }, 422, ['body', 'initial_message', 'content']],
  ['', [], 422, ['body']],
  ['/c/events', {}, 422, ['body', 'content']],
  ['/c/events', { content: 'Hello' }, 422, ['body', 'content']],
  ['/c/events', { role: 'assistant', ...say('Hello') }, 422, ['body', 'role']],
  ['/c/events', { ...say('Hello'), id: 'x' }, 422, ['body', 'id']],
  ['/nobody/events', say('Hello'), 404, null],
  ['/c/events/respond_to_confirmation', {}, 422, ['body', 'accept']],
  ['/c/events/respond_to_confirmation', { accept: true }, 409, null],
  ['/c/events/approve', { action_ids: ['nothing'] }, 409, null],
  ['/c/events/reject', { action_ids: ['nothing'] }, 409, null],
  ['/c/events/reject', { action_ids: [] }, 422, ['body', 'action_ids']],
  ['/c/navigate', { event_id: 'nothing' }, 404, null],
  ['/c/fork', { from_event_id: 'nothing' }, 404, null],
  ['/c/fork', { id: 'c' }, 409, null],
  ['/c/confirmation_policy', { policy: {} }, 422, ['body', 'policy', 'kind']],
  ...['run', 'pause', 'interrupt', 'resume', 'condense', 'fork'].map(
    (verb): [string, undefined, number, null] => [`/nobody/${verb}`, undefined, 404, null],
  ),
  ['/nobody/navigate', { event_id: null }, 404, null],
]

describe('invalid requests', () => {
  it.each(BAD)('POST %s with %j gets %i', async (path, body, status, loc) => {
    await begin()
    await create({ conversation_id: 'c' })
    const answer = await fixture.client.post<{ detail: { loc: unknown }[] }>(`${BASE}${path}`, body)
    expect(answer.status).toBe(status)
    if (loc !== null) expect(answer.body.detail.map((error) => error.loc)).toContainEqual(loc)
    expect(await info('c')).toMatchObject({ event_count: 0, execution_status: 'idle' })
  })

  it('a body that breaks off gets 400 and is not reported as a failure', async () => {
    const failures: unknown[] = []
    fixture.client = await clientOver(memoryStore(), { onFailure: (error) => failures.push(error) })
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    const request = new Request(`http://localhost${BASE}`, { method: 'POST', body, duplex: 'half' })
    expect((await fixture.client.service.fetch(request)).status).toBe(400)
    expect(failures).toEqual([])
  })

  it('an unknown conversation gets 404, more than 100 ids 400, and an invalid search 422', async () => {
    await begin()
    const init = { method: 'PATCH', body: '{"title":"T"}' }
    expect((await fixture.client.get(`${BASE}/nobody`)).status).toBe(404)
    expect((await fixture.client.send(`${BASE}/nobody`, init)).status).toBe(404)
    expect((await fixture.client.send(`${BASE}/nobody`, { method: 'DELETE' })).status).toBe(404)
    expect((await fixture.client.get(BASE, { ids: Array.from({ length: 101 }, () => 'x') })).status).toBe(400)
    expect((await fixture.client.get(`${BASE}/search`, { limit: 101 })).status).toBe(422)
    expect((await fixture.client.get(`${BASE}/search`, { status: 'asleep' })).status).toBe(422)
    expect((await fixture.client.get(`${BASE}/search`, { page_id: 'x' })).status).toBe(422)
  })
})

describe('conversations', () => {
  it('can be paged, counted and filtered by status', async () => {
    await begin(['Done.'])
    const ids: string[] = []
    for (let i = 0; i < 5; i += 1) ids.push(await create(i % 2 === 0 ? { initial_message: say('Hi') } : {}))
    for (const id of [0, 2, 4].map((i) => ids[i] as string)) await waitForStatus(id)
    const seen: string[] = []
    for (let page: string | null | undefined; page !== null;) {
      const { body } = await fixture.client.get<{ items: Info[]; next_page_id: string | null }>(
        `${BASE}/search`,
        {
          limit: 2,
          sort_order: 'CREATED_AT',
          ...(page !== undefined && { page_id: page }),
        },
      )
      seen.push(...body.items.map(({ id }) => id))
      page = body.next_page_id
    }
    expect(seen).toEqual(ids)
    const finished = await fixture.client.get<{ items: Info[] }>(`${BASE}/search`, {
      status: 'finished',
      limit: 3,
    })
    expect(finished.body.items.map(({ id }) => id)).toEqual([ids[4], ids[2], ids[0]])
    expect((await fixture.client.get(`${BASE}/count`, { status: 'idle' })).body).toBe(2)
    expect((await fixture.client.get(`${BASE}/count`)).body).toBe(5)
  })

  it('show a changed title and changed tags in their information and in the log', async () => {
    await begin()
    const id = await create({ title: 'Old', tags: { a: '1' } })
    const init = { method: 'PATCH', body: JSON.stringify({ title: 'New', tags: { b: '2' } }) }
    expect((await fixture.client.send(`${BASE}/${id}`, init)).body).toEqual({ success: true })
    expect(await info(id)).toMatchObject({ title: 'New', tags: { b: '2' } })
    expect(await eventsOf(id)).toMatchObject([
      { key: 'title', value: 'New' },
      { key: 'tags', value: { b: '2' } },
    ])
  })

  it('get 404 after a deletion, which ends their run', async () => {
    const { id } = await startHangingRun()
    expect((await fixture.client.send(`${BASE}/${id}`, { method: 'DELETE' })).status).toBe(200)
    expect((await fixture.client.get(`${BASE}/${id}`)).status).toBe(404)
    await fixture.client.service.runs.settle()
  })

  it('show encrypted content as null, in a search and in a single event', async () => {
    await begin()
    const id = await create()
    const conversation = await fixture.client.engine.open(id)
    await conversation.append({
      kind: 'MessageEvent',
      source: 'agent',
      id: 'secret',
      llm_message: { role: 'assistant', responses_reasoning_item: { encrypted_content: 'gAAAA' } },
    })
    const text = JSON.stringify([await eventsOf(id), await fixture.client.get(`${BASE}/${id}/events/secret`)])
    expect(text).toContain('"encrypted_content":null')
    expect(text).not.toContain('gAAAA')
  })
})

describe('branches', () => {
  it('can be navigated, forked and condensed', async () => {
    await begin(['One.', 'Two.'])
    const id = await create({
      initial_message: say('Hi'),
      title: 'Source',
      workspace: { working_dir: '/w' },
      tags: { a: '1' },
    })
    const before = await waitForStatus(id)
    const [first] = (await eventsOf(id)).filter(({ kind }) => kind === 'MessageEvent')
    const moved = await fixture.client.post<Info>(`${BASE}/${id}/navigate`, { event_id: first?.id })
    expect(moved.body).toMatchObject({ leaf_event_id: first?.id, execution_status: 'idle' })
    expect(
      (await fixture.client.post<Info>(`${BASE}/${id}/navigate`, { event_id: null })).body.leaf_event_id,
    ).toBeNull()
    await fixture.client.post(`${BASE}/${id}/navigate`, { event_id: before.leaf_event_id })
    const whole = await fixture.client.post<Info>(`${BASE}/${id}/fork`, { id: 'fork', tags: { b: '2' } })
    expect(whole.status).toBe(201)
    expect(whole.body).toMatchObject({
      id: 'fork',
      title: 'Source',
      tags: { b: '2' },
      workspace: { working_dir: '/w' },
      leaf_event_id: before.leaf_event_id,
      forked_from_conversation_id: id,
      forked_from_event_id: null,
    })
    const part = await fixture.client.post<Info>(`${BASE}/${id}/fork`, {
      from_event_id: first?.id,
      title: 'Part',
    })
    expect(part.body).toMatchObject({
      title: 'Part',
      leaf_event_id: first?.id,
      forked_from_event_id: first?.id,
    })
    expect(await kindsOf(part.body.id)).toEqual(['MessageEvent'])
    expect((await fixture.client.post(`${BASE}/${id}/fork`)).status).toBe(201)
    await fixture.client.post(`${BASE}/${id}/condense`)
    expect((await kindsOf(id)).at(-1)).toBe('CondensationRequest')
  })
})

describe('recovery after a crash', () => {
  it('sets the error RunLost at the first request, and the next run finishes', async () => {
    const store = memoryStore()
    await begin([], store)
    const id = await create()
    const conversation = await fixture.client.engine.open(id)
    // What a process leaves when it is killed mid-step.
    await conversation.append([
      { kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: [{ text: 'Hi' }] } },
      { kind: 'ConversationStateUpdateEvent', key: 'execution_status', value: 'running' },
    ])
    await fixture.client.engine.close()
    await begin(['Here again.'], store)
    expect(await info(id)).toMatchObject({ execution_status: 'error', error: { code: 'RunLost' } })
    expect(await codes([`${BASE}/${id}/run`])).toEqual([200])
    expect((await waitForStatus(id)).error).toBeNull()
  })
})

describe('`scriptedAgent`', () => {
  it('continues its script after a restart, then repeats the user, and has two tools', async () => {
    const store = memoryStore()
    const script: readonly ScriptedReply[] = [
      { calls: [{ tool: 'echo', arguments: { text: 'a' } }, { tool: 'rm' }] },
      'First.',
      { calls: [{ tool: 'finish', arguments: { message: 'Bye' } }] },
    ]
    await begin(script, store)
    const id = await create({ initial_message: say('Hi') })
    await waitForStatus(id)
    await fixture.client.service.runs.settle()
    await fixture.client.engine.close()
    await begin(script, store)
    for (const text of ['Go on', 'And on']) {
      await fixture.client.post(`${BASE}/${id}/events`, { ...say(text), run: true })
      await fixture.client.service.runs.settle()
    }
    expect(await kindsOf(id)).toEqual([
      'MessageEvent',
      'ActionEvent',
      'ActionEvent',
      'ObservationEvent',
      'AgentErrorEvent',
      'MessageEvent',
      'MessageEvent',
      'ActionEvent',
      'ObservationEvent',
      'MessageEvent',
      'MessageEvent',
    ])
    const last = (await eventsOf(id)).findLast((event) => event.kind === 'MessageEvent')
    expect(last?.llm_message.content).toMatchObject([{ text: 'And on' }])
  })
})
