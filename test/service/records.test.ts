/** The service's records: none lost among many who change them, and those of the version before taken over once, wherever that breaks off. */

import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { sha256 } from '../../src/service/auth/hash.ts'
import { recordsOf } from '../../src/service/records/records.ts'
import { scriptedAgent } from '../../src/service/scripted-agent.ts'
import { secretBox } from '../../src/service/settings/secret-box.ts'
import { user } from '../build.ts'
import { clientOver, STORES } from './client.ts'
import { keptIn } from './kept.ts'
import { mortal } from './mortal-store.ts'
import { writeOld } from './old-records.ts'
import { Receiver, SECRET } from './receiver.ts'
import { until } from './sandbox-commands.ts'

interface Count {
  readonly n: number
}

const add = (before: Count | null): Count => ({ n: (before?.n ?? 0) + 1 })

describe.each(Object.entries(STORES))('records over %s', (_, make) => {
  it('lose no change of several who decide at once, and are taken out once', async () => {
    const store = make()
    const many = Array.from({ length: 5 }, () => recordsOf<Count>(store, 'some'))
    await Promise.all(Array.from({ length: 50 }, (_, at) => many[at % 5]?.update('n', add)))
    expect(await many[0]?.find('n')).toMatchObject({ id: 'n', record: { n: 50 } })
    const gone = await Promise.all(many.map((one) => one.remove('n')))
    expect(gone).toContain(true)
    expect([await many[0]?.find('n'), await many[0]?.remove('n')]).toEqual([null, false])
    await store.close()
  })

  it('of the version before are taken over once, by however many, wherever they die', async () => {
    const change = fc.tuple(fc.nat(400).map(String), fc.option(fc.record({ n: fc.nat(9) }), { freq: 5 }))
    const property = fc.asyncProperty(
      fc.oneof(
        fc.array(change, { maxLength: 9 }),
        fc.array(change, { minLength: 150, maxLength: 500, size: 'max' }),
      ),
      fc.array(fc.record({ calls: fc.nat(9), dies: fc.boolean() }), { minLength: 3, maxLength: 6 }),
      async (changes, lives) => {
        const store = make()
        await writeOld(store, 'some', changes)
        const expected = new Map<string, object>()
        for (const [id, record] of changes)
          if (record === null) expected.delete(id)
          else expected.set(id, record)
        const [first] = expected.keys()
        // Some die on the way, and some are held; the one that is first takes a record out, which must not come back.
        await Promise.all(
          lives.map(async ({ calls, dies }, at) => {
            const { store: own, dieAfter, holdAfter } = mortal(store)
            if (at > 0 && dies) dieAfter(calls)
            else if (at > 0) holdAfter(calls, 15)
            const records = recordsOf<Count>(own, 'some')
            const done = records.ready().then(() => at === 0 && records.remove(first ?? ''))
            await done.catch((error: unknown) => expect(error).toMatchObject({ code: 'store_closed' }))
          }),
        )
        if (first !== undefined) expected.delete(first)
        expect(await keptIn(store, 'some').all()).toEqual(new Map([...expected].toSorted(byId)))
        expect((await store.countConversations()).count).toBe(0)
        await store.close()
      },
    )
    await fc.assert(property, { numRuns: 20, endOnFailure: true })
  })
})

const byId = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

const KEY = `sk-colloquy-${'k'.repeat(43)}`
const AT = '2026-01-01T00:00:00.000Z'

describe.each(Object.entries(STORES))('a database of the version before, over %s', (_, make) => {
  it('is served with all that it keeps, and shows no record among conversations', async () => {
    const store = make()
    const receiver = await new Receiver().start()
    onTestFinished(() => receiver.stop())
    const engine = createEngine({ store })
    for (const id of ['told', 'waits']) {
      await engine.create({ id })
      await (await engine.open(id)).append([user(`${id} 1`), user(`${id} 2`)])
    }
    await engine.close()
    const box = secretBox('a secret')
    const window = { not_before: null, expires_at: null, org_id: null }
    const key = { id: 'k1', name: 'ci', created_at: AT, ...window, hash: await sha256(KEY) }
    await writeOld(store, 'api-keys', [
      ['k0', { ...key, id: 'k0', hash: await sha256(`${KEY.slice(0, -1)}0`) }],
      ['k1', key],
      ['k0', null],
    ])
    await writeOld(store, 'api-key-uses', [['k1', { at: AT }]])
    const llm = { model: 'm', api_key: 'hidden' }
    await writeOld(store, 'profiles', [
      ['one', { llm: await box.seal('profile one', llm) }],
      ['two', { llm: await box.seal('profile two', { model: 'n' }) }],
    ])
    const settings = { agent_settings: { llm }, conversation_settings: {}, misc_settings: { a: 1 } }
    await writeOld(store, 'settings', [
      ['settings', await box.seal('settings', { ...settings, active_profile: 'one' })],
    ])
    const task = {
      id: 't1',
      created_by_user_id: null,
      status: 'READY',
      detail: null,
      app_conversation_id: 'told',
      sandbox_id: null,
      agent_server_url: null,
      request: {},
      created_at: AT,
      updated_at: AT,
      planned_id: 'told',
      makes_sandbox: false,
      owner: 'gone',
    }
    await writeOld(store, 'start-tasks', [
      ['t1', task],
      ['t2', { ...task, id: 't2', status: 'WORKING', app_conversation_id: null, planned_id: 'planned' }],
    ])
    const content = [{ type: 'text', text: 'Left' }]
    await writeOld(store, 'pending-messages', [
      ['p1', { id: 'p1', conversation_id: 'waits', content, created_at: AT }],
      [
        'p2',
        { id: 'p2', conversation_id: 'waits', content: [{ type: 'text', text: 'Last' }], created_at: AT },
      ],
    ])
    await writeOld(store, 'sandboxes', [['s1', { id: 's1', sandbox_spec_id: 'x', created_at: AT }]])
    const { createdAt: born } = (await store.getConversation('told')) ?? { createdAt: '' }
    await writeOld(store, 'webhooks', [
      ['hook\n', { since: null, done: true }],
      ['hook\ntold', { born, next: 1, until: null, digest: 'x', status: null }],
    ])
    await writeOld(store, 'ready', [])

    const client = await clientOver(store, {
      keys: ['session'],
      headers: { 'X-Session-API-Key': KEY },
      secret: 'a secret',
      agent: scriptedAgent(),
      controlPlane: { staleAfter: 50 },
      webhooks: [{ id: 'hook', url: receiver.url, secret: SECRET }],
      webhookDispatcher: { pollInterval: 15, leaseTtl: 300 },
    })
    const { service } = client
    const { items } = (await client.get<{ items: { id: string }[] }>('/api/conversations/search')).body
    expect(items.map(({ id }) => id).toSorted()).toEqual(['told', 'waits'])
    expect((await store.listConversations()).items).toHaveLength(2)
    expect(await service.keys.list()).toMatchObject([{ id: 'k1', name: 'ci' }])
    expect(await service.profiles.all()).toEqual([
      { name: 'one', llm },
      { name: 'two', llm: { model: 'n' } },
    ])
    expect(await service.settings.read()).toEqual({ ...settings, active_profile: 'one' })
    expect(await service.controlPlane.sandboxes.find('s1')).toEqual({
      id: 's1',
      sandbox_spec_id: 'x',
      created_at: AT,
    })
    await service.controlPlane.start()
    service.webhookDispatcher.start()
    const said = async (id: string): Promise<string[]> =>
      (await store.read(id).catch(() => [])).flatMap(({ fact }) =>
        'llm_message' in fact && fact.source === 'user'
          ? (fact.llm_message?.content ?? []).map((part) => ('text' in part ? String(part.text) : ''))
          : [],
      )
    await until(async () => (await said('waits')).includes('Last') || null)
    expect((await said('waits')).slice(-2)).toEqual(['Left', 'Last'])
    await until(async () => (await service.controlPlane.tasks.find('t2'))?.status === 'READY' || null)
    expect((await service.controlPlane.tasks.find('t1'))?.app_conversation_id).toBe('told')
    // What it was sent before it is not sent again.
    await until(() => receiver.events('told').includes('told 2') || null)
    expect(receiver.events('told')).not.toContain('told 1')
    await service.webhookDispatcher.close()
    await service.controlPlane.close()
    await client.engine.close()
    await service.runs.settle()
    await store.close()
  })
})
