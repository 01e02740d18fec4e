/** Behavior of the HTTP interface that the official clients rely on. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/event/shapes.ts'
import type { Agent } from '../../src/service/index.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Client, clientOver } from './client.ts'
import { gate } from './gate.ts'

const C = '/api/conversations'
const FROM_NOW = {
  after: null,
  after_event_id: null,
  resend_mode: null,
  after_timestamp: null,
  after_delta: null,
}

let client: Client
let agent: Agent = scriptedAgent()

beforeAll(async () => {
  client = await clientOver(memoryStore(), { agent: (...input) => agent(...input) })
})
afterAll(async () => {
  await client.engine.close()
  await client.service.runs.settle()
})

const message = (text: string, more: object = {}): object => ({
  role: 'user',
  content: [{ type: 'text', text }],
  ...more,
})

async function create(body: object = {}): Promise<string> {
  const { status, body: created } = await client.post<{ id: string }>(C, body)
  expect(status).toBe(201)
  return created.id
}

const send = (id: string, text = 'Go') => client.post(`${C}/${id}/events`, message(text, { run: false }))
const kindsOf = async (id: string): Promise<string[]> => {
  const { log } = await (await client.engine.open(id)).state()
  return [...log.entries].flatMap(({ event }) => (event === null ? [] : [event.kind]))
}

/** Reads a stream in the background and returns what has arrived. */
async function reader(id: string) {
  const { frames, end } = await client.service.live.connect(id, FROM_NOW)
  const seen: string[] = []
  const read = async (): Promise<void> => {
    for await (const frame of frames) {
      const event = JSON.parse(frame.text('event')) as { kind: string; key?: string; value?: JsonObject }
      seen.push(
        event.key === 'full_state'
          ? `full_state ${event.value?.['execution_status']}`
          : (event.key ?? event.kind),
      )
    }
  }
  const reading = read()
  return {
    seen,
    async until(count: number): Promise<readonly string[]> {
      const states = (): number => seen.filter((name) => name.startsWith('full_state')).length
      await expect.poll(states).toBeGreaterThanOrEqual(count)
      // Wait for a frame that must not arrive.
      await new Promise((go) => setTimeout(go, 20))
      return [...seen]
    },
    async end(): Promise<void> {
      end()
      await reading
    },
  }
}

describe('`full_state`', () => {
  const RUNS: readonly (readonly [string, Agent, (id: string) => Promise<unknown>, string])[] = [
    ['replies', scriptedAgent(['Done.']), (id) => send(id), 'finished'],
    ['has nothing to do', scriptedAgent(['Done.']), async () => undefined, 'idle'],
    [
      'fails',
      () => () => {
        throw new Error('No model')
      },
      (id) => send(id),
      'error',
    ],
    [
      'waits for confirmation',
      scriptedAgent([{ calls: [{ tool: 'echo' }] }]),
      async (id) => {
        await client.post(`${C}/${id}/confirmation_policy`, { policy: { kind: 'AlwaysConfirm' } })
        await send(id)
      },
      'waiting_for_confirmation',
    ],
  ]

  it.each(RUNS)('is the last frame of a run that %s', async (_, testAgent, prepare, status) => {
    agent = testAgent
    const id = await create()
    await prepare(id)
    const stream = await reader(id)
    await stream.until(1)
    expect((await client.post(`${C}/${id}/run`)).status).toBe(200)
    const first = await stream.until(2)
    expect(first.filter((name) => name.startsWith('full_state'))).toHaveLength(2)
    expect(first.at(-1)).toBe(`full_state ${status}`)
    await stream.end()
  })

  it('is the last frame of each repeated run of a finished conversation', async () => {
    agent = scriptedAgent(['Done.'])
    const id = await create()
    await send(id)
    const stream = await reader(id)
    for (const count of [2, 3, 4]) {
      expect((await client.post(`${C}/${id}/run`)).status).toBe(200)
      expect((await stream.until(count)).at(-1)).toBe('full_state finished')
    }
    await stream.end()
  })

  it('is sent at a pause, and again when the paused step ends', async () => {
    const { step, open, reached } = gate()
    agent = () => step
    const id = await create()
    await send(id)
    const stream = await reader(id)
    await client.post(`${C}/${id}/run`)
    await reached
    await client.post(`${C}/${id}/pause`)
    expect((await stream.until(2)).at(-1)).toBe('full_state paused')
    expect((await client.post(`${C}/${id}/run`)).status).toBe(409)
    open()
    await client.service.runs.settle()
    const all = await stream.until(3)
    expect(all.slice(-2)).toEqual(['MessageEvent', 'full_state paused'])
    await stream.end()
  })
})

it('an initial message with `run: false` starts no run, also when the create is repeated', async () => {
  let isAgentCalled = false
  agent = (...input) => {
    isAgentCalled = true
    return scriptedAgent(['Done.'])(...input)
  }
  const body = { conversation_id: crypto.randomUUID(), initial_message: message('Hi', { run: false }) }
  const id = await create(body)
  expect((await client.post(C, body)).status).toBe(200)
  await client.service.runs.settle()
  expect(await kindsOf(id)).toEqual(['MessageEvent'])
  expect(isAgentCalled).toBe(false)
})

const POLICY = 'confirmation_policy'
/** Path below a conversation, and an invalid body. */
const INVALID: readonly (readonly [string, object])[] = [
  [POLICY, { policy: { kind: 'Sometimes' } }],
  [POLICY, { policy: { kind: 'alwaysconfirm' } }],
  [POLICY, { policy: {} }],
  [POLICY, { policy: { kind: 'ConfirmRisky', threshold: 'UNKNOWN' } }],
  [POLICY, { policy: { kind: 'ConfirmRisky', threshold: 'low' } }],
  [POLICY, { policy: { kind: 'ConfirmRisky', threshold: null } }],
  [POLICY, { policy: { kind: 'ConfirmRisky', confirm_unknown: 'no' } }],
  ['security_analyzer', { security_analyzer: { kind: 'Oracle' } }],
  ['security_analyzer', { security_analyzer: {} }],
  ['secrets', { secrets: { A: { kind: 'LookupSecret' } } }],
  ['secrets', { secrets: { A: { kind: 'LookupSecret', url: '' } } }],
  ['secrets', { secrets: { A: { kind: 'StaticSecret' } } }],
  ['secrets', { secrets: { A: { kind: 'VaultSecret', url: 'https://vault.example' } } }],
  ['secrets', { secrets: { A: {} } }],
  ['secrets', { secrets: { A: 7 } }],
]

it.each(INVALID)('POST %s %j gets 422, and so does a create with this value', async (path, body) => {
  const id = await create()
  const before = await kindsOf(id)
  expect((await client.post(`${C}/${id}/${path}`, body)).status).toBe(422)
  expect(await kindsOf(id)).toEqual(before)
  const start = path === POLICY ? { confirmation_policy: (body as { policy: object }).policy } : body
  expect((await client.post(C, start)).status).toBe(422)
})

const VALID: readonly (readonly [string, object])[] = [
  [POLICY, { policy: { kind: 'ConfirmRisky', threshold: 'LOW', confirm_unknown: false } }],
  [POLICY, { policy: { kind: 'NeverConfirm' } }],
  [POLICY, { policy: null }],
  ['security_analyzer', { security_analyzer: { kind: 'EnsembleSecurityAnalyzer', analyzers: [] } }],
  ['secrets', { secrets: { A: 'a', B: { kind: 'StaticSecret', value: 'b', description: null } } }],
  ['secrets', { secrets: { A: { kind: 'LookupSecret', url: 'https://a.example', headers: { k: 'v' } } } }],
]

it.each(VALID)('POST %s %j gets 200, and a create with this value succeeds', async (path, body) => {
  const id = await create()
  expect((await client.post(`${C}/${id}/${path}`, body)).status).toBe(200)
  await create(path === POLICY ? { confirmation_policy: (body as { policy: object }).policy } : body)
})

it.each(['respond_to_confirmation', 'reject'])('a second reject by %s changes nothing', async (verb) => {
  agent = scriptedAgent([{ calls: [{ tool: 'echo' }] }])
  const id = await create({ confirmation_policy: { kind: 'AlwaysConfirm' }, initial_message: message('Go') })
  await client.service.runs.settle()
  const { body: info } = await client.get<{ pending_action_ids: string[] }>(`${C}/${id}`)
  const body = verb === 'reject' ? { action_ids: info.pending_action_ids } : { accept: false }
  const reject = () => client.post(`${C}/${id}/events/${verb}`, body)
  expect((await reject()).status).toBe(200)
  const after = await kindsOf(id)
  expect([(await reject()).status, (await reject()).status]).toEqual([200, 200])
  expect(await kindsOf(id)).toEqual(after)
  const unknown = { action_ids: ['unknown'] }
  expect((await client.post(`${C}/${id}/events/reject`, unknown)).status).toBe(409)
})

it.each(['', ' ', '\t\n', '\u00a0\u2003'])('the title %j gets 422', async (title) => {
  const id = await create({ title: 'Kept' })
  const body = JSON.stringify({ title })
  expect((await client.send(`${C}/${id}`, { method: 'PATCH', body })).status).toBe(422)
  const app = await client.send(`/api/v1/app-conversations/${id}`, { method: 'PATCH', body })
  expect(app.status).toBe(422)
  expect((await client.post(C, { title })).status).toBe(422)
  expect((await client.get<JsonObject>(`${C}/${id}`)).body['title']).toBe('Kept')
})

it('a second pause appends no event', async () => {
  const id = await create()
  await send(id)
  for (let n = 0; n < 3; n += 1) expect((await client.post(`${C}/${id}/pause`)).status).toBe(200)
  expect(await kindsOf(id)).toEqual(['MessageEvent', 'PauseEvent'])
})
