/** Pauses and interrupts before and during a run (laws P and I). */

import { afterAll, describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import { INTERRUPTED, NEVER_STARTED } from '../../src/messages/phrases.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { user } from '../build.ts'
import { backends } from './backends.ts'
import { call, gate, logOf, result, says, script, startConversation, status } from './script.ts'
import { wrapStore } from './stores.ts'
import { timedStore, TTL } from './timed-store.ts'

const BACKENDS = backends()

afterAll(() => BACKENDS.remove())

/** PostgreSQL has its own tests. */
const NAMES = BACKENDS.names.filter((name) => name !== 'postgres')

describe('a pause', () => {
  it('lets started calls finish, and no further step starts', async () => {
    const { conversation } = await startConversation()
    const { step, executed, requests } = script(
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
    expect(requests).toHaveLength(1)
    expect((await logOf(conversation)).slice(-3)).toEqual(['result a', 'PauseEvent', 'result b'])
    await conversation.resume()
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual(['a', 'b', 'c'])
  })

  it('keeps the reply of a pending request, and later runs do not request it again', async () => {
    const { conversation } = await startConversation()
    const { step, requests } = script([
      async function* () {
        await conversation.pause()
        yield says('done')
      },
    ])
    expect((await conversation.run(step)).status).toBe('paused')
    expect((await logOf(conversation)).at(-1)).toBe('agent: done')
    await conversation.resume()
    expect(await status(conversation)).toBe('finished')
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(1)
    // run() alone also ends the pause.
    await conversation.sendMessage('more')
    const again = script([
      async function* () {
        await conversation.pause()
        yield says('done')
      },
    ])
    await conversation.run(again.step)
    expect((await conversation.run(again.step)).status).toBe('finished')
    expect(again.requests).toHaveLength(1)
  })

  it('holds the calls of a reply until resume(), under the policy in force then', async () => {
    for (const policy of [null, { kind: 'AlwaysConfirm' }]) {
      const { conversation } = await startConversation()
      const { step, requests, executed } = script([
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
      expect(requests).toHaveLength(2)
      expect(await status(conversation)).toBe('finished')
    }
  })

  it('holds the calls of a reply with two response ids', async () => {
    const { conversation } = await startConversation()
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

  it('stops a run that was requested before the pause and has not started', async () => {
    const { conversation } = await startConversation()
    const { step, requests } = script([])
    const running = conversation.run(step)
    await conversation.pause()
    expect(await running).toEqual({ status: 'paused', iterations: 0 })
    expect(requests).toEqual([])
    // The same holds if the conversation was already paused.
    const again = conversation.run(step)
    expect(await conversation.pause()).toHaveLength(1)
    expect(await again).toEqual({ status: 'paused', iterations: 0 })
    expect(requests).toEqual([])
    // A pause before the request does not stop a run.
    expect((await conversation.run(step)).status).toBe('finished')
  })

  it('stops a run that has not started, even if the PauseEvent was evicted', async () => {
    const inner = memoryStore()
    const { conversation } = await startConversation(
      'hello',
      wrapStore(inner, {
        async acquireLease(...args) {
          const lease = await inner.acquireLease(...args)
          await conversation.pause()
          // Bodies are evicted after 1,000 events, in a later turn of the event loop.
          await expect.poll(async () => (await conversation.state()).log.entries.last()?.event).toBeNull()
          return lease
        },
      }),
    )
    await conversation.append(Array.from({ length: 998 }, (_, n) => user(`u${n}`)))
    const { step, requests } = script([])
    expect((await conversation.run(step)).status).toBe('paused')
    expect(requests).toHaveLength(0)
  })

  it('stops nothing if it ends during the step', async () => {
    const { conversation } = await startConversation()
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

  it('does not cause a second execution of calls that a dead run started', async () => {
    const { store, expire } = timedStore()
    const { conversation } = await startConversation('hello', store)
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
  it('aborts the signal, and ends every open call in the batch of the InterruptEvent', async () => {
    const { conversation } = await startConversation()
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

  it('ends a hanging step from this engine, from another engine, and by the signal of run()', async () => {
    for (const how of ['here', 'elsewhere', 'signal']) {
      const { conversation, store } = await startConversation()
      const other = await createEngine({ store }).open('c')
      const controller = new AbortController()
      const thinking = gate()
      const running = conversation.run(
        async function* () {
          await thinking.pass()
          yield says('too late')
        },
        { signal: controller.signal },
      )
      await thinking.reached
      if (how === 'signal') controller.abort()
      else await (how === 'here' ? conversation : other).interrupt()
      expect((await running).status).toBe('paused')
      thinking.open()
      expect((await logOf(conversation)).slice(1)).toEqual(['= running', 'InterruptEvent'])
    }
  })

  it('ends a step after a pause or a final reply, also from another engine', async () => {
    for (const before of ['pause', 'reply']) {
      const { conversation, store } = await startConversation()
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

  it('prevents a run that has not started, but not a later run', async () => {
    const { conversation } = await startConversation()
    const { step, requests } = script([])
    const running = conversation.run(step)
    await conversation.interrupt()
    expect((await running).status).toBe('paused')
    expect(requests).toEqual([])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(await conversation.run(step, { signal: AbortSignal.abort() })).toMatchObject({ iterations: 0 })
  })

  it('rejects the run if the store cannot append it', async () => {
    const inner = memoryStore()
    let full = false
    const store = wrapStore(inner, {
      async append(...args) {
        if (full) throw Object.assign(new Error('full'), { code: 'store_full' })
        return inner.append(...args)
      },
    })
    const { conversation } = await startConversation('hello', store)
    const controller = new AbortController()
    const running = conversation.run(
      () => {
        full = true
        controller.abort()
        return new Promise<never>(() => undefined)
      },
      { signal: controller.signal },
    )
    await expect(running).rejects.toMatchObject({ message: 'full' })
  })
})

it.each(NAMES)(
  'a message during a request and a later approval of some calls take effect over %s',
  async (name) => {
    const store = (await BACKENDS.make(name)).open()
    const { conversation, engine } = await startConversation('hello', store)
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
  },
)

const errors = async (conversation: Conversation): Promise<string[]> =>
  [...(await conversation.state()).log.entries].flatMap(({ event }) =>
    event?.kind === 'AgentErrorEvent' ? [event.error] : [],
  )

describe('an interrupt reports that a call had no effect', () => {
  it.each([
    ['a hook has not allowed the call yet', 'hook', false, NEVER_STARTED],
    ['the model is still replying', 'reply', false, NEVER_STARTED],
    ['the call has started', 'call', false, INTERRUPTED],
    ['another process interrupts before the start', 'hook', true, NEVER_STARTED],
  ])('only if nothing can have executed it: %s', async (_, moment, isOther, error) => {
    const { engine, conversation, store } = await startConversation()
    const reached = gate()
    const waits = async (name: string): Promise<void> => {
      if (name === moment) await reached.pass()
    }
    const { step } = script(
      [
        async function* () {
          yield call('a')
          await waits('reply')
        },
      ],
      async function* () {
        await waits('call')
        yield []
      },
    )
    const hook = { on: 'PreToolUse' as const, name: 'guard', run: () => waits('hook') }
    const run = conversation.run(step, { hooks: [hook] })
    await reached.reached
    const other = createEngine({ store })
    await (isOther ? await other.open('c') : conversation).interrupt()
    expect((await run).status).toBe('paused')
    expect(await errors(conversation)).toEqual([error])
    reached.open()
    await other.close()
    await engine.close()
  })

  it('but not of a call that another writer appended', async () => {
    const { engine, conversation } = await startConversation()
    const replying = gate()
    const { step } = script([
      async function* () {
        yield call('a')
        await replying.pass()
      },
    ])
    const stop = new AbortController()
    const run = conversation.run(step, { signal: stop.signal })
    await replying.reached
    await conversation.append(call('b', 'work', { llm_response_id: 'other' }))
    stop.abort()
    await run
    expect((await errors(conversation)).toSorted()).toEqual([NEVER_STARTED, INTERRUPTED].toSorted())
    replying.open()
    await engine.close()
  })
})
