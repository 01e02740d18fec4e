/** Pauses, interrupts, leases and recoveries: whatever stops a run, and how the next one finds what it left (design laws P and I). */

import { afterAll, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { user } from '../build.ts'
import { places } from './places.ts'
import { begun, call, gate, logOf, result, says, script, status } from './script.ts'
import { wrapStore } from './stores.ts'

const TTL = 1_000_000

const PLACES = places()
afterAll(() => PLACES.remove())
/** What PostgreSQL adds, its own tests try. */
const NAMES = PLACES.names.filter((name) => name !== 'postgres')

/** A memory store whose clock can be put forward. */
function timed(): { store: Store; expire: () => void } {
  let clock = 1_000_000n
  const store = memoryStore({ clock: () => clock })
  return { store, expire: () => void (clock += BigInt(TTL) * 2_000n) }
}

describe('a lease', () => {
  it.each(NAMES)('lets one run at a time, in whatever engine, over %s', async (name) => {
    const store = (await PLACES.make(name)).open()
    const { conversation } = await begun('hello', store)
    const other = await createEngine({ store }).open('c')
    const thinking = gate()
    const { step, asked } = script([
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
    expect(asked).toHaveLength(1)
    expect(await store.getLease('c')).toBe(null)
    await other.sendMessage('more')
    expect((await other.run(step)).status).toBe('finished')
    await store.close()
  })

  it('refuses what a lost generation appends, so that no tool runs twice', async () => {
    const { store, expire } = timed()
    const { conversation } = await begun('hello', store)
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

  it('is not needed by whoever was refused for it: the work that came is done by the run that was live', async () => {
    const { store } = timed()
    const { conversation, engine } = await begun('hello', store)
    const ending = gate()
    const { step, asked } = script([])
    const running = conversation.run(step, {
      hooks: [{ on: 'SessionEnd', name: 'slow', run: () => ending.pass() }],
    })
    await ending.reached
    await conversation.sendMessage('more')
    await expect(conversation.run(step)).rejects.toMatchObject({ code: 'already_running' })
    ending.open()
    expect(await running).toEqual({ status: 'finished', iterations: 2 })
    expect(asked).toHaveLength(2)
    await engine.close()
  })

  it('goes to whoever comes first when a run wants it again, and that is no error of the run', async () => {
    const inner = memoryStore()
    let released: (() => Promise<unknown>) | null = null
    const store = wrapStore(inner, {
      async releaseLease(lease) {
        const was = await inner.releaseLease(lease)
        await released?.()
        return was
      },
    })
    const { conversation } = await begun('hello', store)
    const other = await createEngine({ store: inner }).open('c')
    // Another process takes the lease before the first run looks again, and begins a moment later.
    released = async () => {
      released = null
      await other.sendMessage('more')
      await inner.acquireLease('c', 'somebody', TTL)
    }
    expect(await conversation.run(script([]).step)).toEqual({ status: 'finished', iterations: 1 })
  })

  it('is not taken again by a heartbeat that comes late', async () => {
    const { store, expire } = timed()
    const held: (() => void)[] = []
    const real = globalThis.setInterval
    globalThis.setInterval = ((beat: () => void) => held.push(beat)) as never
    try {
      const { conversation } = await begun('hello', store)
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
      for (const beat of held) beat()
      await lost
      expire()
      for (const beat of held) beat()
      expect((await conversation.recover()).outcome).toBe('recovered')
      expect(await store.getLease('c')).toBe(null)
    } finally {
      globalThis.setInterval = real
    }
  })
})

describe('a pause', () => {
  it('takes effect between steps: what is executed is recorded, and nothing more is begun', async () => {
    const { conversation } = await begun()
    const { step, executed, asked } = script(
      [[call('a'), call('b')], [call('c', 'work', { llm_response_id: 'r2' })]],
      async function* ({ approved }) {
        for (const each of approved) {
          yield result(each)
          if (each.id === 'a') await conversation.pause()
        }
      },
    )
    expect(await conversation.run(step)).toEqual({ status: 'paused', iterations: 1 })
    expect(executed).toEqual(['a', 'b'])
    expect(asked).toHaveLength(1)
    expect((await logOf(conversation)).slice(-3)).toEqual(['result a', 'PauseEvent', 'result b'])
    await conversation.resume()
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual(['a', 'b', 'c'])
  })

  it('holds while the model thinks: the text is recorded, and resume does not ask again', async () => {
    const { conversation } = await begun()
    const { step, asked } = script([
      async function* () {
        await conversation.pause()
        yield says('done')
      },
    ])
    expect((await conversation.run(step)).status).toBe('paused')
    await conversation.resume()
    expect(await status(conversation)).toBe('finished')
    expect((await conversation.run(step)).status).toBe('finished')
    expect(asked).toHaveLength(1)
    // A run is as good as resume and run.
    await conversation.sendMessage('more')
    const again = script([
      async function* () {
        await conversation.pause()
        yield says('done')
      },
    ])
    await conversation.run(again.step)
    expect((await conversation.run(again.step)).status).toBe('finished')
    expect(again.asked).toHaveLength(1)
  })

  it('holds the calls of a reply: they are executed once, after resume, under the policy in force then', async () => {
    for (const policy of [null, { kind: 'AlwaysConfirm' }]) {
      const { conversation } = await begun()
      const { step, asked, executed } = script([
        async function* () {
          await conversation.pause()
          yield [call('a')]
        },
      ])
      expect((await conversation.run(step)).status).toBe('paused')
      expect(executed).toEqual([])
      await conversation.setConfirmationPolicy(policy)
      await conversation.resume()
      const { status: ended } = await conversation.run(step)
      if (policy !== null) {
        expect(ended).toBe('waiting_for_confirmation')
        expect(executed).toEqual([])
        await conversation.approve(['a'])
        await conversation.run(step)
      }
      expect(executed).toEqual(['a'])
      expect(asked).toHaveLength(2)
      expect(await status(conversation)).toBe('finished')
    }
  })

  it('also when the reply comes as two responses', async () => {
    const { conversation } = await begun()
    const { step, executed } = script([
      async function* () {
        await conversation.pause()
        yield call('a', 'work', { llm_response_id: 'r1' })
        yield call('b', 'work', { llm_response_id: 'r2' })
      },
    ])
    expect((await conversation.run(step)).status).toBe('paused')
    expect(executed).toEqual([])
    await conversation.resume()
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual(['a', 'b'])
  })

  it('that comes after the run was asked for, and before it begins, stops it', async () => {
    const { conversation } = await begun()
    const { step, asked } = script([])
    const running = conversation.run(step)
    await conversation.pause()
    expect(await running).toEqual({ status: 'paused', iterations: 0 })
    expect(asked).toEqual([])
    // Also where it was paused before.
    const again = conversation.run(step)
    expect(await conversation.pause()).toHaveLength(1)
    expect(await again).toEqual({ status: 'paused', iterations: 0 })
    expect(asked).toEqual([])
    // One that was there before does not.
    expect((await conversation.run(step)).status).toBe('finished')
  })

  it('stops it also where its body is let go before the run begins', async () => {
    const inner = memoryStore()
    const { conversation } = await begun(
      'hello',
      wrapStore(inner, {
        async acquireLease(...args) {
          const lease = await inner.acquireLease(...args)
          await conversation.pause()
          // The thousandth event: bodies are let go after it.
          expect((await conversation.state()).log.entries.last()?.event).toBeNull()
          return lease
        },
      }),
    )
    await conversation.append(Array.from({ length: 998 }, (_, n) => user(`u${n}`)))
    const { step, asked } = script([])
    expect((await conversation.run(step)).status).toBe('paused')
    expect(asked).toHaveLength(0)
  })

  it('that is ended while a step lasts stops nothing', async () => {
    const { conversation } = await begun()
    const { step, executed } = script([
      async function* () {
        await conversation.pause()
        await conversation.resume()
        yield call('a')
      },
    ])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual(['a'])
  })

  it('keeps what was begun by a run that died from being begun again', async () => {
    const { store, expire } = timed()
    const { conversation } = await begun('hello', store)
    const dead = script([[call('a')]], async function* () {
      yield await new Promise<never>(() => undefined)
    })
    void conversation.run(dead.step, { leaseTtl: TTL }).catch(() => undefined)
    await conversation.waitFor('running')
    while (dead.executed.length === 0) await conversation.state()
    expire()
    const other = await createEngine({ store }).open('c')
    await other.pause()
    await other.resume()
    const { step, executed } = script([])
    expect((await other.run(step, { leaseTtl: TTL })).status).toBe('finished')
    expect(executed).toEqual([])
    expect(await logOf(other)).toContain('error a')
  })
})

describe('an interrupt', () => {
  it('aborts the signal at once, and answers every open call in the batch of the InterruptEvent', async () => {
    const { conversation } = await begun()
    const working = gate()
    const { step } = script([[call('a'), call('b'), call('c')]], async function* ({ approved, signal }) {
      if (approved[0] !== undefined) yield result(approved[0])
      await working.pass()
      expect(signal.aborted).toBe(true)
      yield approved.slice(1).map(result)
    })
    const running = conversation.run(step)
    await working.reached
    const events = await conversation.interrupt()
    expect(events.map(({ fact }) => ('kind' in fact ? fact.kind : ''))).toEqual([
      'AgentErrorEvent',
      'AgentErrorEvent',
      'InterruptEvent',
    ])
    const [first] = events
    expect(events.map(({ seq }) => seq - (first?.seq ?? 0))).toEqual([0, 1, 2])
    expect(await running).toEqual({ status: 'paused', iterations: 1 })
    working.open()
    expect((await logOf(conversation)).slice(-4)).toEqual([
      'result a',
      'error b',
      'error c',
      'InterruptEvent',
    ])
  })

  it('ends a step that listens to nothing, by the conversation, by another engine, and by the signal given to run', async () => {
    for (const how of ['here', 'elsewhere', 'signal']) {
      const { conversation, store } = await begun()
      const other = await createEngine({ store }).open('c')
      const given = new AbortController()
      const thinking = gate()
      const running = conversation.run(
        async function* () {
          await thinking.pass()
          yield says('too late')
        },
        { signal: given.signal },
      )
      await thinking.reached
      if (how === 'signal') given.abort()
      else await (how === 'here' ? conversation : other).interrupt()
      expect((await running).status).toBe('paused')
      thinking.open()
      expect((await logOf(conversation)).slice(1)).toEqual(['= running', 'InterruptEvent'])
    }
  })

  it('is heard beside a pause, and by a step that goes on after its last word, also from another engine', async () => {
    for (const before of ['pause', 'last word']) {
      const { conversation, store } = await begun()
      const other = await createEngine({ store }).open('c')
      const thinking = gate()
      const running = conversation.run(async function* () {
        if (before === 'pause') await conversation.pause()
        else yield says('done')
        await thinking.pass()
      })
      await thinking.reached
      expect(await other.interrupt()).toHaveLength(1)
      expect((await running).status).toBe(before === 'pause' ? 'paused' : 'finished')
    }
  })

  it('before a run begins keeps it from beginning; one before the run was asked for does not', async () => {
    const { conversation } = await begun()
    const { step, asked } = script([])
    const running = conversation.run(step)
    await conversation.interrupt()
    expect((await running).status).toBe('paused')
    expect(asked).toEqual([])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(await conversation.run(step, { signal: AbortSignal.abort() })).toMatchObject({ iterations: 0 })
  })

  it('that the store refuses is an error of the run, not a secret', async () => {
    const inner = memoryStore()
    let full = false
    const store = wrapStore(inner, {
      async append(...args) {
        if (full) throw Object.assign(new Error('full'), { code: 'store_full' })
        return inner.append(...args)
      },
    })
    const { conversation } = await begun('hello', store)
    const given = new AbortController()
    const running = conversation.run(
      () => {
        full = true
        given.abort()
        return new Promise<never>(() => undefined)
      },
      { signal: given.signal },
    )
    await expect(running).rejects.toMatchObject({ message: 'full' })
  })
})

describe('recover()', () => {
  it('answers every open call of a run that died, in log order, in one batch, sets error, and says what it did', async () => {
    const { store, expire } = timed()
    const { conversation } = await begun('hello', store)
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

  it('leaves calls of waiting and of paused conversations open', async () => {
    for (const then of ['wait', 'pause'] as const) {
      const { conversation } = await begun()
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

  it('does nothing when a run comes first', async () => {
    const { store, expire } = timed()
    const { conversation } = await begun('hello', store)
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

it.each(NAMES)('a user who writes and approves meanwhile is heard over %s', async (name) => {
  const store = (await PLACES.make(name)).open()
  const { conversation, engine } = await begun('hello', store)
  const { step, executed } = script([
    async function* () {
      await conversation.sendMessage('more')
      yield [call('a'), call('f', 'finish'), call('x')]
    },
  ])
  await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
  expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
  await conversation.approve(['a', 'f'])
  expect((await conversation.run(step)).status).toBe('finished')
  expect(executed).toEqual(['a', 'f'])
  expect(await status(conversation)).toBe('finished')
  await engine.close()
  await store.close()
})
