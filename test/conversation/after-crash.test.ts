/** The next process after a crash waits for the lease, reports the true result of each call, and continues (laws P, I). */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, inject, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Hook } from '../../src/conversation/run/hooks.ts'
import { updateEvent } from '../../src/conversation/decide.ts'
import { GRANT_KEYS } from '../../src/state/call-status.ts'
import { INTERRUPTED, NEVER_STARTED, NOT_EXECUTABLE } from '../../src/messages/phrases.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { killable } from '../service/killable-store.ts'
import { call, gate, logOf, result, says, script, silent, startConversation, status } from './script.ts'
import { wrapStore } from './stores.ts'
import { timedStore, TTL } from './timed-store.ts'

const factsOf = async (store: Store): Promise<Event[]> =>
  (await store.read('c')).flatMap(({ fact }) => (isQuarantined(fact) ? [] : [fact]))

const BAD = call('bad', 'nothing', { action: null })

const isCareful = ({ tool_name }: ActionEvent): boolean => tool_name === 'rm'

/** A run that ends or dies at the n-th call of its store. Returns the executed calls and whether it died. */
async function die(
  store: Store,
  calls: number,
): Promise<{ readonly executed: readonly string[]; readonly died: boolean }> {
  const { store: dying, dieAfter, isDead } = killable(store)
  const { conversation } = await startConversation('hello', dying)
  const { step, executed } = script([[call('a')], [call('b'), call('careful', 'rm'), BAD]])
  dieAfter(calls)
  const run = conversation.run(step, { policy: isCareful, leaseTtl: TTL })
  await run.catch((error: unknown) => {
    if (!isDead()) throw error
  })
  return { executed, died: isDead() }
}

describe('a run whose process died', () => {
  const WAYS = {
    'recover()': async (store: Store) => {
      const conversation = await createEngine({ store }).open('c')
      return (await conversation.recover()).outcome
    },
    'recoverAll()': async (store: Store) => {
      const [recovery] = await createEngine({ store }).recoverAll()
      return recovery?.outcome
    },
    'recoverAll() after one that the store rejected': async (store: Store, expire: () => void) => {
      const busy = new ColloquyError('store_busy', 'busy')
      const failing = wrapStore(store, { append: () => Promise.reject(busy) })
      await createEngine({ store: failing }).recoverAll()
      expire()
      const [recovery] = await createEngine({ store }).recoverAll()
      return recovery?.outcome
    },
    'run()': async (store: Store) => {
      const conversation = await createEngine({ store }).open('c')
      const { status: ended } = await conversation.run(script([]).step)
      expect(ended).toMatch(/^(finished|waiting_for_confirmation)$/)
      return 'ran'
    },
  }

  it.each([
    ...Object.entries(WAYS),
    [
      'interrupt()',
      async (store: Store) => {
        const conversation = await createEngine({ store }).open('c')
        await conversation.interrupt()
        return 'interrupted'
      },
    ] as const,
  ])(
    '%s does not report a call of a program that records no starts as never started',
    async (way, settle) => {
      const { store, expire } = timedStore()
      const { conversation } = await startConversation('hello', store)
      await store.acquireLease('c', 'an agent of another program', TTL)
      await conversation.append([updateEvent('execution_status', 'running'), call('a')])
      if (way !== 'interrupt()') expire()
      await settle(store, expire)
      const results = (await factsOf(store)).flatMap((event) =>
        event.kind === 'AgentErrorEvent' ? event.error : [],
      )
      expect(results).toEqual([INTERRUPTED])
    },
  )

  it.each(Object.entries(WAYS))(
    '%s gives each open call an accurate error, whichever store call the process died at',
    async (way, settle) => {
      const report = new Map<string, number>()
      for (let calls = 1; ; calls += 1) {
        const { store, expire } = timedStore()
        const { executed, died } = await die(store, calls)
        const before = await factsOf(store)
        expire()
        const wasRunning = (await status(await createEngine({ store }).open('c'))) === 'running'
        const outcome = await settle(store, expire)
        if (outcome !== 'ran') expect(outcome === 'recovered').toBe(wasRunning)
        if (way !== 'recover()' || wasRunning) expect(await store.listLeases()).toEqual([])
        const after = await factsOf(store)
        const startedIds = new Set(
          after.flatMap((event) =>
            event.kind === 'ConversationStateUpdateEvent' && event.key === 'started_actions'
              ? (event.value as string[])
              : [],
          ),
        )
        for (const event of after.slice(before.length)) {
          if (event.kind !== 'AgentErrorEvent') continue
          const { tool_call_id: id, error } = event
          report.set(error, (report.get(error) ?? 0) + 1)
          if (id === 'bad') expect(error).toBe(NOT_EXECUTABLE)
          else expect(error).toBe(startedIds.has(id) ? INTERRUPTED : NEVER_STARTED)
          if (executed.includes(id)) expect(error).toBe(INTERRUPTED)
        }
        const { header } = await (await createEngine({ store }).open('c')).state()
        if (outcome === 'recovered') expect(header.error?.code).toBe('RunLost')
        if (!died) break
        expect(calls).toBeLessThan(200)
      }
      expect([...report.keys()].toSorted()).toEqual([INTERRUPTED, NEVER_STARTED, NOT_EXECUTABLE].toSorted())
    },
  )

  it('reports an approved call as never started unless the log contains its start', async () => {
    const seen = new Set<string>()
    for (let calls = 1; seen.size < 2; calls += 1) {
      const { store, expire } = timedStore()
      const { store: dying, dieAfter, isDead } = killable(store)
      const { conversation } = await startConversation('hello', dying)
      const { step, executed } = script([[call('a')]])
      await conversation.run(step, { policy: () => true, leaseTtl: TTL })
      await conversation.approve(['a'])
      dieAfter(calls)
      await conversation.run(step, { leaseTtl: TTL }).catch(() => undefined)
      expect(isDead()).toBe(true)
      expire()
      const next = await createEngine({ store }).open('c')
      const recovered = await next.recover()
      for (const { fact } of recovered.events) {
        if (isQuarantined(fact) || fact.kind !== 'AgentErrorEvent') continue
        const key = GRANT_KEYS.started
        const isStarted = (await factsOf(store)).some((event) => 'key' in event && event.key === key)
        expect(fact.error).toBe(isStarted ? INTERRUPTED : NEVER_STARTED)
        if (executed.length > 0) expect(isStarted).toBe(true)
        seen.add(fact.error)
      }
      expect(calls).toBeLessThan(100)
    }
  })

  it('does not report a call of another program as never started if a user approved it', async () => {
    const { store, expire } = timedStore()
    const { conversation } = await startConversation('hello', store)
    await conversation.run(script([[call('a')]]).step, { policy: () => true })
    await conversation.approve(['a'])
    await store.acquireLease('c', 'an agent of another program', TTL)
    await conversation.append(updateEvent('execution_status', 'running'))
    expire()
    const stop = new AbortController()
    const hook: Hook = {
      name: 'stop',
      on: 'SessionStart',
      run() {
        stop.abort()
      },
    }
    const next = await createEngine({ store }).open('c')
    await next.run(script([]).step, { signal: stop.signal, hooks: [hook] })
    const errors = (await factsOf(store)).filter(({ kind }) => kind === 'AgentErrorEvent')
    expect(errors).toMatchObject([{ tool_call_id: 'a', error: INTERRUPTED }])
  })

  it('reports a call as never started after a user moved HEAD meanwhile', async () => {
    const { store, expire } = timedStore()
    const { store: dying, dieAfter } = killable(store)
    const { conversation } = await startConversation('hello', dying)
    const { step } = script([
      async function* () {
        yield call('a')
        dieAfter(0)
      },
    ])
    await conversation.run(step, { leaseTtl: TTL }).catch(() => undefined)
    expire()
    const next = await createEngine({ store }).open('c')
    await next.navigate('a')
    expire()
    expect((await next.recover()).outcome).toBe('recovered')
    const errors = (await factsOf(store)).filter(({ kind }) => kind === 'AgentErrorEvent')
    expect(errors).toMatchObject([{ tool_call_id: 'a', error: NEVER_STARTED }])
  })

  it('a call that a user approves again is executed again, and the log contains RunLost', async () => {
    const { store, expire } = timedStore()
    const { store: dying, dieAfter } = killable(store)
    const { conversation } = await startConversation('hello', dying)
    const { step } = script([[call('a')]], async function* () {
      dieAfter(0)
      yield []
      throw new Error('nobody hears of it')
    })
    await expect(conversation.run(step, { leaseTtl: TTL })).rejects.toThrow('dead')
    expire()
    const next = await createEngine({ store }).open('c')
    await next.approve(['a'])
    const { step: again, executed } = script([])
    expect((await next.run(again)).status).toBe('finished')
    expect(executed).toEqual(['a'])
    expect(await logOf(next)).toContain('failed RunLost')
  })

  it('recoverAll() recovers a run that ended with lease_lost', async () => {
    const { store, expire } = timedStore()
    const { conversation } = await startConversation('hello', store)
    const thinking = gate()
    const running = conversation.run(silent(thinking), { leaseTtl: 30 })
    // On a busy machine, this short lease can expire before the step starts.
    await Promise.race([thinking.reached, running.catch(() => undefined)])
    expire()
    await expect(running).rejects.toMatchObject({ code: 'lease_lost' })
    expire()
    const [recovery, ...others] = await createEngine({ store }).recoverAll()
    expect([recovery?.conversationId, recovery?.outcome, others]).toEqual(['c', 'recovered', []])
    expect(await store.listLeases()).toEqual([])
  })

  it('recover() reports a call as interrupted if its writer had no lease', async () => {
    const { conversation } = await startConversation()
    await conversation.append(call('a'))
    await conversation.recover()
    const { log } = await conversation.state()
    const report = [...log.entries].flatMap(({ event }) =>
      event?.kind === 'AgentErrorEvent' ? event.error : [],
    )
    expect(report).toEqual([INTERRUPTED])
  })

  it('two calls with the same tool_call_id each get their own error', async () => {
    const { store, expire } = timedStore()
    const { store: dying, dieAfter } = killable(store)
    const { conversation } = await startConversation('hello', dying)
    const twins: readonly ActionEvent[] = [
      call('first', 'work', { tool_call_id: 'same' }),
      call('second', 'rm', { tool_call_id: 'same', llm_response_id: 'r2' }),
    ]
    const { step } = script([twins], async function* ({ approved }) {
      dieAfter(0)
      yield approved.map(result)
    })
    await expect(conversation.run(step, { leaseTtl: TTL, policy: isCareful })).rejects.toThrow('dead')
    expire()
    const next = await createEngine({ store }).open('c')
    await next.recover()
    const { branch } = await next.state()
    const report = [...branch.view.units].flatMap((unit) =>
      unit.type === 'batch'
        ? [...unit.results].map(({ entry }) =>
            entry.event.kind === 'AgentErrorEvent' ? entry.event.error : '',
          )
        : [],
    )
    expect(report).toEqual([INTERRUPTED, NEVER_STARTED])
  })
})

describe('a run while another process holds the lease', () => {
  it('rejects with already_running, the owner of the lease and its expiry', async () => {
    const { store } = timedStore()
    const { conversation } = await startConversation('hello', store)
    const lease = await store.acquireLease('c', 'another', TTL)
    const { step } = script([])
    await expect(conversation.run(step)).rejects.toMatchObject({
      code: 'already_running',
      message: expect.stringContaining(
        `another holds the lease until ${new Date(lease?.expiresAt ?? 0).toISOString()}`,
      ),
      data: { conversationId: 'c', owner: 'another', expiresAt: lease?.expiresAt },
    })
  })

  it('waits until the lease of a dead process expires, then runs', async () => {
    const { store, expire } = timedStore()
    await die(store, 12)
    const { conversation } = { conversation: await createEngine({ store }).open('c') }
    await conversation.sendMessage('Are you there?')
    const { step, requests } = script([])
    const running = conversation.run(step, { wait: true })
    expect(requests).toHaveLength(0)
    expire()
    expect((await running).status).toBe('finished')
    expect(JSON.stringify(requests[0]?.messages)).toContain('Are you there?')
  })

  it('waits for a live run to end, and sends no request if nothing is left to reply to', async () => {
    const { conversation, store } = await startConversation()
    const other = await createEngine({ store }).open('c')
    const thinking = gate()
    const first = script([
      async function* () {
        await thinking.pass()
        yield says('done')
      },
    ])
    const running = conversation.run(first.step)
    await thinking.reached
    const second = script([])
    const waiting = other.run(second.step, { wait: true })
    thinking.open()
    expect((await running).status).toBe('finished')
    expect(await waiting).toEqual({ status: 'finished', iterations: 0 })
    expect(second.requests).toEqual([])
  })

  it('stops waiting when its signal is aborted or its engine is closed', async () => {
    for (const way of ['abort', 'close']) {
      const { conversation, engine, store } = await startConversation()
      await store.acquireLease('c', 'another', TTL)
      const controller = new AbortController()
      const { step, requests } = script([])
      const waiting = conversation.run(step, { wait: true, signal: controller.signal })
      await conversation.state()
      if (way === 'abort') controller.abort()
      else await engine.close()
      expect(await waiting).toEqual({ status: 'idle', iterations: 0 })
      expect(requests).toEqual([])
    }
  })
})

describe('recoverAll()', () => {
  it('reports an outcome per conversation, and skips conversations with a live lease', async () => {
    const { store, expire } = timedStore()
    const engine = createEngine({ store })
    for (const id of ['dead', 'done', 'broken']) {
      const conversation = await engine.create({ id })
      if (id === 'dead' || id === 'broken') await conversation.append(call('a'))
      await store.acquireLease(id, 'another', TTL)
    }
    expire()
    const live = await engine.create({ id: 'live' })
    await live.append(call('a'))
    await store.acquireLease('live', 'another', TTL)
    await engine.close()
    const failing = createEngine({
      store: {
        ...store,
        loadSnapshot: async (id) => {
          if (id === 'broken') throw new Error('The disk is broken.')
          return store.loadSnapshot(id)
        },
      },
    })
    expect(await failing.recoverAll()).toMatchObject([
      { conversationId: 'broken', outcome: 'failed', error: new Error('The disk is broken.') },
      { conversationId: 'dead', outcome: 'recovered', events: [{}, {}] },
      { conversationId: 'done', outcome: 'not_running', events: [] },
    ])
    expect((await store.listLeases()).map(({ conversationId }) => conversationId)).toEqual(['broken', 'live'])
    await failing.close()
  })
})

describe('waitFor', () => {
  it('keeps the process alive until its signal times out', async () => {
    const src = join(inject('built'), 'index.js')
    const code = `
      import { createEngine, memoryStore } from ${JSON.stringify(src)}
      const conversation = await createEngine({ store: memoryStore() }).create()
      try {
        await conversation.waitFor('finished', { signal: AbortSignal.timeout(50) })
      } catch (error) {
        console.log(error.name)
      }`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])
    expect(stdout).toBe('TimeoutError\n')
  })
})
