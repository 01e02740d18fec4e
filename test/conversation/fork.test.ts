/** Forks of hostile logs over each store: from the end and from every event, and their independence from the source. */

import * as fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { RUNS } from '../../properties/run.ts'
import { Tally } from '../../properties/tally.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import { planFork } from '../../src/conversation/fork.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { anchorOf, eventKindOf } from '../../src/log/entry.ts'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { stateAt, switchTo } from '../../src/state/at.ts'
import { activatedSkillsIn } from '../../src/state/branch.ts'
import { granted } from '../../src/state/call-status.ts'
import { encodeState } from '../../src/state/read.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import type { Status } from '../../src/state/status.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { StoredEvent } from '../../src/store/contract/query.ts'
import { cutPointsIn, viewEventsIn } from '../../src/view/view.ts'
import { action, moveHead, observe, status, system, update, user } from '../build.ts'
import { hostileState } from './states.ts'
import { script } from './script.ts'
import { backends } from './backends.ts'
import { logOf, wrapStore } from './stores.ts'

const BACKENDS = backends()
afterAll(() => BACKENDS.remove())

const idsOf = (log: readonly StoredEvent[]): (string | null)[] => log.map(({ id }) => id)

/** The view, calls, prompt, skills and messages of HEAD's branch, by ids. */
const summaryOf = (state: State) => ({
  head: state.log.head?.id ?? null,
  view: [...viewEventsIn(state.branch.view)].map(({ id }) => id),
  cutPointsIn: cutPointsIn(state.branch.view),
  condensationRequested: state.branch.view.unhandledCondensationRequest,
  open: listPendingCallsIn(state.branch.pendingCalls).map(({ entry }) => entry.id),
  prompt: state.branch.systemPrompt?.id ?? null,
  skills: activatedSkillsIn(state.branch),
  messages: toMessages(state),
})

/** Compares a fork with the source as seen from the fork position. */
async function check(
  store: Store,
  fork: Conversation,
  seen: State,
  source: readonly StoredEvent[],
): Promise<void> {
  const log = await logOf(store, fork.id)
  const state = replay(
    log.map(({ fact }) => fact),
    { conversationId: fork.id },
  )
  // Only calls that had started get a new result in the copy.
  const added = log.flatMap(({ fact, id }) =>
    'kind' in fact && fact.kind === 'AgentErrorEvent' && !idsOf(source).includes(id) ? [fact] : [],
  )
  expect(summaryOf(state)).toEqual(summaryOf(added.reduce<State>(reduce, seen)))
  const started = granted(seen.header.callStatuses, 'started')
  expect(listPendingCallsIn(state.branch.pendingCalls).filter(({ entry }) => started.has(entry.id))).toEqual(
    [],
  )
  const live = await fork.state()
  expect(encodeState(live)).toBe(encodeState(state))
  const open = listPendingCallsIn(state.branch.pendingCalls)
  expect(state.header.status).toBe(open.length > 0 ? 'waiting_for_confirmation' : 'idle')
  expect((await store.getConversation(fork.id))?.status).toBe(state.header.status)
  expect(state.header.confirmationPolicy).toEqual(seen.header.confirmationPolicy)
  expect(state.header.callStatuses.filter(({ grant }) => grant !== 'started')).toEqual([])
  const copied = idsOf(log.filter(({ inTree, id }) => inTree && idsOf(source).includes(id)))
  expect(copied).toEqual(idsOf(source.filter(({ inTree, id }) => inTree && copied.includes(id))))
}

type Situation =
  | 'quarantined'
  | 'derived id'
  | 'duplicate'
  | 'empty HEAD'
  | 'from an update'
  | 'waits'
  | 'policy'

describe.each(BACKENDS.names)('forks over %s', (name) => {
  const share = name === 'memory' ? 1 / 8 : 1 / 40

  it('a hostile log can be forked whole and from its events', async () => {
    const tally = new Tally<Situation>()
    const backend = await BACKENDS.make(name)
    const store = backend.open()
    const engine = createEngine({ store })
    await fc.assert(
      fc.asyncProperty(hostileState(), fc.nat(1000), async ({ facts }, seed) => {
        const stored = facts.filter((fact) => isQuarantined(fact) || fact.kind !== 'StreamingDeltaEvent')
        const source = await engine.create()
        await store.append(source.id, stored, { mode: 'import', expected: 'none' })
        const before = await logOf(store, source.id)
        const state = await source.state()
        const situations: Situation[] = []
        if (stored.some(isQuarantined)) situations.push('quarantined')
        if (before.some(({ fact, id }) => fact.id === undefined && id !== null)) situations.push('derived id')
        if (before.some(({ inTree, id }) => !inTree && id !== null)) situations.push('duplicate')
        if (state.log.head === null) situations.push('empty HEAD')
        if (state.header.confirmationPolicy !== null) situations.push('policy')

        const whole = await source.fork()
        await check(store, whole, state, before)
        const copy = await logOf(store, whole.id)
        expect(
          copy
            .slice(0, before.length)
            .map(({ id, inTree, parentId, time }) => ({ id, inTree, parentId, time })),
        ).toEqual(before.map(({ id, inTree, parentId, time }) => ({ id, inTree, parentId, time })))
        expect(copy.slice(0, before.length).map(({ fact }) => ({ ...fact, id: null }))).toEqual(
          before.map(({ fact }) => ({ ...fact, id: null })),
        )

        const real = [...state.log.entries].filter(({ inTree, id }) => inTree && id !== null)
        // A fork takes milliseconds in a database, so only some positions are tested.
        const tried = real.filter((_, i) => name === 'memory' || (i + seed) % 7 === 0)
        for (const entry of tried) {
          const seen = switchTo(state, entry.id)
          if (anchorOf(entry) !== entry) situations.push('from an update')
          if (listPendingCallsIn(seen.branch.pendingCalls).length > 0) situations.push('waits')
          await check(store, await source.fork({ from: entry.id as string }), seen, before)
        }
        expect(await logOf(store, source.id)).toEqual(before)
        tally.count(situations)
      }),
      { numRuns: Math.max(4, Math.round(RUNS * share)) },
    )
    if (name === 'memory')
      tally.require([
        'quarantined',
        'derived id',
        'duplicate',
        'empty HEAD',
        'from an update',
        'waits',
        'policy',
      ])
    await engine.close()
    await store.close()
  })

  it('a fork and its source do not affect each other, even when another engine writes', async () => {
    const backend = await BACKENDS.make(name)
    const stores = [backend.open(), backend.open()]
    const [one, two] = stores.map((store) => createEngine({ store })) as [Engine, Engine]
    const source = await one.create({ id: 'source', title: 'Mine', tags: { a: 'b' } })
    await source.append([system('s'), user('u'), action('a'), action('b')])
    await source.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    const fork = await source.fork({ id: 'fork', tags: { c: 'd' } })
    expect(await fork.record()).toMatchObject({
      title: 'Mine',
      tags: { c: 'd' },
      parentConversationId: 'source',
    })
    const before = await logOf(stores[0] as Store, 'source')
    await fork.reject(['a'])
    await (await two.open('fork')).approve(['b'])
    await (await two.open('fork')).append(user('v'))
    expect(await logOf(stores[0] as Store, 'source')).toEqual(before)
    expect((await source.state()).header).toMatchObject({ status: 'running', callStatuses: [] })
    await source.sendMessage('on')
    expect((await fork.state()).header).toMatchObject({
      status: 'idle',
      callStatuses: [{ action_id: 'b', grant: 'approved' }],
    })
    expect((await fork.state()).branch.lastUserMessage?.id).toBe('v')
    // A fork of a fork has the same ids.
    const third = await (await two.open('fork')).fork({ from: 'b', title: null })
    expect(summaryOf(await third.state())).toEqual(summaryOf(await source.stateAt('b')))
    expect((await third.record()).parentConversationId).toBe('fork')
    await expect(source.fork({ id: 'fork' })).rejects.toMatchObject({ code: 'conversation_exists' })
    await expect(source.fork({ from: 'nope', id: 'nothing' })).rejects.toMatchObject({
      code: 'unknown_event',
    })
    expect(await (stores[0] as Store).getConversation('nothing')).toBeNull()
    for (const engine of [one, two]) await engine.close()
    for (const store of stores) await store.close()
  })
})

const policy = (kind: string): Event => update('p', 'confirmation_policy', { kind })

/** A conversation in memory with these events. */
const fresh = async (...events: readonly Event[]) => {
  const engine = createEngine({ store: memoryStore() })
  const conversation = await engine.create({ id: 'c' })
  if (events.length > 0) await conversation.append(events)
  return { engine, conversation, store: engine.store }
}

describe('a fork', () => {
  it('is empty and idle if its source is empty', async () => {
    const { conversation } = await fresh()
    const state = await (await conversation.fork()).state()
    expect(state.header.status).toBe('idle')
    expect(state.log.head).toBeNull()
  })

  it('has an empty HEAD if its source has one', async () => {
    const { conversation } = await fresh(user('u'))
    await conversation.navigate(null)
    const fork = await conversation.fork()
    expect((await fork.state()).log.head).toBeNull()
    const [stored] = await fork.append(user('v'))
    expect(stored?.parentId).toBeNull()
  })

  it('has HEAD at the event before the HEAD move that it is forked from', async () => {
    const { conversation } = await fresh(user('u'), user('v'), moveHead('m', 'u'))
    const fork = await conversation.fork({ from: 'm' })
    expect((await fork.state()).log.head?.id).toBe('v')
  })

  it('has the policy of the conversation, even if an event on its path has a looser one', async () => {
    const loose = update('p', 'confirmation_policy', { kind: 'NeverConfirm' })
    const { conversation } = await fresh(user('u'), loose, user('v', 'v', { parent_id: 'p' }))
    await conversation.setConfirmationPolicy(null)
    expect((await (await conversation.fork({ from: 'v' })).state()).header.confirmationPolicy).toBeNull()
    await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    expect((await (await conversation.fork({ from: 'u' })).state()).header.confirmationPolicy).toEqual({
      kind: 'AlwaysConfirm',
    })
  })

  it('carries over no approval, and cannot execute a call that started in the source', async () => {
    const { conversation } = await fresh(
      action('a'),
      action('b'),
      update('g', 'approved_actions', ['a']),
      update('h', 'started_actions', ['b']),
    )
    let steps = 0
    for (const from of ['b', undefined]) {
      const fork = await conversation.fork(from === undefined ? {} : { from })
      // A call that started in the source is not executed again, even when approved.
      await expect(fork.approve(['b'])).rejects.toMatchObject({ code: 'unknown_call' })
      const { status } = await fork.run(() => {
        steps += 1
        return []
      })
      expect(status).toBe('waiting_for_confirmation')
    }
    expect(steps).toBe(0)
  })

  it.each<[string, readonly Event[], readonly string[], Status]>([
    ['no policy', [action('a')], ['NOT'], 'idle'],
    ['NeverConfirm', [policy('NeverConfirm'), action('a')], ['NOT'], 'idle'],
    ['a started call', [action('a'), update('g', 'started_actions', ['a'])], ['RUNNING'], 'idle'],
    [
      'one started call and one new call',
      [action('a'), action('b'), update('g', 'started_actions', ['a'])],
      ['RUNNING', 'NOT'],
      'idle',
    ],
    ['AlwaysConfirm', [policy('AlwaysConfirm'), action('a')], [], 'waiting_for_confirmation'],
    ['a waiting run', [action('a'), status('s', 'waiting_for_confirmation')], [], 'waiting_for_confirmation'],
    [
      'AlwaysConfirm and a started call',
      [policy('AlwaysConfirm'), action('a'), action('b'), update('g', 'started_actions', ['a'])],
      ['RUNNING'],
      'waiting_for_confirmation',
    ],
  ])(
    'waits only for calls that need a confirmation, and executes nothing: %s',
    async (_, log, results, end) => {
      const { conversation } = await fresh(user('u'), ...log)
      const before = (await conversation.state()).log.entries.length
      const fork = await conversation.fork()
      const { header, log: copy, branch } = await fork.state()
      const added = [...copy.entries]
        .slice(before)
        .flatMap(({ event }) => (event?.kind === 'AgentErrorEvent' ? [event.error] : []))
      expect(
        added.map((error) => (error.includes('while this call was running') ? 'RUNNING' : 'NOT')),
      ).toEqual(results)
      expect(header.status).toBe(end)
      const { step, executed, requests } = script([])
      const { status } = await fork.run(step)
      expect(executed).toEqual([])
      expect(status).toBe(end === 'idle' ? 'finished' : end)
      expect(requests).toHaveLength(end === 'idle' ? 1 : 0)
      expect(listPendingCallsIn(branch.pendingCalls).length > 0).toBe(end !== 'idle')
    },
  )

  it('is idle whether its source is in error, paused, finished, deleting or running', async () => {
    for (const name of ['error', 'paused', 'finished', 'deleting', 'running'] as const) {
      const { conversation } = await fresh(user('u'), status('s', name))
      expect((await (await conversation.fork()).state()).header).toMatchObject({
        status: 'idle',
        error: null,
      })
    }
  })

  it('is the same from an evicted event as from a log in memory', async () => {
    const { conversation, store } = await fresh()
    // With this policy, the calls of a fork wait for confirmation.
    await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    for (let n = 0; n < 12; n += 1) {
      const calls = Array.from({ length: 50 }, (_, i) => action(`a${n}.${i}`)).flatMap((call) => [
        call,
        observe(`o-${call.id}`, call),
      ])
      await conversation.append([user(`u${n}`), ...calls])
    }
    await conversation.navigate(null)
    await conversation.append(Array.from({ length: 1_500 }, (_, n) => user(`v${n}`)))
    const log = await logOf(store, 'c')
    const whole = replay(
      log.map(({ fact }) => fact),
      { conversationId: 'c' },
    )
    // Unneeded bodies are evicted in a later turn.
    await expect.poll(async () => (await conversation.state()).log.entries.get(0)?.event).toBeNull()
    for (const from of ['u9', 'a5.3', 'o-a11.49']) {
      expect(summaryOf(await (await conversation.fork({ from })).state())).toEqual(
        summaryOf(switchTo(whole, from)),
      )
      expect(encodeState(await conversation.stateAt(from))).toBe(encodeState(stateAt(whole, from)))
    }
    await conversation.append([
      user('x'),
      status('s', 'idle'),
      user('y'),
      moveHead('m', 'x'),
      status('t', 'paused'),
    ])
    expect((await conversation.stateAt('s')).header.status).toBe('idle')
    expect((await conversation.stateAt('t')).header.status).toBe('paused')
    expect((await conversation.editAndResend('u3', 'otherwise')).length).toBe(2)
    expect((await conversation.state()).branch.lastUserMessage?.parent?.id).toBe('o-a2.49')
  })

  it('is deleted if it fails, and an existing conversation with its id is kept', async () => {
    const { store } = await fresh(user('u'))
    let remaining = 1
    const failing = wrapStore(store, {
      async append(...input) {
        remaining -= 1
        if (remaining < 0) throw new Error('no more')
        return store.append(...input)
      },
    })
    remaining = 0
    const conversation = await createEngine({ store: failing }).open('c')
    await expect(conversation.fork({ id: 'f' })).rejects.toThrow('no more')
    expect(await store.getConversation('f')).toBeNull()
    await store.createConversation({ id: 'g', title: 'of another' })
    await expect(conversation.fork({ id: 'g' })).rejects.toMatchObject({ code: 'conversation_exists' })
    expect((await store.getConversation('g'))?.title).toBe('of another')
  })

  it('appends all of its 1,201 events in one batch', async () => {
    const { store } = await fresh(...Array.from({ length: 1_200 }, (_, i) => user(`u${i}`)))
    const sizes: number[] = []
    const counting = wrapStore(store, {
      async append(id, facts, options) {
        sizes.push(facts.length)
        return store.append(id, facts, options)
      },
    })
    await (await createEngine({ store: counting }).open('c')).fork()
    expect(sizes).toEqual([1_201])
  })

  it('carries over no approval from a branch that HEAD is not on', async () => {
    const store = memoryStore()
    const engine = createEngine({ store })
    const source = await engine.create({ id: 'source' })
    await source.append([user('u'), action('a'), status('w', 'waiting_for_confirmation')])
    await source.approve(['a'])
    await source.navigate('u')
    const fork = await source.fork()
    const { header } = await fork.state()
    expect(header).toMatchObject({ status: 'idle', callStatuses: [] })
    await engine.close()
  })

  it('can be planned without a store', () => {
    const state = replay([user('u'), action('a'), moveHead('m', 'u'), user('v')])
    expect(planFork(state)).toMatchObject({ positions: null, appended: [{ value: 'idle' }] })
    expect(planFork(state, 'a')).toMatchObject({
      positions: new Set([0, 1]),
      appended: [{ kind: 'AgentErrorEvent' }, { value: 'idle' }],
    })
    expect(eventKindOf(state.log.entries.get(1) as NonNullable<State['log']['head']>)).toBe('ActionEvent')
  })
})
