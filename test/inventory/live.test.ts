/** Groups A, C, P, S and W of the inventory on live conversations: stores, forks and commands. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Event } from '../../src/event/types.ts'
import { activatedSkillsIn } from '../../src/state/branch.ts'
import { encodeState } from '../../src/state/read.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { action, moveHead, observe, pause, status, system, user, users } from '../build.ts'
import { ids, pendingIds } from './inspect.ts'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'colloquy-live-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A store on a file; power-loss durability is not tested here. */
const openStore = (name = 'a.db') => sqliteStore({ file: join(folder, name), synchronous: 'normal' })

async function createConversation(...events: readonly Event[]): Promise<Conversation> {
  const conversation = await createEngine({ store: memoryStore() }).create({ id: 'c' })
  await conversation.append(events)
  return conversation
}

const kinds = async (conversation: Conversation): Promise<string[]> =>
  [...(await conversation.state()).log.entries].map(({ event }) => event?.kind ?? '')

describe('group A: stores', () => {
  it('A13 a store file with a space in its name can be reopened', async () => {
    const other = openStore('another name.db')
    await other.createConversation({ id: 'c' })
    await other.append('c', [user('m')])
    await other.close()
    const reopened = openStore('another name.db')
    expect((await reopened.get('c', 'm'))?.seq).toBe(0)
    await reopened.close()
  })

  it('A15 five concurrent stores append 50 events at consecutive positions', async () => {
    const stores = Array.from({ length: 5 }, () => openStore())
    await stores[0]?.createConversation({ id: 'c' })
    await Promise.all(
      stores.flatMap((each, writer) =>
        Array.from({ length: 10 }, (_, n) => each.append('c', [user(`${writer}.${n}`)])),
      ),
    )
    const log = (await stores[1]?.read('c')) ?? []
    expect(new Set(log.map(({ id }) => id)).size).toBe(50)
    expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, seq) => seq))
    for (const each of stores) await each.close()
  })

  it('A16 two stores over one file append in turn and read both events', async () => {
    const [one, two] = [openStore(), openStore()]
    await one.createConversation({ id: 'c' })
    expect((await one.append('c', [user('m0')])).version).toBe(1)
    expect((await two.append('c', [user('m1')])).version).toBe(2)
    expect((await one.read('c')).map(({ id }) => id)).toEqual(['m0', 'm1'])
    await one.close()
    await two.close()
  })
})

describe('group C: forks', () => {
  it('C1 a fork gets a new id, or the one that the caller passes', async () => {
    const source = await createConversation(user('m'))
    expect((await source.fork()).id).not.toBe('c')
    expect((await source.fork({ id: 'mine' })).id).toBe('mine')
  })

  it('C4 a fork is idle, whatever the status of its source', async () => {
    for (const name of ['running', 'paused', 'finished', 'error', 'stuck'] as const) {
      const source = await createConversation(user('m'), status('s', name))
      expect((await (await source.fork()).state()).header.status).toBe('idle')
    }
  })

  it('C8 a fork gets the title and tags that the caller passes', async () => {
    const fork = await (
      await createConversation(user('m'))
    ).fork({ title: 'Second', tags: { topic: 'forks' } })
    expect(await fork.record()).toMatchObject({ title: 'Second', tags: { topic: 'forks' } })
  })

  it('C11 a fork is in the store of its source, and its record names the source', async () => {
    const store = openStore()
    const source = await createEngine({ store }).create({ id: 'c' })
    const { id } = await source.fork()
    expect((await store.getConversation(id))?.parentConversationId).toBe('c')
    await store.close()
  })
})

describe('group P: commands', () => {
  it('P3 three pauses append one event', async () => {
    const paused = await createConversation(user('m'))
    await Promise.all([paused.pause(), paused.pause()])
    await paused.pause()
    expect((await kinds(paused)).filter((kind) => kind === 'PauseEvent').length).toBe(1)
    expect((await paused.state()).header.status).toBe('paused')
  })

  it('P11 rejecting without a pending call appends nothing', async () => {
    const idle = await createConversation(user('m'))
    expect(await idle.reject()).toEqual([])
    expect(await kinds(idle)).toEqual(['MessageEvent'])
  })
})

describe('group S: persistence', () => {
  it('S1 a reopened conversation has the same state, and its record contains no events', async () => {
    const store = openStore()
    const first = await createEngine({ store }).create({ id: 'c' })
    await first.append([system('s'), user('m'), pause('p')])
    const before = encodeState(await first.state())
    await store.close()
    const reopened = openStore()
    const second = await createEngine({ store: reopened }).open('c')
    expect(encodeState(await second.state())).toBe(before)
    expect(Object.keys(await second.record())).not.toContain('events')
    await reopened.close()
  })

  it('S2 the store counts each event once, and a reopened conversation has them all', async () => {
    const store = openStore()
    const first = await createEngine({ store }).create({ id: 'c' })
    for (const event of users('m0', 'm1', 'm2')) await first.append(event)
    expect(await store.count({ conversationId: 'c' })).toBe(3)
    await store.close()
    const reopened = openStore()
    const second = await createEngine({ store: reopened }).open('c')
    expect(ids(await second.state())).toEqual(['m0', 'm1', 'm2'])
    expect((await second.record()).version).toBe(3)
    await reopened.close()
  })

  it('S7 status, policy and activated skills survive reopening', async () => {
    const store = openStore()
    const first = await createEngine({ store }).create({ id: 'c' })
    await first.append([user('m', 'm', { activated_skills: ['git'] }), pause('p')])
    await first.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    await store.close()
    const reopened = openStore()
    const { header, branch } = await (await createEngine({ store: reopened }).open('c')).state()
    expect(header).toMatchObject({ status: 'paused', confirmationPolicy: { kind: 'AlwaysConfirm' } })
    expect(activatedSkillsIn(branch)).toEqual(['git'])
    await reopened.close()
  })

  it('S8 opening an unknown id fails with unknown_conversation', async () => {
    const store = openStore()
    await createEngine({ store }).create({ id: 'c' })
    await expect(createEngine({ store }).open('d')).rejects.toMatchObject({
      code: 'unknown_conversation',
    })
    await store.close()
  })

  it('S10 a batch is appended whole or not at all', async () => {
    const conversation = await createConversation(user('m'))
    await expect(conversation.append([user('a'), moveHead('h', 'nope')])).rejects.toMatchObject({
      code: 'unknown_event',
    })
    expect(await kinds(conversation)).toEqual(['MessageEvent'])
    await conversation.append([user('a'), moveHead('h', 'm')])
    expect((await conversation.state()).log.entries.length).toBe(3)
  })

  it('S11 subscribers receive each state change as an event, HEAD included', async () => {
    const conversation = await createConversation(user('m'), user('n'))
    await conversation.setConfirmationPolicy({ kind: 'NeverConfirm' })
    await conversation.navigate('m')
    const seen: unknown[] = []
    for await (const item of conversation.subscribe({ after: 1 })) {
      if (item.type === 'caught_up') break
      if (item.type === 'event' && 'key' in item.fact) seen.push([item.fact.key, item.fact.value])
    }
    expect(seen).toEqual([
      ['confirmation_policy', { kind: 'NeverConfirm' }],
      ['leaf_event_id', 'm'],
    ])
  })

  it('S13 recover() fails every pending call of a running conversation and leaves it in error', async () => {
    const running = await createConversation(user('m'), action('a'), action('b'), status('s', 'running'))
    expect((await running.recover()).outcome).toBe('recovered')
    expect((await kinds(running)).slice(-3)).toEqual([
      'AgentErrorEvent',
      'AgentErrorEvent',
      'ConversationErrorEvent',
    ])
    expect((await running.state()).header.status).toBe('error')
    const withoutCalls = await createConversation(user('m'), status('s', 'running'))
    expect((await withoutCalls.recover()).events.map(({ fact }) => 'kind' in fact && fact.kind)).toEqual([
      'ConversationErrorEvent',
    ])
    for (const name of ['idle', 'paused', 'waiting_for_confirmation', 'finished'] as const) {
      const other = await createConversation(user('m'), action('a'), status('s', name))
      expect(await other.recover()).toEqual({ outcome: 'not_running', events: [] })
    }
  })
})

describe('group W: forks', () => {
  it('W14 a fork waits for the same confirmation under the same policy as its source', async () => {
    const source = await createConversation(user('m'), action('a'))
    await source.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    await source.append(status('w', 'waiting_for_confirmation'))
    const fork = await source.fork()
    const executed: string[] = []
    const run = () =>
      fork.run(
        function* ({ approved }) {
          executed.push(...approved.map(({ id }) => id))
          yield approved.map((call) => observe(`o-${call.id}`, { ...call.event, id: call.id }))
        },
        { maxIterations: 0 },
      )
    expect((await run()).status).toBe('waiting_for_confirmation')
    expect(executed).toEqual([])
    expect((await fork.state()).header.confirmationPolicy).toEqual({ kind: 'AlwaysConfirm' })
    await fork.approve(['a'])
    await run()
    expect(executed).toEqual(['a'])
    expect(pendingIds(await source.state())).toEqual(['a'])
  })
})
