/**
 * Every request for a run (law W7) is soon rejected without a change, or certain to be fulfilled, whatever
 * dies, hangs or is unavailable.
 */

import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ColloquyError } from '../../src/event/errors.ts'
import { Runs } from '../../src/service/conversations/runs.ts'
import { scriptedAgent } from './scripted-agent.ts'
import type { ServiceOptions } from '../../src/service/service.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { wrapStore } from '../conversation/stores.ts'
import { gate } from './gate.ts'
import { killable } from './killable-store.ts'
import {
  BASE,
  idle,
  text,
  serviceOver,
  virtually,
  waiting,
  RUN_REQUESTS,
  type RunFixture,
} from './run-request-cases.ts'

const WANTED = 'wanted-runs'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const countRequests = async ({ engine }: RunFixture): Promise<number> =>
  (await engine.store.countItems(WANTED)).count

/** Messages and results of a conversation, with their sources. */
const sourcesOf = async ({ engine }: RunFixture, id: string): Promise<readonly unknown[]> =>
  [...(await (await engine.open(id)).state()).log.entries].flatMap(({ event }) =>
    event?.kind === 'MessageEvent' || event?.kind === 'ObservationEvent' ? [event.source] : [],
  )

it.each(RUN_REQUESTS)(
  '%s gets 429 at the maximum number of runs, and changes nothing',
  async (_, prepare) => {
    const { step, open, reached } = gate()
    const agent: ServiceOptions['agent'] = ({ id }) => (id === 'other' ? step : scriptedAgent()())
    const fixture = serviceOver(memoryStore(), { agent, maxRuns: 1 })
    const request = await prepare(fixture, 'c')
    await idle(fixture, 'other')
    await fixture.post(`${BASE}/other/run`)
    await reached
    fixture.changes.length = 0
    const refused = await virtually(request(fixture, 'c'))
    expect([refused.value, refused.took < 1_000, fixture.changes]).toEqual([429, true, []])
    open()
    await virtually(fixture.service.runs.settle())
    const done = await virtually(request(fixture, 'c'))
    expect([200, 201]).toContain(done.value)
    await virtually(fixture.service.runs.settle())
    expect(await countRequests(fixture)).toBe(0)
    expect(fixture.failures).toEqual([])
    await fixture.end()
  },
)

it('a request that starts no run succeeds at the maximum number of runs', async () => {
  const { step, open, reached } = gate()
  const agent: ServiceOptions['agent'] = ({ id }) => (id === 'other' ? step : scriptedAgent()())
  const fixture = serviceOver(memoryStore(), { agent, maxRuns: 1 })
  const [one = '', other = ''] = await waiting(fixture, 'c', 2)
  for (const id of ['idle', 'other']) await idle(fixture, id)
  await fixture.post(`${BASE}/other/run`)
  await reached
  const approve = (id: string, ...action_ids: string[]): Promise<number> =>
    fixture.post(`${BASE}/${id}/events/approve`, { action_ids })
  const respond = (id: string, accept: boolean): Promise<number> =>
    fixture.post(`${BASE}/${id}/events/respond_to_confirmation`, { accept })
  // First another call still waits, then none does.
  expect([await approve('c', one), await approve('c', one), await approve('c', other)]).toEqual([
    200, 200, 429,
  ])
  expect(await approve('c', 'unknown')).toBe(409)
  expect([await respond('idle', true), await respond('c', true), await respond('c', false)]).toEqual([
    409, 429, 200,
  ])
  open()
  await virtually(fixture.service.runs.settle())
  await fixture.end()
})

it.each(['an agent', 'a step'])(
  'a question to %s that hangs gets 504, and its slot becomes free',
  async (what) => {
    const hangs = new Promise<never>(() => undefined)
    const agent: ServiceOptions['agent'] = () => (what === 'an agent' ? hangs : () => hangs)
    const fixture = serviceOver(memoryStore(), { agent, maxRuns: 1 })
    await idle(fixture, 'c')
    const ask = (signal: AbortSignal | null = null) =>
      fixture.post(`${BASE}/c/ask_agent`, { question: 'So?' }, signal)
    const late = await virtually(ask())
    expect([late.value, late.took]).toEqual([504, expect.closeTo(120_000, -3)])
    const leaving = new AbortController()
    const remaining = ask(leaving.signal)
    expect((await virtually(ask())).value).toBe(429)
    leaving.abort()
    const { took } = await virtually(remaining.catch(() => 0))
    expect(took).toBeLessThan(1_000)
    expect((await virtually(ask())).value).toBe(504)
    await fixture.end()
  },
)

it('these requests cover every operation with the response "Too many runs"', async () => {
  const fixture = serviceOver(memoryStore())
  const { paths } = (await (
    await fixture.service.fetch(new Request('http://localhost/openapi.json'))
  ).json()) as { readonly paths: object }
  const operations = Object.values(paths).flatMap((path) => Object.values(path as object))
  const limited = operations.filter(({ responses }) => responses?.['429']?.description === 'Too many runs')
  const names = limited.map(({ operationId }) => operationId).toSorted()
  expect(names).toEqual(
    [...new Set(RUN_REQUESTS.map(([name]) => name))].filter((name) => name !== 'say').toSorted(),
  )
  await fixture.end()
})

it('one of two concurrent requests for the last slot gets 429 and changes nothing', async () => {
  const { step, open } = gate()
  const fixture = serviceOver(memoryStore(), { agent: () => step, maxRuns: 1 })
  for (const id of ['a', 'b']) await idle(fixture, id)
  const both = ['a', 'b'].map((id) => fixture.post(`${BASE}/${id}/events`, { ...text, run: true }))
  const { value: statuses } = await virtually(Promise.all(both))
  expect(statuses.toSorted()).toEqual([200, 429])
  const refused = statuses[0] === 429 ? 'a' : 'b'
  expect(await sourcesOf(fixture, refused)).toEqual(['user'])
  open()
  await virtually(fixture.service.runs.settle())
  await fixture.end()
})

/** Requests that wait for the run. */
const JOINING = RUN_REQUESTS.filter(([name]) => name !== 'ask_agent')

it.each(JOINING)('%s gets 503 within two seconds while the store is unavailable', async (_, prepare) => {
  const fixture = serviceOver(memoryStore())
  const request = await prepare(fixture, 'c')
  fixture.away.add('acquireLease')
  fixture.away.add('changeItems')
  const report = await virtually(request(fixture, 'c').then((status) => status ?? 503))
  expect([report.value, report.took < 2_000]).toEqual([503, true])
  fixture.away.clear()
  await virtually(fixture.service.runs.settle())
  await fixture.end()
})

/** What keeps a run from starting: the lease of a dead process, or an agent that hangs. */
const HANGS = 'its agent hangs'
const HAZARDS = JOINING.flatMap(([name, prepare]) =>
  // `run_conversation` is rejected while a run seems active.
  (name === 'run_conversation' ? [HANGS] : [HANGS, 'a dead process holds the lease']).map(
    (hazard) => [name, hazard, prepare] as const,
  ),
)

it.each(HAZARDS)(
  '%s succeeds while %s, and another process fulfills it after a crash',
  async (_, hazard, prepare) => {
    const store = memoryStore()
    const hangs = hazard === HANGS
    const first = serviceOver(store, hangs ? { agent: () => new Promise(() => undefined) } : {})
    const request = await prepare(first, 'c')
    if (!hangs && (await store.getConversation('c')) === null)
      await first.engine.create({ id: 'c', metadata: { begins: true } })
    if (!hangs) await store.acquireLease('c', 'dead', 45_000)
    const report = await virtually(request(first, 'c'))
    expect([[200, 201].includes(report.value), report.took < 3_000]).toEqual([true, true])
    const text = (await sourcesOf(first, 'c')).length
    first.kill()
    vi.setSystemTime(Date.now() + 60_000)
    const second = serviceOver(store)
    await second.service.lostRuns.check()
    await virtually(second.service.runs.settle())
    expect((await sourcesOf(second, 'c')).length).toBeGreaterThan(text)
    expect(await countRequests(second)).toBe(0)
    expect(second.failures).toEqual([])
    await second.end()
  },
)

/** Requests that append an event at once, visible to other clients. */
const APPENDING = RUN_REQUESTS.filter(([name]) => name !== 'ask_agent' && name !== 'run_conversation')

it.each(APPENDING)(
  'a visible event of %s gets a run, whichever store call kills the process',
  async (_, prepare) => {
    const seen = { visible: 0, invisible: 0 }
    for (let calls = 0; ; calls += 1) {
      const store = memoryStore()
      const { store: dying, dieAfter, isDead } = killable(store)
      const first = serviceOver(dying)
      const request = await prepare(first, 'c')
      const length = async (): Promise<number> =>
        (await store.getConversation('c')) === null ? 0 : (await store.read('c')).length
      const before = await length()
      dieAfter(calls)
      await virtually(request(first, 'c').catch(() => 0))
      await virtually(first.service.runs.settle())
      if (!isDead()) break
      const isVisible = (await length()) > before
      seen[isVisible ? 'visible' : 'invisible'] += 1
      vi.setSystemTime(Date.now() + 60_000)
      const second = serviceOver(store)
      await virtually(second.service.lostRuns.check())
      await virtually(second.service.runs.settle())
      const log = await store.getConversation('c').then((record) => (record === null ? [] : store.read('c')))
      const last = log.findLastIndex(({ fact }) => 'source' in fact && fact.source === 'agent')
      if (isVisible) expect([calls, last >= before]).toEqual([calls, true])
      expect([calls, await countRequests(second)]).toEqual([calls, 0])
      expect(second.failures).toEqual([])
      await second.end()
    }
    expect([seen.visible > 0, seen.invisible > 0]).toEqual([true, true])
  },
)

it('a message waits two seconds at most for a lease or an agent, and is run later', async () => {
  const store = memoryStore()
  const { promise, resolve } = Promise.withResolvers<ReturnType<ReturnType<typeof scriptedAgent>>>()
  const fixture = serviceOver(store, { agent: ({ id }) => (id === 'slow' ? promise : scriptedAgent()()) })
  for (const id of ['slow', 'dead']) await idle(fixture, id)
  await store.acquireLease('dead', 'dead', 5_000)
  const until = Date.now() + 5_000
  for (const id of ['slow', 'dead']) {
    const report = await virtually(fixture.post(`${BASE}/${id}/events`, { ...text, run: true }))
    expect([report.value, report.took < 2_000]).toEqual([200, true])
  }
  expect(await countRequests(fixture)).toBe(2)
  resolve(scriptedAgent()())
  await virtually(fixture.service.runs.settle())
  expect(Date.now()).toBeLessThan(until + 1_000)
  expect(await countRequests(fixture)).toBe(0)
  for (const id of ['slow', 'dead']) expect((await sourcesOf(fixture, id)).at(-1)).toBe('agent')
  expect(fixture.failures).toEqual([])
  await fixture.end()
})

it('the check recovers other lost runs while an agent hangs', async () => {
  const store = memoryStore()
  const fixture = serviceOver(store, {
    agent: ({ id }) => (id === 'hangs' ? new Promise(() => undefined) : scriptedAgent()()),
  })
  for (const id of ['hangs', 'lost']) {
    await idle(fixture, id)
    await (
      await fixture.engine.open(id)
    ).append({
      kind: 'ConversationStateUpdateEvent',
      key: 'execution_status',
      value: 'running',
    })
    await store.acquireLease(id, 'dead', 1)
  }
  vi.setSystemTime(Date.now() + 10)
  const check = await virtually(fixture.service.lostRuns.check())
  expect(check.took).toBeLessThan(3_000)
  expect((await sourcesOf(fixture, 'lost')).at(-1)).toBe('agent')
  fixture.kill()
})

it('a request that is stored while the service closes stays in the store', async () => {
  const [writable, state] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()]
  const real = memoryStore()
  const changeItems = async (...changes: Parameters<typeof real.changeItems>) => {
    await writable.promise
    return real.changeItems(...changes)
  }
  const runs = new Runs({
    store: wrapStore(real, { changeItems }),
    starts: { of: () => Promise.resolve({}) },
    agent: scriptedAgent(),
    options: {},
    maxRuns: 1,
    leaseTtl: 1_000,
    onFailure: () => undefined,
  })
  const joined = runs.join({ id: 'c', state: () => state.promise } as never, 1)
  await vi.advanceTimersByTimeAsync(1_000)
  state.reject(new ColloquyError('closed', 'The engine is closed.'))
  await runs.settle()
  writable.resolve()
  await joined
  expect((await real.countItems(WANTED)).count).toBe(1)
})
