/** Leases and recovery: which process may run a conversation, and how a run continues after a crash (laws P and I). */

import { afterAll, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { backends } from './backends.ts'
import { call, gate, logOf, result, says, script, silent, startConversation, status } from './script.ts'
import { wrapStore } from './stores.ts'
import { timedStore, TTL } from './timed-store.ts'

const BACKENDS = backends()

afterAll(() => BACKENDS.remove())

/** PostgreSQL leases have their own tests. */
const NAMES = BACKENDS.names.filter((name) => name !== 'postgres')

describe('a lease', () => {
  it.each(NAMES)('allows one run at a time in all engines, over %s', async (name) => {
    const store = (await BACKENDS.make(name)).open()
    const { conversation } = await startConversation('hello', store)
    const other = await createEngine({ store }).open('c')
    const thinking = gate()
    const { step, requests } = script([
      async function* () {
        await thinking.pass()
        yield says('done')
      },
    ])
    const running = conversation.run(step)
    await thinking.reached
    await expect(conversation.run(step)).rejects.toMatchObject({ code: 'already_running' })
    await expect(other.run(step)).rejects.toMatchObject({ code: 'already_running' })
    expect((await other.recover()).outcome).toBe('live')
    thinking.open()
    expect((await running).status).toBe('finished')
    expect(requests).toHaveLength(1)
    expect(await store.getLease('c')).toBe(null)
    await other.sendMessage('more')
    expect((await other.run(step)).status).toBe('finished')
    await store.close()
  })

  it('rejects appends of a lost generation, so no call is executed twice', async () => {
    const { store, expire } = timedStore()
    const { conversation } = await startConversation('hello', store)
    const other = await createEngine({ store }).open('c')
    const working = gate()
    const first = script([[call('a')]], async function* ({ approved }) {
      await working.pass()
      yield approved.map(result)
    })
    const lost = expect(conversation.run(first.step, { leaseTtl: TTL })).rejects.toMatchObject({
      code: 'lease_lost',
    })
    await working.reached
    expire()
    const second = script([])
    expect((await other.run(second.step, { leaseTtl: TTL })).status).toBe('finished')
    working.open()
    await lost
    expect(first.executed).toEqual(['a'])
    expect(second.executed).toEqual([])
    expect((await logOf(other)).slice(3)).toEqual([
      'started_actions ["a"]',
      'failed RunLost',
      '= running',
      'error a',
      'agent: ok',
    ])
    expect(await status(conversation)).toBe('finished')
  })

  it('a run replies to a message that arrives at its end, although another run is rejected', async () => {
    const { store } = timedStore()
    const { conversation, engine } = await startConversation('hello', store)
    const ending = gate()
    const { step, requests } = script([])
    const running = conversation.run(step, {
      hooks: [{ on: 'SessionEnd', name: 'slow', run: () => ending.pass() }],
    })
    await ending.reached
    await conversation.sendMessage('more')
    await expect(conversation.run(step)).rejects.toMatchObject({ code: 'already_running' })
    ending.open()
    expect(await running).toEqual({ status: 'finished', iterations: 2 })
    expect(requests).toHaveLength(2)
    await engine.close()
  })

  it('a run finishes if another process claims the lease before the run checks for messages', async () => {
    const inner = memoryStore()
    let released: (() => Promise<unknown>) | null = null
    const store = wrapStore(inner, {
      async releaseLease(lease) {
        const isReleased = await inner.releaseLease(lease)
        await released?.()
        return isReleased
      },
    })
    const { conversation } = await startConversation('hello', store)
    const other = await createEngine({ store: inner }).open('c')
    // Another process claims the lease before the first run checks again, and starts later.
    released = async () => {
      released = null
      await other.sendMessage('more')
      await inner.acquireLease('c', 'somebody', TTL)
    }
    expect(await conversation.run(script([]).step)).toEqual({ status: 'finished', iterations: 1 })
  })

  it.each<[string, boolean, (started: Awaited<ReturnType<typeof startConversation>>) => Promise<unknown>]>([
    ['recoverAll', false, ({ engine }) => engine.recoverAll()],
    [
      'navigate',
      false,
      async ({ conversation }) => conversation.navigate((await conversation.state()).log.head?.id ?? null),
    ],
    ['recover', true, ({ conversation }) => conversation.recover()],
  ])('a run waits for the short lease of %s (I5)', async (_, isRunning, hold) => {
    const { store: inner, expire } = timedStore()
    const refused = gate()
    const store = wrapStore(inner, {
      async acquireLease(...requests) {
        const lease = await inner.acquireLease(...requests)
        if (lease === null) refused.open()
        return lease
      },
      async releaseLease(lease) {
        await refused.pass()
        return inner.releaseLease(lease)
      },
    })
    const started = await startConversation('hello', store)
    if (isRunning) await started.conversation.append(call('a'))
    await inner.acquireLease('c', 'another', TTL)
    expire()
    const holding = hold(started)
    await refused.reached
    const other = await createEngine({ store }).open('c')
    expect((await other.run(script([]).step)).status).toBe('finished')
    await holding
    expect(await store.getLease('c')).toBe(null)
  })

  it('navigate() leaves no lease if the run ends before the lease is read', async () => {
    const inner = timedStore().store
    const { conversation } = await startConversation('hello', inner)
    const thinking = gate()
    const running = conversation.run(silent(thinking))
    await thinking.reached
    const store = wrapStore(inner, {
      async getLease(id) {
        const lease = await inner.getLease(id)
        thinking.open()
        await running
        return lease
      },
    })
    const other = await createEngine({ store }).open('c')
    await other.navigate(null)
    expect(await inner.getLease('c')).toBe(null)
  })

  it('a release that fails hides neither results nor errors', async () => {
    const { store: inner, expire } = timedStore()
    const store = wrapStore(inner, {
      async releaseLease() {
        throw new ColloquyError('store_unavailable', 'The database is away.')
      },
    })
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    await expect(conversation.run(script([]).step)).rejects.toMatchObject({ code: 'empty_view' })
    expire()
    await conversation.sendMessage('hello')
    expect(await conversation.run(script([]).step)).toEqual({ status: 'finished', iterations: 1 })
    expire()
    await conversation.append(call('a'))
    expect(await conversation.recover()).toMatchObject({ outcome: 'recovered' })
    await engine.close()
  })

  it('a run that lost its lease cannot interrupt the next run when its engine closes', async () => {
    const { store, expire } = timedStore()
    const { conversation, engine } = await startConversation('hello', store)
    const [first, second] = [gate(), gate()]
    const lost = expect(conversation.run(silent(first), { leaseTtl: TTL })).rejects.toMatchObject({
      code: 'lease_lost',
    })
    await first.reached
    expire()
    const other = await createEngine({ store }).open('c')
    const next = other.run(
      async function* () {
        await second.pass()
        yield says('done')
      },
      { leaseTtl: TTL },
    )
    await second.reached
    // This process was suspended, and now closes its engine.
    await engine.close()
    await lost
    second.open()
    expect(await next).toMatchObject({ status: 'finished' })
    expect(await logOf(other)).not.toContain('InterruptEvent')
  })

  it('a late heartbeat does not acquire a lost lease again', async () => {
    const { store, expire } = timedStore()
    const blocked: (() => void)[] = []
    const real = globalThis.setInterval
    globalThis.setInterval = ((beat: () => void) => blocked.push(beat)) as never
    try {
      const { conversation } = await startConversation('hello', store)
      const thinking = gate()
      const running = conversation.run(
        async function* () {
          await thinking.pass()
          yield says('done')
        },
        { leaseTtl: TTL },
      )
      const lost = expect(running).rejects.toMatchObject({ code: 'lease_lost' })
      await thinking.reached
      expire()
      for (const beat of blocked) beat()
      await lost
      expire()
      for (const beat of blocked) beat()
      expect((await conversation.recover()).outcome).toBe('recovered')
      expect(await store.getLease('c')).toBe(null)
    } finally {
      globalThis.setInterval = real
    }
  })
})

describe('recover()', () => {
  it('ends every open call of a dead run in log order, in one batch, and sets error', async () => {
    const { store, expire } = timedStore()
    const { conversation } = await startConversation('hello', store)
    const { step } = script([[call('a'), call('b'), call('c')]], async function* ({ approved }) {
      if (approved[1] !== undefined) yield result(approved[1])
      await new Promise(() => undefined)
    })
    void conversation.run(step, { leaseTtl: TTL }).catch(() => undefined)
    const other = await createEngine({ store }).open('c')
    while (!(await logOf(other)).includes('result b')) await other.state()
    expect(await other.recover()).toEqual({ outcome: 'live', events: [] })
    expire()
    const { outcome, events } = await other.recover()
    expect(outcome).toBe('recovered')
    expect((await logOf(other)).slice(-3)).toEqual(['error a', 'error c', 'failed RunLost'])
    expect(events.map(({ seq }) => seq - (events[0]?.seq ?? 0))).toEqual([0, 1, 2])
    expect(await status(other)).toBe('error')
    expect(await other.recover()).toEqual({ outcome: 'not_running', events: [] })
    const next = script([])
    expect((await other.run(next.step, { leaseTtl: TTL })).status).toBe('finished')
    expect(next.executed).toEqual([])
  })

  it('leaves the calls of waiting and paused conversations open', async () => {
    for (const then of ['wait', 'pause'] as const) {
      const { conversation } = await startConversation()
      const { step } = script([
        async function* () {
          if (then === 'pause') await conversation.pause()
          yield call('a')
        },
      ])
      await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
      const { status: ended } = await conversation.run(step)
      const before = await logOf(conversation)
      expect(await conversation.recover()).toEqual({ outcome: 'not_running', events: [] })
      expect(await status(conversation)).toBe(ended)
      expect(await logOf(conversation)).toEqual(before)
    }
  })

  it('does nothing if a run starts first', async () => {
    const { store, expire } = timedStore()
    const { conversation } = await startConversation('hello', store)
    void conversation.run(() => new Promise(() => undefined), { leaseTtl: TTL }).catch(() => undefined)
    await conversation.waitFor('running')
    expire()
    const other = await createEngine({ store }).open('c')
    const [run, recovery] = await Promise.all([
      other.run(script([]).step, { leaseTtl: TTL }),
      other.recover(),
    ])
    expect(run.status).toBe('finished')
    expect(recovery.outcome).toMatch(/live|not_running/)
  })
})
