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
import { ids, open } from './look.ts'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'colloquy-live-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A store on a file; power-loss durability is not tested here. */
const store = (name = 'a.db') => sqliteStore({ file: join(folder, name), synchronous: 'normal' })

async function conversation(...events: readonly Event[]): Promise<Conversation> {
  const made = await createEngine({ store: memoryStore() }).create({ id: 'c' })
  await made.append(events)
  return made
}

const kinds = async (made: Conversation): Promise<string[]> =>
  [...(await made.state()).log.entries].map(({ event }) => event?.kind ?? '')

describe('group A: stores', () => {
  it('A13 a file of another name', async () => {
    const other = store('another name.db')
    await other.createConversation({ id: 'c' })
    await other.append('c', [user('m')])
    await other.close()
    const again = store('another name.db')
    expect((await again.get('c', 'm'))?.seq).toBe(0)
    await again.close()
  })

  it('A15 five writers append ten each', async () => {
    const stores = Array.from({ length: 5 }, () => store())
    await stores[0]?.createConversation({ id: 'c' })
    await Promise.all(
      stores.flatMap((each, who) =>
        Array.from({ length: 10 }, (_, n) => each.append('c', [user(`${who}.${n}`)])),
      ),
    )
    const log = (await stores[1]?.read('c')) ?? []
    expect(new Set(log.map(({ id }) => id)).size).toBe(50)
    expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, seq) => seq))
    for (const each of stores) await each.close()
  })

  it('A16 two stores over one file append by turns', async () => {
    const [one, two] = [store(), store()]
    await one.createConversation({ id: 'c' })
    expect((await one.append('c', [user('m0')])).version).toBe(1)
    expect((await two.append('c', [user('m1')])).version).toBe(2)
    expect((await one.read('c')).map(({ id }) => id)).toEqual(['m0', 'm1'])
    await one.close()
    await two.close()
  })
})

describe('group C: forks', () => {
  it('C1 an id of its own, or the one given', async () => {
    const source = await conversation(user('m'))
    expect((await source.fork()).id).not.toBe('c')
    expect((await source.fork({ id: 'mine' })).id).toBe('mine')
  })

  it('C4 idle, whatever the source was', async () => {
    for (const name of ['running', 'paused', 'finished', 'error', 'stuck'] as const) {
      const source = await conversation(user('m'), status('s', name))
      expect((await (await source.fork()).state()).header.status).toBe('idle')
    }
  })

  it('C8 tags and a title of its own', async () => {
    const fork = await (await conversation(user('m'))).fork({ title: 'Second', tags: { topic: 'forks' } })
    expect(await fork.record()).toMatchObject({ title: 'Second', tags: { topic: 'forks' } })
  })

  it('C11 in the store of its source, which its record names', async () => {
    const stored = store()
    const source = await createEngine({ store: stored }).create({ id: 'c' })
    const { id } = await source.fork()
    expect((await stored.getConversation(id))?.parentConversationId).toBe('c')
    await stored.close()
  })
})

describe('group P: commands', () => {
  it('P3 three pauses', async () => {
    const paused = await conversation(user('m'))
    await Promise.all([paused.pause(), paused.pause()])
    await paused.pause()
    expect((await kinds(paused)).filter((kind) => kind === 'PauseEvent').length).toBe(1)
    expect((await paused.state()).header.status).toBe('paused')
  })

  it('P11 refusing with nothing open', async () => {
    const idle = await conversation(user('m'))
    expect(await idle.reject()).toEqual([])
    expect(await kinds(idle)).toEqual(['MessageEvent'])
  })
})

describe('group S: what is kept', () => {
  it('S1 the state is what the log says', async () => {
    const stored = store()
    const first = await createEngine({ store: stored }).create({ id: 'c' })
    await first.append([system('s'), user('m'), pause('p')])
    const before = encodeState(await first.state())
    await stored.close()
    const again = store()
    const second = await createEngine({ store: again }).open('c')
    expect(encodeState(await second.state())).toBe(before)
    expect(Object.keys(await second.record())).not.toContain('events')
    await again.close()
  })

  it('S2 as many events as were appended, and the same state', async () => {
    const stored = store()
    const first = await createEngine({ store: stored }).create({ id: 'c' })
    for (const event of users('m0', 'm1', 'm2')) await first.append(event)
    expect(await stored.count({ conversationId: 'c' })).toBe(3)
    await stored.close()
    const again = store()
    const second = await createEngine({ store: again }).open('c')
    expect(ids(await second.state())).toEqual(['m0', 'm1', 'm2'])
    expect((await second.record()).version).toBe(3)
    await again.close()
  })

  it('S7 status, policy and activated skills', async () => {
    const stored = store()
    const first = await createEngine({ store: stored }).create({ id: 'c' })
    await first.append([user('m', 'm', { activated_skills: ['git'] }), pause('p')])
    await first.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    await stored.close()
    const again = store()
    const { header, branch } = await (await createEngine({ store: again }).open('c')).state()
    expect(header).toMatchObject({ status: 'paused', confirmationPolicy: { kind: 'AlwaysConfirm' } })
    expect(activatedSkillsIn(branch)).toEqual(['git'])
    await again.close()
  })

  it('S8 an id that nothing has', async () => {
    const stored = store()
    await createEngine({ store: stored }).create({ id: 'c' })
    await expect(createEngine({ store: stored }).open('d')).rejects.toMatchObject({
      code: 'unknown_conversation',
    })
    await stored.close()
  })

  it('S10 a batch is all or nothing', async () => {
    const made = await conversation(user('m'))
    await expect(made.append([user('a'), moveHead('h', 'nope')])).rejects.toMatchObject({
      code: 'unknown_event',
    })
    expect(await kinds(made)).toEqual(['MessageEvent'])
    await made.append([user('a'), moveHead('h', 'm')])
    expect((await made.state()).log.entries.length).toBe(3)
  })

  it('S11 subscribers see each change of the state as an event, HEAD included', async () => {
    const made = await conversation(user('m'), user('n'))
    await made.setConfirmationPolicy({ kind: 'NeverConfirm' })
    await made.navigate('m')
    const seen: unknown[] = []
    for await (const item of made.subscribe({ after: 1 })) {
      if (item.type === 'caught_up') break
      if (item.type === 'event' && 'key' in item.fact) seen.push([item.fact.key, item.fact.value])
    }
    expect(seen).toEqual([
      ['confirmation_policy', { kind: 'NeverConfirm' }],
      ['leaf_event_id', 'm'],
    ])
  })

  it('S13 a conversation found running: every open call is answered, and it is in error', async () => {
    const lost = await conversation(user('m'), action('a'), action('b'), status('s', 'running'))
    expect((await lost.recover()).outcome).toBe('recovered')
    expect((await kinds(lost)).slice(-3)).toEqual([
      'AgentErrorEvent',
      'AgentErrorEvent',
      'ConversationErrorEvent',
    ])
    expect((await lost.state()).header.status).toBe('error')
    const none = await conversation(user('m'), status('s', 'running'))
    expect((await none.recover()).events.map(({ fact }) => 'kind' in fact && fact.kind)).toEqual([
      'ConversationErrorEvent',
    ])
    for (const name of ['idle', 'paused', 'waiting_for_confirmation', 'finished'] as const) {
      const other = await conversation(user('m'), action('a'), status('s', name))
      expect(await other.recover()).toEqual({ outcome: 'not_running', events: [] })
    }
  })
})

describe('group W: forks', () => {
  it('W14 a fork of what waits waits, under the same policy', async () => {
    const source = await conversation(user('m'), action('a'))
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
    expect(open(await source.state())).toEqual(['a'])
  })
})
