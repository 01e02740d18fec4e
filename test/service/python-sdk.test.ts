/** Requests of the Python SDK's remote client, and the responses that it relies on. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { wholeInfoOf } from '../../src/service/conversations/info.ts'
import type { Agent } from '../../src/service/index.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Client, clientOver } from './client.ts'
import { gate } from './gate.ts'

const C = '/api/conversations'
/** Any UUID that `uuid.UUID` accepts. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Its start request, with every field it always sends. */
const START = {
  agent: {
    kind: 'Agent',
    llm: { model: 'm', api_key: 'sk-of-the-sdk', usage_id: 'agent' },
    tools: [{ name: 'terminal' }],
  },
  initial_message: null,
  max_iterations: 500,
  stuck_detection: true,
  workspace: { kind: 'LocalWorkspace', working_dir: '/workspace' },
  tool_module_qualnames: { terminal: 'a.b.c' },
  agent_definitions: [],
  plugins: null,
  hook_config: null,
  client_tools: [],
  tags: {},
  observability_metadata: {},
  observability_tags: [],
  observability_span_name: 'conversation',
  user_id: null,
}

let client: Client
/** The start requests that the agent received. */
const starts: JsonObject[] = []
/** Delegate of the service's agent; each test sets it. */
let currentAgent: Agent = scriptedAgent()

beforeAll(async () => {
  client = await clientOver(memoryStore(), {
    agent: (conversation, start, context) => {
      starts.push(start)
      return currentAgent(conversation, start, context)
    },
  })
})
afterAll(async () => {
  await client.engine.close()
  await client.service.runs.settle()
})

const say = (text: string): object => ({
  role: 'user',
  content: [{ type: 'text', text, cache_prompt: false }],
  run: false,
})

async function start(more: object = {}): Promise<string> {
  const { status, body } = await client.post<{ id: string }>(C, { ...START, ...more })
  expect(status).toBe(201)
  return body.id
}

/** Waits like its `run`: for the first full state after the request that is not running. */
async function runs(id: string, meanwhile: () => Promise<unknown> = async () => undefined): Promise<string> {
  const fromNow = {
    after: null,
    after_event_id: null,
    resend_mode: null,
    after_timestamp: null,
    after_delta: null,
  }
  const { frames, end } = await client.service.live.connect(id, fromNow)
  // It ignores the full state at the beginning of a stream.
  await frames.next()
  expect((await client.post(`${C}/${id}/run`)).status).toBe(200)
  const other = meanwhile()
  for await (const frame of frames) {
    const { key, value } = JSON.parse(frame.text('event')) as {
      key?: string
      value?: { execution_status: string }
    }
    if (key !== 'full_state' || value === undefined || value.execution_status === 'running') continue
    end()
    await other
    return value.execution_status
  }
  throw new Error('The stream has ended.')
}

const CALL = { calls: [{ tool: 'echo' }] }
const kinds = async (id: string): Promise<string[]> => {
  const { body } = await client.get<{ items: { kind: string; key?: string }[] }>(`${C}/${id}/events/search`, {
    limit: 100,
  })
  return body.items.map(({ kind, key }) => (kind === 'ConversationStateUpdateEvent' ? `${key}` : kind))
}

describe('starting and attaching', () => {
  it('accepts every field, and returns a UUID and every field that the SDK reads', async () => {
    const id = await start()
    expect(id).toMatch(UUID)
    const { body } = await client.get<JsonObject>(`${C}/${id}`)
    expect(body).toMatchObject({
      agent: { kind: 'Agent', llm: { model: 'm', api_key: '**********' }, tools: [{ name: 'terminal' }] },
      workspace: START.workspace,
      persistence_dir: expect.any(String) as unknown,
      confirmation_policy: { kind: 'NeverConfirm' },
      execution_status: 'idle',
      stats: { usage_to_metrics: {} },
      activated_knowledge_skills: [],
      client_tools: [],
      hook_config: null,
    })
    expect(JSON.stringify(body)).not.toContain('sk-of-the-sdk')
  })

  it('creates an unknown UUID, and finds a conversation with an older form of id', async () => {
    const id = '0f8fad5b-d9cb-469f-a165-70867728950e'
    expect((await client.get(`${C}/${id}`)).status).toBe(404)
    expect(await start({ conversation_id: id })).toBe(id)
    const { id: older } = await client.engine.create()
    expect(older).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/)
    expect((await client.get<{ id: string }>(`${C}/${older}`)).body.id).toBe(older)
  })

  it('passes the start request and later secrets to the agent', async () => {
    const id = await start()
    currentAgent = scriptedAgent()
    const secrets = { A: 'sk-plain', B: { kind: 'StaticSecret', value: 'sk-static' } }
    expect((await client.post(`${C}/${id}/secrets`, { secrets })).status).toBe(200)
    await client.post(`${C}/${id}/events`, say('Hello'))
    expect(await runs(id)).toBe('finished')
    expect(starts.at(-1)).toMatchObject({
      agent: START.agent,
      tool_module_qualnames: START.tool_module_qualnames,
      secrets,
    })
    const { body } = await client.get(`${C}/${id}`)
    expect(JSON.stringify([body, await kinds(id)])).not.toMatch(/sk-(?:plain|static|of-the-sdk)/)
  })
})

describe('`run` of the SDK', () => {
  it.each<[string, Agent, object, string]>([
    ['finished', scriptedAgent(['Done.']), {}, 'finished'],
    [
      'waiting for confirmation',
      scriptedAgent([CALL]),
      { confirmation_policy: { kind: 'AlwaysConfirm' } },
      'waiting_for_confirmation',
    ],
    [
      'in error',
      () => () => {
        throw new Error('The model is away.')
      },
      {},
      'error',
    ],
  ])('returns when the run is %s', async (_, agent, more, status) => {
    currentAgent = agent
    const id = await start(more)
    await client.post(`${C}/${id}/events`, say('Go'))
    expect(await runs(id)).toBe(status)
  })

  it('returns when the run is paused', async () => {
    const { step, reached, open } = gate()
    currentAgent = () => step
    const id = await start()
    await client.post(`${C}/${id}/events`, say('Go'))
    const paused = async (): Promise<void> => {
      await reached
      expect((await client.post(`${C}/${id}/run`)).status).toBe(409)
      await client.post(`${C}/${id}/pause`)
      open()
    }
    expect(await runs(id, paused)).toBe('paused')
  })
})

it('a run request approves waiting calls in the log before they are executed (law P7)', async () => {
  currentAgent = scriptedAgent([CALL, 'Done.'])
  const id = await start({ confirmation_policy: { kind: 'AlwaysConfirm' } })
  await client.post(`${C}/${id}/events`, say('Go'))
  expect(await runs(id)).toBe('waiting_for_confirmation')
  expect(await runs(id)).toBe('finished')
  const all = await kinds(id)
  const approved = all.findIndex((kind) => kind.includes('approved'))
  expect(approved).toBeGreaterThan(all.indexOf('ActionEvent'))
  expect(approved).toBeLessThan(all.indexOf('ObservationEvent'))
})

/** Path below the conversation, body, and the expected response with status 200 or 201. */
const REQUESTS: readonly (readonly [string, object | undefined, object])[] = [
  [
    'fork',
    { id: null, title: 'F', tags: null, reset_metrics: true },
    { title: 'F', agent: { kind: 'Agent' } },
  ],
  [
    'confirmation_policy',
    { policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true } },
    { success: true },
  ],
  ['security_analyzer', { security_analyzer: { kind: 'LLMSecurityAnalyzer' } }, { success: true }],
  ['security_analyzer', { security_analyzer: null }, { success: true }],
  ['ask_agent', { question: 'How far?' }, { response: 'How far?' }],
  ['condense', undefined, { success: true }],
  ['pause', undefined, { success: true }],
  ['interrupt', undefined, { success: true }],
]

it.each(REQUESTS)('POST %s %j returns the expected body', async (path, body, gives) => {
  currentAgent = scriptedAgent()
  const id = await start()
  const answer = await client.post(`${C}/${id}/${path}`, body)
  expect(answer.status).toBeLessThan(202)
  expect(answer.body).toMatchObject(gives)
})

it('`ask_agent` appends no event, also while calls wait for confirmation', async () => {
  currentAgent = scriptedAgent([CALL])
  const id = await start({ confirmation_policy: { kind: 'AlwaysConfirm' } })
  await client.post(`${C}/${id}/events`, say('Go'))
  await runs(id)
  const before = await kinds(id)
  currentAgent = scriptedAgent()
  expect((await client.post(`${C}/${id}/ask_agent`, { question: 'Why?' })).body).toEqual({ response: 'Why?' })
  expect(await kinds(id)).toEqual(before)
  const reject = { accept: false, reason: 'No' }
  expect((await client.post(`${C}/${id}/events/respond_to_confirmation`, reject)).status).toBe(200)
  expect(await kinds(id)).toContain('UserRejectObservation')
})

it('a fork starts with a cost of 0 unless `reset_metrics` is false', async () => {
  currentAgent = scriptedAgent()
  const id = await start()
  const conversation = await client.engine.open(id)
  const usage = { accumulated_cost: 2, accumulated_token_usage: { prompt_tokens: 7 } }
  await conversation.append({
    kind: 'ConversationStateUpdateEvent',
    key: 'stats',
    value: { usage_to_metrics: { agent: usage } },
  })
  const costOf = async (reset_metrics: boolean): Promise<unknown> => {
    const { body } = await client.post<{ metrics: { accumulated_cost: number } }>(`${C}/${id}/fork`, {
      reset_metrics,
    })
    return body.metrics.accumulated_cost
  }
  expect([await costOf(true), await costOf(false)]).toEqual([0, 2])
})

const stats = (accumulated_cost: number): Event => ({
  kind: 'ConversationStateUpdateEvent',
  key: 'stats',
  value: { usage_to_metrics: { agent: { accumulated_cost } } },
})

/** A conversation that is always created under the same id. */
async function again() {
  const conversation = await client.engine.create({ id: 'again' })
  const costOf = async (metadata: JsonObject = {}): Promise<unknown> => {
    const { record, state } = await conversation.look()
    const { metrics } = await wholeInfoOf(client.engine.store, { ...record, metadata }, state)
    return (metrics as JsonObject)['accumulated_cost']
  }
  return { conversation, costOf }
}

it('the cost excludes an earlier conversation with the id and events before `counted_from`', async () => {
  const first = await again()
  await first.conversation.append([stats(1), stats(2)])
  expect(await first.costOf()).toBe(2)
  // A fork that was read before the request that made it stored this field.
  expect(await first.costOf({ counted_from: 2 })).toBe(0)
  await first.conversation.delete()
  const second = await again()
  expect(await second.costOf()).toBe(0)
  await second.conversation.append(stats(3))
  expect(await second.costOf()).toBe(3)
  await second.conversation.delete()
})
