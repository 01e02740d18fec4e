/** Two engines on one conversation over each store: late results, stale engines, deletion, closing and eviction. */

import { afterAll, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { encodeState } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { action, fail, observe, pause, status, system, user } from '../build.ts'
import { openEngines, openEngine } from './engines.ts'
import { backends } from './backends.ts'
import { wrapStore } from './stores.ts'
import { timedStore, TTL } from './timed-store.ts'

const BACKENDS = backends()
afterAll(() => BACKENDS.remove())

describe.each(BACKENDS.names)('a conversation over %s', (name) => {
  it('appends a late result to its branch once, even if two engines send it', async () => {
    const [{ conversation: one, store, close }, { conversation: two, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    const call = action('a')
    await one.append([system('s'), user('u'), call])
    await one.navigate('u')
    await one.append(user('v'))
    const before = await one.state()
    const lateResult = observe('o', call)
    const results = await Promise.all([
      one.append(lateResult),
      two.append(lateResult),
      one.append(lateResult),
      two.append(lateResult),
    ])
    for (const [first] of results) expect(first).toMatchObject({ id: 'o', parentId: 'a' })
    const after = await two.state()
    expect(after.log.head?.id).toBe('v')
    expect(after.header).toEqual(before.header)
    expect((await store.read('c')).filter(({ id }) => id === 'o').length).toBe(1)
    expect((await store.getConversation('c'))?.headId).toBe('v')
    expect((await one.append(lateResult))[0]?.parentId).toBe('a')
    expect((await two.append(lateResult, { expected: 2 }))[0]?.parentId).toBe('a')
    await close()
    await closeTwo()
  })

  it('appends a late result from a stale engine to the branch of its call', async () => {
    const [{ conversation: one, store, close }, { conversation: two, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    const call = action('a')
    await one.append([user('u'), call])
    // The second engine has read this far, with HEAD at the call.
    await two.state()
    await one.navigate('u')
    await one.append(user('v'))
    const version = (await store.getConversation('c'))?.version ?? 0
    await expect(two.append(fail('e', call), { expected: 2 })).rejects.toMatchObject({
      code: 'version_conflict',
    })
    await two.append(fail('e', call), { expected: version })
    expect((await one.state()).log.head?.id).toBe('v')
    expect((await store.get('c', 'e'))?.parentId).toBe('a')
    await close()
    await closeTwo()
  })

  it('deduplicates a late result that another engine attached further down its branch', async () => {
    const [{ conversation: one, close }, { conversation: two, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    const call = action('a')
    await one.append([user('u'), call])
    await one.navigate('u')
    // In the second engine's state, the call is the end of its branch.
    await two.state()
    await one.append(user('w', 'w', { parent_id: 'a' }))
    await one.navigate('u')
    await one.append(observe('o', call))
    expect((await two.append(observe('o', call)))[0]?.parentId).toBe('w')
    await expect(two.append(observe('o', call, 'other'))).rejects.toMatchObject({ code: 'id_conflict' })
    expect((await two.state()).log.head?.id).toBe('u')
    await close()
    await closeTwo()
  })

  it('has state, messages and branches that include the appends of another engine', async () => {
    const [{ conversation: one, store, close }, { conversation: two, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    for (let n = 0; n < 5; n += 1) {
      await (n % 2 === 0 ? one : two).append([user(`u${n}`), action(`a${n}`)])
      for (const conversation of [two, one]) {
        const facts = (await store.read('c')).map(({ fact }) => fact)
        expect(encodeState(await conversation.state())).toBe(
          encodeState(replay(facts, { conversationId: 'c' })),
        )
        expect((await conversation.messages()).length).toBeGreaterThan(0)
        expect((await conversation.stateAt(`u${n}`)).log.head?.id).toBe(`u${n}`)
        expect((await conversation.branches()).map(({ leafId }) => leafId)).toEqual([`a${n}`])
      }
    }
    await expect(two.stateAt('nope')).rejects.toMatchObject({ code: 'unknown_event' })
    await close()
    await closeTwo()
  })

  it('decides on the latest state, even if another engine changed it', async () => {
    const [{ conversation: one, close }, { conversation: two, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    await one.append([user('u'), action('a'), status('w', 'waiting_for_confirmation')])
    await two.state()
    await one.reject()
    await one.pause()
    await one.resume()
    // The second engine still has the waiting state.
    expect((await two.pause()).length).toBe(1)
    expect((await one.resume()).length).toBe(1)
    expect((await two.pause()).length).toBe(1)
    expect(await one.pause()).toEqual([])
    await one.resume()
    await one.append(action('b'))
    expect((await two.approve(['b'])).length).toBe(1)
    await expect(two.approve(['a'])).rejects.toMatchObject({ code: 'unknown_call' })
    await one.append(user('m'))
    expect((await two.navigate('m')).length).toBe(0)
    expect((await two.editAndResend('m', 'n')).length).toBe(2)
    expect((await one.restart()).length).toBe(1)
    expect((await two.restart()).length).toBe(0)
    await close()
    await closeTwo()
  })

  it('is unknown to all its handles once it is deleted, and can be recreated', async () => {
    const [{ conversation: one, engine, close }, { conversation: two, engine: other, close: closeTwo }] =
      await openEngines(await BACKENDS.make(name))
    await one.append([user('a'), user('b'), user('d')])
    await two.state()
    expect(await one.delete()).toBe(true)
    for (const conversation of [one, two]) {
      for (const call of [
        () => conversation.state(),
        () => conversation.append(user('x')),
        () => conversation.pause(),
        () => conversation.navigate(null),
        () => conversation.fork(),
        () => conversation.record(),
        () => conversation.recover(),
        () => conversation.waitFor('idle'),
      ]) {
        await expect(call()).rejects.toMatchObject({ code: 'unknown_conversation' })
      }
      expect(await conversation.delete()).toBe(false)
    }
    await expect(other.open('c')).rejects.toMatchObject({ code: 'unknown_conversation' })
    await engine.create({ id: 'c' })
    for (const conversation of [one, two]) expect((await conversation.state()).log.entries.length).toBe(0)
    await two.append(user('n'))
    expect((await one.state()).log.head?.id).toBe('n')
    await close()
    await closeTwo()
  })

  it('is created once by concurrent openOrCreate() calls', async () => {
    const [{ engine, close }, { engine: other, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    const titles = ['x', 'y', 'z']
    const result = await Promise.all(
      titles.map((title, index) => (index === 1 ? other : engine).openOrCreate('new', { title })),
    )
    expect(result.map(({ id }) => id)).toEqual(['new', 'new', 'new'])
    const { title } = await (await engine.openOrCreate('new', { title: 'later' })).record()
    expect(titles).toContain(title)
    await expect(engine.openOrCreate('')).rejects.toMatchObject({ code: 'invalid_id' })
    await close()
    await closeTwo()
  })

  it.each([0, 1, 3, 6])('is read by a stale engine after a recreation with %i events', async (length) => {
    const [{ conversation: one, store, close }, { conversation: two, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    await one.append([user('a'), user('b'), user('d')])
    await two.state()
    await store.deleteConversation('c')
    await store.createConversation({ id: 'c' })
    const events = Array.from({ length }, (_, n) => user(`n${n}`))
    if (length > 0) await store.append('c', events)
    const now = encodeState(
      replay(
        (await store.read('c')).map(({ fact }) => fact),
        { conversationId: 'c' },
      ),
    )
    expect(encodeState(await two.state())).toBe(now)
    expect((await one.pause()).map(({ seq }) => seq)).toEqual([length])
    expect((await two.append(user('more'))).map(({ seq }) => seq)).toEqual([length + 1])
    expect((await one.state()).log.entries.length).toBe(length + 2)
    await close()
    await closeTwo()
  })

  it('fails pending and later calls with `closed` when its engine closes', async () => {
    const { engine, conversation, store, close } = await openEngine(await BACKENDS.make(name))
    await conversation.append([user('u')])
    const waiting = conversation.waitFor('deleting')
    const reading = (async () => {
      for await (const item of conversation.subscribe()) if (item.type === 'caught_up') void engine.close()
    })()
    const running = conversation.run(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return []
    })
    await expect(waiting).rejects.toMatchObject({ code: 'closed' })
    await reading
    expect((await running.catch(() => ({ status: 'closed' }))).status).not.toBe('running')
    await engine.close()
    const calls = [
      () => engine.create(),
      () => engine.open('c'),
      () => engine.delete('c'),
      () => conversation.state(),
      () => conversation.stateAt('u'),
      () => conversation.messages(),
      () => conversation.record(),
      () => conversation.branches(),
      () => conversation.append(user('v')),
      () => conversation.sendMessage('hi'),
      () => conversation.pause(),
      () => conversation.interrupt(),
      () => conversation.resume(),
      () => conversation.approve([]),
      () => conversation.reject(),
      () => conversation.navigate(null),
      () => conversation.restart(),
      () => conversation.editAndResend('u', 'v'),
      () => conversation.setConfirmationPolicy(null),
      () => conversation.fork(),
      () => conversation.waitFor('idle'),
      () => conversation.recover(),
      async () => conversation.publish({ kind: 'StreamingDeltaEvent', content: 'x' }),
      () => conversation.subscribe().next(),
      () => conversation.run(async function* () {}),
      () => conversation.delete(),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'closed' })
    // The engine does not own the store.
    expect((await store.getConversation('c'))?.id).toBe('c')
    await close()
  })

  it('has the right state when a tiny cache is shared by many conversations', async () => {
    const backend = await BACKENDS.make(name)
    const store = backend.open()
    for (const cacheBytes of [0, 1, 20_000]) {
      const engine = createEngine({ store, cacheBytes })
      const count = name === 'memory' ? 60 : 20
      const idOf = (n: number): string => `m${cacheBytes}-${n}`
      await Promise.all(Array.from({ length: count }, (_, n) => engine.create({ id: idOf(n) })))
      for (let turn = 0; turn < 3; turn += 1) {
        await Promise.all(
          Array.from({ length: count }, async (_, n) => {
            const conversation = await engine.open(idOf((n * 7) % count))
            await conversation.append([user(`u${turn}`), action(`a${turn}`)])
            await conversation.reject([`a${turn}`])
          }),
        )
        expect(engine.size).toBeLessThan(cacheBytes === 0 ? 1 : count)
      }
      for (let n = 0; n < count; n += 3) {
        const facts = (await store.read(idOf(n))).map(({ fact }) => fact)
        expect(facts.length).toBe(9)
        const state = await (await engine.open(idOf(n))).state()
        expect(encodeState(state)).toBe(encodeState(replay(facts, { conversationId: idOf(n) })))
      }
      await engine.close()
    }
    await store.close()
  })
})

describe('a move of HEAD', () => {
  it('fails with already_running until the lease expires by the clock of the store', async () => {
    const { store, expire } = timedStore()
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    await conversation.append([user('u'), user('v')])
    await store.acquireLease('c', 'another', TTL)
    for (const move of [
      () => conversation.navigate('u'),
      () => conversation.restart(),
      () => conversation.editAndResend('u', 'w'),
    ]) {
      await expect(move()).rejects.toMatchObject({ code: 'already_running' })
    }
    expect((await store.read('c')).length).toBe(2)
    expire()
    expect((await conversation.navigate('u')).length).toBe(1)
    // The run presumed dead can no longer write.
    await expect(
      store.append('c', [pause('p')], { lease: { owner: 'another', generation: 1 } }),
    ).rejects.toMatchObject({ code: 'lease_lost' })
  })

  it('fails with already_running if a run starts between its check and its append', async () => {
    const store = memoryStore()
    let begins = true
    const racing = wrapStore(store, {
      async getLease(id) {
        const lease = await store.getLease(id)
        if (begins) {
          begins = false
          await store.acquireLease(id, 'another', 60_000)
          await store.append(id, [status('running', 'running')])
        }
        return lease
      },
    })
    const conversation = await createEngine({ store: racing }).create({ id: 'c' })
    await conversation.append([user('u'), user('v')])
    await expect(conversation.navigate('u')).rejects.toMatchObject({ code: 'already_running' })
    expect((await store.read('c')).length).toBe(3)
  })
})
