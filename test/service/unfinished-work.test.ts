import { expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { Jobs, JobWorker } from '../../src/conversation/jobs.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { createService } from '../../src/service/service.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { checkLog } from '../../src/laws/index.ts'
import { pendingCallCount } from '../../src/log/open-calls.ts'
import { granted } from '../../src/state/call-status.ts'
import { call, gate, result, says, script } from '../conversation/script.ts'
import { wrapStore } from '../conversation/stores.ts'

it('a second run request runs the message, whenever the first request ends', async () => {
  const engine = createEngine({ store: memoryStore() })
  const { runs } = createService({ engine, agent: scriptedAgent() })
  for (let moments = 0; moments < 20; moments += 1) {
    const conversation = await engine.create()
    await conversation.sendMessage('One')
    await conversation.pause()
    await conversation.sendMessage('Two')
    const known = await conversation.state()
    Object.assign(conversation, { state: () => Promise.resolve(known) })
    // The pause is between the two requests.
    const first = runs.join(conversation, 1)
    for (let moment = 0; moment < moments; moment += 1) await Promise.resolve()
    await runs.join(conversation, known.log.entries.length)
    await first
    await runs.settle()
    const { header } = await (await engine.open(conversation.id)).state()
    expect([moments, header.status]).toEqual([moments, 'finished'])
  }
  await engine.close()
})

it('a run request during the run of another process gets 409', async () => {
  const store = memoryStore()
  const reply = Promise.withResolvers<void>()
  const isCalled = Promise.withResolvers<void>()
  const step = async function* () {
    isCalled.resolve()
    await reply.promise
    yield says('Two')
  }
  const begin = () => {
    const engine = createEngine({ store })
    return { engine, service: createService({ engine, agent: () => step, onFailure: () => undefined }) }
  }
  const processes = [begin(), begin()] as const
  const [first, second] = processes
  const run = async ({ service }: typeof first, id: string): Promise<number> => {
    const url = `http://localhost/api/conversations/${id}/run`
    return (await service.fetch(new Request(url, { method: 'POST' }))).status
  }
  const conversation = await first.engine.create()
  await conversation.sendMessage('One')
  const { id } = conversation
  expect(await run(first, id)).toBe(200)
  await isCalled.promise
  expect([await run(second, id), await run(first, id)]).toEqual([409, 409])
  reply.resolve()
  for (const { engine, service } of processes) {
    await service.runs.settle()
    await engine.close()
  }
})

it('a call that is being executed cannot be rejected, so it gets one result', async () => {
  const engine = createEngine({ store: memoryStore() })
  const { reached, open, pass } = gate()
  const { step } = script([[call('a'), call('b')]], async function* ({ approved }) {
    await pass()
    yield approved.map(result)
  })
  const service = createService({ engine, agent: () => step })
  const conversation = await engine.create()
  await conversation.sendMessage('One')
  const post = async (path: string, body: object = {}): Promise<number> => {
    const url = `http://localhost/api/conversations/${conversation.id}/${path}`
    const request = new Request(url, { method: 'POST', body: JSON.stringify(body) })
    return (await service.fetch(request)).status
  }
  expect(await post('run')).toBe(200)
  await reached
  expect(await post('events/reject', { action_ids: ['b'] })).toBe(409)
  open()
  await service.runs.settle()
  const { log } = await conversation.state()
  const facts = [...log.entries].flatMap(({ event }) => event ?? [])
  expect(facts.filter(({ kind }) => kind === 'ObservationEvent')).toHaveLength(2)
  expect(checkLog(facts)).toEqual([])
  await engine.close()
})

it('a lost run without an agent ends in error, and its lease is released', async () => {
  const store = memoryStore()
  const engine = createEngine({ store })
  const failures: unknown[] = []
  const { lostRuns, runs } = createService({
    engine,
    onFailure: (error) => failures.push(error),
    agent: async () => {
      // Longer than a read of the status.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
      throw new Error('There is no such profile.')
    },
  })
  const conversation = await engine.create()
  await conversation.sendMessage('One')
  await conversation.append({
    kind: 'ConversationStateUpdateEvent',
    source: 'environment',
    key: 'execution_status',
    value: 'running',
  })
  const remaining = await store.acquireLease(conversation.id, 'dead', 1)
  while (Date.now() <= (remaining?.expiresAt ?? 0)) await new Promise((resolve) => setImmediate(resolve))
  await lostRuns.check()
  await runs.settle()
  expect((await conversation.state()).header.status).toBe('error')
  expect(await store.getLease(conversation.id)).toBeNull()
  expect(failures).toMatchObject([{ message: 'There is no such profile.' }])
  await engine.close()
})

it('a failed deletion is reported, and the others complete', async () => {
  const store = memoryStore()
  const engine = createEngine({ store })
  const failures: unknown[] = []
  const { controlPlane } = createService({
    engine,
    onFailure: (error) => failures.push(error),
    controlPlane: {
      provider: {
        specs: [],
        start: async () => undefined,
        state: async () => null,
        pause: async () => undefined,
        resume: async () => undefined,
        delete: () => Promise.reject(new Error('The folder is busy.')),
        close: async () => undefined,
      },
    },
  })
  const sandbox = { id: 'busy', sandbox_spec_id: 's', created_at: '2026-01-01T00:00:00.000Z', up: null }
  const deletion = { conversation_id: 'gone', incarnation: '', start_ref: null }
  await store.changeItems([
    { collection: 'sandboxes', id: 'busy', put: { body: sandbox } },
    { collection: 'deletions', id: 'a', put: { body: { ...deletion, sandbox_id: 'busy' }, dueIn: 0 } },
    { collection: 'deletions', id: 'b', put: { body: { ...deletion, sandbox_id: null }, dueIn: 0 } },
  ])
  await controlPlane.deletions.worker.startDue()
  await controlPlane.deletions.worker.settle()
  const { items } = await store.listItems('deletions')
  expect(items.map(({ id }) => id)).toEqual(['a'])
  await controlPlane.close()
  expect(failures).toMatchObject([{ message: 'The folder is busy.' }])
  await engine.close()
})

it('a conversation that cannot be opened is reported, and other lost runs are recovered', async () => {
  const store = memoryStore()
  const engine = createEngine({ store })
  const failures: unknown[] = []
  const onFailure = (error: unknown): void => void failures.push(error)
  const { lostRuns, runs } = createService({ engine, onFailure, agent: scriptedAgent() })
  for (const id of ['a', 'b']) {
    const conversation = await engine.create({ id })
    await conversation.sendMessage('One')
    const remaining = await store.acquireLease(id, 'dead', 1)
    while (Date.now() <= (remaining?.expiresAt ?? 0)) await new Promise((resolve) => setImmediate(resolve))
  }
  const open = engine.open.bind(engine)
  Object.assign(engine, {
    open: (id: string) => (id === 'a' ? Promise.reject(new Error('No room for it.')) : open(id)),
  })
  await lostRuns.check()
  await runs.settle()
  expect((await (await open('b')).state()).header.status).toBe('finished')
  expect(failures).toMatchObject([{ message: 'No room for it.' }])
  await engine.close()
})

it('run requests are fulfilled although one of a deleted conversation cannot be removed', async () => {
  const inner = memoryStore()
  const engine = createEngine({
    store: wrapStore(inner, {
      changeItems: async (changes) => {
        if (changes[0]?.id === 'a' && changes[0].put === null)
          throw new ColloquyError('store_busy', 'The database is busy.')
        return inner.changeItems(changes)
      },
    }),
  })
  const { lostRuns, runs } = createService({ engine, agent: scriptedAgent() })
  const conversation = await engine.create({ id: 'c' })
  await conversation.sendMessage('One')
  await inner.changeItems([
    { collection: 'wanted-runs', id: 'a', put: { body: { conversation_id: 'gone', from: 1 }, dueIn: 0 } },
    { collection: 'wanted-runs', id: 'b', put: { body: { conversation_id: 'c', from: 1 }, dueIn: 0 } },
  ])
  await lostRuns.check()
  await runs.settle()
  expect((await conversation.state()).header.status).toBe('finished')
  await engine.close()
})

it('a job that is woken while its work ends runs again, at whatever moment', async () => {
  const jobs = new Jobs({ store: memoryStore(), collection: 'jobs', ttl: 60_000 })
  for (let moments = 0; moments < 20; moments += 1) {
    const ended = Promise.withResolvers<void>()
    let times = 0
    const worker = new JobWorker(
      jobs,
      async (job) => {
        times += 1
        await job.release(0)
        ended.resolve()
      },
      (error) => expect.fail(String(error)),
    )
    worker.start(await jobs.add(`job-${moments}`, {}))
    await ended.promise
    for (let moment = 0; moment < moments; moment += 1) await Promise.resolve()
    worker.wake(`job-${moments}`)
    await worker.settle()
    expect([moments, times]).toEqual([moments, 2])
  }
})

it('due pending messages are delivered although a sandbox cannot be deleted', async () => {
  const store = memoryStore()
  const engine = createEngine({ store })
  const { controlPlane } = createService({
    engine,
    agent: scriptedAgent(),
    controlPlane: {
      provider: {
        specs: [{ id: 's', command: null, created_at: '', initial_env: {}, working_dir: '' }],
        start: async () => undefined,
        state: async () => null,
        pause: async () => undefined,
        resume: async () => undefined,
        delete: () => Promise.reject(new Error('The folder is busy.')),
        close: async () => undefined,
      },
    },
  })
  const conversation = await engine.create({ id: 'c' })
  const { createdAt: incarnation } = await conversation.record()
  await controlPlane.sandboxes.start(null, 'busy')
  const message = { id: 'm', content: [{ type: 'text', text: 'Hi' }], created_at: incarnation }
  const queue = { messages: [message], sandbox_id: null, incarnation }
  await store.changeItems([
    // Another process deletes a sandbox in this way.
    { collection: 'sandboxes', id: 'busy', put: null },
    { collection: 'pending-messages', id: 'c', put: { body: queue, dueIn: 0 } },
  ])
  await expect(controlPlane.start()).rejects.toThrow('The folder is busy.')
  await controlPlane.pending.worker.settle()
  expect((await store.listItems('pending-messages')).items).toEqual([])
  await controlPlane.close()
  await engine.close()
})

it('a call whose process died during a pause can be rejected', async () => {
  const engine = createEngine({ store: memoryStore() })
  const service = createService({ engine, agent: () => script([]).step })
  const conversation = await engine.create()
  await conversation.sendMessage('One')
  const started = { kind: 'ConversationStateUpdateEvent' as const, key: 'started_actions', value: ['a'] }
  await conversation.append([call('a'), started, { kind: 'PauseEvent' }])
  const post = async (path: string, body: object = {}): Promise<number> => {
    const url = `http://localhost/api/conversations/${conversation.id}/${path}`
    return (await service.fetch(new Request(url, { method: 'POST', body: JSON.stringify(body) }))).status
  }
  expect(granted((await conversation.state()).header.callStatuses, 'started')).toEqual(new Set(['a']))
  expect(await post('events/reject', { action_ids: ['a'] })).toBe(200)
  const { header, branch } = await conversation.state()
  expect([header.status, pendingCallCount(branch.pendingCalls)]).toEqual(['paused', 0])
  await engine.close()
})
