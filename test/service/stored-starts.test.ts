import { afterEach, describe, expect, it } from 'vitest'
import { create } from '../../src/service/agent-server/create.ts'
import { Starts } from '../../src/service/conversations/starts.ts'
import { secretBox } from '../../src/service/settings/secret-box.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import { wrapStore } from '../conversation/stores.ts'
import { STORES } from './client.ts'
import { BASE, begin, client, endAll, ID, send, start } from './control-fixture.ts'
import { until } from './sandbox-commands.ts'

afterEach(endAll)

const SECRETS = { secrets: { TOKEN: 'sk-hush' } }
const SEALED = { secret: 'what it is sealed with' }
const BROKEN = [{ id: 'broken', command: ['/bin/false'], health: '/alive' }] as const

const fork = (body: object) => client.post(`/api/conversations/${ID}/fork`, body)

const countStarts = async (store: Store): Promise<number> =>
  (await store.countItems('conversation-starts')).count

describe.each(Object.entries(STORES))('stored starts over %s', (_, make) => {
  it('a rejected fork leaves no stored start', async () => {
    const store = make()
    await begin(store, undefined, SEALED)
    await client.post('/api/conversations', { ...SECRETS, conversation_id: ID })
    expect((await fork({ from_event_id: 'none' })).status).toBe(404)
    expect((await fork({ id: ID })).status).toBe(409)
    expect(await countStarts(store)).toBe(1)
    const twice = await Promise.all([fork({ id: 'b' }), fork({ id: 'b' })])
    expect(twice.map(({ status }) => status).toSorted()).toEqual([201, 409])
    expect(await countStarts(store)).toBe(2)
    for (const id of [ID, 'b']) await send('DELETE', `/api/conversations/${id}`)
    expect(await countStarts(store)).toBe(0)
  })

  it('a failed start leaves no stored start', async () => {
    const store = make()
    await begin(store, { specs: BROKEN }, SEALED)
    expect((await start(SECRETS)).status).toBe('ERROR')
    await until(async () => (await countStarts(store)) === 0)
  })

  it('a change during the deletion of its conversation leaves no stored start', async () => {
    const store = make()
    await begin(store, undefined, SEALED)
    await client.post('/api/conversations', { ...SECRETS, conversation_id: ID })
    const deleted = wrapStore(store, {
      async updateConversation(id, ...rest) {
        await send('DELETE', `/api/conversations/${id}`)
        return store.updateConversation(id, ...rest)
      },
    })
    await expect(
      new Starts(deleted, secretBox(SEALED.secret)).change(ID, (before) => before),
    ).rejects.toThrow()
    expect(await countStarts(store)).toBe(0)
  })

  it('a failed create leaves no stored start unless the store has created the conversation', async () => {
    const real = make()
    const full = new ColloquyError('store_full', 'There is no room.')
    let creates = 0
    const store = wrapStore(real, {
      async createConversation(input) {
        creates += 1
        if (creates === 1) throw full
        const record = await real.createConversation(input)
        if (creates === 2) throw full
        return record
      },
    })
    await begin(store, undefined, SEALED)
    const { lifecycle } = client.service.controlPlane
    const again = () => create(lifecycle, { ...SECRETS, conversation_id: ID })
    await expect(again()).rejects.toBe(full)
    expect(await countStarts(real)).toBe(0)
    await expect(again()).rejects.toBe(full)
    const { isNew, conversation } = await again()
    expect([isNew, await countStarts(real)]).toEqual([false, 1])
    expect(await lifecycle.starts.of(await conversation.record())).toEqual(SECRETS)
  })
})

it.each([
  [
    '/api/conversations',
    'a workspace',
    (input: string) => ({ workspace: { working_dir: '/x', given: input } }),
  ],
  [
    '/api/conversations',
    'a confirmation policy',
    (input: string) => ({ confirmation_policy: { kind: 'NeverConfirm', given: input } }),
  ],
  ['/api/conversations', 'an agent', (input: string) => ({ agent: { given: input } })],
  [BASE, 'metadata', (input: string) => ({ observability_metadata: { given: input } })],
  [BASE, 'an agent', (input: string) => ({ agent: { given: input } })],
])('POST %s gets 413 for %s of 512 KiB, and accepts one of 256 KiB', async (path, _field, bodyOf) => {
  await begin()
  const half = 'x'.repeat(2 ** 18)
  const statuses = [half, half + half].map(async (input) => (await client.post(path, bodyOf(input))).status)
  expect(await Promise.all(statuses)).toEqual([path === BASE ? 200 : 201, 413])
  const both = { ...bodyOf(half), plugins: [half] }
  expect((await client.post(path, both)).status).toBe(413)
})
