import { describe, expect, it } from 'vitest'
import { statusUpdate } from '../../src/conversation/decide.ts'
import { scriptedAgent, type ScriptedReply } from './scripted-agent.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { call } from '../conversation/script.ts'
import { clientOver } from './client.ts'
import { gate } from './gate.ts'
import { BASE, lifecycleFixture, say } from './lifecycle-fixture.ts'

const fixture = lifecycleFixture()
const { begin, codes, create, eventsOf, info, kindsOf, waitForStatus, startHangingRun } = fixture

describe('runs', () => {
  it('continue in the background, and a second run or a navigation gets 409', async () => {
    const current = gate()
    fixture.client = await clientOver(memoryStore(), { agent: () => current.step })
    const id = await create()
    await fixture.client.post(`${BASE}/${id}/events`, say('Hi'))
    const two = await Promise.all([
      fixture.client.post(`${BASE}/${id}/run`),
      fixture.client.post(`${BASE}/${id}/run`),
    ])
    expect(two.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect((await info(id)).execution_status).toBe('running')
    expect((await fixture.client.post(`${BASE}/${id}/navigate`, { event_id: null })).status).toBe(409)
    current.open()
    expect((await waitForStatus(id)).execution_status).toBe('finished')
  })

  it('a service without an agent returns 409 and appends no message', async () => {
    fixture.client = await clientOver(memoryStore())
    const id = await create({ initial_message: say('Hi') })
    expect(await codes([`${BASE}/${id}/run`], [`${BASE}/${id}/events`, { ...say('Hi'), run: true }])).toEqual(
      [409, 409],
    )
    expect((await info(id)).event_count).toBe(1)
  })

  it('a pause lasts after the step, and a resume finishes the run', async () => {
    const { id, open } = await startHangingRun()
    expect(await codes([`${BASE}/${id}/pause`])).toEqual([200])
    open()
    await fixture.client.service.runs.settle()
    expect((await info(id)).execution_status).toBe('paused')
    expect(await codes([`${BASE}/${id}/resume`])).toEqual([200])
    // The reply in flight arrived, so no model call remains.
    expect((await info(id)).execution_status).toBe('finished')
  })

  it('an interrupt ends a run whose step hangs', async () => {
    const { id } = await startHangingRun()
    expect(await codes([`${BASE}/${id}/interrupt`])).toEqual([200])
    expect(fixture.client.service.runs.size).toBe(0)
    expect((await info(id)).execution_status).toBe('paused')
    expect(await kindsOf(id)).toEqual(['MessageEvent', 'InterruptEvent'])
  })

  it('a repeated reject of an old call returns 200 and appends nothing', async () => {
    const store = memoryStore()
    fixture.client = await clientOver(store)
    const id = await create()
    const conversation = await fixture.client.engine.open(id)
    await conversation.append([call('a'), statusUpdate('waiting_for_confirmation')])
    const reject = [`${BASE}/${id}/events/reject`, { action_ids: ['a'] }] as const
    expect(await codes(reject, reject)).toEqual([200, 200])
    const forgets = { llm_response_id: 'r2', forgotten_event_ids: ['a'] }
    await conversation.append([
      { kind: 'Condensation', ...forgets },
      ...Array.from({ length: 5_000 }, () => ({ kind: 'CondensationRequest' as const })),
    ])
    await fixture.client.engine.close()
    // A new process has only the bodies of the view and of the latest events.
    fixture.client = await clientOver(store)
    expect(await codes(reject)).toEqual([200])
    expect((await info(id)).event_count).toBe(5_004)
  })

  it('a message that arrives while a run ends gets a reply', async () => {
    const replies = 30
    await begin(Array.from({ length: replies }, (_, i) => `Reply ${i}`))
    const id = await create()
    for (let i = 0; i < replies; i += 1) {
      await fixture.client.post(`${BASE}/${id}/events`, { ...say(`Message ${i}`), run: true })
      // Hits the run's start, its end and the time after it.
      await new Promise((resolve) => setTimeout(resolve, i % 4))
    }
    await fixture.client.service.runs.settle()
    const text = await eventsOf(id, 'MessageEvent')
    expect(text.filter(({ source }) => source === 'user')).toHaveLength(replies)
    // One reply may answer several messages, but the last message must have a reply after it.
    expect(text.at(-1)?.source).toBe('agent')
    expect((await info(id)).execution_status).toBe('finished')
  })

  it('a message that arrives while a run of another service ends gets a reply', async () => {
    const store = memoryStore()
    const shared = { ...store, close: async () => undefined }
    await begin([], shared)
    const other = await clientOver(shared, { agent: scriptedAgent([]) })
    const id = await create()
    for (let i = 0; i < 20; i += 1) {
      const to = i % 2 === 0 ? fixture.client : other
      await to.post(`${BASE}/${id}/events`, { ...say(`Message ${i}`), run: true })
      await new Promise((resolve) => setTimeout(resolve, i % 3))
    }
    await Promise.all([fixture.client.service.runs.settle(), other.service.runs.settle()])
    // One service may have left the message to the other's run.
    expect((await waitForStatus(id)).execution_status).toBe('finished')
    expect((await eventsOf(id, 'MessageEvent')).at(-1)?.source).toBe('agent')
    await other.engine.close()
  })

  it('a message after a pause gets a reply although the paused run has not ended', async () => {
    const { id, open } = await startHangingRun()
    await fixture.client.post(`${BASE}/${id}/pause`)
    await fixture.client.post(`${BASE}/${id}/events`, { ...say('Go on'), run: true })
    open()
    await fixture.client.service.runs.settle()
    const messages = (await eventsOf(id, 'MessageEvent')).map(({ source }) => source)
    expect(messages.filter((source) => source !== 'environment')).toEqual(['user', 'user', 'agent', 'agent'])
    expect((await info(id)).execution_status).toBe('finished')
  })

  it('a pause after a message leaves the conversation paused', async () => {
    const { id, open } = await startHangingRun()
    await fixture.client.post(`${BASE}/${id}/events`, { ...say('Go on'), run: true })
    await fixture.client.post(`${BASE}/${id}/pause`)
    open()
    await fixture.client.service.runs.settle()
    expect((await info(id)).execution_status).toBe('paused')
  })

  it('an interrupt after a pause and a message leaves the conversation paused', async () => {
    const { id } = await startHangingRun()
    await fixture.client.post(`${BASE}/${id}/pause`)
    await fixture.client.post(`${BASE}/${id}/events`, { ...say('Go on'), run: true })
    await fixture.client.post(`${BASE}/${id}/interrupt`)
    await fixture.client.service.runs.settle()
    expect((await info(id)).execution_status).toBe('paused')
    expect(await kindsOf(id)).toEqual(['MessageEvent', 'PauseEvent', 'MessageEvent', 'InterruptEvent'])
  })

  it('an agent that fails sets the error of its conversation, and a new run returns 200', async () => {
    fixture.client = await clientOver(memoryStore(), {
      agent: () => () => {
        throw new TypeError('no model')
      },
    })
    const id = await create({ initial_message: say('Hi') })
    expect((await waitForStatus(id, 'error')).error).toMatchObject({ code: 'TypeError' })
    expect(await codes([`${BASE}/${id}/run`])).toEqual([200])
  })

  it('a repeated key appends its message once, and another message with the key gets 409', async () => {
    await begin()
    const id = await create()
    const url = `${BASE}/${id}/events`
    const [first, second] = [
      await fixture.client.post(url, { ...say('Hi'), key: 'k' }),
      await fixture.client.post(url, { ...say('Hi'), key: 'k' }),
    ]
    expect(second.body).toEqual(first.body)
    expect((await info(id)).event_count).toBe(1)
    for (const run of [false, true]) {
      const other = await fixture.client.post(url, { ...say('Ho'), key: 'k', run })
      expect([other.status, other.body]).toEqual([409, { detail: expect.stringContaining('`key`') }])
    }
  })

  it('a message contains its sender', async () => {
    await begin()
    const id = await create({ initial_message: { ...say('Hi'), sender: 'Ann' } })
    await waitForStatus(id)
    await fixture.client.post(`${BASE}/${id}/events`, { ...say('Ho'), sender: 'Ben' })
    const messages = (await eventsOf(id, 'MessageEvent')) as readonly Extract<
      Event,
      { kind: 'MessageEvent' }
    >[]
    expect(messages.filter(({ source }) => source === 'user').map(({ sender }) => sender)).toEqual([
      'Ann',
      'Ben',
    ])
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
  const startWithCalls = async (): Promise<string> => {
    await begin(CALLS)
    const id = await create({ confirmation_policy: { kind: 'AlwaysConfirm' }, initial_message: say('Hi') })
    expect((await waitForStatus(id, 'waiting_for_confirmation')).pending_action_ids).toHaveLength(2)
    await fixture.client.service.runs.settle()
    return id
  }

  it('executes every call once for three concurrent accepts', async () => {
    const id = await startWithCalls()
    const answers = await Promise.all(
      [1, 2, 3].map(() => fixture.client.post(path(id, 'respond_to_confirmation'), { accept: true })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
    await waitForStatus(id)
    expect((await kindsOf(id)).filter((kind) => kind === 'ObservationEvent')).toHaveLength(2)
  })

  it('appends the reason of a rejection for every call, and leaves the conversation idle', async () => {
    const id = await startWithCalls()
    await fixture.client.post(path(id, 'respond_to_confirmation'), { accept: false, reason: 'Not now' })
    expect(await info(id)).toMatchObject({ execution_status: 'idle', pending_action_ids: [] })
    const refused = (await eventsOf(id)).filter((event) => event.kind === 'UserRejectObservation')
    expect(refused.map((event) => event.rejection_reason)).toEqual(['Not now', 'Not now'])
    expect(await codes([path(id, 'respond_to_confirmation'), { accept: false }])).toEqual([200])
  })

  it('executes an approved call only after the other call is rejected', async () => {
    const id = await startWithCalls()
    const [first = '', second = ''] = (await info(id)).pending_action_ids
    await fixture.client.post(path(id, 'approve'), { action_ids: [first] })
    expect((await info(id)).execution_status).toBe('waiting_for_confirmation')
    await fixture.client.post(path(id, 'reject'), { action_ids: [second], reason: 'No' })
    expect((await info(id)).execution_status).toBe('idle')
    await fixture.client.post(`${BASE}/${id}/run`)
    await waitForStatus(id)
    const kinds = await kindsOf(id)
    expect(kinds.filter((kind) => kind === 'ObservationEvent')).toHaveLength(1)
    expect(kinds.filter((kind) => kind === 'UserRejectObservation')).toHaveLength(1)
  })

  it('starts the run when the last call is approved', async () => {
    const id = await startWithCalls()
    const [first = '', second = ''] = (await info(id)).pending_action_ids
    await fixture.client.post(path(id, 'approve'), { action_ids: [second] })
    await fixture.client.post(path(id, 'approve'), { action_ids: [first] })
    await waitForStatus(id)
    expect((await kindsOf(id)).filter((kind) => kind === 'ObservationEvent')).toHaveLength(2)
  })

  it('follows a policy that is set after the creation', async () => {
    await begin(CALLS)
    const id = await create()
    await fixture.client.post(`${BASE}/${id}/confirmation_policy`, { policy: { kind: 'AlwaysConfirm' } })
    await fixture.client.post(`${BASE}/${id}/events`, { ...say('Hi'), run: true })
    expect((await waitForStatus(id, 'waiting_for_confirmation')).pending_action_ids).toHaveLength(2)
  })
})
