/** Background calls over HTTP: completion, cancellation, tokens, and the next run in any process. */

import { describe, expect, it } from 'vitest'
import { pause } from '../../src/conversation/async.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step, StepInput } from '../../src/conversation/run/step.ts'
import {
  type AgentContext,
  createService,
  type Service,
  type ServiceOptions,
} from '../../src/service/index.ts'
import { completionOf, isWorkingResult } from '../../src/event/completion.ts'
import { listWorkingCalls } from '../../src/state/read.ts'
import { executeCalls } from '../../src/steps/step-of.ts'
import { background, type StepTool } from '../../src/steps/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { CallTokens } from '../../src/service/agent-server/call-operations.ts'
import { call, gate, says } from '../conversation/script.ts'
import { wrapStore } from '../conversation/stores.ts'
import { clientOver } from './client.ts'
import { killable } from './killable-store.ts'
import { until } from './sandbox-commands.ts'

const KEY = { 'x-session-api-key': 'secret' }
const HTTP = { 'content-type': 'application/json' }

/** Calls `work` once after the first message, then replies with the last text it read. */
const agentWith =
  (
    tool: Partial<StepTool> & Pick<StepTool, 'execute'>,
    firstCall = call('a'),
  ): NonNullable<ServiceOptions['agent']> =>
  () => {
    const work = { name: 'work', description: 'Works.', parameters: { type: 'object' }, ...tool } as StepTool
    const step = async function* (input: StepInput) {
      if (input.approved.length > 0) yield* executeCalls(input, new Map([['work', work]]), {})
      else if (input.messages.some(({ role }) => role === 'assistant')) yield says(`read ${lastText(input)}`)
      else yield [firstCall]
    }
    const resume: Step['resume'] = (action, task, { signal, report }) =>
      work.resume === undefined
        ? null
        : Promise.resolve(work.resume(task, { signal, call: action, report })).then((content) => ({
            content: String(content),
          }))
    return Object.assign(step, { resume }) as Step
  }

const lastText = ({ messages }: StepInput): string =>
  messages
    .at(-1)
    ?.content.map((part) => ('text' in part ? String(part.text) : ''))
    .join('') ?? ''

const forever = { execute: async () => background(new Promise(() => undefined), { task: { job: 7 } }) }

/** Creates a conversation whose call still runs after the agent's reply. */
async function working(service: Service, engine = createEngine({ store: memoryStore() })) {
  const send = (path: string, body?: object, headers: Record<string, string> = {}) =>
    service.fetch(
      new Request(`http://localhost/api/conversations${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...HTTP, ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
  const content = [{ type: 'text', text: 'Hi' }]
  const created = await send('', { initial_message: { content } }, KEY)
  const { id } = (await created.json()) as { id: string }
  const conversation = await engine.open(id)
  await conversation.waitFor('finished')
  return { id, conversation, send }
}

async function repliesIn(
  conversation: Awaited<ReturnType<typeof working>>['conversation'],
): Promise<string[]> {
  const { log } = await conversation.state()
  return [...log.entries].flatMap(({ event }) =>
    event?.kind === 'MessageEvent' && event.source === 'agent'
      ? (event.llm_message.content ?? []).map((part) => ('text' in part ? String(part.text) : ''))
      : [],
  )
}

const DONE = '[The call a of work is done. Its result:]'

describe.each([
  ['memory', () => memoryStore()],
  ['sqlite', () => sqliteStore({ file: ':memory:' })],
] as const)('a background call over %s', (_, makeStore) => {
  const begin = async (
    tool: Parameters<typeof agentWith>[0] = forever,
    options: Partial<ServiceOptions> = {},
  ) => {
    const engine = createEngine({ store: makeStore() })
    const failures: unknown[] = []
    const service = createService({
      engine,
      keys: ['secret'],
      agent: agentWith(tool),
      onFailure: (error) => failures.push(error),
      ...options,
    })
    const end = async (): Promise<void> => {
      await service.lostRuns.close()
      await engine.close()
      expect(failures).toEqual([])
    }
    return { ...(await working(service, engine)), service, engine, end }
  }

  it('completes once for three concurrent requests, and the conversation runs again', async () => {
    const { id, conversation, send, service, end } = await begin()
    const listed = (await (await send(`/${id}/calls`, undefined, KEY)).json()) as { items: object[] }
    expect(listed.items).toMatchObject([{ action_id: 'a', tool_name: 'work', task: { job: 7 } }])
    const complete = () => send(`/${id}/calls/a/complete`, { content: 'The report.' }, KEY)
    const responses = await Promise.all([complete(), complete(), complete()])
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await responses[0]?.json()).toEqual({ success: true, event_id: 'a-completion' })
    await service.runs.settle()
    expect((await complete()).status).toBe(200)
    await service.runs.settle()
    expect(await repliesIn(conversation)).toEqual([
      expect.stringContaining('read'),
      `read ${DONE}The report.`,
    ])
    expect(await (await send(`/${id}/calls`, undefined, KEY)).json()).toEqual({ items: [] })
    await end()
  })

  it('can be cancelled or fail, and the agent reads the outcome', async () => {
    for (const [path, body, expected] of [
      ['cancel', { reason: 'No longer needed.' }, 'was cancelled'],
      ['complete', { content: 'Out of paper.', outcome: 'failed' }, 'failed'],
    ] as const) {
      const { id, conversation, send, service, end } = await begin()
      expect((await send(`/${id}/calls/a/${path}`, body, KEY)).status).toBe(200)
      await service.runs.settle()
      expect((await repliesIn(conversation)).at(-1)).toContain(expected)
      await end()
    }
  })

  it('starts a run when its own work completes it', async () => {
    const work = Promise.withResolvers<string>()
    const { conversation, service, end } = await begin({ execute: async () => background(work.promise) })
    work.resolve('Found.')
    await conversation.waitFor('idle')
    await conversation.waitFor('finished')
    await service.runs.settle()
    expect((await repliesIn(conversation)).at(-1)).toBe(`read ${DONE}Found.`)
    await end()
  })

  it('can complete while its conversation is paused, without starting a run', async () => {
    const { id, conversation, send, service, end } = await begin(forever, { maxRuns: 1 })
    await conversation.sendMessage('Wait.')
    await conversation.pause()
    expect((await send(`/${id}/calls/a/complete`, { content: 'x' }, KEY)).status).toBe(200)
    await service.runs.settle()
    expect((await conversation.state()).header.status).toBe('paused')
    expect(await repliesIn(conversation)).toHaveLength(1)
    expect((await send(`/${id}/run`, {}, KEY)).status).toBe(200)
    await conversation.waitFor('finished')
    expect((await repliesIn(conversation)).at(-1)).toBe(`read ${DONE}x`)
    await end()
  })

  it('can complete on a branch that HEAD has left, without starting a run', async () => {
    const work = Promise.withResolvers<string>()
    const tool = { execute: async () => background(work.promise) }
    for (const complete of ['request', 'work']) {
      const { id, conversation, send, service, engine, end } = await begin(
        complete === 'work' ? tool : forever,
      )
      await service.runs.settle()
      const [first] = [...(await conversation.state()).log.entries]
      await conversation.navigate(first?.id ?? null)
      if (complete === 'work') work.resolve('x')
      else expect((await send(`/${id}/calls/a/complete`, { content: 'x' }, KEY)).status).toBe(200)
      await until(() => engine.store.get(id, 'a-completion'))
      await pause(50, new AbortController().signal)
      await service.runs.settle()
      const { log, header } = await conversation.state()
      expect([log.head?.id, header.status]).toEqual([first?.id, 'idle'])
      await end()
    }
  })

  it('has a token that completes it and gets 401 for everything else', async () => {
    const { id, send, end } = await begin()
    const first = (await (await send(`/${id}/calls/a/token`, {}, KEY)).json()) as {
      token: string
      path: string
    }
    const issued = await send(`/${id}/calls/a/token`, { expires_in: 60 }, KEY)
    expect(issued.status).toBe(201)
    const { token, path, expires_at } = (await issued.json()) as Record<
      'token' | 'path' | 'expires_at',
      string
    >
    expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(60_000)
    const bearer = { authorization: `Bearer ${token}` }
    const complete = (url: string, headers: Record<string, string>) => send(url, { content: 'x' }, headers)
    const target = path.replace('/api/conversations', '')
    for (const [url, headers] of [
      [target, {}],
      [target, { authorization: `Bearer ${first.token}` }],
      [target, { authorization: `Bearer ${token.slice(0, -1)}` }],
      [target, { authorization: `Bearer ${token}x` }],
      [target, { cookie: `api_key=${token}` }],
      [`/${id}/calls/b/complete`, bearer],
      [`/nobody/calls/a/complete`, bearer],
      [`/${id}/calls/a/cancel`, bearer],
      [`/${id}/calls/a/token`, bearer],
      [`/${id}/events`, bearer],
    ] as const)
      expect([url, headers, (await complete(url, headers)).status]).toEqual([url, headers, 401])
    expect((await send(`/${id}`, undefined, bearer)).status).toBe(401)
    expect((await complete(target, bearer)).status).toBe(200)
    // A client that lost the response repeats the request.
    expect((await complete(target, bearer)).status).toBe(200)
    await end()
  })

  it('accepts a token that the agent issued until the token expires', async () => {
    const contexts: AgentContext[] = []
    const agent: NonNullable<ServiceOptions['agent']> = (conversation, start, context) => {
      contexts.push(context)
      return agentWith(forever)(conversation, start, context)
    }
    const { id, send, end } = await begin(forever, { agent })
    const complete = async (seconds: number) => {
      const token = (await contexts[0]?.issueCallToken('a', seconds))?.token ?? ''
      return (await send(`/${id}/calls/a/complete`, { content: 'x' }, { authorization: `Bearer ${token}` }))
        .status
    }
    expect(await complete(0)).toBe(401)
    expect(await complete(-60)).toBe(401)
    expect(await complete(60)).toBe(200)
    await end()
  })
})

it('the removal of expired tokens keeps a token that is renewed meanwhile', async () => {
  const store = memoryStore()
  const tokens = new CallTokens(store)
  await tokens.issue('c', 'a', 0)
  let renewed: string | null = null
  const slow = wrapStore(store, {
    async claimItems(collection, claim) {
      const items = await store.claimItems(collection, claim)
      renewed = (await tokens.issue('c', 'a')).token
      return items
    },
  })
  await new CallTokens(slow).issue('c', 'b')
  expect(await tokens.isValid('c', 'a', String(renewed))).toBe(true)
})

it('an interrupt before a call is stored as working leaves no item in working-calls', async () => {
  const inner = memoryStore()
  const slow = gate()
  const store = wrapStore(inner, {
    async changeItems(changes) {
      if (changes[0]?.collection === 'working-calls') await slow.pass()
      return inner.changeItems(changes)
    },
  })
  const client = await clientOver(store, { agent: agentWith(forever) })
  const content = [{ type: 'text', text: 'Hi' }]
  const { body } = await client.post<{ id: string }>('/api/conversations', { initial_message: { content } })
  await slow.reached
  await client.post(`/api/conversations/${body.id}/interrupt`)
  slow.open()
  await expect.poll(async () => (await inner.listItems('working-calls')).items).toEqual([])
  await client.engine.close()
})

it('invalid requests are rejected, and leave the log unchanged', async () => {
  const client = await clientOver(memoryStore(), { agent: agentWith(forever) })
  const content = [{ type: 'text', text: 'Hi' }]
  const { body } = await client.post<{ id: string }>('/api/conversations', { initial_message: { content } })
  const conversation = await client.engine.open(body.id)
  await conversation.waitFor('finished')
  const { version } = await conversation.record()
  const calls = `/api/conversations/${body.id}/calls`
  for (const [path, sent, status] of [
    [`${calls}/nothing/complete`, { content: 'x' }, 409],
    [`${calls}/nothing/cancel`, {}, 409],
    [`${calls}/nothing/token`, {}, 409],
    [`${calls}/${encodeURIComponent('../a')}/complete`, { content: 'x' }, 409],
    ['/api/conversations/nobody/calls/a/complete', { content: 'x' }, 404],
    ['/api/conversations/nobody/calls/a/token', {}, 404],
    [`${calls}/a/complete`, {}, 422],
    [`${calls}/a/complete`, { content: 7 }, 422],
    [`${calls}/a/complete`, { content: [] }, 422],
    [`${calls}/a/complete`, { content: '\u0000' }, 422],
    [`${calls}/a/complete`, { content: 'x', outcome: 'lost' }, 422],
    [`${calls}/a/complete`, { content: 'x', id: 'mine' }, 422],
    [`${calls}/a/cancel`, { reason: '' }, 422],
    [`${calls}/a/token`, { expires_in: 0 }, 422],
    [`${calls}/a/token`, { expires_in: 1e9 }, 422],
  ] as const)
    expect([path, (await client.post(path, sent)).status]).toEqual([path, status])
  expect((await conversation.record()).version).toBe(version)
  expect((await client.get('/api/conversations/nobody/calls')).status).toBe(404)
  await client.engine.close()
})

function processOver(real: Store, ...tool: Parameters<typeof agentWith>) {
  const { store, dieAfter } = killable(real)
  const engine = createEngine({ store })
  const service = createService({
    engine,
    keys: ['secret'],
    agent: agentWith(...tool),
    run: { leaseTtl: 300 },
    onFailure: () => undefined,
  })
  return { engine, service, kill: () => dieAfter(0) }
}

/** Expires the work lease. */
async function expireWork(store: Store): Promise<void> {
  const { items } = await store.listItems('colloquy.background_calls')
  await store.changeItems(
    items.map(({ collection, id, body, keys }) => ({ collection, id, put: { body, keys, dueIn: 0 } })),
  )
}

describe('background calls in two processes', () => {
  it('the second process resumes the work of the killed one, and the conversation runs again', async () => {
    const real = memoryStore()
    const executed: string[] = []
    const tool: Parameters<typeof agentWith>[0] = {
      execute: async () => {
        executed.push('executed')
        return background(new Promise(() => undefined), { task: { job: 7 } })
      },
      resume: async (task) => `Continued ${JSON.stringify(task)}`,
    }
    const dying = processOver(real, tool)
    const { id } = await working(dying.service, dying.engine)
    dying.kill()
    const other = processOver(real, tool)
    other.service.lostRuns.start()
    await expireWork(real)
    const conversation = await other.engine.open(id)
    await until(async () => (await repliesIn(conversation)).length === 2)
    expect((await repliesIn(conversation)).at(-1)).toBe(`read ${DONE}Continued {"job":7}`)
    expect(executed).toEqual(['executed'])
    await other.service.lostRuns.close()
    await other.engine.close()
  })

  it('work on another branch acquires no lease while a call works on the current branch', async () => {
    const real = memoryStore()
    const first = processOver(real, forever)
    const { id } = await working(first.service, first.engine)
    await first.engine.close()
    let leases = 0
    const counted = wrapStore(real, {
      async acquireLease(...input) {
        leases += 1
        return real.acquireLease(...input)
      },
    })
    const other = processOver(counted, forever, call('b', 'work', { llm_response_id: 'r2' }))
    const conversation = await other.engine.open(id)
    await conversation.navigate(null)
    await conversation.sendMessage('elsewhere')
    await other.service.runs.start(conversation, (await conversation.record()).version)
    await conversation.waitFor('finished')
    await other.service.runs.settle()
    const before = leases
    // Several intervals of the check for lost work.
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(listWorkingCalls(await conversation.state()).map(({ action }) => action.id)).toEqual(['b'])
    expect(leases).toBe(before)
    await other.service.lostRuns.close()
    await other.engine.close()
  })

  it('a call runs and completes at most once, whenever a process dies, and the agent reads it', async () => {
    for (let calls = 1; calls < 90; calls += 4) {
      const real = memoryStore()
      let executed = 0
      const tool: Parameters<typeof agentWith>[0] = {
        execute: async () => {
          executed += 1
          return background(new Promise((resolve) => setTimeout(resolve, 10, 'Done.')), { task: 7 })
        },
        resume: async () => 'Continued.',
      }
      const keeper = createEngine({ store: real })
      const conversation = await keeper.create()
      const dying = killable(real)
      const engine = createEngine({ store: dying.store })
      const options = {
        keys: ['secret'],
        agent: agentWith(tool),
        run: { leaseTtl: 300 },
        onFailure: () => undefined,
      }
      const service = createService({ engine, ...options })
      dying.dieAfter(calls)
      const body = JSON.stringify({ content: [{ type: 'text', text: 'Hi' }], run: true })
      const path = `http://localhost/api/conversations/${conversation.id}/events`
      await service.fetch(new Request(path, { method: 'POST', headers: { ...HTTP, ...KEY }, body }))
      await new Promise((resolve) => setTimeout(resolve, 60))
      dying.dieAfter(0)
      if ((await conversation.record()).version === 0) continue
      const other = createService({ engine: createEngine({ store: real }), ...options })
      other.lostRuns.start()
      await until(async () => {
        await expireWork(real)
        const state = await conversation.state()
        return state.header.status === 'finished' && listWorkingCalls(state).length === 0
      })
      await other.lostRuns.close()
      await other.runs.settle()
      const { log } = await conversation.state()
      const events = [...log.entries].flatMap(({ event }) => event ?? [])
      const completions = events.filter((event) => completionOf(event) !== null)
      const works = events.some((event) => isWorkingResult(event))
      const replies = await repliesIn(conversation)
      expect([calls, executed <= 1, completions.length, replies.length > 0]).toEqual([
        calls,
        true,
        works ? 1 : 0,
        true,
      ])
      if (works) expect(replies.at(-1)).toMatch(/Done\.|Continued\./)
      await keeper.close()
    }
  })

  it('a completion over HTTP starts one run although the process that accepts it dies', async () => {
    for (let calls = 1; calls < 24; calls += 1) {
      const real = memoryStore()
      const first = processOver(real, forever)
      const { id, send } = await working(first.service, first.engine)
      first.service.lostRuns.start()
      const dying = killable(real)
      const second = createService({
        engine: createEngine({ store: dying.store }),
        keys: ['secret'],
        agent: agentWith(forever),
        run: { leaseTtl: 300 },
        onFailure: () => undefined,
      })
      dying.dieAfter(calls)
      const request = new Request(`http://localhost/api/conversations/${id}/calls/a/complete`, {
        method: 'POST',
        headers: { ...HTTP, ...KEY },
        body: JSON.stringify({ content: 'x' }),
      })
      const response = await second.fetch(request)
      // A client without a response repeats the request at another process.
      if (response.status !== 200) await send(`/${id}/calls/a/complete`, { content: 'x' }, KEY)
      const conversation = await first.engine.open(id)
      await until(async () => (await repliesIn(conversation)).length > 1)
      await first.service.runs.settle()
      expect([calls, await repliesIn(conversation)]).toEqual([calls, [expect.any(String), `read ${DONE}x`]])
      await first.service.lostRuns.close()
      await first.engine.close()
    }
  })
})
