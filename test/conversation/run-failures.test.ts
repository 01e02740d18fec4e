/** Failed steps, stores and processes: how the run ends, and what the next run does. */

import { describe, expect, it } from 'vitest'
import { noopCondenser } from '../../src/context/condenser/condenser.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { RunCondenser } from '../../src/conversation/run/options.ts'
import { decodeEvent } from '../../src/event/decode.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import type { Event } from '../../src/event/types.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { call, gate, logOf, result, says, script, startConversation, status } from './script.ts'
import { wrapStore } from './stores.ts'
import { timedStore, TTL } from './timed-store.ts'

const running: Event = {
  kind: 'ConversationStateUpdateEvent',
  source: 'environment',
  key: 'execution_status',
  value: 'running',
}

/** A conversation whose run died before it started a call. */
async function deadRun() {
  const { store, expire } = timedStore()
  const { conversation, engine } = await startConversation('hello', store)
  await conversation.append([running, call('a')])
  await store.acquireLease('c', 'dead', TTL)
  expire()
  return { conversation, engine, store }
}

const lastEvent = async (conversation: Conversation) =>
  (await conversation.state()).log.entries.last()?.event ?? null

describe('a step that yields no event', () => {
  it.each([undefined, null, 'Hello'])(
    'fails the run with an error that names the type of %j',
    async (value) => {
      const { conversation, engine } = await startConversation('hello')
      const { error } = await conversation.run(async function* () {
        yield value as never
      })
      const name = value === null ? 'null' : typeof value
      expect((error as Error).message).toBe(`A step must yield events or replies, not ${name}.`)
      await engine.close()
    },
  )
})

/** An error that is its own cause and its own part. */
function cyclic(): Error {
  const error = new AggregateError([], 'boom')
  return Object.assign(error, { errors: [error, error], cause: error })
}

it.each([
  [
    'causes',
    new Error('fetch failed', { cause: new Error('no route') }),
    'fetch failed\nCaused by: no route',
  ],
  ['errors', new AggregateError([new Error('one')], 'all failed'), 'all failed\nCaused by: one'],
  ['fields', { status: 500 }, '{"status":500}'],
  ['message, without a cause that is null,', new Error('boom', { cause: null }), 'boom'],
  ['message, once, and not once for each cycle', cyclic(), 'boom'],
  ['lack of a text', { id: 1n }, 'An error without a message.'],
])('the log has the %s of what a step throws', async (_, thrown, detail) => {
  const { conversation, engine } = await startConversation('hello')
  await conversation.run(() => {
    throw thrown
  })
  expect((await conversation.state()).header.error).toMatchObject({
    code: expect.stringContaining('Error'),
    detail,
  })
  await engine.close()
})

it('an approved call is executed after a condensation that removed it from the view', async () => {
  const { conversation, engine } = await startConversation('hello')
  const { step, executed } = script([[call('a')]])
  await conversation.run(step, { policy: () => true })
  const { log } = await conversation.state()
  const forgotten_event_ids = [...log.entries].flatMap(({ id }) => id ?? [])
  await conversation.append({ kind: 'Condensation', llm_response_id: 'c', forgotten_event_ids })
  await conversation.approve(['a'])
  expect(await conversation.run(step, { policy: () => true })).toMatchObject({ status: 'finished' })
  expect(executed).toEqual(['a'])
  await engine.close()
})

describe('a store that fails once', () => {
  it('leaves a running conversation that recoverAll() recovers', async () => {
    const inner = memoryStore()
    let fails = false
    const store = wrapStore(inner, {
      async append(id, facts, options) {
        if (fails) {
          fails = false
          throw new ColloquyError('store_busy', 'Busy for once.')
        }
        return inner.append(id, facts, options)
      },
    })
    const { conversation, engine } = await startConversation('hello', store)
    const { step } = script([[call('a')]], async function* ({ approved }) {
      fails = true
      yield approved.map(result)
    })
    await expect(conversation.run(step)).rejects.toMatchObject({ code: 'store_busy' })
    expect(await status(conversation)).toBe('running')
    await expect
      .poll(async () => (await engine.recoverAll()).map(({ outcome }) => outcome))
      .toEqual(['recovered'])
    expect(await status(conversation)).toBe('error')
    await engine.close()
  })

  it('allows another run at once', async () => {
    for (let round = 0; round < 20; round += 1) {
      const inner = memoryStore()
      let fails = false
      const store = wrapStore(inner, {
        async append(id, facts, options) {
          if (!fails) return inner.append(id, facts, options)
          fails = false
          throw new ColloquyError('store_busy', 'Busy for once.')
        },
      })
      const { conversation, engine } = await startConversation('hello', store)
      const { step } = script([[call('a')]], async function* ({ approved }) {
        fails = true
        yield approved.map(result)
      })
      await expect(conversation.run(step)).rejects.toMatchObject({ code: 'store_busy' })
      expect((await conversation.run(script([]).step)).status).not.toBe('running')
      await engine.close()
    }
  })
})

describe('a step that throws', () => {
  it.each(['unknown_conversation', 'lease_lost', 'store_busy'] as const)(
    'fails the run and releases the lease, for %s of another conversation',
    async (code) => {
      const { conversation, store } = await startConversation()
      const error = new ColloquyError(code, 'Of another one.')
      const step = () => {
        throw error
      }
      expect(await conversation.run(step)).toMatchObject({ status: 'error', error })
      expect(await store.getLease('c')).toBe(null)
    },
  )

  it.each<readonly [string, unknown]>([
    ['a value without a string form', Object.create(null)],
    ['a symbol', Symbol('s')],
    ['an object as message', Object.assign(new Error('x'), { message: { a: 1 } })],
    ['a message without a string form', Object.assign(new Error('x'), { message: Object.create(null) })],
    ['a number as name', Object.assign(new Error('x'), { name: 404 })],
    ['a lone surrogate', new Error('bad \ud800 end')],
  ])('leaves an error event that can be decoded, for %s', async (_, error) => {
    const { conversation } = await startConversation()
    const ran = await conversation.run(() => {
      throw error
    })
    expect(ran.status).toBe('error')
    const last = await lastEvent(conversation)
    expect(last?.kind).toBe('ConversationErrorEvent')
    expect(decodeEvent(last).ok).toBe(true)
  })
})

describe('the end of a run', () => {
  it('a run starts nothing if only a call after a pending finish call is approved', async () => {
    const { conversation } = await startConversation()
    await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    await conversation.append([call('f', 'finish'), call('l')])
    const fork = await conversation.fork()
    await fork.approve(['l'])
    const { step, requests } = script([])
    expect(await fork.run(step)).toEqual({ status: 'waiting_for_confirmation', iterations: 0 })
    expect(requests).toEqual([])
  })

  it('a run finishes if its condenser refuses a CondensationRequest after the last reply', async () => {
    const { conversation } = await startConversation()
    await conversation.run(script([]).step)
    await conversation.append({ kind: 'CondensationRequest', source: 'environment' })
    let times = 0
    const condenser: RunCondenser = {
      async condense() {
        times += 1
        if (times > 9) throw new Error('Asked for ever.')
        return { type: 'refuse', reason: { message: 'No.', triggers: ['request'], required: false } }
      },
    }
    const { step, requests } = script([])
    expect((await conversation.run(step, { condenser })).status).toBe('finished')
    expect([requests.length, times]).toEqual([0, 1])
  })

  it('a CondensationRequest without a condenser ends one run in error, after its reply', async () => {
    const { conversation } = await startConversation()
    await conversation.append({ kind: 'CondensationRequest', source: 'environment' })
    const { step, requests } = script([[says('one')], [says('two')]])
    expect(await conversation.run(step)).toMatchObject({
      status: 'error',
      iterations: 1,
      error: { name: 'CondensationRefused' },
    })
    await conversation.sendMessage('again')
    let stops = 0
    const hooks = [{ on: 'Stop', name: 'count', run: () => void (stops += 1) }] as const
    expect(await conversation.run(step, { hooks })).toEqual({ status: 'finished', iterations: 1 })
    expect([requests.length, stops]).toEqual([2, 1])
  })

  it.each([
    ['without a condenser', null],
    ['with a condenser that ignores it', noopCondenser()],
  ])('a CondensationRequest %s does not make the last model call one too many', async (_, condenser) => {
    const { conversation } = await startConversation()
    await conversation.append({ kind: 'CondensationRequest', source: 'environment' })
    const { step } = script([[says('one')], [says('two')]])
    const options = { maxIterations: 1, ...(condenser !== null && { condenser }) }
    expect(await conversation.run(step, options)).toMatchObject({ error: { name: 'CondensationRefused' } })
    await conversation.sendMessage('again')
    expect(await conversation.run(step, options)).toMatchObject({ status: 'finished' })
  })

  it('a run fails if its conversation is deleted and recreated with the same id', async () => {
    const { conversation, store } = await startConversation('question of the first')
    const other = createEngine({ store })
    const thinking = gate()
    const ran = conversation.run(
      async function* () {
        await thinking.pass()
        yield says('reply to the first')
      },
      { leaseTtl: 300 },
    )
    let isEnded = false
    const rejects = expect(ran)
      .rejects.toMatchObject({ code: expect.stringMatching(/lease_lost|unknown_conversation/) })
      .finally(() => void (isEnded = true))
    await thinking.reached
    await other.delete('c')
    const recreated = await other.create({ id: 'c' })
    await recreated.sendMessage('question of the second')
    // The renewal may claim the lease of the new run.
    await expect.poll(async () => isEnded || (await store.getLease('c')) !== null).toBe(true)
    thinking.open()
    await rejects
    expect(await logOf(recreated)).toEqual(['user: question of the second'])
    await other.close()
  })
})

describe('a dead run', () => {
  it.each<readonly [string, (conversation: Conversation, id: string) => Promise<unknown>]>([
    ['navigate()', (conversation, id) => conversation.navigate(id)],
    ['restart()', (conversation) => conversation.restart()],
    ['editAndResend()', (conversation, id) => conversation.editAndResend(id, 'go on')],
  ])('keeps the status running and a lease after %s', async (_, command) => {
    const { conversation, store } = await deadRun()
    const first = (await conversation.state()).log.entries.get(0)?.id ?? ''
    await command(conversation, first)
    expect(await status(conversation)).toBe('running')
    expect(await store.getLease('c')).not.toBe(null)
  })

  it('is reported as RunLost by a run that waited for it', async () => {
    const { store, expire } = timedStore()
    const { conversation, engine } = await startConversation('hello', store)
    await store.acquireLease('c', 'dead', TTL)
    const waiting = conversation.run(script([]).step, { wait: true })
    const other = await createEngine({ store }).open('c')
    await new Promise((resolve) => void setTimeout(resolve, 20))
    await other.append([running, call('a')])
    expire()
    expect((await waiting).status).toBe('finished')
    expect(await logOf(conversation)).toContain('failed RunLost')
    await engine.close()
  })
})

it('an abandoned step cannot publish into the next reply', async () => {
  const { conversation, engine } = await startConversation()
  const received: unknown[] = []
  const listening = (async () => {
    for await (const item of conversation.subscribe())
      if (item.type === 'delta' && item.event.kind === 'StreamingDeltaEvent')
        received.push(item.event.content)
  })()
  const [abandoned, next] = [gate(), gate()]
  const publishing = Promise.withResolvers<(content: string) => void>()
  const first = conversation.run(async function* ({ publish }) {
    publishing.resolve((content) => publish({ kind: 'StreamingDeltaEvent', source: 'agent', content }))
    await abandoned.pass()
    yield says('old')
  })
  await abandoned.reached
  await conversation.interrupt()
  await first
  await conversation.sendMessage('other')
  const second = conversation.run(async function* ({ publish }) {
    publish({ kind: 'StreamingDeltaEvent', source: 'agent', content: 'new' })
    await next.pass()
    yield says('new')
  })
  await next.reached
  const publishLate = await publishing.promise
  publishLate('OLD')
  await expect.poll(() => received.length).toBeGreaterThan(0)
  next.open()
  await second
  expect(received.join('')).toBe('new')
  abandoned.open()
  await engine.close()
  await listening.catch(() => undefined)
})
