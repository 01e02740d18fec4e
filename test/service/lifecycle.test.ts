/** The lifecycle of a conversation over HTTP: created, spoken to, run, paused, confirmed, forked and deleted, with the right codes. */

import { afterEach, describe, expect, it } from 'vitest'
import { scriptedAgent, type ScriptedReply } from '../../src/service/scripted-agent.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Client, clientOver, STORES } from './client.ts'
import { gate } from './gate.ts'

interface Info {
  readonly id: string
  readonly title: string | null
  readonly tags: Readonly<Record<string, string>>
  readonly execution_status: string
  readonly error: { readonly code: string } | null
  readonly leaf_event_id: string | null
  readonly event_count: number
  readonly pending_action_ids: readonly string[]
  readonly parent_conversation_id: string | null
  readonly forked_from_conversation_id: string | null
  readonly forked_from_event_id: string | null
  readonly workspace: unknown
}

let client: Client
const BASE = '/api/conversations'

const begin = async (replies: readonly ScriptedReply[] = [], store = memoryStore()): Promise<void> => {
  client = await clientOver(store, { agent: scriptedAgent(replies) })
}

afterEach(async () => {
  await client.engine.close()
  await client.engine.store.close()
})

const say = (text: string): object => ({ content: [{ type: 'text', text }] })

const create = async (body: object = {}): Promise<string> => (await client.post<Info>(BASE, body)).body.id

const info = async (id: string): Promise<Info> => (await client.get<Info>(`${BASE}/${id}`)).body

/** A conversation whose run is in the middle of its first step, until that is let go. */
async function underWay(): Promise<{ readonly id: string; readonly open: () => void }> {
  const { step, reached, open } = gate()
  client = await clientOver(memoryStore(), { agent: () => step })
  const id = await create({ initial_message: say('Hi') })
  await reached
  return { id, open }
}

/** What the conversation is told of when it rests. */
async function rest(id: string, status: string | readonly string[] = 'finished'): Promise<Info> {
  const conversation = await client.engine.open(id)
  await conversation.waitFor(status as 'finished', { signal: AbortSignal.timeout(20_000) })
  return info(id)
}

async function eventsOf(id: string, kind?: string): Promise<Event[]> {
  return (await client.get<{ items: Event[] }>(`${BASE}/${id}/events/search`, { kind })).body.items
}

const kindsOf = async (id: string): Promise<string[]> =>
  (await eventsOf(id)).filter(({ kind }) => kind !== 'ConversationStateUpdateEvent').map(({ kind }) => kind)

const codes = async (...deeds: readonly (readonly [string, unknown?])[]): Promise<number[]> => {
  const all: number[] = []
  for (const [path, body] of deeds) all.push((await client.post(path, body)).status)
  return all
}

describe('creating', () => {
  it.each(Object.entries(STORES))(
    'answers 201 for a new one, and 200 when it exists, over %s',
    async (_, make) => {
      await begin([], make())
      const body = {
        conversation_id: '0F8FAD5B-D9CB-469F-A165-70867728950E',
        title: 'First',
        tags: { team: 'Core' },
        workspace: { working_dir: '/tmp/w' },
      }
      const made = await client.post<Info>(BASE, body)
      expect(made.status).toBe(201)
      expect(made.body).toMatchObject({ title: 'First', execution_status: 'idle', event_count: 0 })
      const again = await client.post<Info>(BASE, { ...body, title: 'Other', initial_message: say('Hello') })
      expect([again.status, again.body.title, again.body.event_count]).toEqual([200, 'First', 0])
      expect(await codes([BASE, {}], [BASE])).toEqual([201, 201])
      const [fresh, unknown] = (await client.get<(Info | null)[]>(BASE, { ids: [made.body.id, 'nobody'] }))
        .body
      expect([fresh?.tags, fresh?.workspace, unknown]).toEqual([
        { team: 'Core' },
        { kind: 'LocalWorkspace', working_dir: '/tmp/w' },
        null,
      ])
    },
  )

  it('runs the first message', async () => {
    await begin(['Good morning.'])
    const id = await create({ initial_message: say('Hello'), max_iterations: 3 })
    expect(await rest(id)).toMatchObject({ execution_status: 'finished', error: null })
    expect(await kindsOf(id)).toEqual(['MessageEvent', 'MessageEvent'])
  })

  it('keeps a document as it was sent, and refuses a text without its words', async () => {
    await begin()
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' }
    const file = { type: 'document', source, title: 'Plan' }
    const id = await create({ initial_message: { content: [file] } })
    const said = { content: [{ type: 'text', text: 'And?' }, file] }
    expect((await client.post(`${BASE}/${id}/events`, said)).status).toBeLessThan(300)
    const kept = (await eventsOf(id, 'MessageEvent')).flatMap((event) =>
      event.kind === 'MessageEvent' && event.source === 'user' ? [event.llm_message.content] : [],
    )
    expect(kept).toEqual([[file], said.content])
    const broken = await client.post(`${BASE}/${id}/events`, { content: [{ type: 'text' }] })
    expect(broken.status).toBe(422)
  })
})

const BAD: readonly (readonly [string, unknown, number, readonly unknown[] | null])[] = [
  ['', { title: '' }, 422, ['body', 'title']],
  ['', { title: 'x'.repeat(201) }, 422, ['body', 'title']],
  ['', { title: 'a\u0000' }, 422, ['body', 'title']],
  ['', { tags: { Team: 'a' } }, 422, ['body', 'tags', 'Team']],
  ['', { tags: { team: 'x'.repeat(257) } }, 422, ['body', 'tags', 'team']],
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
    (deed): [string, undefined, number, null] => [`/nobody/${deed}`, undefined, 404, null],
  ),
  ['/nobody/navigate', { event_id: null }, 404, null],
]

describe('bad requests', () => {
  it.each(BAD)('POST %s with %j is %i', async (path, body, status, loc) => {
    await begin()
    await create({ conversation_id: 'c' })
    const answer = await client.post<{ detail: { loc: unknown }[] }>(`${BASE}${path}`, body)
    expect(answer.status).toBe(status)
    if (loc !== null) expect(answer.body.detail.map((error) => error.loc)).toContainEqual(loc)
    // Nothing came of it.
    expect(await info('c')).toMatchObject({ event_count: 0, execution_status: 'idle' })
  })

  it('a body that breaks off is 400, and no failure of the service', async () => {
    const failures: unknown[] = []
    client = await clientOver(memoryStore(), { onFailure: (error) => failures.push(error) })
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    const request = new Request(`http://localhost${BASE}`, { method: 'POST', body, duplex: 'half' })
    expect((await client.service.fetch(request)).status).toBe(400)
    expect(failures).toEqual([])
  })

  it('an unknown conversation is 404 for whoever reads, changes or deletes it', async () => {
    await begin()
    const init = { method: 'PATCH', body: '{"title":"T"}' }
    expect((await client.get(`${BASE}/nobody`)).status).toBe(404)
    expect((await client.send(`${BASE}/nobody`, init)).status).toBe(404)
    expect((await client.send(`${BASE}/nobody`, { method: 'DELETE' })).status).toBe(404)
    expect((await client.get(BASE, { ids: Array.from({ length: 101 }, () => 'x') })).status).toBe(400)
    expect((await client.get(`${BASE}/search`, { limit: 101 })).status).toBe(422)
    expect((await client.get(`${BASE}/search`, { status: 'asleep' })).status).toBe(422)
    expect((await client.get(`${BASE}/search`, { page_id: 'x' })).status).toBe(422)
  })
})

describe('records', () => {
  it('pages through conversations, counts them, and finds those with a status', async () => {
    await begin(['Done.'])
    const ids: string[] = []
    for (let i = 0; i < 5; i += 1) ids.push(await create(i % 2 === 0 ? { initial_message: say('Hi') } : {}))
    for (const id of [0, 2, 4].map((i) => ids[i] as string)) await rest(id)
    const seen: string[] = []
    for (let page: string | null | undefined; page !== null;) {
      const { body } = await client.get<{ items: Info[]; next_page_id: string | null }>(`${BASE}/search`, {
        limit: 2,
        sort_order: 'CREATED_AT',
        ...(page !== undefined && { page_id: page }),
      })
      seen.push(...body.items.map(({ id }) => id))
      page = body.next_page_id
    }
    expect(seen).toEqual(ids)
    const finished = await client.get<{ items: Info[] }>(`${BASE}/search`, { status: 'finished', limit: 3 })
    expect(finished.body.items.map(({ id }) => id)).toEqual([ids[4], ids[2], ids[0]])
    expect((await client.get(`${BASE}/count`, { status: 'idle' })).body).toBe(2)
    expect((await client.get(`${BASE}/count`)).body).toBe(5)
  })

  it('a change of title and tags is in the record, and in the log for whoever listens', async () => {
    await begin()
    const id = await create({ title: 'Old', tags: { a: '1' } })
    const init = { method: 'PATCH', body: JSON.stringify({ title: 'New', tags: { b: '2' } }) }
    expect((await client.send(`${BASE}/${id}`, init)).body).toEqual({ success: true })
    expect(await info(id)).toMatchObject({ title: 'New', tags: { b: '2' } })
    expect(await eventsOf(id)).toMatchObject([
      { key: 'title', value: 'New' },
      { key: 'tags', value: { b: '2' } },
    ])
  })

  it('a deleted conversation is gone, and a run of it ends', async () => {
    const { id } = await underWay()
    expect((await client.send(`${BASE}/${id}`, { method: 'DELETE' })).status).toBe(200)
    expect((await client.get(`${BASE}/${id}`)).status).toBe(404)
    await client.service.runs.settle()
  })

  it('encrypted content is null wherever an event is shown', async () => {
    await begin()
    const id = await create()
    const conversation = await client.engine.open(id)
    await conversation.append({
      kind: 'MessageEvent',
      source: 'agent',
      id: 'secret',
      llm_message: { role: 'assistant', responses_reasoning_item: { encrypted_content: 'gAAAA' } },
    })
    const text = JSON.stringify([await eventsOf(id), await client.get(`${BASE}/${id}/events/secret`)])
    expect(text).toContain('"encrypted_content":null')
    expect(text).not.toContain('gAAAA')
  })
})

describe('runs', () => {
  it('begin in the background; a second one is 409; both ends are in the log', async () => {
    const held = gate()
    client = await clientOver(memoryStore(), { agent: () => held.step })
    const id = await create()
    await client.post(`${BASE}/${id}/events`, say('Hi'))
    const two = await Promise.all([client.post(`${BASE}/${id}/run`), client.post(`${BASE}/${id}/run`)])
    expect(two.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect((await info(id)).execution_status).toBe('running')
    expect((await client.post(`${BASE}/${id}/navigate`, { event_id: null })).status).toBe(409)
    held.open()
    expect((await rest(id)).execution_status).toBe('finished')
  })

  it('without an agent nothing is run, and nothing said that was to be run', async () => {
    client = await clientOver(memoryStore())
    const id = await create({ initial_message: say('Hi') })
    expect(await codes([`${BASE}/${id}/run`], [`${BASE}/${id}/events`, { ...say('Hi'), run: true }])).toEqual(
      [409, 409],
    )
    expect((await info(id)).event_count).toBe(1)
  })

  it('a pause holds after the step, resuming ends it, and a run goes on', async () => {
    const { id, open } = await underWay()
    expect(await codes([`${BASE}/${id}/pause`])).toEqual([200])
    open()
    await client.service.runs.settle()
    expect((await info(id)).execution_status).toBe('paused')
    expect(await codes([`${BASE}/${id}/resume`])).toEqual([200])
    // The reply that was in flight came, so nothing is left to ask.
    expect((await info(id)).execution_status).toBe('finished')
  })

  it('an interrupt ends a step that never ends', async () => {
    const { id } = await underWay()
    expect(await codes([`${BASE}/${id}/interrupt`])).toEqual([200])
    expect(client.service.runs.size).toBe(0)
    expect((await info(id)).execution_status).toBe('paused')
    expect(await kindsOf(id)).toEqual(['MessageEvent', 'InterruptEvent'])
  })

  it('a message that arrives while a run ends is answered', async () => {
    const replies = 30
    await begin(Array.from({ length: replies }, (_, i) => `Reply ${i}`))
    const id = await create()
    for (let i = 0; i < replies; i += 1) {
      await client.post(`${BASE}/${id}/events`, { ...say(`Message ${i}`), run: true })
      // Now soon after the last run has begun, now while it ends, now after it.
      await new Promise((resolve) => setTimeout(resolve, i % 4))
    }
    await client.service.runs.settle()
    const said = await eventsOf(id, 'MessageEvent')
    expect(said.filter(({ source }) => source === 'user')).toHaveLength(replies)
    // Several may be answered together, but after the last of them stands an answer.
    expect(said.at(-1)?.source).toBe('agent')
    expect((await info(id)).execution_status).toBe('finished')
  })

  it('and so it is when two services share a store', async () => {
    const store = memoryStore()
    const place = { ...store, close: async () => undefined }
    await begin([], place)
    const other = await clientOver(place, { agent: scriptedAgent([]) })
    const id = await create()
    for (let i = 0; i < 20; i += 1) {
      const to = i % 2 === 0 ? client : other
      await to.post(`${BASE}/${id}/events`, { ...say(`Message ${i}`), run: true })
      await new Promise((resolve) => setTimeout(resolve, i % 3))
    }
    await Promise.all([client.service.runs.settle(), other.service.runs.settle()])
    // One may have left it to the run of the other.
    expect((await rest(id)).execution_status).toBe('finished')
    expect((await eventsOf(id, 'MessageEvent')).at(-1)?.source).toBe('agent')
    await other.engine.close()
  })

  it('a message after a pause is answered though the paused run has yet to end', async () => {
    const { id, open } = await underWay()
    await client.post(`${BASE}/${id}/pause`)
    await client.post(`${BASE}/${id}/events`, { ...say('Go on'), run: true })
    open()
    await client.service.runs.settle()
    const said = (await eventsOf(id, 'MessageEvent')).map(({ source }) => source)
    expect(said.filter((source) => source !== 'environment')).toEqual(['user', 'user', 'agent', 'agent'])
    expect((await info(id)).execution_status).toBe('finished')
  })

  it('but not when the pause came after it', async () => {
    const { id, open } = await underWay()
    await client.post(`${BASE}/${id}/events`, { ...say('Go on'), run: true })
    await client.post(`${BASE}/${id}/pause`)
    open()
    await client.service.runs.settle()
    expect((await info(id)).execution_status).toBe('paused')
  })

  it('nor when it was interrupted after it', async () => {
    const { id } = await underWay()
    await client.post(`${BASE}/${id}/pause`)
    await client.post(`${BASE}/${id}/events`, { ...say('Go on'), run: true })
    await client.post(`${BASE}/${id}/interrupt`)
    await client.service.runs.settle()
    expect((await info(id)).execution_status).toBe('paused')
    expect(await kindsOf(id)).toEqual(['MessageEvent', 'PauseEvent', 'MessageEvent', 'InterruptEvent'])
  })

  it('a failing agent is an error of the conversation, and of nobody else', async () => {
    client = await clientOver(memoryStore(), {
      agent: () => () => {
        throw new TypeError('no model')
      },
    })
    const id = await create({ initial_message: say('Hi') })
    expect((await rest(id, 'error')).error).toMatchObject({ code: 'TypeError' })
    expect(await codes([`${BASE}/${id}/run`])).toEqual([200])
  })

  it('the same key says a message once; another message under it is 409', async () => {
    await begin()
    const id = await create()
    const door = `${BASE}/${id}/events`
    const [first, second] = [
      await client.post(door, { ...say('Hi'), key: 'k' }),
      await client.post(door, { ...say('Hi'), key: 'k' }),
    ]
    expect(second.body).toEqual(first.body)
    expect((await info(id)).event_count).toBe(1)
    expect(await codes([door, { ...say('Ho'), key: 'k' }])).toEqual([409])
  })

  it('a message says who sent it', async () => {
    await begin()
    const id = await create({ initial_message: { ...say('Hi'), sender: 'Ann' } })
    await rest(id)
    await client.post(`${BASE}/${id}/events`, { ...say('Ho'), sender: 'Ben' })
    const said = (await eventsOf(id, 'MessageEvent')) as readonly Extract<Event, { kind: 'MessageEvent' }>[]
    expect(said.filter(({ source }) => source === 'user').map(({ sender }) => sender)).toEqual(['Ann', 'Ben'])
  })
})

const path = (id: string, verb: string): string => `${BASE}/${id}/events/${verb}`

describe('confirmation', () => {
  const CALLS: readonly ScriptedReply[] = [
    {
      calls: [
        { tool: 'echo', arguments: { text: 'a' } },
        { tool: 'echo', arguments: { text: 'b' } },
      ],
    },
    'Done.',
  ]
  const ask = async (): Promise<string> => {
    await begin(CALLS)
    const id = await create({ confirmation_policy: { kind: 'AlwaysConfirm' }, initial_message: say('Hi') })
    expect((await rest(id, 'waiting_for_confirmation')).pending_action_ids).toHaveLength(2)
    await client.service.runs.settle()
    return id
  }

  it('accepted: every call is executed once, however often and at once it is accepted', async () => {
    const id = await ask()
    const answers = await Promise.all(
      [1, 2, 3].map(() => client.post(path(id, 'respond_to_confirmation'), { accept: true })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
    await rest(id)
    expect((await kindsOf(id)).filter((kind) => kind === 'ObservationEvent')).toHaveLength(2)
  })

  it('refused: every call is answered with the reason, and the conversation rests', async () => {
    const id = await ask()
    await client.post(path(id, 'respond_to_confirmation'), { accept: false, reason: 'Not now' })
    expect(await info(id)).toMatchObject({ execution_status: 'idle', pending_action_ids: [] })
    const refused = (await eventsOf(id)).filter((event) => event.kind === 'UserRejectObservation')
    expect(refused.map((event) => event.rejection_reason)).toEqual(['Not now', 'Not now'])
    expect(await codes([path(id, 'respond_to_confirmation'), { accept: false }])).toEqual([409])
  })

  it('one by one: nothing runs before the last is settled', async () => {
    const id = await ask()
    const [first = '', second = ''] = (await info(id)).pending_action_ids
    await client.post(path(id, 'approve'), { action_ids: [first] })
    expect((await info(id)).execution_status).toBe('waiting_for_confirmation')
    await client.post(path(id, 'reject'), { action_ids: [second], reason: 'No' })
    expect((await info(id)).execution_status).toBe('idle')
    await client.post(`${BASE}/${id}/run`)
    await rest(id)
    const kinds = await kindsOf(id)
    expect(kinds.filter((kind) => kind === 'ObservationEvent')).toHaveLength(1)
    expect(kinds.filter((kind) => kind === 'UserRejectObservation')).toHaveLength(1)
  })

  it('one by one: the last that is approved sets off the run', async () => {
    const id = await ask()
    const [first = '', second = ''] = (await info(id)).pending_action_ids
    await client.post(path(id, 'approve'), { action_ids: [second] })
    await client.post(path(id, 'approve'), { action_ids: [first] })
    await rest(id)
    expect((await kindsOf(id)).filter((kind) => kind === 'ObservationEvent')).toHaveLength(2)
  })

  it('the policy can be changed later', async () => {
    await begin(CALLS)
    const id = await create()
    await client.post(`${BASE}/${id}/confirmation_policy`, { policy: { kind: 'AlwaysConfirm' } })
    await client.post(`${BASE}/${id}/events`, { ...say('Hi'), run: true })
    expect((await rest(id, 'waiting_for_confirmation')).pending_action_ids).toHaveLength(2)
  })
})

describe('the tree', () => {
  it('navigates, forks and asks for a condensation', async () => {
    await begin(['One.', 'Two.'])
    const id = await create({
      initial_message: say('Hi'),
      title: 'Source',
      workspace: { working_dir: '/w' },
      tags: { a: '1' },
    })
    const before = await rest(id)
    const [first] = (await eventsOf(id)).filter(({ kind }) => kind === 'MessageEvent')
    const moved = await client.post<Info>(`${BASE}/${id}/navigate`, { event_id: first?.id })
    expect(moved.body).toMatchObject({ leaf_event_id: first?.id, execution_status: 'idle' })
    expect(
      (await client.post<Info>(`${BASE}/${id}/navigate`, { event_id: null })).body.leaf_event_id,
    ).toBeNull()
    await client.post(`${BASE}/${id}/navigate`, { event_id: before.leaf_event_id })
    const whole = await client.post<Info>(`${BASE}/${id}/fork`, { id: 'fork', tags: { b: '2' } })
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
    const part = await client.post<Info>(`${BASE}/${id}/fork`, { from_event_id: first?.id, title: 'Part' })
    expect(part.body).toMatchObject({
      title: 'Part',
      leaf_event_id: first?.id,
      forked_from_event_id: first?.id,
    })
    expect(await kindsOf(part.body.id)).toEqual(['MessageEvent'])
    expect((await client.post(`${BASE}/${id}/fork`)).status).toBe(201)
    await client.post(`${BASE}/${id}/condense`)
    expect((await kindsOf(id)).at(-1)).toBe('CondensationRequest')
  })
})

describe('after a crash', () => {
  it('a conversation that was left running is recovered when it is first touched', async () => {
    const store = memoryStore()
    await begin([], store)
    const id = await create()
    const conversation = await client.engine.open(id)
    // What a process leaves that was killed in the middle of a step.
    await conversation.append([
      { kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: [{ text: 'Hi' }] } },
      { kind: 'ConversationStateUpdateEvent', key: 'execution_status', value: 'running' },
    ])
    await client.engine.close()
    await begin(['Here again.'], store)
    expect(await info(id)).toMatchObject({ execution_status: 'error', error: { code: 'RunLost' } })
    expect(await codes([`${BASE}/${id}/run`])).toEqual([200])
    expect((await rest(id)).error).toBeNull()
  })
})

describe('the scripted agent', () => {
  it('says its script across restarts, then what the user says, and knows two tools', async () => {
    const store = memoryStore()
    const script: readonly ScriptedReply[] = [
      { calls: [{ tool: 'echo', arguments: { text: 'a' } }, { tool: 'rm' }] },
      'First.',
      { calls: [{ tool: 'finish', arguments: { message: 'Bye' } }] },
    ]
    await begin(script, store)
    const id = await create({ initial_message: say('Hi') })
    await rest(id)
    await client.service.runs.settle()
    await client.engine.close()
    await begin(script, store)
    for (const text of ['Go on', 'And on']) {
      await client.post(`${BASE}/${id}/events`, { ...say(text), run: true })
      await client.service.runs.settle()
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
